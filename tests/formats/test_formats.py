"""Rule tables come back from every decoder's format, and are in it what that decoder expects."""

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scfg_sampler.errors import RuleTableError, SettingsError
from scfg_sampler.formats import FORMATS
from scfg_sampler.formats.bracketed import DENSE
from scfg_sampler.formats.conversion import PLAIN, Spelling, detect_format, read_table, write_table
from scfg_sampler.formats.escapes import escapes
from scfg_sampler.formats.tables import shortest_exp
from scfg_sampler.formats.words import Speller, speller
from scfg_sampler.rules.table import RuleTable, read_rule_table, write_rule_table
from scfg_sampler.rules.text import Rule, escape, guards, unescape
from tests.rules.test_table import as_rules, table_of
from tests.rules.test_text import WORDS, rules

OURS = (
    "LogForward",
    "LogBackward",
    "LexForward",
    "LexBackward",
    "LogCount",
    "TargetWords",
    "Abstract",
    "Extra",
)


def scored(entries: list[Rule], values: list[float]) -> RuleTable:
    """A table with all our features, one of another name, and the rules' own word counts."""
    table = table_of(entries, OURS)
    numbers = np.resize(np.array(values, np.float32), (len(entries), 5))
    numbers[:, 4] = -numbers[:, 4]
    table.features[:, :5] = numbers
    for row, entry in enumerate(entries):
        words = [sum(isinstance(x, str) for x in side) for side in entry[:2]]
        table.features[row, 5:] = words[1], sum(words) == 0, row
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


LOGS = st.lists(st.integers(-30_000_000, 0).map(lambda n: n / 1e6), min_size=5, max_size=15)
TABLES = st.lists(rules(), max_size=4, unique_by=lambda rule: rule[:2])


@pytest.mark.parametrize("side", ["a @ b [X]", "a @ [X]", "[X][X] @ b [X]"])
def test_words_of_moses_may_be_what_begins_a_label_of_travatar(tmp_path, side):
    (tmp_path / "table").write_text(f"{side} ||| {side} ||| 1 0.5 0.25 0.125 ||| 0-0\n")
    assert detect_format(tmp_path / "table") == "moses"
    (tmp_path / "table").write_text('"a]" "@" "b" @ X ||| "b" @ X ||| p=1 ||| 1 1 1 |||\n')
    assert detect_format(tmp_path / "table") == "travatar"


@pytest.mark.parametrize("file_format", [name for name in FORMATS if name != "native"])
@pytest.mark.parametrize("code", ["&#55296;", "&#57343;", "&#1114112;"])
def test_codes_of_no_character_stay_as_they_are(file_format, code):
    """No text holds half a character, nor can one be written."""
    for each in (speller(file_format), Speller(escape, unescape), Speller(*guards())):
        assert each.read(code) == code
        assert each.read(each.write(code)) == code
    assert speller(file_format).read("&#55295;&#57344;") == "\ud7ff\ue000"


def test_rules_of_moses_may_begin_with_a_number_sign(tmp_path):
    """Which begins a comment in the formats whose rules begin with a bracket."""
    (tmp_path / "table").write_text("# 1 [X] ||| no. 1 [X] ||| 1 0.5 0.25 0.125\n")
    assert detect_format(tmp_path / "table") == "moses"
    table, losses = read_table(tmp_path / "table", "moses")
    assert not losses
    assert [rule.source for rule in as_rules(table)] == [("#", "1")]
    (tmp_path / "table").write_text("# [X] ||| a ||| b ||| EgivenFCoherent=0.5\n")
    assert detect_format(tmp_path / "table") == "native"
    assert read_table(tmp_path / "table", "cdec")[0].num_rules == 0


@pytest.mark.parametrize("file_format", FORMATS)
@given(entries=TABLES, values=LOGS)
@settings(max_examples=50)
def test_any_rules_come_back_the_same(folder, file_format, entries, values):
    write_rule_table(scored(entries, values), folder / "before")
    table = read_rule_table(folder / "before")
    write_table(table, folder / "there.gz", file_format)
    back, losses = read_table(folder / "there.gz", file_format)
    write_rule_table(back, folder / "after")
    assert not losses
    if entries:
        assert (folder / "after").read_text() == (folder / "before").read_text()


