"""Rules with nonterminals other than X come back from every format with the labels they had."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scfg_sampler.cli import main
from scfg_sampler.commands.convert import add_parser
from scfg_sampler.core.command_line import Parser
from scfg_sampler.errors import RuleTableError
from scfg_sampler.formats import FORMATS
from scfg_sampler.formats.conversion import read_table, write_table
from scfg_sampler.formats.glue import write_glue
from scfg_sampler.formats.travatar import circular
from scfg_sampler.rules.labels import joined_labels, kind_of, labels_of_kinds, left_labels
from scfg_sampler.rules.table import read_rule_table, rule, select_rows, write_rule_table
from scfg_sampler.rules.text import Rule, format_rule, parse_rule
from scfg_sampler.rules.text_filter import filter_table
from tests.formats.test_recognisers import READERS
from tests.rules.test_table import as_rules, table_of
from tests.rules.test_text import rules, tails

NAMES = ("LogForward", "LogBackward", "LexForward", "LexBackward", "LogCount", "TargetWords", "Abstract")
LABELS = st.one_of(
    st.sampled_from(
        ["X", "X", "NP", "NN-HD", "NP/NN", ",", ".", "-LRB-", "''", "|", "&#44;", "[", "a b", "1"]
    ),
    st.text(min_size=1, max_size=4),
).filter(lambda label: label not in ("S", "GOAL"))


@st.composite
def labelled_rules(draw) -> Rule:
    entry = draw(rules())
    gaps = sum(isinstance(symbol, int) for symbol in entry.source)
    labels = tuple(draw(st.lists(LABELS, min_size=gaps + 1, max_size=gaps + 1)))
    return entry._replace(labels=labels if set(labels) != {"X"} else ())


TABLES = st.lists(labelled_rules(), max_size=5, unique_by=lambda entry: (*entry[:2], entry.labels))


def labelled_table(entries: list[Rule]):
    """A table with all our features and the rules' own word counts."""
    table = table_of(entries, NAMES)
    table.features[:, :5] = -1.5
    table.features[:, 4] = 2.0
    for row, entry in enumerate(entries):
        words = [sum(isinstance(x, str) for x in side) for side in entry[:2]]
        table.features[row, 5:] = words[1], sum(words) == 0
    arity = [sum(isinstance(symbol, int) for symbol in entry.source) for entry in entries]
    return table._replace(
        labels=labels_of_kinds([entry.labels for entry in entries], np.array(arity, np.int64))
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("labels")


@pytest.mark.parametrize("file_format", FORMATS)
@given(entries=TABLES)
@settings(max_examples=8)
def test_rules_and_their_labels_come_back(folder, file_format, entries):
    require_that_labels_come_back(folder, file_format, entries)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", FORMATS)
@given(entries=TABLES)
@settings(max_examples=200)
def test_any_rules_and_labels_come_back(folder, file_format, entries):
    require_that_labels_come_back(folder, file_format, entries)


def require_that_labels_come_back(folder, file_format, entries):
    table = labelled_table(entries)
    write_rule_table(table, folder / "before")
    write_table(table, folder / "there", file_format)
    lines = [line for line in (folder / "there").read_bytes().split(b"\n") if line and line[:2] != b"# "]
    assert lines == sorted(lines)
    back, losses = read_table(folder / "there", file_format)
    assert not losses
    found = {(*each[:2], each.labels) for each in as_rules(back)}
    assert found == {(*entry[:2], entry.labels) for entry in entries}
    if entries:
        write_rule_table(back, folder / "after")
        assert (folder / "after").read_text() == (folder / "before").read_text()


@given(entry=labelled_rules())
@settings(max_examples=20)
def test_a_labelled_rule_comes_back_from_its_line(entry):
    assert parse_rule(format_rule(entry), labels=True) == entry


@given(
    tails("[]XN,1ab |=-.0F&#4;", ["[N,1]", "[X,1]", "[N,2]"]),
    st.sampled_from(["[N]", "[X]", "[N]", "[", "[N,]", "[]", "[N] [N]"]),
)
@settings(max_examples=400)
def test_the_compiled_reader_accepts_what_the_plain_one_accepts(folder, tail, left):
    line, path = f"{left} ||| {tail}", folder / "line"
    path.write_text(f"{line}\n")
    expected, problem = None, None
    try:
        expected = parse_rule(line, labels=True)
    except RuleTableError as error:
        problem = error.found
    if problem is not None:
        with pytest.raises(RuleTableError) as found:
            read_rule_table(path, labels=True)
        assert found.value.found == problem
    else:
        (entry,) = as_rules(read_rule_table(path, labels=True))
        assert (*entry[:2], *entry[3:]) == (*expected[:2], *expected[3:])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[N] ||| [N,1] a ||| [X,1] ||| F=1", r"\[X,1\] is on the target side but \[N,1\] on the source"),
        ("[N,1] ||| a ||| b ||| F=1", r"left-hand side is '\[N,1\]'"),
        ("[N] ||| [,1] ||| [1] ||| F=1", r"'\[,1\]' is not a nonterminal"),
        ("[N] ||| [N] ||| [1] ||| F=1", r"'\[N\]' is not a nonterminal"),
        ("[N] ||| [A,B,1] ||| [1] ||| F=1", r"'\[A,B,1\]' is not a nonterminal"),
    ],
)
def test_labels_that_do_not_fit_are_named(folder, line, message):
    (folder / "t").write_text(f"[N] ||| [N,1] ||| [1] ||| F=1\n{line}\n")
    with pytest.raises(RuleTableError, match=f"t:2: .*{message}"):
        read_rule_table(folder / "t", labels=True)


