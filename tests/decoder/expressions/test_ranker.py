"""Rankers: weights against another minimiser, parts kept apart, files, and the commands."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from decoder.cli import main
from decoder.expressions.lists import list_lines, read_lists, read_ranker, write_ranker
from decoder.expressions.pieces import beginnings, letter_pairs
from decoder.expressions.ranker import (
    WORD_FEATURES,
    Candidate,
    Ranker,
    best_candidate,
    candidate_scores,
    train_ranker,
)
from decoder.expressions.word_model import pairs_of, symbols_of, train_word_model, word_log_probs
from decoder.expressions.word_rates import rate_log_probs, train_rate_model
from decoder.expressions.words import numbered_symbols, sums_of_log_odds, train_symbol_model
from scfg_sampler.errors import InputError

PAIRS = [
    ("rivers in ohio", "a@1 r@1 'o'@0"),
    ("largest river in ohio", "a@1 l@1 r@1 'o'@0"),
    ("states", "a@1 s@0"),
    ("largest state", "a@1 l@1 s@0"),
    ("rivers of ohio", "a@1 r@1 'o'@0"),
    ("the largest river", "a@1 l@1 r@1 'o'@0"),
    ("name all states", "a@1 s@0"),
]
SOURCES, TREES = ([text.split() for text in side] for side in zip(*PAIRS, strict=True))
NAMES = {"ohio": "st@1"}
MODELS = (
    (list, symbols_of, train_word_model, word_log_probs),
    (list, pairs_of, train_word_model, word_log_probs),
    (list, symbols_of, train_rate_model, rate_log_probs),
    (list, pairs_of, train_rate_model, rate_log_probs),
    (beginnings, symbols_of, train_rate_model, rate_log_probs),
    (beginnings, pairs_of, train_rate_model, rate_log_probs),
    (letter_pairs, symbols_of, train_rate_model, rate_log_probs),
    (letter_pairs, pairs_of, train_rate_model, rate_log_probs),
    (list, numbered_symbols, train_symbol_model, sums_of_log_odds),
)
MARKED = [[{"ohio": "<st@1>"}.get(word, word) for word in words] for words in SOURCES]


def candidates(number: int) -> list[Candidate]:
    """All trees, with features that favour the right one now and then; the list of sentence 6 lacks it."""
    rng = np.random.default_rng(number)
    trees = list(dict.fromkeys(tree for _, tree in PAIRS))
    trees = [tree for tree in trees if number != 6 or tree != PAIRS[6][1]]
    found = []
    for tree in trees:
        bonus = 0.6 * (tree == PAIRS[number][1])
        found.append(Candidate(tree.split(), {"One": float(rng.normal() + bonus), "Same": 2.0}))
    return found


def lists(parts: int) -> list[list[list[Candidate]]]:
    return [[candidates(number) for number in range(part, len(PAIRS), parts)] for part in range(parts)]


def oracle(parts: int) -> np.ndarray:
    """What scipy finds for One, Same and those of words."""
    rows = []
    for number in range(6):
        others = [i for i in range(len(PAIRS)) if (i - number) % parts]
        table = [[*one.features.values()] for one in candidates(number)]
        for pieces, tokens, train, log_probs in MODELS:
            model = train([pieces(MARKED[i]) for i in others], [tokens(TREES[i]) for i in others])
            logs = log_probs(model, pieces(MARKED[number]), [tokens(one.words) for one in candidates(number)])
            table = [[*row, value] for row, value in zip(table, logs, strict=True)]
        right = [one.words == TREES[number] for one in candidates(number)].index(True)
        rows.append([np.subtract(table[right], row) for i, row in enumerate(table) if i != right])
    matrix = np.concatenate(rows)
    scale = np.where(matrix.any(axis=0), np.sqrt((matrix**2).mean(axis=0)), 1.0)

    def loss(weights):
        scores = [np.append(0.0, -(np.array(each) @ weights)) for each in rows]
        return sum(logsumexp(each) for each in scores) + ((weights * scale) ** 2).sum()

    return minimize(loss, np.zeros(2 + len(MODELS)), tol=1e-12).x


@pytest.mark.parametrize("parts", [2, 3])
def test_weights_are_those_of_another_minimiser_on_parts_kept_apart(parts):
    found = train_ranker(SOURCES, TREES, lists(parts), NAMES)
    assert list(found.weights) == ["One", "Same", *WORD_FEATURES]
    assert list(found.weights.values()) == pytest.approx(oracle(parts).tolist(), abs=1e-4)
    assert found.weights["Same"] == 0.0
    for name, (pieces, tokens, train, _) in zip(WORD_FEATURES, MODELS, strict=True):
        assert found.models[name] == train(
            [pieces(words) for words in MARKED], [tokens(tree) for tree in TREES]
        )


def test_words_of_the_question_decide_where_features_do_not():
    learnt = train_ranker(SOURCES, TREES, lists(2), NAMES)
    ranker = learnt._replace(weights={"One": 1.0, **dict.fromkeys(WORD_FEATURES, 1.0)})
    level = [Candidate(tree.split(), {"One": 0.0}) for tree in ("a@1 s@0", "a@1 l@1 s@0", "a@1 r@1 'o'@0")]
    assert best_candidate(ranker, ["largest", "state"], level) == 1
    assert best_candidate(ranker, ["rivers", "in", "ohio"], level) == 2
    assert best_candidate(ranker, ["rivers"], [level[2], level[0]._replace(features={"One": 90.0})]) == 1


def test_without_right_expressions_weights_are_zero():
    wrong = [[[Candidate(["b@0"], {"One": 1.0})]] * 4, [[]] * 3]
    assert set(train_ranker(SOURCES, TREES, wrong, NAMES).weights.values()) == {0.0}


def test_file_and_back(tmp_path):
    ranker = train_ranker(SOURCES, TREES, lists(2), NAMES)
    write_ranker(ranker, tmp_path / "r.json")
    assert read_ranker(tmp_path / "r.json") == ranker


@pytest.mark.parametrize("number", [2, 4])
def test_rankers_that_know_less_of_words_are_read(tmp_path, number):
    """As they were before words in context, and before pieces of words."""
    ranker = train_ranker(SOURCES, TREES, lists(2), NAMES)
    names = WORD_FEATURES[:number]
    weights = {name: ranker.weights[name] for name in ("One", "Same", *names)}
    older = Ranker(weights, NAMES, {name: ranker.models[name] for name in names})
    write_ranker(older, tmp_path / "r.json")
    assert read_ranker(tmp_path / "r.json") == older
    assert candidate_scores(older, ["largest", "state"], candidates(3)) != pytest.approx(
        candidate_scores(ranker, ["largest", "state"], candidates(3)).tolist()
    )


def of_both(model: dict) -> dict:
    return dict.fromkeys(WORD_FEATURES, model)


@pytest.mark.parametrize("weight", [None, float("nan"), True])
def test_log_odds_are_numbers(tmp_path, weight):
    ranker = train_ranker(SOURCES, TREES, lists(2), NAMES)
    models = {**ranker.models, "SymbolsGivenWords": {"a@0": {"x": weight}}}
    write_ranker(ranker._replace(models=models), tmp_path / "r.json")
    with pytest.raises(InputError, match="a damaged ranker"):
        read_ranker(tmp_path / "r.json")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"weights": {"One": 1.0}},
        {"weights": {**dict.fromkeys(WORD_FEATURES, 1.0), "One": None}},
        {"names": 3},
        {"words": {}},
        {"words": of_both({"a": {"": 0.5, " ": 0.5}, "  ": {"": 0.5, " ": 0.5}})},
        {"words": of_both({"": {"x": 0.5, " ": 0.5}, "  ": {"": 0.5, " ": 0.5}})},
        {"words": of_both({"": {"": 0.0, " ": 0.5}, "  ": {"": 0.5, " ": 0.5}})},
        {"words": of_both({"": {"": 0.5}, "  ": {"": 0.5, " ": 0.5}})},
        {"words": of_both({"": {"": 0.5, " ": 0.5}})},
        {"words": {"WordsGivenPairs": {"": {"": 0.5}}}},
        {"words": {"SymbolsGivenWords": {"a@0": {"x": -0.5}}}},
    ],
)
def test_damaged_rankers_are_refused(tmp_path, change):
    path = tmp_path / "r.json"
    write_ranker(train_ranker(SOURCES, TREES, lists(2), NAMES), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=r"r\.json"):
        read_ranker(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a@0\n", "list:1: not a line of a list"),
        ("0 ||| a@0 ||| F=1 ||| 0\n3 ||| a@0 ||| F=1 ||| 0\n", "list:2: sentence 3, but there are 3"),
        ("0 ||| a@0 ||| F=x ||| 0\n", "'F=x' is not Feature=number"),
        ("0 ||| a@0 ||| 1 ||| 0\n", "'1' is not Feature=number"),
        ("0 ||| a@0 ||| F=1 G=2 F=3 ||| 0\n", "two features are called F"),
    ],
)
def test_other_lists_are_refused(tmp_path, text, complaint):
    (tmp_path / "list").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_lists(tmp_path / "list", 3)


@pytest.fixture
def files(tmp_path):
    """Sentences, their trees, a model of expressions, and lists of two parts."""
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in PAIRS))
    (tmp_path / "phrases").write_text("ohio\n")
    (tmp_path / "phrase-trees").write_text("st@1 'o'@0\n")
    for part, found in enumerate(lists(2)):
        with open(tmp_path / f"list{part}", "w") as out:
            for number, each in enumerate(found):
                for one in each:
                    features = " ".join(f"{name}={value}" for name, value in one.features.items())
                    out.write(f"{number} ||| {' '.join(one.words)} ||| {features} ||| 0.5\n")
    return tmp_path


def run(files, *arguments: str) -> int:
    return main([word.replace("@/", f"{files}/") for word in arguments])


def test_commands_learn_and_choose(files, capsys):
    pairs = ("--source", "@/source", "--target", "@/target")
    phrases = ("--phrases", "@/phrases", "--phrase-targets", "@/phrase-trees")
    assert run(files, "train-expressions", *pairs, *phrases, "--output", "@/m.json", "--quiet") == 0
    given = ("--expressions", "@/m.json", "--lists", "@/list0", "@/list1", "--output", "@/r.json")
    assert run(files, "train-ranker", *pairs, *given) == 0
    assert "6 of 7 lists have the right expression" in capsys.readouterr().err
    expected = train_ranker(SOURCES, TREES, lists(2), NAMES)
    assert read_ranker(files / "r.json") == expected
    (files / "new").write_text("largest state\nwhat\n")
    (files / "list").write_text(
        "".join(f"0 ||| {tree} ||| One=0 ||| 0\n" for _, tree in PAIRS) + "1 |||  |||  ||| 0\n"
    )
    assert run(files, "rank", "@/list", "--ranker", "@/r.json", "--source", "@/new", "--output", "@/out") == 0
    level = [Candidate(tree, {"One": 0.0}) for tree in TREES]
    best = level[best_candidate(expected, ["largest", "state"], level)]
    assert (files / "out").read_text() == " ".join(best.words) + "\n\n"
    given = ("rank", "@/list", "--ranker", "@/r.json", "--source", "@/new", "--probabilities")
    assert run(files, *given, "--output", "@/out") == 0
    weights = [math.exp(score) for score in candidate_scores(expected, ["largest", "state"], level)]
    likely = max(weights) / sum(weights)
    assert 0.0 < likely < 1.0
    assert (files / "out").read_text() == f"{likely:.4f}\t{' '.join(best.words)}\n0.0000\t\n"
    one = ("--expressions", "@/m.json", "--lists", "@/list0", "--output", "@/r.json")
    assert run(files, "train-ranker", *pairs, *one) == 2
    assert "--lists has two or more" in capsys.readouterr().err


def write_lists(path, *features: str) -> None:
    """Two sentences, each of whose candidates has these features."""
    values = " ".join(f"{name}=0" for name in features)
    path.write_text("".join(f"{at} ||| {tree} ||| {values} ||| 0\n" for at in (0, 1) for _, tree in PAIRS))


def test_lists_that_are_made_otherwise_are_refused_or_doubted(files, capsys):
    ranker = train_ranker(SOURCES, TREES, lists(2), NAMES)
    weights = dict.fromkeys(("A", "B", "C"), 1.0) | {"Nothing": 0.0} | dict.fromkeys(WORD_FEATURES, 1.0)
    write_ranker(ranker._replace(weights=weights), files / "r.json")
    (files / "new").write_text("what\nwho\n")
    rank = ("rank", "@/list", "--ranker", "@/r.json", "--source", "@/new", "--output", "@/out")
    for features, status, complaint in (
        (("A", "B", "C"), 0, ""),
        (("A", "B", "D"), 0, "lacks 1 of 3 features that the ranker learns of: C"),
        (("A", "D"), 2, "lacks 2 of 3 features that the ranker learns of: B, C"),
    ):
        write_lists(files / "list", *features)
        assert run(files, *rank) == status
        said = capsys.readouterr().err
        assert complaint in said
        assert bool(said) == bool(complaint)


@pytest.mark.parametrize(
    ("sentences", "complaint"),
    [
        (["largest of ohio", *["largest state"] * 10], ""),
        (
            ["rivers in ohio", *["large stat state"] * 6],
            "new: of 21 words, 12 are unknown to the ranker: large, stat. Give",
        ),
        (["largest state state stat"] * 5, "new: of 20 words, 5 are unknown to the ranker: stat. Give"),
        (["largest state stat state"] * 4 + ["largest state"] * 2, ""),
        (["large stat"] * 9, ""),
    ],
)
def test_words_that_are_cut_otherwise_are_told(files, capsys, sentences, complaint):
    write_ranker(train_ranker(SOURCES, TREES, lists(2), NAMES), files / "r.json")
    (files / "new").write_text("".join(sentence + "\n" for sentence in sentences))
    (files / "list").write_text(
        "".join(f"{at} ||| {PAIRS[0][1]} ||| One=0 ||| 0\n" for at in range(len(sentences)))
    )
    assert run(files, "rank", "@/list", "--ranker", "@/r.json", "--source", "@/new", "--output", "@/out") == 0
    said = capsys.readouterr().err
    assert complaint in said
    assert bool(said) == bool(complaint)


def test_lists_of_fewer_sentences_are_refused(files, capsys):
    write_ranker(train_ranker(SOURCES, TREES, lists(2), NAMES), files / "r.json")
    (files / "new").write_text("what\nwho\nwhere\n")
    write_lists(files / "list", "One")
    assert run(files, "rank", "@/list", "--ranker", "@/r.json", "--source", "@/new", "--output", "@/out") == 2
    assert "list: 2 lists, but there are 3 sentences" in capsys.readouterr().err


def test_nothing_is_learnt_of_lists_without_a_right_expression(files, capsys):
    pairs = ("--source", "@/source", "--target", "@/target")
    assert run(files, "train-expressions", *pairs, "--output", "@/m.json", "--quiet") == 0
    for part, size in ((0, 4), (1, 3)):
        (files / f"list{part}").write_text("".join(f"{at} ||| x@0 ||| One=0 ||| 0\n" for at in range(size)))
    given = ("--expressions", "@/m.json", "--lists", "@/list0", "@/list1", "--output", "@/r.json")
    assert run(files, "train-ranker", *pairs, *given) == 0
    assert "no list has the right expression of its sentence" in capsys.readouterr().err
    assert not any(read_ranker(files / "r.json").weights.values())
    (files / "r.json").unlink()
    (files / "list1").write_text("".join(f"{at} ||| x@0 ||| A=0 B=0 C=0 ||| 0\n" for at in range(3)))
    assert run(files, "train-ranker", *pairs, *given) == 2
    assert "list0: lacks 3 of 4 features" in capsys.readouterr().err
    assert not (files / "r.json").exists()


def test_bars_and_odd_spaces_in_words_and_names_come_back_from_lists(tmp_path):
    """Lists part their fields by bars, and words by blanks alone."""
    line = "0 ||| f@1 &#124;&#124;&#124; a\u00a0b ||| One\u00a0more=1 ||| 0.500000\n"
    (tmp_path / "list").write_text(line, encoding="utf-8")
    ((candidate,),) = read_lists(tmp_path / "list", 1)
    assert candidate.words == ["f@1", "|||", "a\u00a0b"]
    assert candidate.features == {"One\u00a0more": 1.0}
    assert list(list_lines(0, [(candidate, 0.5)])) == [line]