@pytest.mark.parametrize(
    ("file_format", "spelling"), [("moses", Spelling(escaped=True)), ("joshua", Spelling(dense=True))]
)
@given(entries=TABLES, values=LOGS)
@settings(max_examples=50)
def test_any_rules_come_back_from_other_spellings_of_a_format(folder, file_format, spelling, entries, values):
    if spelling.escaped:  # Text that is escaped already has no brackets and bars.
        plain = str.maketrans("[]|", "()/")
        entries = [
            entry._replace(
                **{
                    side: tuple(x.translate(plain) if isinstance(x, str) else x for x in getattr(entry, side))
                    for side in ("source", "target")
                }
            )
            for entry in entries
        ]
    write_rule_table(scored(entries, values), folder / "before")
    table = read_rule_table(folder / "before")
    if spelling.dense:
        table = table._replace(features=table.features[:, :7], feature_names=OURS[:7])
        write_rule_table(table, folder / "before")
    write_table(table, folder / "there", file_format, spelling)
    back, losses = read_table(folder / "there", file_format, spelling)
    write_rule_table(back, folder / "after")
    assert not losses
    if entries:
        assert (folder / "after").read_text() == (folder / "before").read_text()


@pytest.mark.parametrize("file_format", FORMATS)
@given(entries=TABLES, values=LOGS)
@settings(max_examples=50)
def test_lines_are_sorted_as_bytes(folder, file_format, entries, values):
    write_table(scored(entries, values), folder / "sorted", file_format)
    lines = [line for line in (folder / "sorted").read_bytes().split(b"\n") if line and line[:1] != b"#"]
    assert lines == sorted(lines)


@given(st.data())
@settings(max_examples=15)
def test_every_format_converts_into_every_other(folder, data):
    entries = data.draw(TABLES.filter(bool))
    write_rule_table(scored(entries, data.draw(LOGS)), folder / "start")
    table = read_rule_table(folder / "start")
    for file_format in data.draw(st.permutations(FORMATS)):
        write_table(table, folder / f"in.{file_format}", file_format)
        table, losses = read_table(folder / f"in.{file_format}", file_format)
        assert not losses
    write_rule_table(table, folder / "end")
    assert (folder / "end").read_text() == (folder / "start").read_text()


@given(WORDS)
def test_joshua_spells_brackets_its_own_way(word):
    escape, unescape = escapes(r"-(?=(?:lsb|rsb|pipe)[-\[\]|])", {"[": "-lsb-", "]": "-rsb-", "|": "-pipe-"})
    for text in (word, f"-lsb{word}", f"{word}lsb-", f"-rsb-{word}-pipe-"):
        assert unescape(escape(text)) == text
        assert not set("[]|") & set(escape(text))


EXAMPLE = Rule(
    ("das", -1, "'[x]'", -2),
    (-2, "the", -1, '"|"'),
    {
        "LogForward": math.log(0.25),
        "LogBackward": math.log(0.5),
        "LexForward": math.log(0.1),
        "LexBackward": math.log(0.2),
        "LogCount": math.log(3.0),
        "TargetWords": 2.0,
        "Abstract": 0.0,
        "LogPosterior": -1.5,
    },
    ((0, 1), (2, 3)),
)


