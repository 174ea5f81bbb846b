"""Evaluation is sacrebleu's."""

import itertools
import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from decoder.cli import main
from decoder.scoring.evaluate import compare, compare_tunings, corpus_bleu, evaluate, read_references
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


def test_intervals_are_found_where_samples_may_have_nothing_to_count():
    """Of two lines, a quarter of the samples have the empty one twice, for which there is no ratio."""
    found = evaluate(["a b c d", ""], [["a b c e", ""]], samples=50)
    assert {name: score["score"] for name, score in found.items()}["ter"] == 25.0
    assert found["ter"]["confidence_mean"] == pytest.approx(25.0 * 0.75, abs=5.0)
    assert found["chrf"]["confidence_var"] > 0.0


def test_bleu_of_sums_by_hand():
    """Five words against seven: 4, 3, 2 and 1 n-grams of 5, 4, 3 and 2 match."""
    precision = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    expected = 100 * math.exp(1 - 7 / 5) * precision
    assert corpus_bleu([5, 7, 4, 3, 2, 1, 5, 4, 3, 2]) == pytest.approx(expected)


def test_tokenizer_can_be_chosen_and_is_in_the_signature():
    found = evaluate(HYPOTHESES, [REFERENCES], tokenize="13a", metrics=["bleu"])
    assert list(found) == ["bleu"]
    assert "tok:13a" in found["bleu"]["signature"]


@pytest.mark.parametrize("metrics", [["exact"], ["ter", "chrf"]])
def test_tokenizer_without_a_metric_that_takes_it_is_refused(metrics):
    told = f"--tokenize 13a is for BLEU, which is not among --metrics {' '.join(metrics)}; leave it out"
    with pytest.raises(SettingsError, match=re.escape(told)):
        evaluate(HYPOTHESES, [REFERENCES], tokenize="13a", metrics=metrics)
    assert list(evaluate(HYPOTHESES, [REFERENCES], metrics=metrics)) == metrics
    both = evaluate(HYPOTHESES, [REFERENCES], tokenize="13a", metrics=[*metrics, "bleu"])
    assert "tok:13a" in both["bleu"]["signature"]


def test_empty_lines_of_later_references_are_no_references(tmp_path):
    for name, lines in {"0": ["", "a b"], "1": ["", "a c"], "2": ["a", ""]}.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    found = read_references([tmp_path / name for name in "012"], 2, "h")
    assert found == [["", "a b"], [None, "a c"], ["a", None]]
    assert "nrefs:2" in evaluate(["a", "a c"], found, metrics=["bleu"])["bleu"]["signature"]


def test_intervals_hold_the_scores_of_most_samples():
    """Against samples drawn here: 2.5 % of a thousand lie outside on either side, give or take 1.5 %."""
    rng = np.random.default_rng(1)
    hypotheses = [" ".join(rng.choice(list("abcd"), 8)) for _ in range(60)]
    references = [
        [" ".join(rng.choice(line.split(), 8)) if k % 2 else line for k, line in enumerate(hypotheses)]
    ]
    found = evaluate(hypotheses, references, metrics=["bleu"], samples=1000, seed=3)["bleu"]
    drawn = []
    for _ in range(1000):
        rows = rng.integers(60, size=60)
        texts = [hypotheses[row] for row in rows], [[references[0][row] for row in rows]]
        drawn.append(evaluate(*texts, metrics=["bleu"])["bleu"]["score"])
    low, high = (found["confidence_mean"] + side * found["confidence_var"] for side in (-1, 1))
    assert 0.01 < np.mean(np.array(drawn) < low) < 0.04
    assert 0.01 < np.mean(np.array(drawn) > high) < 0.04
    assert found["score"] == evaluate(hypotheses, references, metrics=["bleu"])["bleu"]["score"]