@pytest.mark.parametrize("file_format", READERS)
@given(entry=labelled_rules())
@settings(max_examples=8)
def test_decoders_read_labelled_rules(folder, file_format, entry):
    write_table(labelled_table([entry]), folder / "one", file_format)
    (found,) = READERS[file_format].read_table((folder / "one").read_bytes())
    label = format_rule(entry).split("]")[0][1:].encode("utf-8", "surrogatepass")
    assert found.label == label
    assert [x for x in found.target if isinstance(x, int)] == [x for x in entry.target if isinstance(x, int)]


@pytest.mark.parametrize("file_format", READERS)
def test_no_label_is_read_as_a_feature_of_the_rule_before(folder, file_format):
    """cdec's features go on in the next line, up to an equals sign before the first blank."""
    entries = [Rule((word,), ("b",), {}, (), ("NP=2",)) for word in "ac"]
    write_table(labelled_table(entries), folder / "two", file_format)
    found = READERS[file_format].read_table((folder / "two").read_bytes())
    assert [each.label for each in found] == [b"NP&#61;2"] * 2


@pytest.mark.parametrize(
    ("file_format", "start"), [("moses", b"S'"), ("joshua", b"GOAL"), ("travatar", b"S'")]
)
def test_glue_rules_are_for_every_label_and_are_told_from_others(folder, file_format, start):
    entries = [Rule(("a",), ("b",), {}, (), (label,)) for label in ("S", "NP")]
    entries.append(Rule((-1, -2), (-2, -1), {}, (), ("S", "NP", "VP")))
    table = labelled_table(entries)
    assert left_labels(table.labels) == ("X", "S", "NP")
    write_glue(folder / "glue", file_format, left_labels(table.labels))
    glue = READERS[file_format].read_glue((folder / "glue").read_bytes())
    assert {found.label for found in glue} == {start}
    text = (folder / "glue").read_text()
    assert all(text.count(label) >= 1 for label in ("X", "NP", "S"))
    write_table(table, folder / "table", file_format)
    write_glue(folder / "plain", file_format)
    both = (folder / "table").read_text() + (folder / "plain").read_text()
    (folder / "both").write_text(both)
    back, losses = read_table(folder / "both", file_format)
    assert back.num_rules == 3
    assert sum(losses.values()) == both.count("\n") - 3


@pytest.mark.parametrize("decoder", ["cdec", "moses", "joshua", "travatar"])
def test_a_label_that_only_gaps_have_is_not_glued_to(folder, decoder, capsys):
    """No rule makes it, so nothing but a copied word fills such a gap; what is glued must not."""
    own = "GOAL" if decoder == "joshua" else "S"
    features = {"LogForward": -1.0}
    entries = [Rule(("a", -1), ("b", -1), features, (), ("X", own)), Rule(("c",), ("d",), features)]
    write_rule_table(labelled_table(entries), folder / "gaps")
    arguments = ["--output", str(folder / "out"), "--glue", str(folder / "glue")]
    assert main(["convert", str(folder / "gaps"), "--to", decoder, *arguments]) == 0
    said = f"the start symbol is called {own}', as {own} is one of the labels"
    assert said in capsys.readouterr().err
    glue = READERS[decoder].read_table if decoder == "cdec" else READERS[decoder].read_glue
    assert {found.label for found in glue((folder / "glue").read_bytes())} == {f"{own}'".encode()}


def test_cdec_gets_glue_rules_where_it_has_none(folder):
    write_glue(folder / "glue", "cdec", ("X", "NP"))
    assert (folder / "glue").read_text().splitlines() == [
        "[S] ||| [X,1] ||| [1] |||",
        "[S] ||| [S,1] [X,2] ||| [1] [2] ||| Glue=1",
        "[S] ||| [NP,1] ||| [1] |||",
        "[S] ||| [S,1] [NP,2] ||| [1] [2] ||| Glue=1",
    ]


