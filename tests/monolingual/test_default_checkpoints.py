"""Unasked, `pcfg sample` and `dmv train` have a checkpoint before their first sweep, and resume."""

from __future__ import annotations

import gzip

import pytest

from monolingual.cli import main
from scfg_sampler.core.chains import driver

RUNS = {
    "pcfg": (
        "pcfg sample grammar --sentences sentences --approach sink --prior 1 --iterations 40 --chains 2 "
        "--output run --quiet",
        "run/checkpoint.1.npz",
        "pcfg resume run --quiet",
        "run/trees.txt.gz",
    ),
    "dmv": (
        "dmv train tags.txt --method gibbs --iterations 12 --output model --quiet",
        "model.checkpoint.npz",
        "dmv resume model --quiet",
        "model",
    ),
}


class Killed(Exception):
    """As if the process had ended there: nobody tidies up."""


@pytest.mark.parametrize("name", RUNS)
def test_what_is_killed_without_any_option_goes_on(tmp_path, monkeypatch, name):
    start, checkpoint, resume, result = RUNS[name]
    (tmp_path / "grammar").write_text("S -> S S [0.4] | 'a' [0.6]\n")
    (tmp_path / "sentences").write_text("a a a\na a\n")
    (tmp_path / "tags.txt").write_text("DT NN VB\t2 3 0\tthe dog barks\nNN VB\t2 0\tdogs bark\n")
    monkeypatch.chdir(tmp_path)

    def contents() -> bytes:
        whole = (tmp_path / result).read_bytes()
        return gzip.decompress(whole) if result.endswith(".gz") else whole

    assert main(start.split()) == 0
    whole = contents()
    (tmp_path / result).unlink()
    real = driver.run_chain

    def some(*arguments, **more):
        assert (tmp_path / checkpoint).exists()
        yield next(real(*arguments, **more))
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(driver, "run_chain", some)
        with pytest.raises(Killed):
            main([*start.split(), "--overwrite"])
    assert (tmp_path / checkpoint).exists()
    assert main(resume.split()) == 0
    assert contents() == whole