def test_intervals_depend_on_their_seed_alone(tmp_path, capsys):
    (tmp_path / "out").write_text("a b c d e\nx y\n" * 5)
    (tmp_path / "ref").write_text("a b c d e\nx z\n" * 5)
    arguments = ["evaluate", "--hypothesis", f"{tmp_path}/out", "--references", f"{tmp_path}/ref"]
    arguments += ["--metrics", "chrf", "--intervals", "--samples", "50"]

    def said(*more: str) -> str:
        assert main([*arguments, *more]) == 0
        return capsys.readouterr().out.splitlines()[1]

    assert re.fullmatch(r" +\d+\.\d\d to \d+\.\d\d in 95 % of 50 samples", said())
    assert said() == said() != said("--seed", "2")
    assert main([*arguments, "--hypothesis", f"{tmp_path}/ref"]) == 2
    assert "--intervals is for one --hypothesis" in capsys.readouterr().err


def test_better_translations_have_a_positive_difference():
    found = compare(OTHERS * 30, HYPOTHESES * 30, [REFERENCES * 30], metrics=["bleu", "ter"], samples=100)
    assert found["bleu"].difference > 0
    assert found["ter"].difference < 0
    assert found["bleu"].p_value < 0.05


def test_a_comparison_tells_the_samples_and_the_seed_it_was_made_with(tmp_path, capsys):
    (tmp_path / "out").write_text("a b c d e\nx y\n" * 5)
    (tmp_path / "ref").write_text("a b c d e\nx z\n" * 5)
    arguments = ["evaluate", "--hypothesis", f"{tmp_path}/out", "--against", f"{tmp_path}/ref"]
    arguments += ["--references", f"{tmp_path}/ref", "--metrics", "exact"]
    assert main([*arguments, "--samples", "70", "--seed", "3"]) == 0
    told = capsys.readouterr().out.splitlines()[1]
    assert re.fullmatch(
        r" +-50\.00  against 100\.00, p = 0\.\d{4} \(paired bootstrap, 70 samples, seed 3\)", told
    )


def test_bootstrap_depends_on_its_seed_alone():
    arguments = (HYPOTHESES * 3 + OTHERS, OTHERS + HYPOTHESES * 3, [REFERENCES[::-1] + REFERENCES * 3])
    one, again, other = (compare(*arguments, metrics=["bleu"], samples=50, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one["bleu"].difference == other["bleu"].difference
    assert one["bleu"].p_value != other["bleu"].p_value
    assert "SACREBLEU_SEED" not in os.environ


def mean_bleu(texts, times):
    """Mean BLEU of texts whose sentences are repeated so often."""
    references = [line for line, n in zip(REFERENCES, times, strict=True) for _ in range(n)]
    metric = sacrebleu.metrics.BLEU(tokenize="none", force=True)
    repeated = [[line for line, n in zip(text, times, strict=True) for _ in range(n)] for text in texts]
    return np.mean([metric.corpus_score(text, [references]).score for text in repeated])


def test_p_of_tunings_is_that_of_all_samples_there_are():
    """Four sentences have 35 multisets of four, and two outputs four ordered samples of two."""
    ours, theirs = [OTHERS, HYPOTHESES], [HYPOTHESES[::-1], HYPOTHESES]
    difference = mean_bleu(ours, [1] * 4) - mean_bleu(theirs, [1] * 4)
    share = 0.0
    for sample in itertools.product(range(4), repeat=4):
        times = [sample.count(k) for k in range(4)]
        for one in itertools.product(ours, repeat=2):
            for other in itertools.product(theirs, repeat=2):
                drawn = mean_bleu(one, times) - mean_bleu(other, times)
                share += (abs(drawn - difference) >= abs(difference) - 1e-9) / 4**4 / 4 / 4
    found = compare_tunings(ours, theirs, [REFERENCES], metrics=["bleu"], samples=4000)["bleu"]
    assert found.difference == pytest.approx(difference)
    assert 0.05 < share < 0.95
    assert found.p_value == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 4000))


def test_systems_are_compared_on_the_same_sentences():
    """Four of forty sentences differ: what the others lose or gain in a sample, both systems do."""
    ours, references = OTHERS * 10, [REFERENCES * 10]
    theirs = (["a dog", *OTHERS[1:]]) * 4 + OTHERS * 6
    found = compare_tunings([ours], [theirs], references, metrics=["bleu"], samples=400)["bleu"]
    assert found.p_value < 0.06
    assert compare_tunings([ours], [HYPOTHESES * 10], references, metrics=["bleu"], samples=400)[
        "bleu"
    ].p_value == pytest.approx(1 / 401)


