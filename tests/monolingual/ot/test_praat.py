"""Grammars of Praat: decision strategies as Praat evaluates them, fixed rankings, encodings, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

from monolingual.cli import main
from monolingual.ot.exact import winning_probs
from monolingual.ot.formats import read_tableaux
from monolingual.ot.grammar import Grammar, praat_grammar, predict
from monolingual.ot.praat import STRATEGIES, read_grammar, text_lines
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.ot.examples import tableaux

GRAMMAR = """File type = "ooTextFile"
Object class = "OTGrammar 2"

<OptimalityTheory>
0 ! leak
3 constraints
constraint [1]: "A" 2 2 1 ! A
constraint [2]: "B" 1 1 1 ! B
constraint [3]: "C" 0.5 0.5 1 ! C

1 fixed rankings
   1 2

2 tableaus
input [1]: "in" 4
   candidate [1]: "a" 1 0 0
   candidate [2]: "b" 0 1 1
   candidate [3]: "c" 0 0 3
   candidate [4]: "d" 0 1 1
input [2]: "two" 2
   candidate [1]: "x" 2 0 1
   candidate [2]: "y" 0 2 0
"""

# Praat 6.3.07 (Debian), 'To output Distributions: 1000000, 0.7' of GRAMMAR with each strategy; noise 0 where
# the strategy has chances of its own. The wins of a, b, c, d and of x, y.
WINS = {
    "OptimalityTheory": (64747, 130225, 673868, 131160, 144279, 855721),
    "HarmonicGrammar": (258530, 145629, 449731, 146110, 117185, 882815),
    "LinearOT": (262064, 149396, 439985, 148555, 102859, 897141),
    "PositiveHG": (660343, 167743, 4638, 167276, 48277, 951723),
    "ExponentialHG": (231995, 208551, 350933, 208521, 107057, 892943),
    "MaximumEntropy": (167717, 276613, 277579, 278091, 76275, 923725),
    "ExponentialMaximumEntropy": (18809, 383251, 214447, 383493, 22, 999978),
}


def written(tmp_path, text, name="g.OTGrammar", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def noise_of(strategy):
    return 0.0 if strategy.endswith("Entropy") else 0.7


@pytest.mark.parametrize("strategy", WINS)
def test_strategies_predict_what_praat_draws(strategy, tmp_path):
    """Within 5 standard errors of Praat's million, and of our 200,000 where we simulate."""
    source = read_grammar(written(tmp_path, GRAMMAR.replace("OptimalityTheory", strategy)))
    grammar = praat_grammar(source, noise_of(strategy))
    probs = predict(grammar, source.tableaux)
    share = np.array(WINS[strategy]) / 1e6
    is_exact = strategy == "OptimalityTheory" or strategy.endswith("Entropy")
    error = np.sqrt(share * (1 - share) * (1e-6 + (0.0 if is_exact else 1 / 200_000)))
    assert (np.abs(probs - share) < 5 * error + 1e-9).all()
    assert set(STRATEGIES) == set(WINS)


def test_probabilities_given_fixed_rankings(tmp_path):
    """The wins of c and y, given A above B, by the distribution function of two differences."""
    source = read_grammar(written(tmp_path, GRAMMAR))
    mean, noise = source.ranking, 0.7
    given = [(frozenset([0]), frozenset([1]))]
    probs = winning_probs(source.tableaux, mean, noise, given)
    # y wins if B is below the higher of A and C: certain. c wins if C is below A and B, hence below B.
    assert_allclose(probs[4:], [0.0, 1.0], atol=1e-12)
    covariance = noise**2 * np.array([[2.0, -1.0], [-1.0, 2.0]])  # Of B − C and A − B.
    both = multivariate_normal([mean[1] - mean[2], mean[0] - mean[1]], covariance).cdf(
        [np.inf, np.inf], lower_limit=[0.0, 0.0]
    )
    alone = norm.cdf((mean[0] - mean[1]) / (noise * np.sqrt(2.0)))
    assert_allclose(probs[2], both / alone, atol=1e-6)
    assert_allclose(probs[:4].sum(), 1.0, atol=1e-10)
    with pytest.raises(
        SettingsError, match=r"the rankings that are to hold have the probability .* leave out some"
    ):
        winning_probs(source.tableaux, np.array([-20.0, 0.0, 0.0]), noise, given)


def predicted(capsys, *arguments):
    assert main(["ot", "predict", *map(str, arguments), "--json"]) == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    return [c["predicted"] for entry in record["inputs"] for c in entry["candidates"]], said.err


