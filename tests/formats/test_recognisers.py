"""Other decoders' readers, as `tests.recognisers` has them, take every table that is written for them."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scfg_sampler.cli import main
from scfg_sampler.formats.conversion import Spelling, write_table
from scfg_sampler.formats.glue import write_glue
from scfg_sampler.formats.words import convert_text
from scfg_sampler.rules.table import RuleTable, read_rule_table, rule, write_rule_table
from scfg_sampler.rules.text import Rule
from scfg_sampler.rules.text_filter import filter_table
from tests.recognisers import Refused, cdec, joshua, moses, travatar
from tests.rules.test_table import table_of
from tests.rules.test_text import WORDS, rules

CORPUS = Path(__file__).resolve().parents[2] / "data" / "novish-en"
PAIRS, SENTENCES = 200, 12
READERS = {"cdec": cdec, "moses": moses, "joshua": joshua, "travatar": travatar}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Tables of the first pairs of the bundled corpus, `hiero` and `sampled`, and a text."""
    folder = tmp_path_factory.mktemp("recognisers")
    for name, lines in (("train.novish", PAIRS), ("train.en", PAIRS), ("train.novish-en.gold", PAIRS)):
        cut(name, lines, folder)
    cut("test.novish", SENTENCES, folder)
    corpus = [f"--source={folder / 'train.novish'}", f"--target={folder / 'train.en'}"]
    corpus += [f"--alignment={folder / 'train.novish-en.gold'}", "--quiet"]
    assert main(["extract", *corpus, f"--output={folder / 'hiero'}"]) == 0
    short = ["--iterations=6", "--burn-in=2"]
    assert main(["sample", *corpus, *short, f"--output={folder / 'run'}"]) == 0
    assert main(["grammar", str(folder / "run"), f"--output={folder / 'sampled'}", "--quiet"]) == 0
    return folder


def cut(name: str, lines: int, folder: Path) -> None:
    """The beginning of a file of the bundled corpus."""
    text = gzip.decompress((CORPUS / f"{name}.gz").read_bytes()).decode()
    (folder / name).write_text("".join(text.splitlines(keepends=True)[:lines]))


def as_bytes(side: tuple) -> tuple:
    return tuple(x.encode() if isinstance(x, str) else x for x in side)


def first_links(file_format: str, entry: Rule) -> tuple:
    """The links of a rule as the format counts positions: Travatar leaves nonterminals out."""
    if file_format != "travatar":
        return entry.alignment
    words = [[sum(isinstance(x, str) for x in side[:k]) for k in range(len(side))] for side in entry[:2]]
    return tuple((words[0][i], words[1][j]) for i, j in entry.alignment)


MEANINGS = {  # From our four logarithms, phrases first, forward first, to what the decoder is to find.
    "cdec": (
        ("EgivenFCoherent", "FgivenECoherent", "LexEgivenF", "LexFgivenE"),
        lambda value: -math.log10(math.exp(value)),
    ),
    "moses": (("2", "0", "3", "1"), float),
    "joshua": (
        ("e_given_f_phrase", "f_given_e_phrase", "e_given_f_lex", "f_given_e_lex"),
        lambda value: -value,
    ),
    "travatar": (("egfp", "fgep", "egfl", "fgel"), float),
}
OURS = ("LogForward", "LogBackward", "LexForward", "LexBackward")


@pytest.mark.parametrize("file_format", READERS)
@pytest.mark.parametrize("name", [pytest.param("hiero", marks=pytest.mark.slow), "sampled"])
def test_decoders_read_the_rules_of_the_bundled_corpus(folder, file_format, name):
    table = read_rule_table(folder / name)
    assert table.num_rules > 1000
    assert any("'" in word for word in table.target_vocabulary)
    out = folder / f"{name}.{file_format}"
    assert not write_table(table, out, file_format)
    found_rules = READERS[file_format].read_table(out.read_bytes())
    assert len(found_rules) == table.num_rules
    read = {(found.source, found.target): found for found in found_rules}
    names, there = MEANINGS[file_format]
    for row in range(table.num_rules):
        entry = rule(table, row)
        found = read[as_bytes(entry.source), as_bytes(entry.target)]
        assert sorted(found.links) == sorted(first_links(file_format, entry))
        for ours, theirs in zip(OURS, names, strict=True):
            assert found.features[theirs] == pytest.approx(there(entry.features[ours]), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["hiero", "sampled"])
