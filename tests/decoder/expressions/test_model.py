"""Probabilities of expressions, counted by hand."""

import itertools
import json
from math import exp, isclose

import pytest

from decoder.expressions.files import Expressions, read_expressions, write_expressions
from decoder.expressions.model import TOP, Arguments, ExpressionModel, count_arguments, expression_model
from decoder.expressions.words import SymbolLexicon
from scfg_sampler.errors import InputError

TREES = ["a@1 b@1 'x'@0", "a@1 c@0", "a@1 d@2 c@0 c@0", "c@0"]
PHRASES = ["'y'@0", "b@1 'z'@0", "e@1 'z'@0"]


def probability(model: ExpressionModel, place: tuple[str, int], word: str) -> float:
    """That of a symbol in a place."""
    places = [
        (symbol, at) for symbol, arity in zip(model.symbols, model.arity, strict=True) for at in range(arity)
    ]
    return exp(model.log_prob[[*places, TOP].index(place), model.symbols.index(word)])


@pytest.fixture
def model():
    return expression_model(
        count_arguments(*([text.split() for text in texts] for texts in (TREES, PHRASES)))
    )


# a/1: b, c, d once each; top: a thrice, c once; d/1, d/2: c; b/1, e/1: constants, thrice in all with phrases.
# Anywhere: a 3, b 1, c 4, d 1, and constants.
@pytest.mark.parametrize(
    ("place", "word", "expected"),
    [
        (("a@1", 0), "b@1", (1 + 3 * 1 / 9) / (3 + 3)),
        (("a@1", 0), "c@0", (1 + 3 * 4 / 9) / (3 + 3)),
        (("a@1", 0), "a@1", (0 + 3 * 3 / 9) / (3 + 3)),
        (TOP, "a@1", (3 + 2 * 3 / 9) / (4 + 2)),
        (("d@2", 1), "c@0", (1 + 1 * 4 / 9) / (1 + 1)),
        (("a@1", 0), "'x'@0", 0),
        (("b@1", 0), "'x'@0", 1),
        (("b@1", 0), "'z'@0", 1),
        (("b@1", 0), "'y'@0", 1),
        (("b@1", 0), "c@0", 0),
        (("e@1", 0), "'x'@0", 1),  # Like b/1.
        (("e@1", 0), "'z'@0", 1),
        (TOP, "'y'@0", 0),
        (("a@1", 0), "e@1", 0),
    ],
)
def test_probabilities(model, place, word, expected):
    assert isclose(probability(model, place, word), expected, abs_tol=1e-12)


def test_a_place_takes_symbols_of_its_type_alone():
    """a, c and d begin s, so they are of one type, which what a takes is not of, nor what f takes."""
    trees = ["s@2 a@1 b@0 f@1 x@0", "s@2 d@1 a@1 b@0 f@1 y@0", "s@2 c@0 f@1 x@0"]
    model = expression_model(count_arguments(text.split() for text in trees))

    def allowed(place):
        return {word for word in model.symbols if probability(model, place, word) > 0}

    assert allowed(("s@2", 0)) == {"a@1", "c@0", "d@1"}
    assert allowed(("d@1", 0)) == {"a@1", "c@0", "d@1"}
    assert allowed(("a@1", 0)) == {"b@0"}
    assert allowed(("s@2", 1)) == {"f@1"}
    assert allowed(("f@1", 0)) == {"x@0", "y@0"}
    # d/1: a once; of its type there are a 2, c 1, d 1.
    assert isclose(probability(model, ("d@1", 0), "a@1"), (1 + 2 / 4) / 2)
    assert isclose(probability(model, ("d@1", 0), "c@0"), (1 / 4) / 2)


def test_constants_are_allowed_in_places_that_share_most_of_theirs():
    """Of three states of a, b has two and c one; of the three rivers of r, one is called as a state is."""
    filled = {"a@1": "xyz", "b@1": "xyw", "c@1": "x", "r@1": "xpq", "s@1": "pqt", "d@1": "ux"}
    model = expression_model(
        count_arguments([symbol, f"'{name}'@0"] for symbol, names in filled.items() for name in names)
    )

    def allowed(symbol):
        return "".join(
            sorted(name for name in "xyzwpqtu" if probability(model, (symbol, 0), f"'{name}'@0") > 0)
        )

    assert allowed("a@1") == allowed("b@1") == "wxyz"
    assert allowed("c@1") == "pquwxyz"
    assert allowed("r@1") == "pqtx"
    assert allowed("s@1") == "pqtx"
    assert allowed("d@1") == "ux", "half is not most"


def test_outcomes_of_a_place_have_all_of_the_mass(model):
    for place in [("a@1", 0), TOP, ("d@2", 0), ("b@1", 0)]:
        outcomes = [word for word in model.symbols if word[0] != "'"]
        constant = max(probability(model, place, word) for word in model.symbols if word[0] == "'")
        assert isclose(sum(probability(model, place, word) for word in outcomes) + constant, 1.0)


def test_phrases_count_once_however_often_they_come():
    twice = count_arguments([], itertools.repeat(["b@1", "'z'@0"], 5))
    assert twice.counts == {("b@1", 0): {"''@0": 1}}


def test_file_and_back(tmp_path):
    arguments = count_arguments([text.split() for text in TREES], [text.split() for text in PHRASES])
    found = Expressions(
        arguments, SymbolLexicon({"x": "a@1", "é b": "c@0|d@1"}, {"a@1": {"": -1.5, "x y": 0.25}})
    )
    write_expressions(found, tmp_path / "m.json")
    assert read_expressions(tmp_path / "m.json") == found
    write_expressions(found._replace(form="sql"), tmp_path / "m.json")
    assert read_expressions(tmp_path / "m.json") == found._replace(form="sql")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"symbols": ["a"]},
        {"symbols": ["a@1", "a@1"]},
        {"arguments": [["a@1", 1, {"b@0": 1}]]},
        {"arguments": [["a@1", 0, {"b@0": 0}]]},
        {"arguments": [["a@1", 0, {"b@0": 1.5}]]},
        {"constants": {"'y'@0": [["a@1", 0]]}},
        {"words": {"a@1": {"x": "much"}}},
        {"words": 3},
        {"names": ["x"]},
        {"form": "xml"},
    ],
)
def test_damaged_files_are_refused(tmp_path, change):
    path = tmp_path / "m.json"
    write_expressions(Expressions(Arguments({}, {}, ["a@1"]), SymbolLexicon({}, {})), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=r"m\.json"):
        read_expressions(path)


def test_text_is_no_model(tmp_path):
    (tmp_path / "m.json").write_text("a@1\n")
    with pytest.raises(InputError, match="not JSON"):
        read_expressions(tmp_path / "m.json")
