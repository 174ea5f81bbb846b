"""The kernel cache: a second run compiles nothing, and an edit below a kernel is never missed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from scfg_sampler.core import jit
from tests.test_layering import PACKAGES, imports_of, module_files

pytestmark = pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")

# Runs a statement, then prints its `result`, the kernels it compiled, and those it found in the cache.
CHILD = """
import json, sys
namespace = {}
exec(sys.argv[1], namespace)
compiled, cached = set(), set()
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("scfg_sampler", "decoder", "monolingual"):
        for label, value in vars(module).items():
            stats = getattr(value, "stats", None)
            if stats is None or not hasattr(value, "overloads"):
                continue
            if stats.cache_hits:
                cached.add(f"{value.__module__}.{label}")
            # A function that is not cached has overloads only if it was compiled just now.
            if stats.cache_misses or len(value.overloads) > len(stats.cache_hits):
                compiled.add(f"{value.__module__}.{label}")
print(json.dumps([namespace.get("result"), sorted(compiled), sorted(cached)]))
"""


def run(statement: str, root: Path, cache: Path | None = None, cwd: Path | None = None):
    """`result`, compiled and cached kernels of a statement in a process of its own."""
    place = {} if cache is None else {"SCFG_SAMPLER_CACHE": str(cache)}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, textwrap.dedent(statement)],
        cwd=cwd or root,
        env={**os.environ, "PYTHONPATH": str(root), **place},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr[-4000:]
    return json.loads(child.stdout.splitlines()[-1])


@pytest.fixture
def copy(root, tmp_path):
    """A copy of the packages that a test may edit."""
    for package in PACKAGES:
        shutil.copytree(root / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_edits_below_a_kernel_and_only_those_recompile_it(copy):
    lower, upper, beside = (copy / "scfg_sampler" / f"{name}.py" for name in ("lower", "upper", "beside"))
    lower.write_text("from scfg_sampler.core.jit import compiled\n@compiled\ndef f(x):\n    return 10 * x\n")
    upper.write_text(
        "from scfg_sampler import lower\nfrom scfg_sampler.core.jit import kernel\n"
        "@kernel\ndef g(x):\n    return lower.f(x)\n"
    )
    beside.write_text("")
    statement = """
        from scfg_sampler import upper
        result = upper.g(2)
    """

    def g():
        return run(statement, copy, copy / "cache")

    # The first run compiles the kernel and what it calls.
    assert g() == [20, ["scfg_sampler.lower.f", "scfg_sampler.upper.g"], []]
    assert g() == [20, [], ["scfg_sampler.upper.g"]]
    beside.write_text("# an edit elsewhere\n")
    assert g() == [20, [], ["scfg_sampler.upper.g"]]
    lower.write_text(lower.read_text().replace("10 * x", "1000 + 5 * x"))
    assert g() == [1010, ["scfg_sampler.lower.f", "scfg_sampler.upper.g"], []]


def test_second_clone_compiles_nothing(copy, tmp_path_factory):
    """Kernels are found by their content, wherever the sources lie."""
    statement = """
        from scfg_sampler.core.forests.hypergraph import HypergraphBuilder
        from scfg_sampler.core.forests.semiring import Tropical, inside
        builder = HypergraphBuilder()
        builder.add_edge(builder.add_node(), [])
        result = inside(builder.build(), Tropical([-2.0])).tolist()
    """
    cache = tmp_path_factory.mktemp("cache")
    clone = tmp_path_factory.mktemp("clone")
    for package in PACKAGES:
        shutil.copytree(copy / package, clone / package)
    assert run(statement, copy, cache)[2] == []
    assert run(statement, clone, cache) == [[[-2.0]], [], ["scfg_sampler.core.forests.semiring._inside"]]


def test_digest_of_a_module_covers_exactly_the_modules_it_imports(root):
    """Against the imports as `ast` sees them, but for those for type checkers, followed to the end."""
    known = module_files(root)
    below = {
        module: {module}
        | {entry.imported for entry in imports_of(module, path, known) if not entry.is_for_types}
        & known.keys()
        for module, path in known.items()
    }
    more: dict[str, set[str]] = {}
    while more != below:
        more, below = below, {m: set().union(*(below[n] for n in others)) for m, others in below.items()}
    packages = {module for module, path in known.items() if path.name == "__init__.py"}
    for module in known:
        covered = jit._sources(module).keys()
        assert below[module] <= covered
        # `from package import module` takes in the package as well.
        assert covered <= below[module] | packages


def test_second_run_of_dynamic_programs_compiles_nothing(root, tmp_path):
    statement = """
        from scfg_sampler.core.forests.hypergraph import HypergraphBuilder
        from scfg_sampler.core.forests.semiring import Tropical, inside
        builder = HypergraphBuilder()
        builder.add_edge(builder.add_node(), [])
        result = inside(builder.build(), Tropical([-2.0])).tolist()
    """
    result, compiled, cached = run(statement, root, tmp_path)
    assert result == [[-2.0]]
    assert "scfg_sampler.core.forests.semiring._inside" in compiled
    assert cached == []
    assert run(statement, root, tmp_path) == [[[-2.0]], [], ["scfg_sampler.core.forests.semiring._inside"]]


def test_compiling_is_noticed(root):
    """Planted fault: a function that is not cached, called from Python."""
    statement = """
        import numpy as np
        from scfg_sampler.core import draws
        result = draws.uniform_index(np.random.default_rng(1), 1)
    """
    assert run(statement, root) == [0, ["scfg_sampler.core.draws.uniform_index"], []]


def test_cache_directory_falls_back_when_its_place_cannot_be_written(tmp_path, root):
    blocked = tmp_path / "file"
    blocked.write_text("")
    statement = """
        import os
        os.environ["XDG_CACHE_HOME"] = os.environ["SCFG_SAMPLER_CACHE"]
        from scfg_sampler.core.jit import cache_directory
        directory = cache_directory("scfg_sampler.core.draws")
        result = [str(directory), os.access(directory, os.W_OK)]
    """
    (directory, writable), _, _ = run(statement, root, blocked)
    assert writable
    assert not directory.startswith(str(blocked))


# From text to translations, on three sentence pairs.
PIPELINE = """
    import pathlib, sys
    from decoder.cli import main as decoder
    from scfg_sampler.cli import main as sampler

    files = {
        "source": "das haus\\ndas kleine haus\\nein haus\\n",
        "target": "the house\\nthe small house\\na house\\n",
        "alignment": "0-0 1-1\\n0-0 1-1 2-2\\n0-0 1-1\\n",
    }
    for name, text in files.items():
        pathlib.Path(name).write_text(text)
    sys.stdin = open("target")  # What query-lm reads.
    corpus = ["--source", "source", "--target", "target", "--alignment", "alignment", "--quiet"]
    search = ["--grammar", "sampled.gz", "--lm", "lm.arpa", "--quiet"]
    result = [
        sampler(["sample", *corpus, "--output", "run", "--iterations", "3"]),
        sampler(["resume", "run", "--iterations", "4", "--quiet"]),
        sampler(["grammar", "run", "--output", "sampled.gz", "--quiet"]),
        sampler(["extract", *corpus, "--output", "extracted.gz"]),
        sampler(["filter", "extracted.gz", "--source", "source", "--output", "filtered.gz", "--quiet"]),
        sampler(["forest", *corpus, "--output", "forests"]),
        decoder(["train-lm", "target", "--order", "2", "--output", "lm.arpa", "--quiet"]),
        decoder(["query-lm", "lm.arpa", "--quiet"]),
        decoder(["tune", *search, "--source", "source", "--references", "target", "--output", "tuned"]),
        decoder(["translate", *search, "--weights", "tuned", "--nbest", "2", "--input", "source",
                 "--output", "translations"]),
    ]
"""


def test_second_run_of_every_command_compiles_nothing(root, tmp_path):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        result, compiled, cached = run(PIPELINE, root, cwd=tmp_path / place)
        assert set(result) == {0}, result
    assert compiled == []
    for kernel in (
        "scfg_sampler.learner.passes",
        "scfg_sampler.core.arrays.ragged",
        "decoder.search.boundary",
        "decoder.lm.text_blocks",
    ):
        assert any(name.startswith(kernel + ".") for name in cached), (kernel, cached)