def test_joshua_numbers_and_negates_features_without_names(folder, tmp_path, name):
    table = read_rule_table(folder / name)
    assert not write_table(table, tmp_path / "dense", "joshua", Spelling(dense=True))
    found_rules = joshua.read_table((tmp_path / "dense").read_bytes(), owner="o")
    read = {(found.source, found.target): found for found in found_rules}
    for row in range(0, table.num_rules, 7):
        entry = rule(table, row)
        found = read[as_bytes(entry.source), as_bytes(entry.target)].features
        assert set(found) == {f"tm_o_{k}" for k in range(len(table.feature_names))}
        values = [found[f"tm_o_{k}"] for k in range(4)]
        assert values == pytest.approx([entry.features[ours] for ours in OURS], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["hiero", "sampled"])
def test_cdec_reads_the_grammar_of_each_sentence(folder, tmp_path, name):
    """Of native and of cdec's tables, in the directory and by the names that the input gives."""
    write_table(read_rule_table(folder / name), tmp_path / "cdec", "cdec")
    sentences = (folder / "test.novish").read_bytes().splitlines()
    for table in (folder / name, tmp_path / "cdec"):
        each = tmp_path / f"{table.name}.each"
        options = [f"--source={folder / 'test.novish'}", f"--per-sentence={each}", "--quiet"]
        assert main(["filter", str(table), *options]) == 0
        segments = (each / "input.sgm").read_bytes().splitlines()
        assert len(segments) == len(sentences) == SENTENCES
        for number, (segment, sentence) in enumerate(zip(segments, sentences, strict=True)):
            attributes, words = cdec.read_segment(segment)
            assert attributes == {"grammar": f"{each}/grammar.{number}.gz", "id": str(number)}
            assert words == sentence.split()
            found_rules = cdec.read_table(gzip.decompress(Path(attributes["grammar"]).read_bytes()))
            assert found_rules


@given(words=st.lists(WORDS.filter(bool), min_size=1, max_size=4))
def test_cdec_finds_any_words_of_a_text_in_its_grammar(tmp_path_factory, words):
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    words = [word for word in words if not set(word) & set(" \t\r\n")]
    if not words:
        return
    (folder / "text").write_text(" ".join(words) + "\n", encoding="utf-8")
    write_rule_table(table_of([Rule(tuple(words), tuple(reversed(words)), {})]), folder / "table")
    filter_table(folder / "table", source=folder / "text", per_sentence=folder / "each")
    segment = (folder / "each" / "input.sgm").read_bytes().removesuffix(b"\n")
    (found,) = cdec.read_table(gzip.decompress((folder / "each" / "grammar.0.gz").read_bytes()))
    assert list(found.source) == list(reversed(found.target)) == cdec.read_segment(segment)[1]
    assert len(set(found.source)) == len(set(words))


@pytest.mark.parametrize(("file_format", "label"), [("moses", b"S"), ("joshua", b"GOAL"), ("travatar", b"S")])
def test_decoders_read_glue_rules(tmp_path, file_format, label):
    write_glue(tmp_path / "glue", file_format)
    glue = READERS[file_format].read_glue((tmp_path / "glue").read_bytes())
    assert {found.label for found in glue} == {label}
    assert all(found.source in [found.target, found.target[::-1]] for found in glue)
    assert {len(found.source) for found in glue} == {1, 2}


@pytest.mark.parametrize("file_format", READERS)
@given(entry=rules())
def test_decoders_read_a_rule_of_any_words(tmp_path_factory, file_format, entry):
    entry = entry._replace(features={name: -abs(value) / 10 for name, value in entry.features.items()})
    found = written(tmp_path_factory, file_format, table_of([entry]))
    for ours, theirs in zip(entry[:2], (found.source, found.target), strict=True):
        assert [x if isinstance(x, int) else 0 for x in ours] == [
            x if isinstance(x, int) else 0 for x in theirs
        ]
    assert sorted(found.links) == sorted(first_links(file_format, entry))


