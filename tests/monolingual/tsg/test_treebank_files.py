"""Export, Tiger XML and discbracket, read as brackets or refused."""

from __future__ import annotations

import itertools

import pytest

from monolingual.cli import main
from monolingual.tsg.treebank_files import GraphNode, continuous, gaps, kind_of
from monolingual.tsg.trees import format_tree, leaves, read_trees
from scfg_sampler.errors import TreeError

EXPORT = """%% a comment
#BOS 1 0 0 0
Darüber\tPROAV\t--\tMO\t500
muss\tVMFIN\t--\tHD\t501
(\t$(\t--\t--\t0
nachgedacht\tVVPP\t--\tHD\t500
werden\tVAINF\t--\tOC\t501
.\t$.\t--\t--\t0
#500\tVP\t--\tOC\t501
#501\tS\t--\t--\t0
#EOS 1
#BOS 2 0 0 0
Es\tPPER\t--\tSB\t500
geht\tVVFIN\t--\tHD\t500
#500\tS\t--\t--\t0
#EOS 2
"""
CONTINUOUS = """#FORMAT 4
#BOS 1 0 0 0
Es\tes\tPPER\t--\tSB\t500
geht\tgehen\tVVFIN\t--\tHD\t500 %% a note
#500\t--\tS\t--\t--\t0
#EOS 1
"""
TIGER = """<?xml version="1.0" encoding="ISO-8859-1"?>
<corpus id="x"><body>
<s id="s1"><graph root="s1_VROOT"><terminals>
<t id="s1_1" word="Möglich" lemma="" pos="ADJD"/><t id="s1_2" word="ist" pos="VAFIN"/>
<t id="s1_3" word="&quot;" pos="$("/></terminals><nonterminals>
<nt id="s1_500" cat="S"><edge idref="s1_2" label="HD"/><edge idref="s1_1" label="PD"/></nt>
<nt id="s1_VROOT" cat="VROOT"><edge idref="s1_500" label="--"/><edge idref="s1_3" label="--"/></nt>
</nonterminals></graph></s>
</body></corpus>
"""
DISC = "(ROOT (S (VP (P 0=Darüber) (V 2=nachgedacht)) (V 1=muss)) ($. 3=.))\n"


