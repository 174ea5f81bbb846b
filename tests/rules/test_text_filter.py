"""Filtering keeps exactly the rules that can match, and leaves their lines alone."""

from __future__ import annotations

import gzip
import io
import math
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scfg_sampler.cli import main
from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.errors import InputError, RuleTableError, SettingsError
from scfg_sampler.rules import text_filter
from scfg_sampler.rules.record import write_record
from scfg_sampler.rules.table import read_rule_table, rule
from scfg_sampler.rules.text import Rule, format_rule, parse_rule
from scfg_sampler.rules.text_filter import filter_table
from tests.rules.test_text import BAD_LINES, tails

WORDS = st.sampled_from(["a", "b", "c", "[", "|||", "a\u00a0b", "new"])
SENTENCES = st.lists(st.lists(WORDS, max_size=9), max_size=6)


@st.composite
def sources(draw) -> tuple[str | int, ...]:
    """A source side; its nonterminals are numbered from the left."""
    symbols = draw(st.lists(st.one_of(WORDS, st.none()), min_size=1, max_size=6))
    before = [symbols[:k].count(None) for k in range(len(symbols))]
    return tuple(-1 - n if x is None else x for x, n in zip(symbols, before, strict=True))


def matches(source: tuple[str | int, ...], sentence: list[str]) -> bool:
    """Whether the source side spells a part of the sentence, by trying all sizes of its nonterminals."""

    def fits(k: int, at: int) -> bool:
        if k == len(source):
            return True
        if isinstance(source[k], int):
            return any(fits(k + 1, to) for to in range(at + 1, len(sentence) + 1))
        return at < len(sentence) and sentence[at] == source[k] and fits(k + 1, at + 1)

    return any(fits(0, at) for at in range(len(sentence) + 1))


def lines_of(sides: list[tuple[str | int, ...]]) -> list[tuple[str, tuple]]:
    """A line for each source side, sorted as tables are, and the source side."""
    pairs = []
    for number, side in enumerate(sides):
        target = (*(x for x in side if isinstance(x, int)), f"t{number}")
        pairs.append((format_rule(Rule(side, target, {"LogForward": -1.0})), side))
    return sorted(pairs, key=lambda pair: [part.encode() + b" |||" for part in pair[0].split(" ||| ")])


def write(path, lines) -> None:
    path.write_text("".join(f"{line}\n" for line in ("# made by hand", *lines)))


def lines_in(path) -> list[str]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().split("\n")[:-1]


def written(path) -> list[str]:
    """The rules below the comment line."""
    comment, *lines = lines_in(path)
    assert comment.startswith("# made by hand|")
    return lines


@given(st.lists(sources(), max_size=12), SENTENCES)
def test_rules_kept_are_those_that_trying_everything_finds(tmp_path_factory, sides, sentences):
    folder = tmp_path_factory.mktemp("filter")
    (folder / "text").write_text("".join(" ".join(words) + "\n" for words in sentences))
    pairs = lines_of(sides)
    write(folder / "table", [line for line, _ in pairs])
    report = filter_table(
        folder / "table", source=folder / "text", output=folder / "out.gz", per_sentence=folder / "each"
    )
    per_sentence = [[line for line, side in pairs if matches(side, sentence)] for sentence in sentences]
    kept = [line for line, _ in pairs if any(line in lines for lines in per_sentence)]
    assert written(folder / "out.gz") == kept
    assert report == (len(pairs), len(kept), len(sentences))
    for number, lines in enumerate(per_sentence):
        assert lines_in(folder / "each" / f"grammar.{number}.gz") == lines


@given(st.lists(sources(), max_size=12), SENTENCES)
def test_the_union_alone_is_the_same_as_beside_the_parts(tmp_path_factory, sides, sentences):
    folder = tmp_path_factory.mktemp("filter")
    (folder / "text").write_text("".join(" ".join(words) + "\n" for words in sentences))
    write(folder / "table", [line for line, _ in lines_of(sides)])
    filter_table(folder / "table", source=folder / "text", output=folder / "one")
    filter_table(
        folder / "table", source=folder / "text", output=folder / "two", per_sentence=folder / "each"
    )
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()