def written(tmp_path_factory, file_format: str, table: RuleTable):
    """What the decoder reads of a table of one rule."""
    out = tmp_path_factory.getbasetemp() / f"one.{file_format}"
    write_table(table, out, file_format)
    (found,) = READERS[file_format].read_table(out.read_bytes())
    return found


RULES = {  # A word as it is, on both sides of a rule.
    "moses": "{0} [X] ||| {0} [X] ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||\n",
    "joshua": "[X] ||| {0} ||| {0} ||| f=1\n",
    "travatar": '"{0}" @ X ||| "{0}" @ X ||| p=1\n',
}


def takes(file_format: str, word: str) -> bool:
    """Whether the decoder finds a word that is written as it is, in a table and in input."""
    reader = READERS[file_format]
    try:
        (found,) = reader.read_table(RULES[file_format].format(word).encode())
        return found.source == found.target == tuple(reader.read_input(word.encode())) == (word.encode(),)
    except Refused:
        return False


@pytest.mark.parametrize("file_format", RULES)
@given(word=WORDS)
@example("'s")
@example("&")
@example("<a>")
@example("[a]")
@example("[")
@example("\u3000")
@example("\U00020000")
@example("%i")
@example("5%")
def test_words_that_a_decoder_takes_are_left_as_they_are(tmp_path_factory, file_format, word):
    """So that they are the same in the table, in input and in the language model.

    Control characters of ASCII are always escaped, as sorting would be another matter with them, and so is
    what looks like an escape, and a byte order mark with which a line of Moses' would begin.
    """
    assume(not re.search(r"[\x00-\x20\x7f]|&#?\w*;|-(lsb|rsb|pipe)-|\A\ufeff", word))
    found = written(tmp_path_factory, file_format, table_of([Rule((word,), (word,), {})]))
    assert found.source == found.target
    assert (found.source == (word.encode(),)) == takes(file_format, word)


@pytest.mark.parametrize("file_format", READERS)
@given(
    words=st.lists(WORDS.filter(lambda word: word and not re.search(r"[ \t\r\n]|\A\ufeff", word)), max_size=4)
)
@example(words=["\0", "\0"])
def test_texts_are_spelled_as_the_decoder_finds_them_in_its_table(tmp_path_factory, file_format, words):
    """And come back from that; not in the first line, where bytes of 0 are a sign of UTF-16."""
    folder = tmp_path_factory.getbasetemp()
    (folder / "text").write_text("first\n" + " ".join(words) + "\n\n", encoding="utf-8")
    convert_text(folder / "text", folder / "spelled", file_format)
    convert_text(folder / "spelled", folder / "back", "native", file_format)
    _, line, empty, end = (folder / "spelled").read_bytes().split(b"\n")
    assert not READERS[file_format].read_input(empty)
    assert not end
    assert (folder / "back").read_bytes() == (folder / "text").read_bytes()
    found = READERS[file_format].read_input(line)
    assert len(found) == len(words)
    if words:
        table = table_of([Rule(tuple(words), tuple(words), {})])
        assert found == list(written(tmp_path_factory, file_format, table).source)


def test_cdec_leaves_out_no_line_of_a_text(tmp_path):
    (tmp_path / "text").write_text("a\n\nb\n \n")
    convert_text(tmp_path / "text", tmp_path / "spelled", "cdec")
    convert_text(tmp_path / "spelled", tmp_path / "back", "native", "cdec")
    assert cdec.read_text((tmp_path / "spelled").read_bytes()) == [[b"a"], [], [b"b"], []]
    assert (tmp_path / "back").read_text() == "a\n\nb\n\n"