def test_predict_takes_a_grammar_of_praat(tmp_path, capsys):
    path = written(tmp_path, GRAMMAR)
    source = read_grammar(path)
    found, said = predicted(capsys, path)
    assert_allclose(found, winning_probs(source.tableaux, source.ranking, 2.0), atol=1e-12)
    assert "decision strategy OptimalityTheory, evaluation noise 2" in said
    assert "1 fixed ranking binds learning alone" in said
    given, _ = predicted(capsys, path, "--given-fixed-rankings", "--noise", 0.7)
    assert_allclose(given[5], 1.0, atol=1e-12)
    # Constraints of the tableaux in another order, and one candidate fewer.
    other = "input\toutput\tfrequency\tC\tA\tB\ntwo\tx\t1\t1\t2\t0\ntwo\ty\t3\t0\t0\t2\n"
    table = written(tmp_path, other, "t.tsv")
    assert_allclose(predicted(capsys, path, table)[0], found[4:], atol=1e-12)
    assert_allclose(predicted(capsys, path, table, "--given-fixed-rankings")[0], [0, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (("OptimalityTheory", "MaximumEntropy"), ["--noise", "2"], "only 0 is known for it"),
        (("OptimalityTheory", "HarmonicGrammar"), ["--given-fixed-rankings"], "is for OptimalityTheory"),
        (("", ""), ["--noise", "0"], "--noise is 0; it must be from 1e-05 to 1000"),
        (("", ""), ["--at", "mean"], "needs a run of 'ot sample'"),
        (("OptimalityTheory", "Guesswork"), [], "decision strategy 'Guesswork'. Known are OptimalityTheory"),
        (("   1 2", "   1 4"), [], ":12: a fixed ranking has the constraint 4"),
    ],
)
def test_what_cannot_be_predicted_is_refused(change, options, message, tmp_path, capsys):
    path = written(tmp_path, GRAMMAR.replace(*change) if change[0] else GRAMMAR)
    assert main(["ot", "predict", str(path), *options]) == 2
    assert message in capsys.readouterr().err


def test_runs_need_tableaux_and_have_their_own_noise(tmp_path, capsys):
    assert main(["ot", "predict", str(tmp_path)]) == 2
    assert "TABLEAUX is missing" in capsys.readouterr().err
    assert main(["ot", "predict", str(tmp_path), "x", "--noise", "1"]) == 2
    assert "are for grammars of Praat" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_praat_writes_other_encodings_too(encoding, tmp_path):
    text = GRAMMAR.replace('"in"', '"ɪn"').replace("\n", "\r\n")
    if encoding == "utf-16-be":
        text = "\ufeff" + text
    path = written(tmp_path, text, encoding=encoding)
    assert read_tableaux(path).inputs == ("ɪn", "two")
    assert next(text_lines(path)) == 'File type = "ooTextFile"'


def test_numbers_may_be_of_percent_and_fractions(tmp_path):
    """As Praat's getReal (6.4.38, melder/abcio.cpp) reads what people write by hand."""
    text = GRAMMAR.replace('"A" 2 2 1', '"A" 150% 3/2 1').replace('"B" 1 1 1', '"B" -3/4 1 1')
    assert read_grammar(written(tmp_path, text)).ranking.tolist() == [1.5, -0.75, 0.5]
    short = '"ooTextFile short"\n"PairDistribution"\n2\n"two"\n"x"\n30%\n"two"\n"y"\n50%/2\n'
    assert read_tableaux(tmp_path / "g.OTGrammar", written(tmp_path, short, "p")).frequency.tolist() == [
        *[0, 0, 0, 0, 0.3, 0.25]
    ]


def test_older_praats_called_short_files_otherwise(tmp_path):
    """Praat 6.3.07 reads such files, too."""
    path = written(tmp_path, GRAMMAR.replace("ooTextFile", "ooTextFile short"))
    assert read_grammar(path).ranking.tolist() == [2, 1, 0.5]
    short = '"ooTextFile short"\n"PairDistribution"\n2\n"two"\n"x"\n30\n"two"\n"y"\n70\n'
    pairs = written(tmp_path, short, "p")
    assert read_tableaux(path, pairs).frequency.tolist() == [0, 0, 0, 0, 30, 70]


PAIRS = """pairs: size = 2
pairs [1]:
    string1 = "in"
    string2 = "a"
    weight = 7
pairs [2]:
    string1 = "two"
    string2 = "y"
    weight = 2.5
"""


def collection(*objects: tuple[str, str]) -> str:
    """Objects that were selected together, as Praat saves them."""
    text = f'File type = "ooTextFile"\nObject class = "Collection"\n\nsize = {len(objects)}\nitem []:\n'
    for number, (name, body) in enumerate(objects, start=1):
        text += f'    item [{number}]:\n        class = "{name}"\n        name = "mine"\n{body}'
    return text


BODY = GRAMMAR.split("\n\n", 1)[1]


