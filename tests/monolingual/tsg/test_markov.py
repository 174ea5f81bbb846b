"""Binarisation from either side and by heads, horizontal and vertical orders, and their exact inverse."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from monolingual.cli import main
from monolingual.tsg.head_rules import ENGLISH, find_head, read_rules
from monolingual.tsg.markov import BINARISE, PLAIN, Form, binarise, plain, unbinarise
from monolingual.tsg.preparation import Preparation, head_rules, restore_tree, without_orders
from monolingual.tsg.trees import Tree, format_tree, leaves
from scfg_sampler.errors import InputError
from tests.monolingual.tsg.treebanks import tree_of

LABELS = st.sampled_from(
    ["S", "NP", "@", "@NP", "\\", "\\@X", "-LRB-", "^", "NP^S", "%5E", "%25", "@NP~a", "X:", "|", "%"]
)
WORDS = st.sampled_from(["the", "dog", "-LRB-", "@NP", "1,5", "NP^S"])
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), LABELS, WORDS),
    lambda below: st.builds(Tree, LABELS, st.lists(below | WORDS, min_size=1, max_size=6).map(tuple)),
    max_leaves=25,
)
FORMS = st.builds(Form, st.sampled_from(BINARISE), st.integers(-1, 3), st.integers(1, 4))


def nodes_of(tree):
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(child for child in node.children if not isinstance(child, str))


@given(TREES, FORMS)
def test_every_form_is_undone_exactly(tree, form):
    made = binarise(tree, form)
    assert unbinarise(made, form) == tree
    assert leaves(made) == leaves(tree)
    assert form.binarise == "none" or all(len(node.children) <= 2 for node in nodes_of(made))
    assert plain(made, form) == binarise(tree, Form("none" if form.binarise == "none" else "right"))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (PLAIN, "(S (VP (V v) (@VP (NP (N a) (N b)) (@VP (PP p) (PP q)))))"),
        (Form("left"), "(S (VP (@VP (@VP (V v) (NP (N a) (N b))) (PP p)) (PP q)))"),
        (Form("right", 1), "(S (VP (V v) (@VP~V (NP (N a) (N b)) (@VP~NP (PP p) (PP q)))))"),
        (Form("right", 2), "(S (VP (V v) (@VP~V (NP (N a) (N b)) (@VP~NP~V (PP p) (PP q)))))"),
        (Form("right", -1), "(S (VP (V v) (@VP~V (NP (N a) (N b)) (@VP~NP~V (PP p) (PP q)))))"),
        (Form("left", 1), "(S (VP (@VP~PP (@VP~PP (V v) (NP (N a) (N b))) (PP p)) (PP q)))"),
        (Form("head", 0), "(S (VP (@VP:V (@VP:V (V v) (NP (N a) (N b))) (PP p)) (PP q)))"),
        (Form("none", 2, 2), "(S (VP^S (V v) (NP^VP (N a) (N b)) (PP p) (PP q)))"),
        (
            Form("right", 1, 3),
            "(S (VP^S (V v) (@VP^S~V (NP^VP^S (N a) (N b)) (@VP^S~NP (PP p) (PP q)))))",
        ),
    ],
)
def test_labels_name_siblings_and_ancestors(form, expected):
    tree = tree_of("(S (VP (V v) (NP (N a) (N b)) (PP p) (PP q)))")
    assert format_tree(binarise(tree, form, {"VP": ENGLISH["PP"][:0] + ENGLISH["*"]})) == expected


def test_heads_are_split_off_last():
    """What is before the head goes first, from the left; then what is behind it, from the right."""
    tree = tree_of("(VP (ADVP a) (RB b) (VBD c) (NP d) (PP e))")
    found = format_tree(binarise(tree, Form("head", 1)))
    assert found == ("(VP (ADVP a) (@VP:VBD~ADVP (RB b) (@VP:VBD~RB (@VP:VBD~PP (VBD c) (NP d)) (PP e))))")


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("NP", "DT NN NN PP", 2),
        ("NP", "NP POS", 1),
        ("NP", "NP PP", 0),
        ("NP", "DT JJ", 1),
        ("PP", "ADVP IN NP", 1),
        ("VP", "MD VP", 0),
        ("S", "PP NP VP .", 2),
        ("QP", "IN CD NN", 0),
        ("odd", "A B C", 0),
    ],
)
def test_heads_of_english(label, children, head):
    assert find_head(ENGLISH, label, children.split()) == head


def test_rules_come_from_a_file_too(tmp_path):
    path = tmp_path / "heads"
    path.write_text("% of a language with its heads behind\nVP right V/AUX left NP\n\nX right\n")
    rules = read_rules(path)
    assert find_head(rules, "VP", ["V", "NP", "AUX", "P"]) == 2
    assert find_head(rules, "VP", ["P", "NP", "NP"]) == 1
    assert find_head(rules, "VP", ["P", "Q"]) == 0
    assert find_head(rules, "X", ["P", "Q", "R"]) == 2
    assert find_head(rules, "other", ["P", "Q"]) == 1
    assert head_rules(Preparation(binarise="head", heads=str(path))) == rules
    assert head_rules(Preparation(binarise="right", heads=str(path))) is ENGLISH


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("VP V\n", 1, "is no rule for heads"),
        ("VP left V\nVP right V\n", 2, "VP has a rule already"),
        ("% nothing\n", None, "holds no rule"),
    ],
)
def test_wrong_rules_are_named(text, line, found, tmp_path):
    (tmp_path / "heads").write_text(text)
    with pytest.raises(InputError, match=found) as error:
        read_rules(tmp_path / "heads")
    assert error.value.line == line


def test_very_deep_trees_have_every_form():
    flat = Tree("S", tuple(Tree("A", (f"w{i}",)) for i in range(3000)))
    for form in (Form("left", 2, 3), Form("head", 1, 2)):
        assert unbinarise(binarise(flat, form), form) == flat


@pytest.mark.parametrize("form", [("left", 1, 1), ("head", 1, 2), ("right", 2, 3), ("none", 0, 2)])
def test_grammars_of_every_form_parse_into_trees_of_the_treebank(form, tmp_path, capsys):
    """Labels of what is parsed are those of the treebank, by every method; one tree is counted as one."""
    trees = [
        "(S (NP (D the) (J big) (N cat)) (VP (V sees) (NP (D the) (N dog)) (PP (P at) (NP (N home)))))",
        "(S (NP (D the) (N dog)) (VP (V sleeps)))",
        "(S (NP (N home)) (VP (V sees) (NP (D the) (J big) (N dog))))",
    ]
    (tmp_path / "t.mrg").write_text("\n".join(trees * 3) + "\n")
    (tmp_path / "text").write_text("the big dog sees the dog\n")
    run = str(tmp_path / "run")
    options = [
        f"--{name}={value}" for name, value in zip(("binarise", "horizontal", "vertical"), form, strict=True)
    ]
    given = ["--iterations", "5", "--unknown", "none", "--quiet", "--output", run]
    assert main(["tsg", "train", str(tmp_path / "t.mrg"), *given, *options]) == 0
    for method in ("mpd", "mpp", "mer"):
        parse = [
            "tsg",
            "parse",
            run,
            "--method",
            method,
            "--samples",
            "20",
            "--input",
            str(tmp_path / "text"),
        ]
        assert main([*parse, "--output", str(tmp_path / "out"), "--quiet"]) == 0
        (line,) = (tmp_path / "out").read_text().splitlines()
        assert line == "(S (NP (D the) (J big) (N dog)) (VP (V sees) (NP (D the) (N dog))))"
    nbest = ["tsg", "parse", run, "--method", "mpp", "--nbest", "9", "--input", str(tmp_path / "text")]
    assert main([*nbest, "--output", str(tmp_path / "out"), "--quiet"]) == 0
    found = [line.split(" ||| ")[1] for line in (tmp_path / "out").read_text().splitlines()]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("form", [[], ["--vertical", "2"]])
def test_gold_tags_are_those_of_the_trees_whatever_they_begin_with(form, tmp_path, capsys):
    """Tags of messages are `@` for names, `^` and so on; the grammar has them escaped."""
    (tmp_path / "trees").write_text(
        "(S (NP (@ x)) (VP (^ y) (NP (% z))))\n(S (NP (N z)) (VP (^ x) (@ y)))\n" * 2
    )
    (tmp_path / "text").write_text(
        "(S (NP (@ z)) (VP (^ z) (NP (% y))))\n(S (NP (N x)) (VP (^ x) (@ x)))\n(S (N z) (@ u) (% v))\n"
    )
    run = str(tmp_path / "run")
    train = ["tsg", "train", str(tmp_path / "trees"), "--output", run, "--unknown", "none", *form, "--quiet"]
    assert main([*train, "--iterations", "5"]) == 0
    parse = ["tsg", "parse", run, "--input", str(tmp_path / "text"), "--format", "trees", "--gold-tags"]
    assert main([*parse, "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == (tmp_path / "text").read_text().splitlines()


def test_forests_take_no_orders(tmp_path, capsys):
    (tmp_path / "words").write_text("a b\n")
    arguments = [
        "tsg",
        "train",
        "--sentences",
        str(tmp_path / "words"),
        "--labels",
        "A",
        "--output",
        str(tmp_path / "r"),
    ]
    assert main([*arguments, "--horizontal", "1"]) == 2
    assert "--sentences goes with --binarise right or none" in capsys.readouterr().err
    assert main([*arguments, "--vertical", "0"]) == 2
    assert "--vertical is 0; it must be at least 1" in capsys.readouterr().err


def test_restored_trees_are_those_of_the_treebank():
    preparation = Preparation("head", 1, 2, unknown="none")
    tree = tree_of("(S (NP (D the) (J big) (N cat)) (VP (V sees) (NP (D a) (J b) (N c))))")
    made = binarise(tree, preparation.form)
    assert restore_tree(made, preparation, leaves(tree)) == tree
    simple = plain(made, preparation.form)
    assert restore_tree(simple, without_orders(preparation), leaves(tree)) == tree


def test_productions_of_other_trees_are_counted_alike(tmp_path):
    """A derivation whose tree is given back anew has the rules that it had."""
    from monolingual.tsg.parser import Derivation, _rules, _with_trees

    tree = tree_of("(S (NP (D the) (N dog)) (VP barks (ADVP (A at) (A home))))")
    rules = (
        ("D", (("the", True),), 0, (1,)),
        ("N", (("dog", True),), 1, (2,)),
        ("NP", (("D", False), ("N", False)), 0, (1, 2)),
        ("A", (("at", True),), 3, (4,)),
        ("A", (("home", True),), 4, (5,)),
        ("ADVP", (("A", False), ("A", False)), 3, (4, 5)),
        ("VP", (("barks", True), ("ADVP", False)), 2, (3, 5)),
        ("S", (("NP", False), ("VP", False)), 0, (2, 5)),
    )
    assert _rules(tree) == rules
    one = Derivation(tree_of("(S (X the dog barks at home))"), -1.0, (0,), ())
    assert [found.rules for found in _with_trees([one, one], lambda _: tree)] == [rules, rules]


def test_one_sibling_is_named_unless_forests_are_given(tmp_path):
    import json

    (tmp_path / "t.mrg").write_text("(S (A a) (B b) (C c) (D d))\n")
    (tmp_path / "words").write_text("a b\n")
    common = ["--iterations", "1", "--unknown", "none", "--quiet", "--output"]
    for name, more, order in (
        ("r", [], 1),
        ("f", ["--sentences", str(tmp_path / "words"), "--labels", "A"], 0),
    ):
        run = tmp_path / name
        assert main(["tsg", "train", str(tmp_path / "t.mrg"), *more, *common, str(run)]) == 0
        assert json.loads((run / "run.json").read_text())["preparation"]["horizontal"] == order
