"""Arguments of the functions for notebooks that cannot be: a TypeError or ValueError that names them."""

import math

import pytest

import scfg_sampler
from scfg_sampler.errors import SettingsError

PAIRS = [("a b", "c d", "0-0 1-1"), ("a", "c", "0-0")]


@pytest.mark.parametrize(
    ("pairs", "kind", "complaint"),
    [
        ([("a", "b")], ValueError, "pair 1 has 2 parts; give three strings"),
        ([PAIRS[0], "ab"], TypeError, "pair 2 is a str; give three strings"),
        ([(["a"], "b", "0-0")], TypeError, "the source of pair 1 is a list; give a string"),
        ([("a", None, "0-0")], TypeError, "the target of pair 1 is a NoneType"),
        (
            [("a", "b", [(0, 0)])],
            TypeError,
            "the alignment of pair 1 is a list; give a string such as",
        ),
    ],
)
def test_pairs_that_are_not_three_strings_are_refused(pairs, kind, complaint):
    with pytest.raises(kind, match=complaint):
        scfg_sampler.make_corpus(pairs)


@pytest.mark.parametrize(
    ("arguments", "kind", "complaint"),
    [
        ({"discount": 1.5}, ValueError, "^discount is 1.5; "),
        ({"discount": math.nan}, ValueError, "^discount is nan; "),
        ({"strength": math.inf}, ValueError, "^strength is inf; "),
        ({"max_length": 0}, ValueError, "^max_length is 0; "),
        ({"chains": 0}, ValueError, "^chains is 0; "),
        ({"iterations": "ten"}, TypeError, "iterations is a str; give a whole number"),
        ({"iteratoins": 10}, ValueError, "there is no setting 'iteratoins'"),
        ({"corpus": PAIRS}, TypeError, "corpus is a list; give a Corpus"),
    ],
)
def test_a_refused_sample_names_the_argument_and_leaves_nothing(tmp_path, arguments, kind, complaint):
    given = {"corpus": scfg_sampler.make_corpus(PAIRS), **arguments}
    with pytest.raises(kind, match=complaint) as refusal:
        scfg_sampler.sample(directory=tmp_path / "run", **given)
    assert "--" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "run").exists()
    if kind is ValueError:
        assert isinstance(refusal.value, SettingsError)


def test_a_directory_that_was_there_stays(tmp_path):
    (tmp_path / "note").write_text("mine")
    with pytest.raises(ValueError, match="strength is -1"):
        scfg_sampler.sample(scfg_sampler.make_corpus(PAIRS), tmp_path, strength=-1.0)
    assert (tmp_path / "note").read_text() == "mine"


def test_settings_of_the_baseline_are_arguments_too():
    corpus = scfg_sampler.make_corpus(PAIRS)
    with pytest.raises(ValueError, match=r"^max_symbols is 0, but must be between"):
        scfg_sampler.extract_rules(corpus, max_symbols=0)
    with pytest.raises(TypeError, match="corpus is a str"):
        scfg_sampler.extract_rules("corpus")
    rules = scfg_sampler.extract_rules(corpus)
    with pytest.raises(TypeError, match="source is a list; give a string"):
        rules.find(["a"])
    with pytest.raises(ValueError, match="by is 'Nothing'"):
        rules.best(by="Nothing")


def test_a_string_is_no_list_of_words():
    from tests.decoder.tuning.test_tune import decoder

    with pytest.raises(TypeError, match="words is a string; give a list of words"):
        decoder().translate("u v")
