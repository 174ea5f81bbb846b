"""The command line of the monolingual models."""

from __future__ import annotations

import pytest

from monolingual.cli import MODELS, main


def test_help_and_version_work(capsys):
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as status:
            main([option])
        assert status.value.code == 0
    assert "scfg-monolingual" in capsys.readouterr().out


@pytest.mark.skipif(bool(MODELS), reason="there are models")
def test_without_models_it_says_so(capsys):
    assert main([]) == 2
    assert "has no model yet" in capsys.readouterr().err
