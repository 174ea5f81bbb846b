"""Compilation: the same functions compiled and as plain Python, and dispatch by type."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from scfg_sampler.core import jit
from tests.core.compiled_examples import (
    Circle,
    Point,
    Square,
    area,
    corners,
    many_draws,
    seven_corners,
    six_areas,
)
from tests.oracles.twins import interpreted

SHAPES = [Square(np.array([2.0])), Circle(np.array([1.0]))]


def areas():
    return [six_areas(shape) for shape in SHAPES], [area(shape, 2.0) for shape in SHAPES], jit.ENABLED


def test_kernels_dispatch_on_the_type_of_their_argument():
    assert areas()[:2] == ([24.0, 18.0], [8.0, 6.0])


def test_kernels_are_plain_python_on_request():
    assert interpreted(areas) == ([24.0, 18.0], [8.0, 6.0], False)


def test_missing_implementation_is_named():
    with pytest.raises(TypeError, match="area has no implementation for Point"):
        area(Point(np.zeros(1)), 1.0)
    with pytest.raises(Exception, match="area"):
        six_areas(Point(np.zeros(1)))


def test_any_argument_may_choose_and_a_type_without_implementation_has_that_of_all_others():
    assert [seven_corners(shape) for shape in SHAPES] == [corners(7, shape) for shape in SHAPES]
    assert [corners(7, shape) for shape in (*SHAPES, Point(np.zeros(1)))] == [28, 0, 0]


@pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")
def test_kernels_release_the_interpreter_lock():
    many_draws(np.random.default_rng(1), 1)  # Compiles.
    thread = threading.Thread(target=many_draws, args=(np.random.default_rng(1), 4_000_000))
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    # With the lock held, this thread would not get a turn before the kernel, of half a second, ends.
    assert turns > 20


def test_digest_depends_on_what_is_below_only(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_PROJECT", tmp_path)
    sources = {
        "decoder/top.py": "from decoder import (\n    middle,\n)\n",
        "decoder/middle.py": "def f():\n    import scfg_sampler.low\n",
        "scfg_sampler/low.py": "x = 1\n",
        "decoder/beside.py": "from decoder import top\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def forget():
        jit.source_digest.cache_clear()
        jit._source.cache_clear()

    def digests():
        forget()
        return {name: jit.source_digest(name.removesuffix(".py").replace("/", ".")) for name in sources}

    before = digests()
    assert len(set(before.values())) == 4
    (tmp_path / "scfg_sampler/low.py").write_text("x = 2\n")
    after = digests()
    forget()
    assert all(before[name] != after[name] for name in sources)
    (tmp_path / "decoder/beside.py").write_text("")
    assert {name for name, digest in digests().items() if digest != after[name]} == {"decoder/beside.py"}
    forget()
