"""Evaluation is sacrebleu's."""

import os

import pytest
import sacrebleu

from decoder.evaluate import compare, evaluate, read_references
from scfg_sampler.errors import InputError, SettingsError

HYPOTHESES = ["the cat sat on the mat .", "a dog", "it is it is", ""]
REFERENCES = ["the cat sat on a mat .", "a big dog barks", "it is what it is", "nothing at all"]
OTHERS = ["the cat sat on a mat .", "a big dog", "it is what", "nothing"]


def test_scores_and_signatures_are_those_of_sacrebleu():
    found = evaluate(HYPOTHESES, [REFERENCES])
    bleu = sacrebleu.metrics.BLEU(tokenize="none", force=True)
    assert found["bleu"]["score"] == pytest.approx(
        bleu.corpus_score(HYPOTHESES, [REFERENCES]).score, abs=0.05
    )
    assert "tok:none" in found["bleu"]["signature"]
    assert found["bleu"]["name"] == "BLEU"
    assert found["chrf"]["score"] == pytest.approx(
        sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score, abs=0.05
    )
    assert found["ter"]["score"] == pytest.approx(
        sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score, abs=0.05
    )


def test_tokenizer_can_be_chosen_and_is_in_the_signature():
    found = evaluate(HYPOTHESES, [REFERENCES], tokenize="13a", metrics=["bleu"])
    assert list(found) == ["bleu"]
    assert "tok:13a" in found["bleu"]["signature"]


def test_empty_lines_of_later_references_are_no_references(tmp_path):
    for name, lines in {"0": ["", "a b"], "1": ["", "a c"], "2": ["a", ""]}.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    found = read_references([tmp_path / name for name in "012"], 2, "h")
    assert found == [["", "a b"], [None, "a c"], ["a", None]]
    assert "nrefs:2" in evaluate(["a", "a c"], found, metrics=["bleu"])["bleu"]["signature"]


def test_better_translations_have_a_positive_difference():
    found = compare(OTHERS * 30, HYPOTHESES * 30, [REFERENCES * 30], metrics=["bleu", "ter"], samples=100)
    assert found["bleu"].difference > 0
    assert found["ter"].difference < 0
    assert found["bleu"].p_value < 0.05


def test_bootstrap_depends_on_its_seed_alone():
    arguments = (HYPOTHESES * 3 + OTHERS, OTHERS + HYPOTHESES * 3, [REFERENCES[::-1] + REFERENCES * 3])
    one, again, other = (compare(*arguments, metrics=["bleu"], samples=50, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one["bleu"].difference == other["bleu"].difference
    assert one["bleu"].p_value != other["bleu"].p_value
    assert "SACREBLEU_SEED" not in os.environ


def test_texts_of_different_lengths_are_refused(tmp_path):
    (tmp_path / "ref").write_text("a\nb\n")
    with pytest.raises(InputError, match="ref: has 2 lines, but hyp has 3"):
        read_references([tmp_path / "ref"], 3, "hyp")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [(([], [[]]), {}), ((["a"], [["a"]]), {"tokenize": "x"}), ((["a"], [["a"]]), {"metrics": ["x"]})],
)
def test_impossible_settings_are_refused(arguments, options):
    with pytest.raises(SettingsError):
        evaluate(*arguments, **options)