def test_tunings_that_differ_weaken_the_evidence():
    better, worse = OTHERS * 5 + HYPOTHESES * 10, HYPOTHESES * 15
    references = [REFERENCES * 15]
    options = {"metrics": ["bleu", "ter"], "samples": 400}
    alike = compare_tunings([better] * 2, [worse] * 2, references, **options)
    mixed = compare_tunings([OTHERS * 10 + HYPOTHESES * 5, worse], [worse] * 2, references, **options)
    assert alike["bleu"].p_value < mixed["bleu"].p_value
    assert alike["ter"].difference < 0 < alike["bleu"].difference
    assert compare_tunings([worse], [worse], references, **options)["bleu"] == (0.0, 1.0)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (OTHERS, OTHERS),
        (HYPOTHESES, HYPOTHESES),
        # Other words, none of them right.
        (["x x", "y", "z z z", "w"], ["u u", "v", "u u u", "v"]),
        # BLEU is 0 in every sample, though lengths differ.
        (["x x x x x x x x", "y", "z z z", "w"], ["u u u u u", "v v", "u", "v v v v v v"]),
    ],
)
def test_outputs_that_no_sample_tells_apart_have_p_1(ours, theirs):
    texts = {"bleu": (ours, theirs), "ter": (OTHERS, OTHERS), "chrf": (OTHERS, OTHERS)}
    for name, (one, other) in texts.items():
        assert compare(one, other, [REFERENCES], metrics=[name], samples=50)[name] == (0.0, 1.0)


def test_equal_scores_that_samples_tell_apart_have_another_p():
    """Each is better on one sentence, by as much."""
    references = [["a b c d e", "f g h i j"] * 10]
    ours, theirs = ["a b c d e", "f g h i x"] * 10, ["a b c d x", "f g h i j"] * 10
    found = compare(ours, theirs, references, metrics=["bleu"], samples=400)["bleu"]
    assert found.difference == 0.0
    assert 0.05 < found.p_value < 0.95


@pytest.mark.parametrize(("number", "others"), [(1, 3), (3, 1), (3, 2), (2, 7)])
def test_equal_tunings_have_p_1(number, others):
    """Means of so many equal scores differ in their last digits."""
    for text in (OTHERS, HYPOTHESES, HYPOTHESES[::-1]):
        found = compare_tunings([text] * number, [text] * others, [REFERENCES], samples=50)
        assert set(found.values()) == {(0.0, 1.0)}


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


@pytest.mark.parametrize("options", [{"samples": 1}, {"samples": 10**11}, {"seed": -1}, {"seed": 2**32}])
def test_impossible_bootstraps_are_refused(options):
    with pytest.raises(SettingsError, match=f"--{next(iter(options))} is"):
        compare(OTHERS, HYPOTHESES, [REFERENCES], **options)
    with pytest.raises(SettingsError, match=f"--{next(iter(options))} is"):
        compare_tunings([OTHERS], [HYPOTHESES], [REFERENCES], **options)


def test_exact_match_is_the_share_of_lines_that_are_a_reference(tmp_path, capsys):
    ours, theirs = ["a@1  b@0", "c@0", "", "d@0"], ["a@1 b@0", "x@0", "y@0", "d"]
    references = [["a@1 b@0", "z@0", "y@0", ""], [None, "c@0", "q@0", "d@0"]]
    found = evaluate(ours, references, metrics=["exact"])["exact"]
    assert (found["name"], found["score"]) == ("exact", 75.0)
    assert found["signature"].startswith("nrefs:var|version:")
    assert evaluate(theirs, references, metrics=["exact"])["exact"]["score"] == 50.0
    # Words are what stands between spaces and tabs, as everywhere here.
    assert evaluate(["a\u00a0b", "a\tb"], [["a b", "a b"]], metrics=["exact"])["exact"]["score"] == 50.0
    for lines, name in ((ours, "h"), (theirs, "o"), (["" if x is None else x for x in references[0]], "r")):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    given = ["--hypothesis", f"{tmp_path}/h", "--references", f"{tmp_path}/r", "--metrics", "exact"]
    assert main(["evaluate", *given, "--against", f"{tmp_path}/o"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"exact +25\.00  nrefs:1\|version:\S+", said[0])
    assert re.match(r" +-25\.00  against 50\.00, p = 0\.\d+ \(paired bootstrap", said[1])


def test_help_says_of_what_samples_and_seeds_are(tmp_path, capsys):
    """Without a bootstrap they change nothing, and nothing is said of them."""
    given = [str(tmp_path / "h"), "--references", str(tmp_path / "r")]
    for path, lines in ((given[0], HYPOTHESES), (given[2], REFERENCES)):
        Path(path).write_text("".join(f"{line}\n" for line in lines))
    printed = []
    for more in ([], ["--samples", "7", "--seed", "3"]):
        assert main(["evaluate", "--hypothesis", *given, *more]) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1]
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for begin in ("--samples N samples", "--seed N"):
        assert f"{begin} of the bootstrap, for --against and --intervals" in text


