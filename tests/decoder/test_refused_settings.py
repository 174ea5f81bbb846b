"""Settings that cannot be are refused before grammars and language models are read, which may take long."""

import os

import pytest

from decoder.cli import main
from decoder.translation.settings import SearchDefaults, check_search_settings
from scfg_sampler.errors import SettingsError


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


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--seed", "-1", "--seed is -1; it must be at least 0"),
        ("--l2", "-1", "--l2 is -1.0; it is at least 0, and finite"),
        ("--candidates", "10000001", "--candidates is 10000001; it is at most 10000000"),
    ],
)
def test_numbers_that_no_tuning_can_have_are_refused_in_one_line(option, value, told, tmp_path, capsys):
    absent = str(tmp_path / "absent")
    command = ["tune", "--grammar", absent, "--lm", absent, "--source", absent, "--references", absent]
    assert main([*command, "--output", absent, "--method", "pro", option, value]) == 2
    assert capsys.readouterr().err == f"scfg-decoder: {told}\n"


@pytest.mark.parametrize("widen", [-1.0, float("nan"), float("inf")])
def test_a_search_is_widened_by_a_number(widen):
    with pytest.raises(SettingsError, match=f"--widen is {widen}; it is "):
        check_search_settings(SearchDefaults(widen=widen))


@pytest.mark.parametrize(
    ("options", "idle"),
    [
        (["--candidates", "9"], "--candidates does nothing with --method mira"),
        (["--kept", "9"], "--kept does nothing with --method mira"),
        (["--threshold", "0.1"], "--threshold does nothing with --method mira"),
        (["--l2", "2"], "--l2 does nothing with --method mira"),
        (["--plain-brevity"], "--plain-brevity does nothing with --method mira"),
        (["--chrf-beta", "1"], "--chrf-beta does nothing without --metric chrf"),
        (["--method", "pro", "--passes", "9"], "--passes does nothing with --method pro"),
        (["--metric", "chrf", "--largest-step", "9"], "--largest-step does nothing with --method pro"),
        (["--metric", "exact", "--plain-brevity"], "--plain-brevity does nothing with --metric exact"),
        (["--metric", "chrf", "--chrf-beta", "1", "--kept", "9"], ""),
        (["--method", "pro", "--plain-brevity", "--l2", "2"], ""),
        (["--seed", "2", "--passes", "9", "--candidates", "5000"], ""),
    ],
)
def test_options_that_do_nothing_with_a_method_or_a_metric_are_warned_of(options, idle, tmp_path, capsys):
    absent = str(tmp_path / "absent")
    command = ["tune", "--grammar", absent, "--lm", absent, "--source", absent, "--references", absent]
    assert main([*command, "--output", absent, *options]) == 2
    warnings = capsys.readouterr().err.splitlines()[:-1]
    assert warnings == ([f"warning: {idle}"] if idle else [])


def test_development_sets_without_words_are_refused_before_models_are_read(tmp_path, capsys):
    absent, words, empty = (str(tmp_path / name) for name in ("absent", "words", "empty"))
    (tmp_path / "words").write_text("a b\n\n")
    (tmp_path / "empty").write_text("\n \n")
    for source, references in ((words, [empty, empty]), (empty, [words])):
        command = ["tune", "--grammar", absent, "--lm", absent, "--source", source, "--output", absent]
        assert main([*command, "--references", *references]) == 2
        wrong = ", ".join(references) if source == words else source
        assert f"{wrong}: has no words. Tuning needs sentences and" in capsys.readouterr().err


def test_rounds_are_not_kept_beside_standard_output(tmp_path, monkeypatch, capsys):
    """A name of `-.state` would be no help to anyone."""
    monkeypatch.chdir(tmp_path)
    command = ["tune", "--grammar", "g", "--lm", "l", "--source", "s", "--references", "r", "--output", "-"]
    assert main(command) == 2
    told = "scfg-decoder: --output is -, but rounds are kept beside the weights; name a file for them\n"
    assert capsys.readouterr().err == told
    assert not any(tmp_path.iterdir())
    (tmp_path / "null").symlink_to(os.devnull)
    assert main([*command[:-1], "null"]) == 2
    assert capsys.readouterr().err == told.replace("is -", "is null")
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--not-unique"], "--not-unique is of lists; give --nbest beside it"),
        (["--mbr", "--not-unique"], "--not-unique is of lists; give --nbest beside it"),
        (["--mbr-scale", "0.5"], "--mbr-scale goes with --mbr"),
        (["--nbest", "5", "--mbr-scale", "0.5"], "--mbr-scale goes with --mbr"),
    ],
)
def test_options_that_would_do_nothing_are_refused(options, said, capsys):
    models = ["--grammar", "absent", "--lm", "absent", "--weights", "absent"]
    assert main(["translate", *models, "--input", __file__, *options]) == 2
    assert capsys.readouterr().err == f"scfg-decoder: {said}\n"