def test_long_runs_are_compared_to_their_end(tmp_path):
    words = [f"w{k}" for k in range(30)]
    (tmp_path / "text").write_text(" ".join(words) + "\n")
    sides = [tuple(words[:20]), (*words[:19], "w20"), (*words[10:25], -1, words[28]), tuple(words[15:])]
    pairs = lines_of(sides)
    write(tmp_path / "table", [line for line, _ in pairs])
    filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "out")
    assert written(tmp_path / "out") == [line for line, side in pairs if side != sides[1]]


def test_rules_may_be_as_long_as_tables_have_them(tmp_path):
    words = tuple(f"w{k}" for k in range(1500))
    (tmp_path / "text").write_text(" ".join(words) + "\n")
    other = (*words[:1498], "w0")
    pairs = lines_of([words[:1023], words[:1024], words, other])
    write(tmp_path / "table", [line for line, _ in pairs])
    filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "out")
    assert written(tmp_path / "out") == [line for line, side in pairs if side != other]


def test_blocks_do_not_show(tmp_path, monkeypatch):
    (tmp_path / "text").write_text("a b c\nb c a\n")
    sides = [("a",), ("b", -1), ("b", "c"), ("c", "a"), ("c", "b"), (-1, "c", -2), (-1,)]
    write(tmp_path / "table", [line for line, _ in lines_of(sides)])
    filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "whole")
    monkeypatch.setattr(text_filter, "read_blocks", lambda path: read_blocks(path, 40))
    filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "pieces")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "pieces").read_bytes()


def test_many_rules_and_sentences_are_handed_over_in_parts(tmp_path):
    # 3,000 rules, each in 50 sentences: more pairs than one call returns.
    (tmp_path / "text").write_text("a b\n" * 50)
    write(tmp_path / "table", [f"[X] ||| a ||| t{k:04} ||| LogForward=-1" for k in range(3000)])
    report = filter_table(tmp_path / "table", source=tmp_path / "text", per_sentence=tmp_path / "each")
    assert report == (3000, 3000, 50)
    assert [len(lines_in(tmp_path / "each" / f"grammar.{k}.gz")) for k in range(50)] == [3000] * 50


def test_cdec_gets_its_input_with_the_words_as_the_tables_spell_them(tmp_path):
    (tmp_path / "text").write_text("a [b]\n\n")
    write(tmp_path / "table", ["[X] ||| &#91;b&#93; ||| B ||| LogForward=-1"])
    filter_table(tmp_path / "table", source=tmp_path / "text", per_sentence=tmp_path / "each")
    each = tmp_path / "each"
    assert (each / "input.sgm").read_text().splitlines() == [
        f'<seg grammar="{each}/grammar.0.gz" id="0"> a &#91;b&#93; </seg>',
        f'<seg grammar="{each}/grammar.1.gz" id="1">  </seg>',
    ]
    assert lines_in(each / "grammar.0.gz") == ["[X] ||| &#91;b&#93; ||| B ||| LogForward=-1"]
    assert lines_in(each / "grammar.1.gz") == []


def test_tables_for_cdec_have_no_comment_but_a_file_beside_them(tmp_path):
    """For a sentence always, for a text where the table is cdec's."""
    (tmp_path / "text").write_text("a\n")
    line = "[X] ||| a ||| b ||| EgivenFCoherent=1"
    options = [f"--source={tmp_path / 'text'}", f"--per-sentence={tmp_path / 'each'}"]
    for table, comment in (("old", ["# made|by:hand"]), ("cdec", [])):
        (tmp_path / table).write_text("".join(f"{text}\n" for text in [*comment, line]))
    write_record(tmp_path / "cdec", "made|by:hand", "cdec")
    for table in ("old", "cdec"):
        assert main(["filter", str(tmp_path / table), *options, f"--output={tmp_path / 'out.gz'}"]) == 0
        for path in (tmp_path / "out.gz", tmp_path / "each" / "grammar.0.gz"):
            assert lines_in(path) == [line]
            assert read_rule_table(path).signature == f"made|by:hand|text:{tmp_path / 'text'}"