def test_labels_of_either_side_are_read_and_those_of_both_left_out(folder):
    (folder / "m").write_text(
        "das [X][NN] [X] ||| the [X][NN] [NP] ||| 1 1 1 1 ||| 0-0 1-1\n"
        "das [NN][X] [NP] ||| the [NN][X] [X] ||| 1 1 1 1 ||| 0-0 1-1\n"
        "das [N][N] [NP] ||| the [N][N] [NP] ||| 1 1 1 1 ||| 0-0 1-1\n"
        "das [A][B] [X] ||| the [A][B] [NP] ||| 1 1 1 1 ||| 0-0 1-1\n"
    )
    table, losses = read_table(folder / "m", "moses")
    assert [kind_of(table.labels, row) for row in range(3)] == [("NP", "NN"), ("NP", "NN"), ("NP", "N")]
    assert losses == {"rules with different labels on both sides": 1}
    (folder / "t").write_text(
        '"a" x0:NN @ NP ||| x0:X "b" @ X ||| p=1\n"a" x0:NN @ NP ||| x0:N "b" @ NP ||| p=1\n'
    )
    table, losses = read_table(folder / "t", "travatar")
    assert kind_of(table.labels, 0) == ("NP", "NN")
    assert losses == {"rules with different labels on both sides": 1}


def test_rules_that_lead_back_to_their_label_are_told_for_travatar(folder, capsys):
    """It ends where a label makes itself (rule-fsm.cc, «Unary cycles»), in one step or in more."""
    sides = [("A", "A"), ("B", "C"), ("C", "D"), ("D", "B"), ("E", "D"), ("F", "E")]
    entries = [Rule((-1,), (-1, "b"), {}, (), labels) for labels in sides]
    entries += [Rule((-1, "a"), (-1, "b"), {}, (), ("A", "A")), Rule(("a",), ("b",), {}, (), ("A",))]
    table = labelled_table(entries)
    assert circular(table).tolist() == [True] * 4 + [False] * 4
    plain = table_of([Rule((-1,), ("b", -1), {}), Rule((-1, "a"), (-1, "b"), {}), Rule(("a",), ("b",), {})])
    assert circular(plain).tolist() == [True, False, False]
    write_rule_table(table, folder / "c")
    for decoder in ("travatar", "cdec"):
        assert main(["convert", str(folder / "c"), "--to", decoder, "--output", str(folder / "o")]) == 0
        said = "4 rules have a source side of one nonterminal of their own label, or of one made of it"
        assert (said in capsys.readouterr().err) == (decoder == "travatar")


def test_filtering_keeps_labels_and_ranks_by_left_hand_side(folder):
    (folder / "t").write_text(
        "[NP] ||| a [N,1] ||| b [N,1] ||| LogForward=-1\n"
        "[NP] ||| a [N,1] ||| c [N,1] ||| LogForward=-2\n"
        "[NP] ||| z ||| c ||| LogForward=-2\n"
        "[VP] ||| a [N,1] ||| d [N,1] ||| LogForward=-3\n"
    )
    (folder / "text").write_text("a q\n")
    filter_table(folder / "t", source=folder / "text", output=folder / "kept", max_targets=1)
    kept = [each.split(" ||| ")[2] for each in (folder / "kept").read_text().splitlines()[-2:]]
    assert kept == ["b [N,1]", "d [N,1]"]


def test_rows_that_are_selected_and_joined_keep_their_labels():
    entries = [Rule((-1, "a"), ("b", -1), {}, (), ("N", "X")), Rule(("a",), ("b",), {})]
    table = labelled_table(entries)
    assert [rule(select_rows(table, np.array([1, 0])), row).labels for row in (0, 1)] == [(), ("N", "X")]
    joined = joined_labels([(None, np.array([2])), (table.labels, np.array([1, 0]))])
    assert [kind_of(joined, row) for row in range(3)] == [(), ("N", "X"), ()]
    assert joined_labels([(None, np.array([2]))]) is None


def test_glue_rules_of_a_label_are_written_along_with_the_table(folder, capsys):
    write_rule_table(labelled_table([Rule(("a",), ("b",), {}, (), ("N",))]), folder / "n")
    parser = Parser(prog="scfg-sampler")
    add_parser(parser.add_subparsers())
    arguments = [
        str(folder / "n"),
        "--to",
        "moses",
        "--output",
        str(folder / "m"),
        "--glue",
        str(folder / "g"),
    ]
    options = parser.parse_args(["convert", *arguments])
    options.run(options)
    assert "[X][S] [X][N] [X]" in (folder / "g").read_text()
    assert "start symbol" not in capsys.readouterr().err