@pytest.mark.parametrize(
    ("file_format", "spelling", "line"),
    [
        (
            "cdec",
            PLAIN,
            "[X] ||| das [X,1] '&#91;x&#93;' [X,2] ||| [X,2] the [X,1] \"&#124;\" ||| "
            "EgivenFCoherent=0.60206 FgivenECoherent=0.30103 LexEgivenF=1 LexFgivenE=0.69897 "
            "CountEF=0.60206 TargetWords=2 Abstract=0 LogPosterior=-1.5 ||| 0-1 2-3",
        ),
        (
            "moses",
            PLAIN,
            "das [X][X] '[x]' [X][X] [X] ||| [X][X] the [X][X] \"&#124;\" [X] ||| "
            "0.5 0.2 0.25 0.1 ||| 0-1 1-2 2-3 3-0 ||| 5.5 11.5 3 ||| LogPosterior -1.5 |||",
        ),
        (
            "moses",
            Spelling(escaped=True),
            "das [X][X] '&#91;x&#93;' [X][X] [X] ||| [X][X] the [X][X] \"&#124;\" [X] ||| "
            "0.5 0.2 0.25 0.1 ||| 0-1 1-2 2-3 3-0 ||| 5.5 11.5 3 ||| LogPosterior -1.5 |||",
        ),
        (
            "joshua",
            PLAIN,
            "[X] ||| das [X,1] '-lsb-x-rsb-' [X,2] ||| [X,2] the [X,1] \"-pipe-\" ||| "
            "e_given_f_phrase=1.386294 f_given_e_phrase=0.6931472 e_given_f_lex=2.302585 "
            "f_given_e_lex=1.609438 count=3 target_word_count=2 abstract=0 LogPosterior=-1.5 ||| 0-1 2-3",
        ),
        (
            "joshua",
            Spelling(dense=True),
            "[X] ||| das [X,1] '-lsb-x-rsb-' [X,2] ||| [X,2] the [X,1] \"-pipe-\" ||| "
            "1.386294 0.6931472 2.302585 1.609438 3 2 0 -1.5 ||| 0-1 2-3",
        ),
        (
            "travatar",
            PLAIN,
            '"das" x0:X "\'[x]\'" x1:X @ X ||| x1:X "the" x0:X ""|"" @ X ||| p=1 egfp=-1.386294 '
            "fgep=-0.6931472 egfl=-2.302585 fgel=-1.609438 lfreq=1.098612 w=2 LogPosterior=-1.5 ||| "
            "3 5.5 11.5 ||| 0-0 1-1",
        ),
    ],
)
def test_a_rule_looks_as_its_decoder_expects(tmp_path, file_format, spelling, line):
    table = table_of([EXAMPLE], tuple(EXAMPLE.features), "made by hand")
    assert not write_table(table, tmp_path / "t", file_format, spelling)
    lines = (tmp_path / "t").read_text().splitlines()
    assert [_rounded(text) for text in lines] == [_rounded(line)]


def _rounded(line: str) -> str:
    """The line with its numbers at five digits."""
    words = []
    for word in line.split(" "):
        name, equals, value = word.rpartition("=")
        try:
            words.append(f"{name}{equals}{float(value):.5g}")
        except ValueError:
            words.append(word)
    return " ".join(words)


def test_the_examples_of_the_documentation_are_what_is_written(tmp_path, root):
    text = (root / "docs" / "formats.md").read_text(encoding="utf-8")
    outside = "".join(text.split("```")[::2])  # Of commands, which have lines that are indented.
    examples = [line[4:] for line in outside.splitlines() if line.startswith("    ")]
    assert len(examples) == 6
    (tmp_path / "native").write_text("\n".join(examples[:2]) + "\n", encoding="utf-8")
    table, _ = read_table(tmp_path / "native")
    for file_format, line in zip(FORMATS[1:], examples[2:], strict=True):
        write_table(table, tmp_path / file_format, file_format)
        assert (tmp_path / file_format).read_text(encoding="utf-8").splitlines() == [line]


def test_a_line_of_cdec_is_read(tmp_path):
    """From its suffix-array extractor."""
    (tmp_path / "t").write_text(
        "[X] ||| [X,1] eine [X,2] ||| [1] [2] a ||| EgivenFCoherent=2.47712125472 SampleCountF=2.47856649559 "
        "CountEF=0.301029995664 MaxLexFgivenE=0.786365784965 MaxLexEgivenF=0.100708531234 IsSingletonF=0 "
        "IsSingletonFE=1 0.5 2 ||| 1-2\n[S] ||| [S,1] [X,2] ||| [1] [2] ||| Glue=1\n"
    )
    table, losses = read_table(tmp_path / "t")
    assert losses == {"glue rules, which the decoder brings": 1}
    (rule,) = as_rules(table)
    assert rule[:2] == ((-1, "eine", -2), (-1, -2, "a"))
    assert rule.alignment == ((1, 2),)
    assert rule.features == pytest.approx(
        {
            "LogForward": math.log(1 / 300),
            "LogCount": 0.0,
            "LexBackward": -0.786365784965 * math.log(10),
            "LexForward": -0.100708531234 * math.log(10),
            "SampleCountF": 2.47856649559,
            "IsSingletonF": 0.0,
            "IsSingletonFE": 1.0,
            "PhraseModel_0": 0.5,
            "PhraseModel_1": 2.0,
            "TargetWords": 1.0,
            "Abstract": 0.0,
        },
        rel=1e-6,
        abs=1e-9,
    )


