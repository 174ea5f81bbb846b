"""The partition function and the verdict: closed forms, high precision, and the hard critical cases."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.cli import main
from monolingual.pcfg.critical import LARGEST
from monolingual.pcfg.grammar import families, heads, num_rules, rule_symbols
from monolingual.pcfg.graph import is_linear, nonlinear_rules, useful_rules, without_useless
from monolingual.pcfg.partition import build_system, iterate_partition, newton_partition, tight_components
from monolingual.pcfg.tightness import analyse, expected_rule_uses, moments, tighten
from monolingual.priors.multinomials import normalise
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import (
    CHAINS,
    TERNARY,
    all_trees,
    catalan,
    grammar_of,
    precise_partition,
    random_grammar,
    tree_probability,
)


@pytest.mark.parametrize("p", [0.1, 0.4, 0.499, 0.5, 0.501, 0.6, 0.9, 0.999])
def test_catalan_partition_is_the_closed_form(p, tmp_path):
    verdict = analyse(*catalan(p, tmp_path))
    assert verdict.tight == (p <= 0.5)
    assert_allclose(verdict.spectral_radius, 2 * p, rtol=1e-14)
    assert_allclose(verdict.partition[0], min(1.0, (1 - p) / p), rtol=1e-13)


@pytest.mark.parametrize("gap", ["4e-4", "1e-6", "1e-8", "1e-9", "1e-10", "1e-14"])
@pytest.mark.parametrize("side", [-1, 1])
def test_near_criticality_everything_has_its_closed_form(gap, side, tmp_path):
    # Z = min(1, q / p); the tight grammar has p' = min(p, q), whose trees have
    # L = 2 p' L + q' leaves on average.
    p = Decimal("0.5") + side * Decimal(gap)
    text = f"S -> S S [{p:f}] | 'a' [{1 - p:f}]"
    grammar, probs = grammar_of(text, tmp_path)
    verdict = analyse(grammar, probs)
    assert verdict.tight == (side < 0)
    assert_allclose(verdict.partition, float(min(Decimal(1), (1 - p) / p)), rtol=1e-16)
    smaller = min(p, 1 - p)
    length = float((1 - smaller) / (1 - 2 * smaller))
    found = moments(grammar, probs, verdict)
    assert_allclose(found.length, length, rtol=1e-13)
    surprise = (length - 1) * np.log(float(smaller)) + length * np.log(float(1 - smaller))
    assert_allclose(found.entropy, -surprise, rtol=1e-13)
    tight, new, _ = tighten(grammar, probs)
    assert sorted(new.tolist()) == [float(smaller), float(1 - smaller)]
    assert analyse(tight, new).tight
    assert_allclose(moments(tight, new).length, length, rtol=1e-13)


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-10, 1e-12])
def test_two_nonterminals_near_criticality_have_their_closed_form(gap, tmp_path):
    # With p = .8, q = .2, r = .25 + gap: Z_A = q / (p r), Z_B = r Z_A + 1 − r, length 1 / (p r − q).
    r = Fraction("0.25") + Fraction(repr(gap))
    text = f"A -> A B [.8] | 'a' [.2]\nB -> 'b' A [{float(r)!r}] | 'b' [{float(1 - r)!r}]"
    grammar, probs = grammar_of(text, tmp_path)
    verdict = analyse(grammar, probs)
    p, q = Fraction(8, 10), Fraction(2, 10)
    assert_allclose(verdict.partition, [float(q / (p * r)), float(q / p + 1 - r)], rtol=1e-15)
    assert_allclose(moments(grammar, probs, verdict).length, float(1 / (p * r - q)), rtol=1e-12)


def test_digits_are_as_many_as_criticality_needs(tmp_path):
    # What is lost is l = 1e-300: 1 − Z is the square root of 2 l, a tree has q' / (1 − 2 p') leaves.
    text = "S -> S S [.5] | 'a' [.5] | D [1e-300]\nD -> D [1]"
    grammar, probs = grammar_of(text, tmp_path)
    verdict = analyse(grammar, probs)
    assert_allclose(float(1 - verdict.precise.values[0]), np.sqrt(2.0) * 1e-150, rtol=1e-14)
    assert_allclose(moments(grammar, probs, verdict).length, np.sqrt(0.125) * 1e150, rtol=1e-14)
    # Tight, and nearly endless: the entropy is that of a geometric distribution, 1 − ln l.
    grammar, probs = grammar_of("A -> A [1] | 'a' [1e-300]", tmp_path)
    assert_allclose(expected_rule_uses(grammar, probs), [1e300, 1.0], rtol=1e-14)
    assert_allclose(moments(grammar, probs).entropy, 1.0 + 300 * np.log(10), rtol=1e-14)


def test_what_is_lost_below_critical_components_is_exact(tmp_path):
    # z = z² / 2 + (1 − d) / 2 has 1 − z = √d, one component after the other.
    text = "P -> Q P [.4] | 'p' [.6]\nQ -> Q Q [.5] | R [.5]\nR -> R R [.5] | S [.5]\n"
    text += "S -> 's' [0.999999999999] | D [0.000000000001]\nD -> D [1]"
    grammar, probs = grammar_of(text, tmp_path)
    verdict = analyse(grammar, probs)
    known = dict(zip(grammar.nonterminals, verdict.partition, strict=True))
    assert_allclose([1 - known["Q"], 1 - known["R"]], [1e-3, 1e-6], rtol=1e-9)
    assert_allclose(known["P"], 0.6 / (1 - 0.4 * 0.999), rtol=1e-14)
    # The tight grammars of Q and R have radii 1 − √d; so Q makes (1 + 1e-3) / 2e-3 R's, and so on.
    q, r = (1 + 1e-3) / 2e-3, (1 + 1e-6) / 2e-6
    assert_allclose(expected_rule_uses(grammar, probs)[-3], (known["P"] / 0.6 - 1) * q * r, rtol=1e-9)


def test_components_too_large_for_all_digits_are_named(tmp_path):
    size = LARGEST + 1
    rules = [
        f"A{i} -> A{(i + 1) % size} A{(i + 1) % size} [.5000000001] | 'a' [.4999999999]" for i in range(size)
    ]
    assert analyse(*grammar_of("\n".join(rules), tmp_path)).rough.all()
    assert not analyse(*grammar_of("\n".join(rules[:-1]).replace(f"A{size - 1}", "A0"), tmp_path)).rough.any()


def test_two_components_have_their_closed_form(tmp_path):
    verdict = analyse(*grammar_of("X -> X Y [.5] | 'a' [.5]\nY -> Y Y [.7] | 'b' [.3]", tmp_path))
    assert_allclose(verdict.partition, [7 / 11, 3 / 7], rtol=1e-14)
    assert not verdict.tight


def test_ternary_partition_is_the_smallest_root(rng, tmp_path):
    grammar, _ = grammar_of(TERNARY, tmp_path)
    system = build_system(grammar)
    for probs in rng.dirichlet(np.ones(3), size=50):
        roots = np.roots([probs[0], probs[1], -1.0, probs[2]])
        smallest = min(root.real for root in roots if abs(root.imag) < 1e-9 and root.real > 0)
        assert_allclose(newton_partition(system, probs)[0][0], min(smallest, 1.0), atol=1e-8)


def test_newton_needs_few_rounds_where_the_plain_iteration_needs_thousands(tmp_path):
    grammar, probs = catalan(0.501, tmp_path)
    system = build_system(grammar)
    newton, rounds = newton_partition(system, probs)
    plain, many = iterate_partition(system, probs)
    assert rounds <= 16
    assert 7000 < many < 9000
    assert plain[0] <= newton[0]
    assert_allclose(plain, newton, atol=1e-9)


def test_random_grammars_agree_with_fifty_digits(rng):
    checked = 0
    while checked < 12:
        grammar, probs = random_grammar(rng, 6)
        verdict = analyse(grammar, probs)
        if abs(verdict.radii - 1.0).min() < 0.05:
            continue  # Where fifty digits take too many rounds.
        assert_allclose(verdict.partition, precise_partition(grammar, probs), atol=1e-10)
        assert verdict.tight == (verdict.partition[0] == 1.0)
        checked += verdict.partition[0] < 1.0


def chain_of_critical_components(length: int) -> str:
    rules = [f"C{i} -> C{i} C{i} [0.5] | C{i + 1} [0.5]" for i in range(length)]
    return "\n".join([*rules, f"C{length} -> 'a' [1]"])


def test_chain_of_critical_components_is_tight(tmp_path):
    grammar, probs = grammar_of(chain_of_critical_components(5), tmp_path)
    verdict = analyse(grammar, probs)
    assert verdict.tight
    assert_array_equal(verdict.partition, 1.0)
    # The planted fault: solved for numerically, the chain loses a tenth.
    none = np.zeros(len(verdict.radii), dtype=bool)
    assert newton_partition(verdict.system, probs, none)[0][0] < 0.95


def test_criticality_is_decided_in_the_numbers_as_written(tmp_path):
    # In binary 0.1 + 0.2 exceeds 0.3, and thirds do not sum to 1.
    critical = ["S -> S S S [0.2] | S S [.1] | S [.2] | 'a' [0.5]"]
    third = "0.3333333333333333"
    critical.append(f"S -> S S S [{third}] | 'b' [{third}] | 'a' [{third}]")
    for text in critical:
        assert analyse(*grammar_of(text, tmp_path)).tight
    # Here floats sum to more than 1.
    verdict = analyse(*grammar_of("S -> S S [.17] | S 'x' [.55] | S 'y' [.11] | 'z' [.17]", tmp_path))
    assert verdict.spectral_radius > 1.0
    assert verdict.tight
    assert not analyse(*catalan(0.5000001, tmp_path)).tight
    # A alone is critical, what it loses to B comes back.
    text = "A -> A A [.5] | B [.0000000001] | 'x' [.4999999999]\nB -> A [1]"
    assert not analyse(*grammar_of(text, tmp_path)).tight
    grammar, probs = grammar_of(
        "A -> B B [.5] | 'x' [.5]\nB -> A A [.500000001] | 'y' [.499999999]", tmp_path
    )
    assert not analyse(grammar, probs).tight
    grammar, probs = grammar_of("A -> B B [.5] | 'x' [.5]\nB -> A A [.5] | 'y' [.5]", tmp_path)
    assert analyse(grammar, probs).tight


def test_rules_without_finite_trees_take_their_mass(tmp_path):
    verdict = analyse(*grammar_of("A -> A A [.4] | 'a' [.4] | C [.2]\nC -> C [1]", tmp_path))
    assert not verdict.tight
    assert_allclose(verdict.partition, [0.5, 0.0], rtol=1e-12)
    assert not analyse(*grammar_of("A -> A [1]", tmp_path)).tight
    assert not analyse(*grammar_of("A -> A 'x' [.5] | B [.5]\nB -> U 'a' [1]", tmp_path)).tight


def test_float_and_exact_verdicts_agree_away_from_criticality(rng):
    for _ in range(40):
        grammar, probs = random_grammar(rng, 5)
        verdict = analyse(grammar, probs)
        assert_array_equal(tight_components(verdict.system, probs), verdict.tight_components)


def test_two_thousand_nonterminals_take_seconds(rng):
    import time

    grammar, probs = random_grammar(rng, 2000)
    began = time.process_time()
    analyse(grammar, probs)
    assert time.process_time() - began < 10.0


# ---------------------------------------------------------------- linearity


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("S -> A\nA -> 'x' A | 'y' B | 'x'\nB -> 'y' A | 'y'", True),  # like an HMM
        ("S -> 'a' S | 'b'", True),  # right-linear
        ("S -> S S | 'a'", False),
        ("S -> A A\nA -> B 'x' | 'y'\nB -> 'z' S", False),  # hidden recursion
        ("S -> A B\nA -> 'a' A | 'a'\nB -> B 'b' | 'b'", True),
        ("S -> A A\nA -> 'a' A | 'a'", True),
        ("S -> 'a' S | 'b'\nU -> U U | 'a'", True),  # U is useless
        ("S -> 'a' | S S U", True),  # so is the rule with U
    ],
)
def test_linearity_is_decided(text, linear, tmp_path):
    grammar, _ = grammar_of(text, tmp_path)
    assert is_linear(grammar) == linear
    assert (len(nonlinear_rules(grammar)) == 0) == linear


def bar_hillel_finds_two(grammar) -> bool:
    """Whether some A derives a form with two A's: how many, 0, 1 or 2, each symbol's forms may hold."""
    useful, _ = without_useless(grammar)
    lhs = heads(useful)
    for a in range(len(useful.nonterminals)):
        # After at least 0 steps from B, and, for A itself, after at least one.
        reach = [{0, 1} if b == a else {0} for b in range(len(useful.nonterminals))]
        derived: set[int] = set()
        changed = True
        while changed:
            changed = False
            for rule in range(num_rules(useful)):
                parts = [reach[-1 - s] for s in rule_symbols(useful, rule) if s < 0]
                sums = {min(sum(choice), 2) for choice in itertools.product(*parts)}
                target = reach[lhs[rule]]
                if not sums <= target or (lhs[rule] == a and not sums <= derived):
                    target |= sums
                    derived |= sums if lhs[rule] == a else set()
                    changed = True
        if 2 in derived:
            return True
    return False


def test_linearity_is_that_of_the_bar_hillel_construction(rng):
    found = set()
    for _ in range(60):
        grammar, _ = random_grammar(rng, 4, max_arity=2)
        found.add(is_linear(grammar))
        assert is_linear(grammar) == (not bar_hillel_finds_two(grammar))
    assert found == {True, False}


def test_random_linear_grammars_are_tight(rng):
    for _ in range(40):
        grammar, _ = random_grammar(rng, 6, linear=True)
        assert is_linear(grammar)
        probs = normalise(families(grammar), rng.gamma(0.3, size=num_rules(grammar)) + 1e-12)
        assert analyse(grammar, probs).tight


def test_useless_rules_are_found(tmp_path):
    grammar, _ = grammar_of("S -> A B | 'a'\nA -> S\nB -> 'b' | B 'c'\nC -> D 'x'\nE -> 'e'", tmp_path)
    assert_array_equal(useful_rules(grammar), [True] * 5 + [False, False])
    smaller, numbers = without_useless(grammar)
    assert_array_equal(numbers, range(5))
    assert smaller.nonterminals == ("S", "A", "B")


# ---------------------------------------------------------------- the tight grammar, and means


def test_tightening_keeps_the_distribution_over_trees(tmp_path, rng):
    for text in ("S -> S S [.6] | 'a' [.4]", CHAINS.replace(".2] | A [.3]", ".45] | A [.05]")):
        grammar, probs = grammar_of(text, tmp_path)
        verdict = analyse(grammar, probs)
        tight, new, numbers = tighten(grammar, probs)
        assert analyse(tight, new).tight
        assert_array_equal(analyse(tight, new).partition, 1.0)
        for length in range(1, 5):
            for words in itertools.product(range(min(2, len(grammar.terminals))), repeat=length):
                for tree in all_trees(tight, words, max_unary=2):
                    old = [numbers[rule] for rule in tree]
                    expected = tree_probability(old, probs) / verdict.partition[0]
                    assert_allclose(tree_probability(tree, new), expected, rtol=1e-12)


def test_tightening_drops_what_has_no_finite_tree(tmp_path):
    tight, probs, _ = tighten(*grammar_of("A -> A A [.4] | 'a' [.4] | C [.2]\nC -> C [1]", tmp_path))
    assert tight.nonterminals == ("A",)
    assert_allclose(probs, [0.2, 0.8])
    with pytest.raises(SettingsError, match="no finite tree grows from A"):
        tighten(*grammar_of("A -> A [1]", tmp_path))


def test_moments_have_their_closed_forms(tmp_path):
    # A Catalan tree with p < 1/2 has (1 − p) / (1 − 2p) leaves on average; with p > 1/2 it is like 1 − p.
    for p in (0.4, 0.6):
        grammar, probs = catalan(p, tmp_path)
        found = moments(grammar, probs)
        assert_allclose(found.length, 3.0)
        assert_allclose(found.rules, 5.0)
        assert_allclose(found.entropy, 5.0 * -(0.4 * np.log(0.4) + 0.6 * np.log(0.6)))
        assert_allclose(expected_rule_uses(grammar, probs), [2.0, 3.0])
    assert moments(*catalan(0.5, tmp_path)) == (np.inf, np.inf, np.inf)
    assert_allclose(moments(*grammar_of("S -> 'a' S [.75] | 'b' [.25]", tmp_path)).length, 4.0)


def test_what_grows_from_a_critical_nonterminal_is_endless_too(tmp_path):
    grammar, probs = grammar_of("S -> A [.5] | 'b' [.5]\nA -> A A [.5] | C [.5]\nC -> 'c' [1]", tmp_path)
    assert_array_equal(expected_rule_uses(grammar, probs), [0.5, 0.5, np.inf, np.inf, np.inf])


@pytest.mark.parametrize(
    ("text", "radius", "rows"),
    [
        ("S -> S S [1]\n", "2, with rules that no finite tree has", ["S 0.00000000 1 none no"]),
        (
            "S -> S A [.2] | 'a' [.5] | S 'b' [.3]\nA -> A A [1]\n",
            "2, with rules that no finite tree has; 0.3 without them",
            ["S 0.71428571 1 0.3 no", "A 0.00000000 2 none no"],
        ),
        (
            "S -> A B [.2] | 'a' [.8]\nA -> A A [1]\nB -> B B [.25] | 'b' [.75]\n",
            "2, with rules that no finite tree has; 0 without them",
            ["S 0.80000000 1 0 no", "A 0.00000000 2 none no", "B 1.00000000 3 0.5 yes"],
        ),
        (
            "S -> S S [.25] | 'a' [.75]\nA -> A A [1]\n",
            "0.5",
            ["S 1.00000000 1 0.5 yes", "A 0.00000000 2 none no"],
        ),
    ],
    ids=["no finite tree", "some", "beside others", "out of reach"],
)
def test_the_radius_of_all_rules_is_told_from_that_of_finite_trees(tmp_path, capsys, text, radius, rows):
    """Whose components the table has: with two numbers for one grammar and no word nobody knew which held."""
    (tmp_path / "g").write_text(text)
    assert main(["pcfg", "check", str(tmp_path / "g")]) == 0
    head, table = capsys.readouterr().out.split("\n\n")
    assert f"\nspectral radius  {radius}\n" in head
    assert [" ".join(line.split()) for line in table.splitlines()[1:]] == rows