@pytest.mark.parametrize(
    ("table", "begins"),
    [
        ("# s\n[X] ||| a ||| b ||| LogForward=-1\n", "# s|text:"),
        ("# s\n[X] ||| a ||| b ||| F=-1\n", "# s|text:"),
        ("[X] ||| a ||| b ||| LogForward=-1\n", "# filtered|text:"),
        ("[X] ||| a ||| b ||| F=-1\n", "[X] ||| "),
        ("[X] ||| a ||| b ||| CountEF=1\n", "[X] ||| "),
        ("# s\n[X] ||| a ||| b ||| CountEF=1\n", "[X] ||| "),
    ],
)
def test_a_filtered_table_begins_as_its_format_does(tmp_path, table, begins):
    (tmp_path / "table").write_text(table)
    (tmp_path / "text").write_text("a\n")
    options = [f"--source={tmp_path / 'text'}", f"--output={tmp_path / 'out'}"]
    assert main(["filter", str(tmp_path / "table"), *options]) == 0
    assert (tmp_path / "out").read_text().startswith(begins)
    made = table.removeprefix("# ").partition("\n")[0] if table.startswith("#") else "filtered"
    assert read_rule_table(tmp_path / "out").signature == f"{made}|text:{tmp_path / 'text'}"
    assert (tmp_path / "out.json").exists() == (not begins.startswith("#"))


def test_memory_is_that_of_what_is_kept(tmp_path, monkeypatch):
    """A table of 24 MB of which one rule is kept, in blocks of a quarter of a megabyte."""
    monkeypatch.setattr(text_filter, "read_blocks", lambda path: read_blocks(path, 1 << 18))
    lines = [f"[X] ||| a{k} ||| {'long ' * 40} ||| LogForward=-1\n" for k in range(100_000)]
    (tmp_path / "table").write_text("".join(lines))
    (tmp_path / "text").write_text("a7\n")
    del lines
    tracemalloc.start()
    report = filter_table(tmp_path / "table", source=tmp_path / "text", per_sentence=tmp_path / "each")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.kept == 1
    assert peak < (tmp_path / "table").stat().st_size / 4


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("a [X] ||| b [X] ||| 1 ||| 0-0", "Moses"),
        ("[X] ||| a ||| b ||| 1 2", "Joshua"),
        ('"a" @ X ||| "b" @ X ||| p=1', "Travatar"),
    ],
)
def test_tables_of_other_decoders_are_to_be_converted_after_filtering(tmp_path, capsys, line, name):
    write(tmp_path / "table", [line])
    (tmp_path / "text").write_text("a\n")
    options = [f"--source={tmp_path / 'text'}", f"--output={tmp_path / 'out'}"]
    assert main(["filter", str(tmp_path / "table"), *options]) == 2
    assert f"is a table for {name}. Filter the native table, and convert" in capsys.readouterr().err


def test_the_commands_extract_and_filter_work_together(tmp_path, capsys):
    (tmp_path / "f").write_text("ne mange pas\nmange\nne dort pas\n")
    (tmp_path / "e").write_text("not eat\neat\nnot sleep\n")
    (tmp_path / "a").write_text("0-0 1-1 2-0\n0-0\n0-0 1-1 2-0\n")
    names = {"--source": "f", "--target": "e", "--alignment": "a", "--output": "t.gz", "--lexical": "lex"}
    options = [f"{option}={tmp_path / name}" for option, name in names.items()]
    assert main(["extract", *options]) == 0
    assert "5 rules written to" in capsys.readouterr().err
    assert (tmp_path / "lex.f2e").read_text().count("\n") == 4
    (tmp_path / "test").write_text("ne boit pas\n")
    options = [f"--source={tmp_path / 'test'}", f"--output={tmp_path / 'small.gz'}"]
    assert main(["filter", str(tmp_path / "t.gz"), *options]) == 0
    assert "1 of 5 rules written to" in capsys.readouterr().err
    small = read_rule_table(tmp_path / "small.gz")
    assert rule(small, 0)[:2] == (("ne", -1, "pas"), ("not", -1))
    assert rule(small, 0).features["LogForward"] == pytest.approx(math.log(2 / 2.5), rel=1e-6)
    assert small.signature.endswith(f"|text:{tmp_path / 'test'}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[X] ||| a", "table:3: has 2 fields"),
        ("[X] ||| a ||| b", "table:3: has 3 fields"),
        ("S ||| a ||| b ||| F=1", "table:3: left-hand side"),
        ("[X] ||| ||| b ||| F=1", "table:3: the source side is empty"),
        ("a ||| b", "table:3: "),
    ],
)
def test_lines_that_are_no_rules_are_named(tmp_path, line, message):
    (tmp_path / "text").write_text("a\n")
    write(tmp_path / "table", ["[X] ||| a ||| b ||| F=1", line])
    with pytest.raises(RuleTableError, match=message):
        filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def filtered(folder, *lines, **options) -> list[str]:
    """What a text of all the words of the lines leaves of a table."""
    words = " ".join(dict.fromkeys(" ".join(lines).split())).replace("\udcff", "")
    (folder / "text").write_text(words + "\n")
    (folder / "table").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    filter_table(folder / "table", source=folder / "text", output=folder / "out", **options)
    return (folder / "out").read_text().splitlines()