def test_lines_of_moses_are_read(tmp_path):
    (tmp_path / "t.gz").write_bytes(
        gzip.compress(
            b"das [X][X] haus [X] ||| the [X][X] house [X] ||| 0.5 0.3 0.4 0.2 ||| 0-0 1-1 2-2 ||| 4 5 2 "
            b"||| |||\n[X][X] a [X][X] [X] ||| [X][X] &lt;A&gt; [X][X] [X] ||| 1 1 0 1 ||| 0-2 1-1 2-0 "
            b"||| 1 1 0.5 ||| |||\n"
            b"<s> [X] ||| <s> [S] ||| 1 ||| 0-0 ||| 0 ||| |||\n"
            b"[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| 2.718 ||| 0-0 1-1 ||| 0 ||| |||\n"
        )
    )
    table, losses = read_table(tmp_path / "t.gz")
    assert losses == {"glue rules, which the decoder brings": 2}
    first, second = as_rules(table)
    assert first[:2] == (("das", -1, "haus"), ("the", -1, "house"))
    assert first.alignment == ((0, 0), (2, 2))
    assert first.features == pytest.approx(
        {
            "LogForward": math.log(0.4),
            "LogBackward": math.log(0.5),
            "LexForward": math.log(0.2),
            "LexBackward": math.log(0.3),
            "LogCount": math.log(2),
            "TargetWords": 2.0,
            "Abstract": 0.0,
        },
        rel=1e-6,
    )
    assert second[:2] == ((-1, "a", -2), (-2, "<A>", -1))
    assert second.features["LogForward"] == -690.0, "the logarithm of 0"


def test_a_line_of_joshua_is_read(tmp_path):
    (tmp_path / "t").write_text(
        "[X] ||| A [X,1] B1 [X,2] B2 C ||| a b [X,2] c1 [X,1] c2 ||| 1 2 OOV=1 ||| 0-0 2-1 4-1 5-3 5-5\n"
        "[X] ||| a ||| b ||| e_given_f_phrase=0.5 rarity=0.1353352832 abstract=0 phrase_penalty=1 ||| 0-0\n"
    )
    table, losses = read_table(tmp_path / "t", "joshua")
    first, second = as_rules(table)
    assert not losses
    assert first[:2] == (("A", -1, "B1", -2, "B2", "C"), ("a", "b", -2, "c1", -1, "c2"))
    assert first.alignment == ((0, 0), (2, 1), (4, 1), (5, 3), (5, 5))
    assert first.features["PhraseModel_1"] == 2.0
    assert first.features["OOV"] == 1.0
    assert second.features["LogForward"] == -0.5
    assert second.features["LogCount"] == pytest.approx(math.log(3), rel=1e-6)


def test_a_line_of_travatar_is_read(tmp_path):
    (tmp_path / "t").write_text(
        '"その" "手紙" x0:X "出" "し" @ X ||| x0:X "the" "letter" @ X ||| egfp=0.000000 p=1 '
        "egfl=-3.666099 w=2 fgel=-13.286176 fgep=-5.883100 ||| 0.04 0.04 14.3568063 ||| 0-0 1-1\n"
        "x0:X x1:S @ S ||| x0:X x1:S @ S ||| glue=1\n"
    )
    table, losses = read_table(tmp_path / "t")
    assert losses == {"glue rules, which the decoder brings": 1}
    (rule,) = as_rules(table)
    assert rule[:2] == (("その", "手紙", -1, "出", "し"), (-1, "the", "letter"))
    assert rule.alignment == ((0, 1), (1, 2))
    assert rule.features == pytest.approx(
        {
            "LogForward": 0.0,
            "LexForward": -3.666099,
            "LexBackward": -13.286176,
            "LogBackward": -5.8831,
            "LogCount": math.log(0.04),
            "TargetWords": 2.0,
            "Abstract": 0.0,
        },
        rel=1e-6,
    )