def written(tmp_path, text, name="t"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def trees_of(path, **options):
    return [format_tree(tree) for tree, _ in read_trees(path, **options)]


def test_continuous_trees_are_read_as_they_are(tmp_path):
    expected = "(TOP (S (PPER Es) (VVFIN geht)))"
    assert trees_of(written(tmp_path, CONTINUOUS)) == [expected]
    undeclared = CONTINUOUS.replace("#FORMAT 4\n", "")  # As many a file has it.
    assert trees_of(written(tmp_path, undeclared)) == [expected]
    assert trees_of(written(tmp_path, TIGER)) == ['(VROOT (S (ADJD Möglich) (VAFIN ist)) ($-LRB- "))']
    assert trees_of(written(tmp_path, "(S (A 1=b) (B 0=a))\n(X (Y 0=(x))\n".replace("0=(x", "0=x"))) == [
        "(S (B a) (A b))",
        "(X (Y x))",
    ]
    assert trees_of(written(tmp_path, "(S (A 1) (B 0))\ta b\n")) == ["(S (B a) (A b))"]


def test_what_stands_behind_a_tree_with_its_words_is_a_comment(tmp_path):
    """Disco-dop writes `(…)` with words, a tab and a comment, such as the parse's probability."""
    disc = "(S (B 1=b) (A 0=a))\tprob 0.5\n(S (A 0=a) (B 1=b))\t\n(S (A 0=a) (B 1=b))\tx\n"
    assert trees_of(written(tmp_path, disc)) == ["(S (A a) (B b))"] * 3


def test_the_outermost_bracket_of_discbracket_needs_no_label(tmp_path):
    assert trees_of(written(tmp_path, "( (S (A 0=a) (B 1=b)))\n")) == ["(TOP (S (A a) (B b)))"]


def test_brackets_in_words_of_discbracket_are_those_of_other_formats(tmp_path):
    """Disco-dop writes them with number signs."""
    disc = "(S (A 0=dog#LRB#s#RRB#) (B 1=#LRB#))\n"
    assert trees_of(written(tmp_path, disc)) == ["(S (A dog-LRB-s-RRB-) (B -LRB-))"]


def test_no_break_spaces_are_parts_of_words(tmp_path):
    spaced = "10\u00a0000"
    export = CONTINUOUS.replace("Es\tes", f"{spaced}\tes")
    assert trees_of(written(tmp_path, export)) == [f"(TOP (S (PPER {spaced}) (VVFIN geht)))"]
    assert trees_of(written(tmp_path, f"(S (A 0={spaced}) (B 1=b))\n")) == [f"(S (A {spaced}) (B b))"]
    assert trees_of(written(tmp_path, f"(S (A 0) (B 1))\t{spaced} b\n")) == [f"(S (A {spaced}) (B b))"]


def test_discontinuous_trees_are_refused_with_the_constituent(tmp_path):
    found = r"t:2: the constituent S is discontinuous \(Darüber … werden\). .* 'tsg convert --raise'"
    with pytest.raises(TreeError, match=found):
        trees_of(written(tmp_path, EXPORT))
    with pytest.raises(TreeError, match="t:1: the constituent VP is discontinuous"):
        trees_of(written(tmp_path, DISC))


def test_discontinuous_trees_are_raised(tmp_path):
    """The VP keeps its head, what stood before goes to S; and the bracket of the top breaks S in two."""
    raised = trees_of(written(tmp_path, EXPORT), raising=True)
    # The part of S with its head, muss, stays S; the VP behind the bracket goes to the top.
    assert raised == [
        "(TOP (S (PROAV Darüber) (VMFIN muss)) ($-LRB- -LRB-) (VP (VVPP nachgedacht)) (VAINF werden) ($. .))",
        "(TOP (S (PPER Es) (VVFIN geht)))",
    ]
    assert trees_of(written(tmp_path, DISC), raising=True) == [
        "(ROOT (S (VP (P Darüber)) (V muss) (V nachgedacht)) ($. .))"
    ]


def every_graph(rng, size):
    """A random tree over words in random places."""
    words = rng.permutation(size).tolist()
    nodes = [GraphNode(f"T{word}", "HD" if rng.random() < 0.3 else "", (), (word,)) for word in words]
    while len(nodes) > 1:
        take = int(rng.integers(1, min(3, len(nodes)) + 1)) if len(nodes) < 8 else 2
        children = tuple(sorted(nodes[:take], key=lambda node: node.words))
        spelled = tuple(sorted(word for child in children for word in child.words))
        nodes = [*nodes[take:], GraphNode("X", "HD" if rng.random() < 0.3 else "", children, spelled)]
    return nodes[0]


def labels_and_words(node):
    pending, labels, words = [node], [], []
    while pending:
        item = pending.pop()
        labels.append(item.label)
        words += [] if item.children else item.words
        pending.extend(item.children)
    return sorted(labels), sorted(words)


def test_raised_trees_have_the_same_nodes_and_no_gaps(rng):
    seen = 0
    for _ in range(200):
        root = every_graph(rng, int(rng.integers(2, 8)))
        found = continuous(root)
        seen += bool(gaps(root))
        assert gaps(found) == []
        assert labels_and_words(found) == labels_and_words(root)
        if not gaps(root):
            assert found == root
    assert seen > 50


def test_gaps_are_those_of_the_words():
    leaf = [GraphNode("T", "", (), (at,)) for at in range(4)]
    for places in itertools.combinations(range(4), 2):
        node = GraphNode("X", "", tuple(leaf[at] for at in places), places)
        assert bool(gaps(node)) == (places[1] != places[0] + 1)


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        ("#BOS 1", "export"),
        ("#FORMAT 4", "export"),
        ("<?xml version='1.0'?>", "tiger"),
        ("(S (A 0=a))", "disc"),
        ("(S (A 0) (B 1))\ta b", "disc"),
        ("(S (A 0) (B 1))", "brackets"),
        ("(S (CD 1990))", "brackets"),
        ("(S", "brackets"),
        ("( (S (NP x)))", "brackets"),
    ],
)
def test_formats_are_told_by_the_first_line(first, kind):
    assert kind_of(first) == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#BOS 1\na\tT\t--\t--\t0\n", r":1: the sentence has no #EOS"),
        ("#BOS 1\na\tT\n#EOS 1\n", r":2: 2 columns"),
        ("#BOS 1\na\tT\t--\t--\t500\n#EOS 1\n", r":2: the parent 500 does not exist"),
        (
            "#BOS 1\na\tT\t--\t--\t500\n#500\tS\t--\t--\t501\n#501\tS\t--\t--\t500\n#EOS 1\n",
            r"is above itself",
        ),
        ("#BOS 1\na\tT\t--\t--\t0\n#500\tS\t--\t--\t0\n#EOS 1\n", r":3: the constituent 500 has no children"),
        (
            "#BOS 1\na\tT\t--\t--\t500\n#500\tS\t--\t--\t0\n#500\tN\t--\t--\t0\n#EOS 1\n",
            r":4: the constituent 500 stands twice\. Give each one a number of its own",
        ),
        (
            "<corpus><s>\n<t id='1' word='a' pos='T'/>\n<t id='1' word='b' pos='T'/></s></corpus>",
            r":3: the id 1 stands twice\. Give each one an id of its own",
        ),
        (
            "<corpus><s>\n<t id='1' word='a' pos='T'/>\n<nt id='2' cat='S'/>\n<nt id='2' cat='N'/></s>",
            r":4: the id 2 stands twice",
        ),
        ("<corpus><s><t id='1'/></s></corpus>", r"an element without 'word'"),
        ("<corpus>\n<s>\n</corpus>", r":3: is no XML"),
        ("\n \n<?xml version='1.0'?>\n<corpus>\n<s>\n</corpus>", r":6: is no XML \(mismatched tag\)"),
        ("\n<corpus>\n<s>\n<t id='1'/></s></corpus>", r":4: an element without 'word'"),
        ("\n<corpus><s>\n<t id='1' word='a' pos=''/></s></corpus>", r":3: an element with an empty pos"),
        ("(S (A 0=a) (B 2=b))", r":1: the words have the numbers \[0, 2\]"),
        ("(S (A 0=a) (B 0=b))", r":1: the number 0 of a word stands twice\. Number the words 0, 1"),
        (
            "(S (A 0) (B 2))\ta b",
            r":1: the number 2 has no word among the 2 behind the tab\. Number the words",
        ),
        ("(S (A 0=a)", r":1: brackets are not closed"),
        ("(S ((A 0=a)) (B 1=b))", r":1: a bracket without a label\. Only the outermost may have none"),
        ("(S 0=a (B 1=b))", r":1: \(S …\) has a word beside constituents\. Give each word a label"),
        ("(S (A 0=a))\n(S (A 0=a)) (S (A 0=b))\n", r":2: '\(' stands behind the tree\. One tree a line"),
        ("(S (A 0=a))\n(S (A 0000000001234=a))\n", r":2: '0000000001234=a' is no number=word"),
        ("(S (A 0=a) (B ))", r":1: "),
    ],
)
def test_damaged_treebanks_are_refused(tmp_path, text, message):
    with pytest.raises(TreeError, match=message):
        trees_of(written(tmp_path, text), raising=True)


def test_blanks_may_stand_before_tiger_xml(tmp_path):
    for blanks in ("\n", "\r\n\n", "  ", "\n\t"):
        (found,) = read_trees(written(tmp_path, blanks + TIGER))
        assert found.line == blanks.count("\n") + 3
        assert leaves(found.tree) == ["Möglich", "ist", '"']


def test_treebanks_are_converted(tmp_path, capsys):
    path = str(written(tmp_path, EXPORT))
    assert main(["tsg", "convert", path]) == 2
    assert "discontinuous" in capsys.readouterr().err
    assert main(["tsg", "convert", path, "--raise", "--output", str(tmp_path / "o")]) == 0
    assert "2 trees" in capsys.readouterr().err
    assert [leaves(tree) for tree, _ in read_trees(tmp_path / "o")][1] == ["Es", "geht"]