@pytest.mark.parametrize("order", [1, -1])
def test_a_collection_holds_a_grammar_and_its_frequencies(tmp_path, capsys, order):
    together = written(tmp_path, collection(*[("OTGrammar 2", BODY), ("PairDistribution", PAIRS)][::order]))
    apart = written(tmp_path, GRAMMAR, "apart.OTGrammar")
    head = 'File type = "ooTextFile"\nObject class = "PairDistribution"\n\n'
    pairs = written(tmp_path, head + PAIRS, "p.PairDistribution")
    assert list(read_tableaux(together).frequency) == [7, 0, 0, 0, 0, 2.5]
    said = []
    for options in ([str(together)], [str(apart), "--pair-distribution", str(pairs)]):
        for command in ("predict", "orderings", "rank", "maxent"):
            assert main(["ot", command, *options, "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_a_collection_may_hold_a_grammar_alone(tmp_path):
    path = written(tmp_path, collection(("OTGrammar 2", BODY)))
    assert np.array_equal(read_grammar(path).ranking, [2, 1, 0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (collection(("Sound 2", "xmin = 0\n")), r":8: the Collection holds the object 'Sound 2'. In Praat"),
        (
            collection(("OTGrammar 2", BODY), ("OTGrammar 2", BODY)),
            "the Collection holds the object 'OTGrammar",
        ),
        (collection(("PairDistribution", PAIRS)), "is a Collection without an OTGrammar"),
        (
            collection(("OTGrammar 2", BODY), ("PairDistribution", PAIRS)).replace("size = 2", "size = 1", 1),
            ":29: announces 1 object, and here is another one",
        ),
        (GRAMMAR.replace('"C" 0.5', '"B" 0.5'), ":9: two constraints are named 'B'. Give them"),
        (GRAMMAR.replace('"C" 0.5', '" " 0.5'), ":9: constraint 3 has no name"),
        (GRAMMAR.replace("2 tableaus", "1 tableaus"), r":20: announces 1 tableau, and here is another one"),
    ],
)
def test_objects_that_are_too_many_or_missing_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_grammar(written(tmp_path, text))


def test_pairs_beyond_those_announced_are_refused(tmp_path):
    head = 'File type = "ooTextFile"\nObject class = "PairDistribution"\n\n'
    pairs = written(tmp_path, head + PAIRS.replace("= 2\n", "= 1\n", 1), "p.PairDistribution")
    with pytest.raises(InputError, match="announces 1 pair, and here is another one"):
        read_grammar(written(tmp_path, GRAMMAR), pairs)


def test_lines_of_old_macs_end_comments_and_are_counted(tmp_path):
    path = written(tmp_path, GRAMMAR.replace("\n", "\r"))
    assert read_grammar(path).ranking.tolist() == [2, 1, 0.5]
    damaged = written(tmp_path, GRAMMAR.replace("   1 2\n", "   1 4\n").replace("\n", "\r"))
    with pytest.raises(InputError, match=":12: a fixed ranking has the constraint 4"):
        read_grammar(damaged)


@pytest.mark.parametrize("rest", [b"\x0bOTGrammar 2", b"\x0bOTGrammar 2\x00\xff\xfe\n"])
def test_binary_files_are_named(rest, tmp_path):
    (tmp_path / "g").write_bytes(b"ooBinaryFile" + rest)
    with pytest.raises(InputError, match=r"is a binary file of Praat\. In Praat choose 'Save as text"):
        read_tableaux(tmp_path / "g")
    (tmp_path / "g").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_tableaux(tmp_path / "g")


def test_fixed_rankings_are_obeyed_or_warned_of(tmp_path, capsys):
    """One y rather than x: A or C above B; with A above B as fixed, C may be anywhere."""
    path = written(tmp_path, GRAMMAR)
    pairs = written(tmp_path, '"ooTextFile"\n"PairDistribution"\n1 pairs\n"two" "y" 3\n', "p")
    options = [str(path), "--pair-distribution", str(pairs)]
    assert main(["ot", "rank", *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["a_priori"] == [["A", "B"]]
    assert main(["ot", "rank", *options, "--a-priori", "B>A"]) == 0
    assert capsys.readouterr().out == "stratum 1: C\nstratum 2: B\nstratum 3: A\n"
    assert main(["ot", "gla", *options, "--seeds", "2", "--trials", "100", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["values"]
    assert all(a - b >= 20 - 1e-9 for a, b in zip(values["A"], values["B"], strict=True))
    assert main(["ot", "orderings", *options]) == 0
    assert "its fixed rankings (A above B) are not made use of" in capsys.readouterr().err


def test_strategy_goes_with_a_grammar_that_is_converted(tmp_path):
    table = written(tmp_path, "input\toutput\tfrequency\tA\tB\ni\tx\t3\t1\t0\ni\ty\t1\t0\t1\n", "t.tsv")
    run, out = str(tmp_path / "run"), str(tmp_path / "g.OTGrammar")
    assert main(["ot", "maxent", str(table), "--output", run, "--quiet"]) == 0
    assert (
        main(["ot", "convert", str(table), "--to", "praat", "--values", run, "--output", out, "--quiet"]) == 0
    )
    source = read_grammar(out)
    assert source.strategy == "MaximumEntropy"
    assert_allclose(predict(praat_grammar(source), source.tableaux), [0.75, 0.25], atol=1e-6)


def converted(capsys, *arguments):
    assert main(["ot", "convert", *map(str, arguments), "--to", "praat"]) == 0
    return capsys.readouterr().err


def test_what_a_grammar_of_praat_holds_is_kept(tmp_path, capsys):
    path, out = written(tmp_path, GRAMMAR.replace("OptimalityTheory", "LinearOT")), tmp_path / "out"
    converted(capsys, path, "--output", out)
    source = read_grammar(out)
    assert source.ranking.tolist() == [2, 1, 0.5]
    assert (source.strategy, source.fixed_rankings) == ("LinearOT", ((0, 1),))
    table = written(tmp_path, "input\toutput\tfrequency\tC\tA\ni\tx\t0\t1\t0\ni\ty\t0\t0\t1\n", "t.tsv")
    converted(capsys, table, "--values", path, "--output", out)
    assert read_grammar(out).ranking.tolist() == [0.5, 2]


def test_values_for_another_noise_than_praats_are_warned_of(tmp_path, capsys):
    """With noise 2 Praat would have 55 % rather than 60 % of the first candidate."""
    table = written(tmp_path, "input\toutput\tfrequency\tA\tB\ni\tx\t60\t1\t0\ni\ty\t40\t0\t1\n", "t.tsv")
    run, out = tmp_path / "run", tmp_path / "g.OTGrammar"
    for noise in ("1", "2"):
        options = ["--noise", noise, "--truncate", "9", "--overwrite", "--quiet"]
        assert main(["ot", "fit", str(table), "--output", str(run), *options]) == 0
        capsys.readouterr()
        said = converted(capsys, table, "--values", run, "--output", out)
        assert ("evaluate it with 1, not with the 2 that Praat suggests" in said) == (noise == "1")
        assert ("evaluate it" in said) == (noise == "1")
        assert_allclose(predicted(capsys, out, "--noise", noise)[0], [0.6, 0.4], atol=1e-6)
    summary = json.loads((run / "summary.json").read_text())
    summary["deviation"]["A"] = 1.5
    (run / "summary.json").write_text(json.dumps(summary))
    assert "their own, from 1.5 to 2" in converted(capsys, table, "--values", run, "--output", out)


@pytest.mark.parametrize("value", [-800.0, -30.0, 0.0, 800.0])
def test_weights_that_are_exponentials_are_compared_whatever_their_size(value):
    """c has what a and b have together; of d and e, the weaker constraint alone decides."""
    example = tableaux(
        "A B",
        *(("x", output, 1, marks) for output, marks in (("a", "10"), ("b", "01"), ("c", "11"))),
        *(("y", output, 1, marks) for output, marks in (("d", "21"), ("e", "20"))),
    )
    found = predict(Grammar("exponential-hg", ("A", "B"), np.array([value, value]), np.full(2, 1.0)), example)
    assert_allclose(found, [0.5, 0.5, 0.0, 0.0, 1.0], atol=0.004)
    found = predict(Grammar("exponential-hg", ("A", "B"), np.array([5.0, value]), np.full(2, 1.0)), example)
    assert found[2:].tolist() == [0.0, 0.0, 1.0]
    below = norm.cdf((value - 5.0) / np.sqrt(2.0))
    assert_allclose(found[:2], [below, 1.0 - below], atol=0.004)


def test_the_slightest_weight_decides_where_all_else_is_equal():
    example = tableaux("A B", ("x", "a", 1, "10"), ("x", "b", 1, "11"), ("x", "c", 1, "20"))
    found = predict(Grammar("exponential-hg", ("A", "B"), np.array([5.0, -15.0]), np.full(2, 0.5)), example)
    assert found.tolist() == [1.0, 0.0, 0.0]


def test_exponentials_beyond_all_numbers_are_refused(tmp_path, capsys):
    path = written(
        tmp_path, GRAMMAR.replace("OptimalityTheory", "ExponentialMaximumEntropy").replace(" 2 2", " 710 2")
    )
    assert main(["ot", "predict", str(path), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "has the value 710, whose exponential is to be its weight; values may be up to 600" in said
    assert said.count("\n") == 1