def test_dense_features_of_joshua_come_back_in_their_order(tmp_path):
    table = table_of([EXAMPLE], tuple(reversed(EXAMPLE.features)))
    write_table(table, tmp_path / "t", "joshua", Spelling(dense=True))
    (rule,) = as_rules(read_table(tmp_path / "t", "joshua", Spelling(dense=True))[0])
    assert {name: rule.features[name] for name in DENSE} == pytest.approx(
        {name: EXAMPLE.features[name] for name in DENSE}, rel=1e-6
    )


def test_rules_without_scores_are_counted_by_moses(tmp_path):
    losses = write_table(table_of([Rule(("a",), ("b",), {})], ()), tmp_path / "t", "moses")
    reason = "rules without LogBackward, LexBackward, LogForward, LexForward, written as probability 1"
    assert losses == {reason: 1}
    assert (tmp_path / "t").read_text() == "a [X] ||| b [X] ||| 1 1 1 1 |||  ||| 1 1 1 ||| |||\n"


def test_older_tables_of_moses_have_the_counts_of_the_sides_alone(tmp_path):
    """As contrib/python/examples/rule-table.txt of Moses."""
    lines = ["do not [X][X] [X] ||| n' [X][X] pas [X] ||| 1 1 1 1 2.718 ||| 2-1 ||| 1 1"]
    lines += ["have [X] ||| avoir [X] ||| 0.6 1 0.4 1 2.718 ||| ||| 1 1"]
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in lines))
    table, losses = read_table(tmp_path / "t")
    assert not losses
    assert table.num_rules == 2
    assert "LogCount" not in table.feature_names


def test_gaps_of_cdecs_source_sides_need_no_numbers(tmp_path):
    """As tests/system_tests/multigram/g1.scfg of cdec; its lexer numbers them in order."""
    lines = ["[X] ||| [Z] ||| [1] ||| Top=1", "[Z] ||| [Z,1] a [Y] ||| [2] b [1] ||| W1=1"]
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in lines))
    table, losses = read_table(tmp_path / "t", "cdec")
    assert not losses
    found = {entry[:2]: entry.labels for entry in as_rules(table)}
    assert found == {((-1,), (-1,)): ("X", "Z"), ((-1, "a", -2), (-2, "b", -1)): ("Z", "Z", "Y")}


@pytest.mark.parametrize("file_format", FORMATS)
def test_logarithms_of_nothing_are_written_or_named(tmp_path, file_format):
    """Where they are next to 0 and where they are no logarithm of a probability or count."""
    names = ("LogForward", "LogBackward", "LexForward", "LexBackward", "LogCount")
    tiny = Rule(("a",), ("b",), dict.fromkeys(names, -900.0) | {"LogCount": 30.0})
    assert not write_table(table_of([tiny], names), tmp_path / "tiny", file_format)
    assert read_table(tmp_path / "tiny", file_format)[0].num_rules == 1
    huge = Rule(("a",), ("b",), dict.fromkeys(names, 900.0))
    if file_format != "native":
        with pytest.raises(RuleTableError, match="huge: a logarithm is too large"):
            write_table(table_of([huge], names), tmp_path / "huge", file_format)
        assert not (tmp_path / "huge").exists()


@given(st.integers(-600_000_000, 0).map(lambda n: float(np.float32(n / 1e6))))
def test_probabilities_are_as_short_as_they_may_be(value):
    text = shortest_exp(value)
    assert f"{np.float32(math.log(float(text))) + 0.0:.7g}" == f"{value + 0.0:.7g}"
    assert len(text) <= len(repr(math.exp(value)))


