"""Settings that cannot be are refused before grammars and language models are read, which may take long."""

import pytest

from decoder.cli import main


@pytest.mark.parametrize("option", ["--beam", "--max-targets", "--widen"])
def test_a_search_that_cannot_be_is_refused_before_anything_is_read(option, tmp_path, capsys):
    absent = str(tmp_path / "absent")
    inputs = ["--grammar", absent, "--lm", absent]
    translate = ["translate", *inputs, "--weights", absent, "--input", __file__]
    tune = ["tune", *inputs, "--source", absent, "--references", absent, "--output", absent]
    for command in (translate, tune):
        assert main([*command, option, "-1"]) == 2
        assert f": {option} is -1" in capsys.readouterr().err


def test_tuning_that_cannot_be_is_refused_before_anything_is_read(tmp_path, capsys):
    absent = str(tmp_path / "absent")
    command = ["tune", "--grammar", absent, "--lm", absent, "--source", absent, "--references", absent]
    assert main([*command, "--output", absent, "--nbest", "1"]) == 2
    assert ": --nbest is 1; it is at least 2" in capsys.readouterr().err
