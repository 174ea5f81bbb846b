"""Flat grammars and parsing, against enumeration of all derivations; the commands that use them."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
from collections import Counter, defaultdict

import pytest

from monolingual.cli import main
from monolingual.tsg.fragments import CountedFragment, parse_fragment, read_fragments
from monolingual.tsg.grammar import flatten, fragment_weights
from monolingual.tsg.learnt import predictive_counts, read_grammar
from monolingual.tsg.parser import Derivation, Parser, _best_rules, _value
from monolingual.tsg.statistics import histograms, most_frequent, rules_and_lexicon
from monolingual.tsg.trees import Tree, format_tree, leaves
from tests.monolingual.tsg.treebanks import tree_of
from tests.oracles.elementary_trees import bases

FRAGMENTS = {
    "(S (A ) (B ))": 4.0,
    "(S (A (A ) (B b)) (B ))": 3.0,
    "(S (A ) (B (A ) (B b)))": 2.0,
    "(S (B ))": 1.0,
    "(A a)": 5.0,
    "(A b)": 1.0,
    "(A (A ) (B ))": 2.0,
    "(A (B ))": 1.0,
    "(B b)": 4.0,
    "(B a (B ))": 2.0,
    "(B (A ) a (B b))": 1.5,
    "(B (A ) (B ))": 1.0,
    "(B (A ))": 0.5,
}
PRODUCTIONS = [
    "(S (A ) (B ))", "(S (B ))", "(A a)", "(A b)", "(A (A ) (B ))", "(A (B ))", "(B b)", "(B a (B ))",
    "(B (A ) a (B ))", "(B (A ) (B ))", "(B (A ))",
]  # fmt: skip
CONCENTRATION = {"S": 1.0, "A": 2.0, "B": 0.5}
STOP = {"S": 0.5, "A": 0.4, "B": 0.7}


def counted(fragments):
    return [CountedFragment(parse_fragment(text), count) for text, count in fragments.items()]


def grammar(fragments=FRAGMENTS):
    productions = counted(dict.fromkeys(PRODUCTIONS, 2.0))
    return fragment_weights(counted(fragments), productions, "pcfg", CONCENTRATION, STOP)


def parser_of(fragments=FRAGMENTS):
    trees, weights = grammar(fragments)
    return Parser(flatten(trees, weights), trees, weights, CONCENTRATION, {"S": 1.0})


def without(cyclic):
    """The grammar without chains that come back, which have derivations without end."""
    return {text: count for text, count in cyclic.items() if text not in ("(A (B ))", "(B (A ))")}


ACYCLIC = without(FRAGMENTS)


def acyclic_grammar():
    productions = counted(dict.fromkeys([t for t in PRODUCTIONS if t in ACYCLIC or " a (B ))" in t], 2.0))
    return fragment_weights(counted(ACYCLIC), productions, "pcfg", CONCENTRATION, STOP)


def acyclic_parser():
    trees, weights = acyclic_grammar()
    return Parser(flatten(trees, weights), trees, weights, CONCENTRATION, {"S": 1.0})


def derivations_of(words):
    """All derivations: (tree, numbers of the elementary trees in preorder)."""
    trees, _ = acyclic_grammar()
    numbered = defaultdict(list)
    for number, (tree, _) in enumerate(trees):
        numbered[tree.label].append((number, tree))

    def expand(label, span):
        for number, fragment in numbered[label]:
            for tree, used in fit(fragment, span):
                yield tree, (number, *used)

    def fit(part, span):
        if isinstance(part, str):
            if span == (part,):
                yield part, ()
        elif not part.children:
            yield from expand(part.label, span)
        else:
            for cuts in itertools.combinations(range(1, len(span)), len(part.children) - 1):
                pieces = [span[b:e] for b, e in itertools.pairwise((0, *cuts, len(span)))]
                options = [
                    list(fit(child, piece)) for child, piece in zip(part.children, pieces, strict=True)
                ]
                for chosen in itertools.product(*options):
                    used = tuple(number for _, numbers in chosen for number in numbers)
                    yield Tree(part.label, tuple(tree for tree, _ in chosen)), used

    return list(expand("S", tuple(words)))


def log_exact(numbers):
    """The Dirichlet processes, one elementary tree after the other."""
    trees, weights = acyclic_grammar()
    totals = Counter()
    for tree, count in trees:
        totals[tree.label] += count
    seen, roots, total = Counter(), Counter(), 0.0
    for number in numbers:
        root = trees[number].fragment.label
        mass = totals[root] + CONCENTRATION[root]
        total += math.log((weights[number] * mass + seen[number]) / (mass + roots[root]))
        seen[number] += 1
        roots[root] += 1
    return total


SENTENCES = ["a b", "a b b", "a a b", "b a b b", "a b a b b", "a a a b b"]


def inside(parser, words):
    chart = parser._fill(parser._leaves(words, None), False)
    scale = 1.0
    for row, word in zip(parser._leaves(words, None), words, strict=True):
        number = parser.grammar.words[word]
        first = parser.grammar.lexical_start[number]
        scale *= row[0][2] / parser.grammar.lexical_weight[first]
    return _value(chart, parser._ids["S"], 0, len(words), len(words)) / scale


@pytest.mark.parametrize("sentence", SENTENCES)
def test_inside_probability_is_the_sum_over_derivations(sentence):
    words = sentence.split()
    _, weights = acyclic_grammar()
    total = sum(math.prod(weights[n] for n in used) for _, used in derivations_of(words))
    assert inside(acyclic_parser(), words) == pytest.approx(total, rel=1e-12)


def test_inside_probability_sums_chains_of_any_length():
    """S → B, B → A → B → …: a geometric series, solved by hand."""
    trees, weights = grammar()
    weight = {tree: w for (tree, _), w in zip(trees, weights, strict=True)}
    rule = {text: weight[parse_fragment(text)] for text in PRODUCTIONS}
    loop = 1.0 - rule["(A (B ))"] * rule["(B (A ))"]
    over_b = (rule["(B (A ))"] * rule["(A a)"]) / loop
    assert inside(parser_of(), ["a"]) == pytest.approx(rule["(S (B ))"] * over_b, rel=1e-12)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_best_derivation_is_that_of_enumeration(sentence, rng):
    words = sentence.split()
    _, weights = acyclic_grammar()
    found = acyclic_parser().parse(rng, words, "mpd").trees[0]
    best = max(derivations_of(words), key=lambda row: math.prod(weights[n] for n in row[1]))
    assert found[0] == best[0]
    assert found[1] == pytest.approx(sum(math.log(weights[n]) for n in best[1]), abs=1e-9)


@pytest.mark.parametrize("sentence", ["a b a b b", "a a a b b"])
def test_sampled_trees_follow_the_dirichlet_processes(sentence, rng):
    """Shares of 20,000 proposals, nearly all accepted: 0.02 is beyond five standard errors."""
    words = sentence.split()
    exact = defaultdict(float)
    for tree, used in derivations_of(words):
        exact[tree] += math.exp(log_exact(used))
    total = sum(exact.values())
    found = acyclic_parser().parse(rng, words, "mpp", samples=20_000, nbest=len(exact))
    assert found.acceptance > 0.5
    for tree, share in found.trees:
        assert share == pytest.approx(exact[tree] / total, abs=0.02)


def test_most_expected_rules_are_those_of_enumeration():
    """On the derivations of a sentence, each as often as 1,000 times its probability."""
    words = ["a", "b", "a", "b", "b"]
    _, weights = acyclic_grammar()
    drawn: list[Derivation] = []
    trees = set()
    for tree, used in derivations_of(words):
        times = round(1e6 * math.prod(weights[n] for n in used))
        derivation = Derivation(tree, 0.0, used, tuple(rules_of(tree)))
        drawn.extend([derivation] * times)
        trees.add(tree)
    counts = Counter(rule for derivation in drawn for rule in derivation.rules)

    def expected(tree):
        return sum(counts[rule] for rule in rules_of(tree)) / len(drawn)

    found, value = _best_rules(drawn)
    assert value == pytest.approx(expected(found))
    assert value >= max(map(expected, trees)) - 1e-9
    assert leaves(found) == words


def rules_of(tree, begin=0):
    """(label, child labels and words, begin, ends of the children) of every constituent."""
    found, position, ends = [], begin, []
    for child in tree.children:
        if not isinstance(child, str):
            found.extend(rules_of(child, position))
        position += 1 if isinstance(child, str) else len(leaves(child))
        ends.append(position)
    names = tuple((c, True) if isinstance(c, str) else (c.label, False) for c in tree.children)
    return [(tree.label, names, begin, tuple(ends)), *found]


def test_sampled_trees_follow_the_dirichlet_processes_where_few_have_come(rng, monkeypatch):
    """The second use of a fragment is then many times as probable as the first, and proposals are refused.

    Shares of 20,000 proposals, of which one in ten counts: 0.05 is beyond four standard errors.
    """
    few = {text: 0.05 * count for text, count in ACYCLIC.items()}
    monkeypatch.setattr(f"{__name__}.ACYCLIC", few)
    words = ["a", "a", "a", "b", "b"]
    exact = defaultdict(float)
    for tree, used in derivations_of(words):
        exact[tree] += math.exp(log_exact(used))
    total = sum(exact.values())
    found = acyclic_parser().parse(rng, words, "mpp", samples=20_000, nbest=len(exact))
    assert 0.1 < found.acceptance < 0.9
    for tree, share in found.trees:
        assert share == pytest.approx(exact[tree] / total, abs=0.05)


def test_weight_of_a_fragment_by_hand():
    """(A a) was counted 5 times among 9 of A; the base is one of four productions, without a stop."""
    trees, weights = grammar()
    weight = {tree: w for (tree, _), w in zip(trees, weights, strict=True)}
    assert weight[parse_fragment("(A a)")] == pytest.approx((5.0 + 2.0 * 0.25) / (9.0 + 2.0))


def test_sentences_without_derivation_get_a_flat_tree(rng):
    found = acyclic_parser().parse(rng, ["b"], "mpd", tags=["A"])
    assert found.is_flat
    assert format_tree(found.trees[0][0]) == "(S (A b))"


def test_unknown_words_are_tagged_all_the_same(rng):
    found = acyclic_parser().parse(rng, ["a", "zebra"], "mpd")
    assert not found.is_flat
    assert leaves(found.trees[0][0]) == ["a", "zebra"]
    tagged = acyclic_parser().parse(rng, ["b", "zebra"], "mpd", tags=["A", "B"])
    assert format_tree(tagged.trees[0][0]) == "(S (A b) (B zebra))"


def test_long_sentences_do_not_underflow(rng):
    found = acyclic_parser().parse(rng, ["a"] * 60 + ["b"] * 60, "mpd")
    assert not found.is_flat
    assert math.isfinite(found.trees[0][1])


def chain(ending, going_on):
    """Right-branching trees over a's, whose weights are given."""
    trees = counted({"(S a)": ending, "(S a (S ))": going_on})
    weights = [ending, going_on]
    return Parser(flatten(trees, weights), trees, weights, {"S": 1.0}, {"S": 1.0})


