"""A second run of the commands of `ot` compiles nothing."""

from __future__ import annotations

import pytest

from scfg_sampler.core import jit
from tests.test_kernel_cache import run

pytestmark = pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")

COMMANDS = """
    import pathlib
    from monolingual.cli import main
    pathlib.Path("t.tsv").write_text(
        "input\\toutput\\tfrequency\\tA\\tB\\tC\\nx\\ta\\t3\\t0\\t1\\t1\\nx\\tb\\t2\\t1\\t0\\t2\\nx\\tc\\t1\\t2\\t2\\t0\\n"
    )
    small = ["--iterations", "12", "--chains", "2", "--pilot", "8", "--quiet"]
    result = [
        main(["ot", "sample", "t.tsv", "--output", "run", *small]),
        main(["ot", "sample", "t.tsv", "--output", "more", "--learn-variances", "--prior", "*=0:2", *small]),
        main(["ot", "resume", "run", "--iterations", "15", "--quiet"]),
        main(["ot", "fit", "t.tsv", "--output", "ml", "--restarts", "2", "--quiet"]),
        main(["ot", "gla", "t.tsv", "--output", "gla", "--trials", "20", "--seeds", "2", "--quiet"]),
        main(["ot", "gla", "t.tsv", "--model", "hg", "--trials", "20", "--seeds", "2", "--quiet"]),
        main(["ot", "maxent", "t.tsv", "--output", "maxent", "--quiet"]),
    ]
"""


def test_second_run_of_every_command_compiles_nothing(root, tmp_path):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        result, compiled, cached = run(COMMANDS, root, cwd=tmp_path / place)
        assert set(result) == {0}, result
    assert compiled == []
    for kernel in ("moves.sweep", "collapsed.collapsed_moves", "quadrature.ordering_probs", "gla._learn"):
        assert f"monolingual.ot.{kernel}" in cached