WITHOUT_LABELS = [case for case in BAD_LINES if case[0] and not case[0].startswith(("[S]", "[X] ||| [Y,1]"))]


@pytest.mark.parametrize(("line", "message"), WITHOUT_LABELS)
def test_lines_that_match_and_would_not_be_read_are_named(tmp_path, line, message):
    good = "[X] ||| a ||| b ||| F=1"
    with pytest.raises(RuleTableError, match=f"table:3: .*{message}"):
        filtered(tmp_path, "# s", good, line)
    assert not (tmp_path / "out").exists()


def test_names_of_features_may_hold_equals_signs(tmp_path):
    lines = [f"[X] ||| a ||| b ||| x=1 x=y=2 pos=NN=={k}" for k in (1, 2)]
    assert filtered(tmp_path, *lines) == lines
    with pytest.raises(RuleTableError, match="feature x=y is given twice"):
        filtered(tmp_path, *lines, "[X] ||| a ||| b ||| x=y=1 x=1 x=y=2")


@given(tails("[]X,1ab |=-.0F", ["[X,1]", "[X,1]", "[X,2]"]))
@settings(max_examples=200)
def test_matching_lines_are_kept_if_they_can_be_read(tmp_path_factory, tail):
    folder = tmp_path_factory.mktemp("filter")
    line = f"[X] ||| a [X,1] ||| {tail.partition(' ||| ')[2] or tail}"
    (folder / "text").write_text("a a\n")
    (folder / "table").write_text(f"[X] ||| a ||| b ||| F=1\n{line}\n")

    def accepts(read) -> bool:
        try:
            read()
        except RuleTableError:
            return False
        return True

    options = {"source": folder / "text", "output": folder / "out"}
    assert accepts(lambda: filter_table(folder / "table", **options)) == accepts(
        lambda: parse_rule(line, labels=True)
    )


@pytest.mark.parametrize(
    ("value", "is_number"),
    [("1" * 38, True), ("9" * 39, False), ("1e38", True), ("1e39", False), ("-.", False), ("-", False)],
)
@pytest.mark.parametrize("before", [[], ["[X] ||| a ||| b ||| E=1 F=1"]])  # Names that are known by then.
def test_numbers_that_no_table_holds_are_refused(tmp_path, before, value, is_number):
    lines = [*before, f"[X] ||| a ||| b ||| E=1 F={value}"]
    if is_number:
        assert filtered(tmp_path, *lines) == lines
        return
    with pytest.raises(RuleTableError, match="is not a finite number"):
        filtered(tmp_path, *lines)


@given(
    st.lists(
        st.sampled_from(["F", "G", "FG", "=", "1", "-2", ".5", "1e9", " ", "\t", "é", "|||"]), max_size=9
    )
)
@example(["F=1", " ", "G=2"])
@example(["F=1", " ", "F=2"])
@example(["F=1", " ", "G="])
@example(["G=1", " ", "F=2", " ", "G=2"])
@example(["F=1", "x"])
@example(["F=1", "\t", "G=.5", " ", "FG=1", " ", "H=1"])
def test_features_in_the_order_of_other_lines_are_checked_as_any_others(tmp_path_factory, tail):
    folder = tmp_path_factory.mktemp("filter")
    first, line = "[X] ||| a ||| b ||| F=1 G=-2.5 FG=3", "[X] ||| a ||| b ||| " + "".join(tail)
    try:
        parse_rule(line, labels=True)
    except RuleTableError:
        with pytest.raises(RuleTableError, match="table:2: "):
            filtered(folder, first, line)
    else:
        assert filtered(folder, first, line) == [first, line]