@pytest.mark.parametrize(
    ("line", "file_format"),
    [
        ("[X] ||| a ||| b ||| LogForward=-1", "native"),
        ("[X] ||| a ||| b ||| CountEF=1", "cdec"),
        ("[X] ||| a ||| b ||| CountEF=1 HieroLogForward=-1", "cdec"),
        ("[X] ||| a ||| b ||| CountEF=1 Nonlexical=1", "cdec"),
        ("[X] ||| a ||| b ||| f_given_e_phrase=1", "joshua"),
        ("[X] ||| a ||| b ||| f_given_e_phrase=1 OtherLogForward=-1", "joshua"),
        ("[X] ||| a ||| b ||| 1 2 3", "joshua"),
        ("a [X] ||| b [X] ||| 1 ||| 0-0", "moses"),
        ("[X][X] [X] ||| [X][X] [X] ||| 1 ||| 0-0", "moses"),
        ('"a" @ X ||| "b" @ X ||| p=1', "travatar"),
        ("x0:X @ S ||| x0:X @ S ||| p=1", "travatar"),
    ],
)
def test_formats_are_told_apart_by_their_first_rule(tmp_path, line, file_format):
    (tmp_path / "t").write_text(f"# made by hand\n\n{line}\n")
    assert detect_format(tmp_path / "t") == file_format


@pytest.mark.parametrize(
    ("file_format", "line", "message"),
    [
        ("cdec", "[X] ||| a ||| b", "t:2: has 3 fields"),
        ("cdec", "[X] ||| a ||| b ||| F=x", "t:2: feature 'F=x' is not a finite number"),
        ("cdec", "X ||| a ||| b ||| F=1", "t:2: left-hand side is 'X'"),
        (
            "joshua",
            "[X] ||| a [X,1] ||| b ||| 1",
            r"t:2: \[X,1\] is on the source side but not",
        ),
        ("moses", "a [X] ||| b [X]", "t:2: has 2 fields"),
        ("moses", "a ||| b [X] ||| 1", "t:2: the source side has no label"),
        ("moses", "a [X] ||| b [X] ||| -1", "t:2: score '-1' is not a probability"),
        ("moses", "a [X] ||| b [X] ||| 1 ||| 0-1", "t:2: link 0-1 points past the end of the rule"),
        ("moses", "a [X] ||| b [X] ||| 1 ||| 0", "t:2: '0' is not a link"),
        ("moses", "a [X] ||| b [X] ||| 1 ||| 0-0 ||| 1", "t:2: '1' are not two or three counts"),
        ("moses", "a [X] ||| b [X] ||| 1 ||| 0-0 ||| 1 2 3 ||| F", "t:2: the sparse features are not pairs"),
        (
            "moses",
            "a [X][X] [X] ||| b [X][X] [X] ||| 1 ||| 0-1 1-0",
            "t:2: link 0-1 joins a nonterm",
        ),
        ("moses", "a [X][X] [X] ||| b [X][X] [X] ||| 1 ||| 0-0", "t:2: a nonterminal is not paired"),
        ("travatar", '"a" @ X ||| "b" @ X', "t:2: has 2 fields"),
        ("travatar", '"a" ||| "b" @ X ||| p=1', "t:2: the source side has no label"),
        ("travatar", '"a" b @ X ||| "b" @ X ||| p=1', "t:2: 'b' is neither a quoted word nor a nonterminal"),
        ("travatar", 'x0:X @ X ||| "b" @ X ||| p=1', "t:2: the sides do not have the same nonterminals"),
        ("travatar", "x0:X x0:X @ X ||| x0:X @ X ||| p=1", "t:2: a nonterminal occurs twice"),
        ("travatar", '"a" @ X ||| "b" @ X ||| p', "t:2: feature 'p' has no name"),
        ("travatar", '"a" @ X ||| "b" @ X ||| p=1 ||| 1 1 1 ||| 0-1', "t:2: link 0-1 points past the words"),
        ("travatar", '"a" @ X ||| "b" @ X ||| p=1 ||| 1 1 1 ||| 1-0', "t:2: link 1-0 points past the words"),
    ],
)
def test_lines_that_are_no_rules_are_named(tmp_path, file_format, line, message):
    (tmp_path / "t").write_text(f"\n{line}\n")
    with pytest.raises(RuleTableError, match=message):
        read_table(tmp_path / "t", file_format)


def test_files_of_no_known_format_and_unknown_formats_are_refused(tmp_path):
    (tmp_path / "t").write_text("a b c\n")
    with pytest.raises(RuleTableError, match="t:1: looks like no rule table we know"):
        read_table(tmp_path / "t")
    with pytest.raises(SettingsError, match="format 'phrases' is unknown; choose native, cdec, moses"):
        read_table(tmp_path / "t", "phrases")
    with pytest.raises(SettingsError, match="give --from"):
        read_table("-")