@pytest.mark.parametrize(
    ("file_format", "word", "text"),
    [
        ("moses", "a<DLT", "a&#60;DLT"),
        ("moses", "<Seg>", "&#60;Seg>"),
        ("moses", "</seg>", "</seg>"),
        ("joshua", "<seg", "&#60;seg"),
        ("joshua", "<UNK>", "&#60;UNK>"),
        ("joshua", "a\U00010000", "a&#65536;"),
        ("joshua", "\uffff", "\uffff"),
        ("travatar", "</s>", "&#60;/s>"),
        ("travatar", "<seg>", "<seg>"),
    ],
)
def test_commands_and_marks_are_spelled_otherwise(tmp_path, file_format, word, text):
    (tmp_path / "text").write_text(f"{word}\n")
    convert_text(tmp_path / "text", tmp_path / "spelled", file_format)
    assert (tmp_path / "spelled").read_text() == f"{text}\n"


@pytest.mark.parametrize("word", ['"', "\\", '\\"', '"a"', 'a"b', "|||", "@", "x0:X", "=", "|COL|"])
def test_travatar_finds_the_words_of_text_in_quotes(tmp_path_factory, word):
    found = written(tmp_path_factory, "travatar", table_of([Rule((word, -1), (-1, word), {})]))
    assert found.source[:1] == found.target[1:] == (word.encode(),)
    assert travatar.read_input(word.encode()) == [word.encode()]