@pytest.mark.parametrize("method", ["mpd", "mer"])
@pytest.mark.parametrize(("ending", "going_on"), [(0.01, 0.99), (1e-9, 1e-9)])
def test_long_sentences_are_parsed_however_likely_their_words_are(rng, ending, going_on, method):
    """Each word has the same weight, so that the values grow, or shrink, with the length of the sentence."""
    n = 300
    found = chain(ending, going_on).parse(rng, ["a"] * n, method, samples=3)
    assert not found.is_flat
    depth, tree = 1, found.trees[0][0]
    while len(tree.children) == 2:
        depth, tree = depth + 1, tree.children[1]
    assert depth == n
    if method == "mpd":
        expected = math.log(ending) + (n - 1) * math.log(going_on)
        assert found.trees[0][1] == pytest.approx(expected, rel=1e-10)


def test_statistics_count_depths_and_words():
    counts = histograms(counted(FRAGMENTS))
    assert counts["depth"] == {1: 10, 2: 1, 3: 2}
    assert counts["terminals"][0] == 6
    assert [f.count for f in most_frequent(counted(FRAGMENTS), "S", 2)] == [4.0, 3.0]
    assert [f.count for f in most_frequent(counted(FRAGMENTS), "S", 9, lexical=True)] == [3.0, 2.0]