def test_labels_of_gaps_are_compared(tmp_path):
    good = "[S] ||| a [NP,2] [VP,1] ||| [VP,1] [2] b ||| F=1 ||| 0-2"
    assert filtered(tmp_path, good) == [good]
    for wrong in ("[NP,1] [2] b", "[VPX,1] [2] b", "[VP,1] [VP,2] b", "[VP,1] [VP,1] b"):
        with pytest.raises(RuleTableError, match="on the target side"):
            filtered(tmp_path, f"[S] ||| a [NP,2] [VP,1] ||| {wrong} ||| F=1")


def test_lines_that_match_and_are_not_utf_8_are_named(tmp_path):
    with pytest.raises(RuleTableError, match="table:2: byte 0xff at column 15 is not UTF-8"):
        filtered(tmp_path, "[X] ||| a ||| ö ||| F=1", "[X] ||| a ||| \udcff ||| F=1")
    (tmp_path / "text").write_text("b\n")
    report = filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "out")
    assert report.kept == 0  # The line is not copied, nor looked at.
    good = "[X] ||| a ||| b ||| F=1"
    for wrong in ("[X] ||| a ||| b \udcff ||| F=1", f"{good} \udcff=2", f"{good} G=1\udcff"):
        with pytest.raises(RuleTableError, match=r"table:2: byte 0xff .* is not UTF-8"):
            filtered(tmp_path, good, wrong)
    with pytest.raises(RuleTableError, match=r"table:1: byte 0xff .* is not UTF-8"):
        filtered(tmp_path, "[S] ||| [S] a ||| [1] \udcff", file_format="cdec")


def test_thousands_of_names_are_checked(tmp_path):
    """More than there is room for at first; of one that is given twice the line is named."""
    lines = [f"[X] ||| a ||| b{k} ||| " + " ".join(f"F{k}.{n}=1" for n in range(900)) for k in range(9)]
    assert filtered(tmp_path, *lines) == lines
    with pytest.raises(RuleTableError, match=r"table:10: feature F3\.5 is given twice"):
        filtered(tmp_path, *lines, lines[3] + " F3.5=2")


def test_tables_for_cdec_may_have_features_without_names_and_glue_rules(tmp_path, capsys):
    lines = [
        "[S] ||| [S] [X] ||| [1] [2] ||| Glue=1",
        "[X] ||| a ||| b ||| CountEF=1 0.5 -1 CountEF=1",
    ]
    assert filtered(tmp_path, *lines, file_format="cdec") == lines
    for wrong in ("0.5 x", "CountEF=x", "CountEF="):
        with pytest.raises(RuleTableError, match=r"table:3: feature .* is not a finite number"):
            filtered(tmp_path, *lines, f"[X] ||| a ||| b ||| 0.5 {wrong}", file_format="cdec")


def test_standard_input_may_be_either(tmp_path, monkeypatch):
    lines = ["[X] ||| a ||| b ||| CountEF=1 0.5", "[X] ||| a ||| c ||| LogForward=1"]
    (tmp_path / "text").write_text("a\n")
    raw = io.BufferedReader(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    filter_table("-", source=tmp_path / "text", output=tmp_path / "out")
    assert (tmp_path / "out").read_text().splitlines() == lines


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "text"}, "neither --output nor --per-sentence"),
        ({"output": "out"}, "--source is missing"),
        ({"per_sentence": "each", "max_targets": 3}, "--source is missing"),
        ({"source": "text", "output": "out", "max_targets": 0}, "--max-targets is 0"),
        *(
            ({"source": "text", "per_sentence": name}, "cdec reads no name with")
            for name in ('a"b', "a>b", "a =b", "x/a= b", "a|||b", "a\nb")
        ),
    ],
)
def test_options_that_say_nothing_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        filter_table("table", **options)


