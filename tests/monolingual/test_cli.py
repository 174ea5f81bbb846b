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


@pytest.mark.parametrize("arguments", [[], *([model] for model in MODELS)])
def test_without_model_or_command_it_shows_what_there_is(arguments, capsys):
    with pytest.raises(SystemExit) as status:
        main(arguments)
    assert status.value.code == 0
    assert capsys.readouterr().out.startswith(" ".join(["usage: scfg-monolingual", *arguments]))


@pytest.mark.parametrize("arguments", [["frob"], *([model, "frob"] for model in MODELS)])
def test_unknown_model_or_command_is_refused_with_what_to_try(arguments, capsys):
    with pytest.raises(SystemExit) as status:
        main(arguments)
    assert status.value.code == 2
    assert "there is no command 'frob'" in (said := capsys.readouterr().err)
    assert "--help" in said