def test_rules_and_lexicon_hold_the_fragments():
    some = {"(S (A (A ) (B b)) x)": 3.0, "(A a)": 2.0, "(S (B ) x)": 0.5}
    rules, lexicon = rules_and_lexicon(counted(some))
    assert rules == ["3 S A{1.1} {x}", "3 A{1.1} A B{1.2}", "0.5 S B {x}"]
    assert lexicon == ["a\tA 2", "b\tB{1.2} 3", "x\t{x} 3.5"]


# --- commands ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    place = tmp_path_factory.mktemp("tsg")
    trees = place / "trees.mrg"
    trees.write_text(
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)))))\n"
        "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .)))\n" * 3
    )
    run = place / "run"
    options = ["--iterations", "30", "--quiet", "--states", "3", "--thin", "2"]
    assert main(["tsg", "train", str(trees), "--output", str(run), *options]) == 0
    return place, run, trees


@pytest.mark.parametrize("method", ["mpd", "mpp", "mer"])
def test_parsed_training_sentences_score_well(trained, method, capsys):
    place, run, trees = trained
    out = place / f"{method}.mrg"
    shared = ["tsg", "parse", str(run), "--input", str(trees), "--format", "trees", "--output", str(out)]
    assert main([*shared, "--method", method, "--samples", "50", "--threads", "2"]) == 0
    assert "sentences in" in capsys.readouterr().err
    assert main(["tsg", "score", str(trees), str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] > 90.0


def test_words_are_parsed_and_empty_lines_stay(trained, capsys):
    place, run, _ = trained
    (place / "text").write_text("the dog sleeps\n\nthe ( dog\n")
    assert main(["tsg", "parse", str(run), "--input", str(place / "text"), "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == ""
    assert "(NN dog)" in lines[0]
    assert "-LRB-" in lines[2]
    shared = ["tsg", "parse", str(run), "--input", str(place / "text"), "--max-length", "2"]
    assert main(shared) == 0
    output = capsys.readouterr()
    assert output.out.splitlines()[0].count("(") == 4
    assert "flat trees of 2 sentences without a derivation, or too long" in output.err


def test_brackets_within_words_leave_trees_that_can_be_read(trained, capsys):
    place, run, _ = trained
    (place / "text").write_text("the dog(s) sleeps\nthe f(x -LRB- )\n")
    out = place / "bracketed.mrg"
    shared = ["tsg", "parse", str(run), "--input", str(place / "text"), "--output", str(out), "--quiet"]
    assert main(shared) == 0
    words = [leaves(tree_of(line)) for line in out.read_text().splitlines()]
    assert words == [["the", "dog-LRB-s-RRB-", "sleeps"], ["the", "f-LRB-x", "-LRB-", "-RRB-"]]
    assert main(["tsg", "score", str(out), str(out)]) == 0
    capsys.readouterr()


def test_trees_without_words_give_empty_lines(trained, capsys):
    place, run, _ = trained
    (place / "some").write_text("(S (NN dog))\n(S (-NONE- *))\n(S (NN cat))\n")
    shared = ["tsg", "parse", str(run), "--input", str(place / "some"), "--format", "trees", "--quiet"]
    assert main(shared) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("dog") + 2 * line.count("cat") for line in lines] == [1, 0, 2]
    assert main([*shared, "--method", "mpp", "--nbest", "1", "--samples", "5"]) == 0
    assert [line[:1] for line in capsys.readouterr().out.splitlines()] == ["0", "2"]


def test_empty_lines_have_no_lists_and_are_counted(trained, capsys):
    place, run, _ = trained
    (place / "gaps").write_text("\nthe dog sleeps\n \nthe cat sleeps\n\n")
    shared = ["tsg", "parse", str(run), "--input", str(place / "gaps"), "--method", "mpp", "--samples", "5"]
    assert main([*shared, "--nbest", "1"]) == 0
    said = capsys.readouterr()
    assert [line[:7] for line in said.out.splitlines()] == ["1 ||| (", "3 ||| ("]


def test_what_training_left_in_trees_parsing_leaves_there_too(tmp_path, capsys):
    """Function tags of words' labels, and empty elements, which are words of such a grammar."""
    tree = "(S (NP (NN-SB dog)) (VP (VBZ barks) (NP (-NONE- *T*-1))))"
    (tmp_path / "trees").write_text(f"{tree}\n" * 3)
    shared = ["tsg", "train", str(tmp_path / "trees"), "--iterations", "3", "--quiet", "--output"]
    parse = ["--input", str(tmp_path / "trees"), "--format", "trees", "--gold-tags", "--quiet"]
    for more, shown in ((["--keep-annotation"], tree), ([], "(S (NP (NN dog)) (VP (VBZ barks)))")):
        run = str(tmp_path / f"run{len(more)}")
        assert main([*shared, run, *more]) == 0
        assert main(["tsg", "parse", run, *parse]) == 0
        assert capsys.readouterr().out.splitlines() == [shown] * 3


def test_baseline_average_and_nbest(trained, capsys):
    place, run, _ = trained
    (place / "text").write_text("the dog sleeps\n")
    shared = ["tsg", "parse", str(run), "--input", str(place / "text"), "--quiet"]
    assert main([*shared, "--model", "pcfg"]) == 0
    assert main([*shared, "--average", "3"]) == 0
    assert main([*shared, "--method", "mpp", "--nbest", "2", "--samples", "20"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0 ||| (TOP")
    assert main([*shared, "--average", "4"]) == 2
    assert main([*shared, "--nbest", "2"]) == 2
    assert main([*shared, "--gold-tags"]) == 2
    assert main([*shared, "--samples", "0"]) == 2
    assert main([*shared, "--min-share", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 5
    assert main([*shared, "--model", "pcfg", "--average", "1"]) == 0
    assert capsys.readouterr().err == "warning: --average does nothing with --model pcfg\n"


@pytest.mark.parametrize("more", [[], ["--max-length", "2"]])
def test_flat_trees_have_no_share_in_lists(trained, capsys, more):
    place, run, _ = trained
    (place / "flat").write_text("sees sees sees\n")
    shared = ["tsg", "parse", str(run), "--input", str(place / "flat"), "--method", "mpp", "--nbest", "2"]
    assert main([*shared, "--samples", "5", *more]) == 0
    said = capsys.readouterr()
    assert "flat trees of 1 sentence" in said.err
    (line,) = said.out.splitlines()
    assert line.startswith("0 ||| (TOP (")
    assert line.endswith(" ||| 0")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "--nbest 3",
            "--nbest goes with --method mpp, which counts the trees that it draws, and not with mpd",
        ),
        ("--method mpp --nbest 0", "--nbest is 0; it must be at least 1"),
    ],
)
def test_lists_are_of_a_method_that_draws(trained, capsys, given, told):
    _, run, _ = trained
    assert main(["tsg", "parse", str(run), "--quiet", *given.split()]) == 2
    assert capsys.readouterr().err == f"scfg-monolingual: {told}\n"


def test_what_is_parsed_with_is_the_mean_of_the_states_kept(trained):
    _, run, _ = trained
    paths = sorted(run.glob("samples/*.tsg.gz"))
    assert [path.name for path in paths] == [f"sweep-{n:07d}.tsg.gz" for n in (26, 28, 30)]
    total = Counter()
    for path in paths:
        total.update(dict(read_fragments(path)))
    found = dict(read_grammar(run, None).fragments)
    assert found == pytest.approx({tree: count / 3 for tree, count in total.items()})


def test_what_is_parsed_with_under_a_discount_is_what_the_process_predicts(tmp_path):
    """[n − d t + (α + d T) P₀] / (N + α), from the lines of the file and a base written out by hand."""
    texts = ["(S (A a) (B b))", "(S (A a) (B b))", "(S (A a) (B c))", "(S (A (A a) (B b)) (B c))"]
    (tmp_path / "trees").write_text("".join(f"{text}\n" for text in texts))
    options = ["--discount", "0.5", "--concentration", "2", "--stop", "0.3", "--iterations", "20", "--quiet"]
    options += ["--unknown", "none", "--horizontal", "-1", "--output", str(tmp_path / "run")]
    assert main(["tsg", "train", str(tmp_path / "trees"), *options]) == 0
    seats = {}
    for line in gzip.decompress((tmp_path / "run" / "grammar.tsg.gz").read_bytes()).decode().splitlines():
        customers, tables, text = re.fullmatch(r"(\d+)/(\d+)\t(.*)", line).groups()
        seats[parse_fragment(text)] = int(customers), int(tables)
    assert any(1 <= t < n for n, t in seats.values())
    learnt = read_grammar(tmp_path / "run")
    fragments, concentration = predictive_counts(learnt)
    found = fragment_weights(fragments, learnt.productions, "pcfg", concentration, learnt.stop)
    prob = bases([tree_of(text) for text in texts], "pcfg")
    for (tree, _), weight in zip(*found, strict=True):
        alike = [seats[other] for other in seats if other.label == tree.label]
        n, t = seats.get(tree, (0, 0))
        customers, tables = (sum(column) for column in zip(*alike, strict=True))
        mass = n - 0.5 * t + (2.0 + 0.5 * tables) * base_of(as_tuple(tree), prob)
        assert weight == pytest.approx(mass / (customers + 2.0), rel=1e-12)


def base_of(fragment, prob):
    """P₀ of an elementary tree whose nonterminals stop with probability .3."""
    parts = [part for part in fragment[1:] if not isinstance(part, str)]
    value = prob(fragment[0], tuple(part if isinstance(part, str) else part[:1] for part in fragment[1:]))
    return value * math.prod(0.3 if len(part) == 1 else 0.7 * base_of(part, prob) for part in parts)


def as_tuple(part):
    return part if isinstance(part, str) else (part.label, *map(as_tuple, part.children))


def test_statistics_command(trained, capsys):
    place, run, _ = trained
    assert main(["tsg", "statistics", str(run), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["types"] == sum(record["histograms"]["depth"].values())
    files = ["--grammar-rules", str(place / "g.rules"), "--lexicon", str(place / "g.lex"), "--quiet"]
    assert main(["tsg", "statistics", str(run), "--label", "TOP", "--top", "2", *files]) == 0
    assert "most frequent, TOP" in capsys.readouterr().out
    assert (place / "g.lex").read_text()
    assert main(["tsg", "statistics", str(run), "--label", "XX"]) == 2
    assert main(["tsg", "statistics", str(run), "--grammar-rules", "x"]) == 2


def test_histograms_are_drawn(trained, capsys):
    pytest.importorskip("matplotlib")
    place, run, _ = trained
    files = [place / name for name in ("once.svg", "again.svg")]
    for path in files:
        assert main(["tsg", "statistics", str(run), "--plot", str(path), "--quiet"]) == 0
    assert files[0].read_text() == files[1].read_text()
    assert main(["tsg", "statistics", str(run), "--plot", "figure.gif"]) == 2
    assert "--plot is figure.gif; end the name in one of .svg, .pdf, .png" in capsys.readouterr().err