FAULTS = {
    "cdec": (
        "[X] ||| das [X,1] ||| [X,1] the ||| F=1 G=-2.5e-07 ||| 0-1",
        [
            ("# made by hand\n[X] ||| a ||| b ||| F=1", "line 1: unexpected input in the left-hand side"),
            ("[X] ||| a ||| b ||| F=1\n\n[X] ||| b ||| b ||| F=1", "line 2: unexpected input"),
            (" [X] ||| a ||| b ||| F=1", "unexpected input in the left-hand side"),
            ("a [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "unexpected input in the left-hand side"),
            ("[X,1] ||| a ||| b ||| F=1", "unexpected input in the left-hand side"),
            ("[X] ||| a ||| b ||| F=1\r", "a character"),
            ("[X] ||| a", "a target side"),
            ("[X] ||| a ||| b ||| F=1 ||| 0-0 ||| ", "an alignment"),
            ("[X] ||| ||| b ||| F=1", "no symbols"),
            ("[X] ||| [X,2] a [X,1] ||| [1] b [2] ||| F=1", "in order"),
            ("[X] ||| [X,1] a ||| [X,2] b ||| F=1", "exceeds the arity"),
            ("[X] ||| [X,1] a ||| b ||| F=1", "differ in arity"),
            ("[X] ||| [X,1] a ||| [1] [1] b ||| F=1", "used twice"),
            ("[X] ||| [X,1] a ||| [S,1] b ||| F=1", "different labels"),
            ("[X] ||| [x] a ||| [x] b ||| F=1", "differ in arity"),
            ("[X] ||| a ||| <UNK> ||| F=1", "is KenLM's own"),
            ("[X] ||| a ||| b ||| F=x", "in a feature value"),
            ("[X] ||| a ||| b ||| F=.5", "in a feature value"),
            ("[X] ||| a ||| b ||| F=inf", "in a feature value"),
            ("[X] ||| a ||| b ||| F", "in a feature value"),
            ("[X] ||| a ||| b ||| F=G=1", "unexpected input in features"),
            ("[X] ||| a ||| b ||| F=1 ||| 0:0", "unexpected input in the alignment"),
            ("[X] ||| a ||| b ||| F=1 ||| 0-1", "past the end"),
        ],
    ),
    "moses": (
        "das [X][X] [X] ||| [X][X] the [X] ||| 1 0.5 2.5e-07 1 ||| 0-1 1-0 ||| 1 2 1 ||| F 1 G 2 |||",
        [
            ("# made by hand\na [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "line 1: source, target, scores"),
            ("b [X] ||| b [X] ||| 1 1 1 1 ||| 0-0\na [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "line 2: belongs"),
            ("a' [X] ||| b [X] ||| 1 1 1 1 ||| \na [X] ||| b [X] ||| 1 1 1 1 ||| ", "line 2: belongs"),
            ("", "line 1: source, target, scores"),
            ("a|||b [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "a label in brackets"),
            ("a|b [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "more factors"),
            ("a ||| b ||| 1 1 1 1 ||| 0-0", "a label in brackets"),
            ("[X] ||| b [X] ||| 1 1 1 1 ||| ", "symbols and a label"),
            ("[b] [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "two labels"),
            ("[] [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "two labels"),
            ("a [X] ||| b [X] ||| 1 1 1 ||| 0-0", "as many scores"),
            ("a [X] ||| b [X] ||| 1 1 1 one ||| 0-0", "a score is no number"),
            ("a [X] ||| b [X] ||| 1 1 1 0 ||| 0-0", "the logarithm"),
            ("[X][X] a [X] ||| b [X][X] [X] ||| 1 1 1 1 ||| 1-0", "no alignment for a nonterminal"),
            ("[X][X] a [X] ||| b [X][X] [X] ||| 1 1 1 1 ||| 0-0 1-1", "a word and a nonterminal"),
            ("[X][X] a [X] ||| b [X][X] [X] ||| 1 1 1 1 ||| 0-1 0-1", "paired twice"),
            ("a [X] ||| b [X] ||| 1 1 1 1 ||| 0-1", "past the end"),
            ("a [X] ||| b [X] ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| F |||", "pairs of a name"),
            ("a [X] ||| b [X] ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| ||| ", "not even a space"),
            ("a [X] ||| b [X] ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| ||| |||", "after the properties"),
            ("<s> [X] ||| b [X] ||| 1 1 1 1 ||| 0-0", "the glue grammar's"),
        ],
    ),
    "joshua": (
        "[X] ||| das [X,1] ||| [X,1] the ||| F=1 G=-2.5e-07 ||| 0-1",
        [
            ("# made by hand\n[X] ||| a ||| b ||| F=1", "line 1: label, source, target"),
            ("", "line 1: label, source, target"),
            ("[X] ||| a |||b ||| F=1", "line 1: source and target|label, source, target|input has"),
            ("[X] ||| a\rb ||| b ||| F=1", "a carriage return"),
            ("X ||| a ||| b ||| F=1", "the left-hand side"),
            ("[X] ||| [X,2] a [X,1] ||| [X,1] b [X,2] ||| F=1", "numbered in order"),
            ("[X] ||| [a] ||| b ||| F=1", "numbered in order"),
            ("[X] ||| a ||| [b] ||| F=1", "without a number"),
            ("[X] ||| a [X,1] ||| b ||| F=1", "nonterminals differ"),
            ("[X] ||| a [X,1] ||| [X,1] [X,1] ||| F=1", "nonterminals differ"),
            ("[X] ||| a[ ||| b ||| F=1", "input has -lsb-"),
            ("[X] |||  ||| b ||| F=1", "an empty word"),
            ("[X] ||| <s> ||| b ||| F=1", "the glue grammar's"),
            ("[X] ||| a ||| </s> ||| F=1", "the glue grammar's"),
            ("[X] ||| a ||| \U0001d54f ||| F=1", "is asked for other bytes"),
            ("[X] ||| a ||| 5%c ||| F=1", "is replaced in translations"),
            ("[X] ||| a ||| b ||| F=one", "no number"),
            ("[X] ||| a ||| b ||| F", "no number"),
            ("[X] ||| a ||| b ||| =1", "without a name"),
            ("[X] ||| a ||| b ||| tm_pt_0=1", "in disguise"),
            ("[X] ||| a ||| b ||| 1 2\n[X] ||| b ||| b ||| 1", "as many dense features"),
            ("[X] ||| a ||| b ||| F=1 ||| 0", "pairs of bytes"),
            ("[X] ||| a ||| b ||| F=1 ||| a-b", "numbers and nothing else"),
            ("[X] ||| a ||| b ||| F=1 ||| 0-1", "past the end"),
        ],
    ),
    "travatar": (
        '"das" x0:X @ X ||| x0:X "the" @ X ||| p=1 w=1 ||| 1 2 3 ||| 0-0',
        [
            ('# made by hand\n"a" @ X ||| "b" @ X ||| p=1', "1 columns instead of three"),
            ("x0:X @ S ||| x0:X @ S |||", "2 columns instead of three"),
            ('"a" @ X |||"b" @ X ||| p=1', "2 columns instead of three"),
            ('"a" @ X ||| "b" @ X ||| p=1 ||| 1 1 1 ||| 0-0 ||| ', "6 columns"),
            ('"a" @ X ||| "</s>" @ X ||| p=1', "is KenLM's own"),
            ('a @ X ||| "b" @ X ||| p=1', "illegal label"),
            ('"a b" @ X ||| "b" @ X ||| p=1', "illegal label"),
            ('"" @ X ||| "b" @ X ||| p=1', "illegal label"),
            ('"a" ||| "b" @ X ||| p=1', "without a label"),
            ('"a" @ X X ||| "b" @ X ||| p=1', "one label"),
            ('x1:X "a" @ X ||| x1:X "b" @ X ||| p=1', "not in order"),
            ('x1:X x0:X "a" @ X ||| x0:X x1:X "b" @ X ||| p=1', "not in order"),
            ('x0:X "a" @ X ||| "b" @ X ||| p=1', "as many nonterminals"),
            ('x0:X @ X ||| x0:S "b" @ X ||| p=1', "labels differ"),
            ('"a" @ X ||| "b" @ X ||| p', "has no name"),
            ('"a" @ X ||| "b" @ X ||| p=one', "no number"),
            ('"a" @ X ||| "b" @ X ||| p=1 ||| 1 1 1 ||| 0-1', "past the words"),
        ],
    ),
}


@pytest.mark.parametrize("file_format", FAULTS)
def test_a_rule_without_fault_is_taken(file_format):
    line, _ = FAULTS[file_format]
    (found,) = READERS[file_format].read_table(f"{line}\n".encode())
    assert found.source == (b"das", -1)
    assert found.target == (-1, b"the")


@pytest.mark.parametrize(
    ("file_format", "line", "reason"),
    [(file_format, *fault) for file_format, (_, faults) in FAULTS.items() for fault in faults],
)
def test_faults_are_refused(file_format, line, reason):
    with pytest.raises(Refused, match=reason):
        READERS[file_format].read_table(f"{line}\n".encode())


@pytest.mark.parametrize(
    ("reader", "line", "reason"),
    [
        (cdec, "a [b] c", "taken for a nonterminal"),
        (cdec, '<seg grammar="g" id="0"> a [X,1] </seg>', "taken for a nonterminal"),
        (cdec, '<seg grammar="g" id="0"> a', "ends with </seg>"),
        (cdec, "a ||| b", "taken for a reference"),
        (cdec, "<SEG id=1> a", "must be lowercase"),
        (cdec, '{"rules": a', "taken for rules"),
        (cdec, "((('a b", "taken for a lattice"),
        (moses, "a <DLT", "holds a command"),
        (moses, "a <UNK>", "is KenLM's own"),
        (joshua, "a <UNK>", "is KenLM's own"),
        (joshua, "a \U0001f600", "is asked for other bytes"),
        (travatar, "a </s>", "is KenLM's own"),
        (joshua, "a[b] c", "with an annotation"),
        (joshua, "a ||| b", "taken for a reference"),
        (joshua, '<seg id="1"> a', "taken for a segment"),
        (joshua, "a\rb", "a carriage return"),
        (joshua, "<s> a", "an end of the sentence"),
        (moses, "a b|c", "has factors"),
        (moses, "[b] c", "taken for a nonterminal"),
        (moses, "<Seg id=1> a", "taken for a segment"),
        (moses, 'a <dlt type="cbtm"/> b', "holds a command"),
        (moses, "a </s>", "an end of the sentence"),
    ],
)
def test_faults_in_input_are_refused(reader, line, reason):
    with pytest.raises(Refused, match=reason):
        reader.read_input(line.encode())


def test_lines_that_do_not_end_are_refused():
    for file_format, (line, _) in FAULTS.items():
        with pytest.raises(Refused, match="line 1: does not end"):
            READERS[file_format].read_table(line.encode())