def test_intervals_end_where_scores_do(tmp_path, capsys):
    """Of eight lines six are right; half of the interval's length is about 30."""
    for name, lines in (("h", ["a"] * 6 + ["b"] * 2), ("r", ["a"] * 8)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    given = ["--hypothesis", f"{tmp_path}/h", "--references", f"{tmp_path}/r", "--metrics", "exact"]
    assert main(["evaluate", *given, "--intervals"]) == 0
    low, high = re.search(r"([\d.]+) to ([\d.]+) in 95 %", capsys.readouterr().out).groups()
    assert 20 < float(low) < 70
    assert high == "100.00"


def test_p_of_exact_match_is_that_of_all_samples_there_are():
    """Three lines of four only ours has right: D is 75, and a sample's is 25 × how many of them it draws."""
    found = compare_tunings([["a", "a", "a", "b"]], [["b"] * 4], [["a"] * 4], metrics=["exact"], samples=4000)
    shares = [sum(line < 3 for line in drawn) for drawn in itertools.product(range(4), repeat=4)]
    extreme = sum(abs(share - 3) >= 3 for share in shares) / len(shares)
    assert found["exact"].difference == 75.0
    assert found["exact"].p_value == pytest.approx(extreme, abs=0.01)


def test_differences_as_large_as_the_one_found_count_however_means_are_rounded():
    """Shares of lines are added up in whole numbers: sixths of a line, of three tunings against two."""
    rows = ["101011", "011101", "101111", "110110", "000110"]
    right = np.array([list(map(int, row)) for row in rows])
    texts = [["r" if is_right else "x" for is_right in row] for row in right]
    options = {"metrics": ["exact"], "samples": 300, "seed": 3}
    found = compare_tunings(texts[:3], texts[3:], [["r"] * 6], **options)

    def sixths(ours, theirs):
        return 2 * int(sum(ours)) - 3 * int(sum(theirs))

    difference = sixths(*np.split(right.sum(axis=1), [3]))
    drawn, extreme = np.random.default_rng(3), 0
    for _ in range(300):
        times = np.bincount(drawn.integers(6, size=6), minlength=6)
        parts = np.split(right @ times, [3])
        other = sixths(*(drawn.choice(part, len(part)) for part in parts))
        extreme += abs(other - difference) >= abs(difference)
    assert found["exact"].p_value == (1 + extreme) / 301


def test_interval_of_a_score_of_0_is_0(tmp_path, capsys):
    """TER of what is all right, and BLEU where no four words are; sacrebleu says nothing then."""
    text = str(tmp_path / "text")
    Path(text).write_text("a b\nc\n", encoding="utf-8")
    given = [
        "evaluate",
        "--hypothesis",
        text,
        "--references",
        text,
        "--metrics",
        "ter",
        "bleu",
        "--intervals",
    ]
    assert main(given) == 0
    assert capsys.readouterr().out.count("0.00 to 0.00 in 95 %") == 2
    assert main([*given, "--json"]) == 0
    for score in json.loads(capsys.readouterr().out).values():
        assert (score["score"], score["confidence_mean"], score["confidence_var"]) == (0.0, 0.0, 0.0)