@pytest.mark.parametrize("name", ["a'b", "a b", "a=b", "a|b", "a<b", "a&b"])
def test_files_are_named_as_cdec_reads_it(name, tmp_path):
    """utils/stringlib.cc, ProcessAndStripSGML: up to the next quotation mark, nothing is escaped."""
    (tmp_path / "text").write_text("a b\n")
    (tmp_path / "table").write_text("[X] ||| a ||| t ||| LogForward=0\n")
    filter_table(tmp_path / "table", source=tmp_path / "text", per_sentence=tmp_path / name)
    (line,) = (tmp_path / name / "input.sgm").read_text().splitlines()
    named = re.match(r'<seg grammar="([^">]*)" id="0"> a b </seg>$', line)
    assert named
    assert Path(named[1]).read_bytes()


def test_files_that_are_missing_are_named(tmp_path):
    (tmp_path / "text").write_text("a\n")
    with pytest.raises(InputError, match="none: cannot be read"):
        filter_table(tmp_path / "none", source=tmp_path / "text", output=tmp_path / "out")
    with pytest.raises(InputError, match="none: cannot be read"):
        filter_table(tmp_path / "text", source=tmp_path / "none", output=tmp_path / "out")


@pytest.mark.parametrize("more", [[], ["--max-targets", "1"]])
@pytest.mark.parametrize("who", ["threads", "workers"])
def test_others_filter_as_one_thread_does(tmp_path, monkeypatch, scheduler, who, more):
    others = scheduler if who == "workers" else ["--threads", "3"]
    monkeypatch.setattr(text_filter, "read_blocks", lambda path: read_blocks(path, 200))
    sides = [("a",), ("a", -1), ("b", -1, "c"), ("c", "b"), ("new",), (-1, "a")]
    table, text = tmp_path / "table", tmp_path / "text"
    table.write_text("# made by hand\n" + "".join(line + "\n" for line, _ in lines_of(sides * 9)))
    text.write_text("a b\nb a c\n\nc\n")
    arguments = ["filter", str(table), "--source", str(text), "--quiet", *more]
    for name, where in (("here", []), ("there", others)):
        assert main([*arguments, "--output", f"{tmp_path}/{name}", *where]) == 0
        assert main([*arguments, "--per-sentence", f"{tmp_path}/{name}.dir", *where]) == 0
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert (tmp_path / "here").read_bytes().count(b"\n") > 2
    for path in (tmp_path / "here.dir").glob("grammar.*.gz"):
        there = tmp_path / "there.dir" / path.name
        assert gzip.decompress(path.read_bytes()) == gzip.decompress(there.read_bytes())


def test_a_bad_line_is_named_by_its_number_when_others_read_it(tmp_path, monkeypatch, capsys, scheduler):
    monkeypatch.setattr(text_filter, "read_blocks", lambda path: read_blocks(path, 200))
    table, text = tmp_path / "table", tmp_path / "text"
    table.write_text("".join(line + "\n" for line, _ in lines_of([("a",)] * 20)) + "no rule\n")
    text.write_text("a\n")
    arguments = ["filter", str(table), "--source", str(text), "--output", str(tmp_path / "out"), "--quiet"]
    assert main([*arguments, *scheduler]) == 2
    assert "table:21:" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("words", "is_warned"), [(2, False), (4, False), (5, True)])
def test_a_text_that_does_not_fit_the_table_is_told_of(tmp_path, capsys, words, is_warned):
    """Two rules match: fewer than half of the different words of a text smell of the wrong language."""
    rules = ("a ||| x", "b [X,1] ||| [X,1] y", "z ||| z")
    lines = "".join(f"[X] ||| {sides} ||| LogForward=0 ||| \n" for sides in rules)
    (tmp_path / "table").write_text("# scfg-sampler 0.2.0|model:hiero\n" + lines)
    (tmp_path / "text").write_text(" ".join(["a", "b", "c", "d", "e"][:words]) + "\na b\n")
    arguments = ["filter", str(tmp_path / "table"), "--source", str(tmp_path / "text")]
    assert main([*arguments, "--output", str(tmp_path / "out"), "--quiet"]) == 0
    told = capsys.readouterr().err
    assert ("2 rules match a text of 5 different words; is it the source language" in told) == is_warned
    assert told.count("\n") == is_warned
