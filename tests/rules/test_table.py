"""Rule tables come back from their files, sorted; the compiled reader accepts what the plain one does."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.errors import InputError, RuleTableError
from scfg_sampler.rules.order import text_order
from scfg_sampler.rules.parser import decimal_number
from scfg_sampler.rules.table import (
    RuleTable,
    read_rule_table,
    rule,
    select_rows,
    write_rule_table,
)
from scfg_sampler.rules.text import Rule, format_rule, parse_rule
from tests.rules.test_text import BAD_LINES, rules, tails

NAMES = ("LogForward", "b", "C_3")


def table_of(
    entries: list[Rule], names: tuple[str, ...] = NAMES, signature: str = "made by hand"
) -> RuleTable:
    vocabularies = Vocabulary(), Vocabulary()
    starts: list[list[int]] = [[0], [0], [0]]
    values: list[list] = [[], [], []]
    for entry in entries:
        for side in (0, 1):
            values[side] += [x if isinstance(x, int) else vocabularies[side].add(x) for x in entry[side]]
        values[2] += entry.alignment
        for start, value in zip(starts, values, strict=True):
            start.append(len(value))
    features = [[entry.features.get(name, 0.0) for name in names] for entry in entries]
    return RuleTable(
        *vocabularies,
        np.array(starts[0], np.int64),
        np.array(values[0], np.int32),
        np.array(starts[1], np.int64),
        np.array(values[1], np.int32),
        np.array(starts[2], np.int64),
        np.array(values[2], np.int32).reshape(-1, 2),
        np.ones(len(entries)),
        np.array(features, np.float32).reshape(len(entries), len(names)),
        names,
        signature,
    )


def as_rules(table: RuleTable) -> list[Rule]:
    return [rule(table, row) for row in range(table.num_rules)]


def key(entry: Rule) -> bytes:
    return " ||| ".join(format_rule(entry).split(" ||| ")[:3]).encode()


@given(st.lists(rules(), max_size=8))
def test_any_rules_come_back_from_a_file(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("table") / "t.gz"
    table = table_of(entries)
    write_rule_table(table, path)
    read = read_rule_table(path)
    expected = [rule(table, row) for row in text_order(table)]
    assert [entry[:2] for entry in as_rules(read)] == [entry[:2] for entry in expected]
    assert [entry.alignment for entry in as_rules(read)] == [entry.alignment for entry in expected]
    assert read.signature == "made by hand"
    if entries:
        assert read.feature_names == NAMES
        # Seven digits are written; float32 has 7.2.
        np.testing.assert_allclose(read.features, table.features[text_order(table)], rtol=1e-6)


@given(st.lists(rules(), max_size=8))
def test_reading_and_writing_again_gives_the_same_bytes(tmp_path_factory, entries):
    folder = tmp_path_factory.mktemp("table")
    write_rule_table(table_of(entries), folder / "one.gz")
    write_rule_table(read_rule_table(folder / "one.gz"), folder / "two.gz")
    assert (folder / "one.gz").read_bytes() == (folder / "two.gz").read_bytes()


@given(st.lists(rules(), max_size=20))
def test_lines_are_sorted_as_bytes(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("table") / "t"
    write_rule_table(table_of(entries), path)
    lines = path.read_bytes().splitlines()
    sides = [b" ||| ".join(line.split(b" ||| ")[1:3]) + b" ||| " for line in lines[1:]]
    assert sides == sorted(sides)


def test_a_file_looks_as_documented(tmp_path):
    entries = [
        Rule(("haus",), ("house",), {"LogForward": -0.5, "b": 2.0}, ((0, 0),)),
        Rule((-1, "ge", -2), (-2, "a", -1), {"LogForward": float(np.log(0.25)), "b": 0.0}, ((1, 1),)),
        Rule(("auf", -1), (-1, "[X,1]"), {"LogForward": -12.0, "b": 1e-7}),
    ]
    write_rule_table(table_of(entries, ("LogForward", "b"), "scfg-sampler 0.1.0|seed:1"), tmp_path / "t")
    assert (tmp_path / "t").read_text().splitlines() == [
        "# scfg-sampler 0.1.0|seed:1",
        "[X] ||| [X,1] ge [X,2] ||| [X,2] a [X,1] ||| LogForward=-1.386294 b=0 ||| 1-1",
        "[X] ||| auf [X,1] ||| [X,1] &#91;X,1&#93; ||| LogForward=-12 b=1e-07",
        "[X] ||| haus ||| house ||| LogForward=-0.5 b=2 ||| 0-0",
    ]


def written_numbers(path, values) -> list[str]:
    """How features of a table with these values are written."""
    entries = [Rule((f"w{k:05}",), ("x",), {"F": value}) for k, value in enumerate(values)]
    write_rule_table(table_of(entries, ("F",)), path)
    return [line.split("F=")[1] for line in path.read_text().splitlines()[1:]]


def seven_digits(value: float) -> str:
    """As Python writes a number; a zero has no sign in tables."""
    return f"{value + 0.0:.7g}"


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_have_seven_correct_digits(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("table") / "t"
    assert written_numbers(path, values) == list(map(seven_digits, values))
    np.testing.assert_allclose(read_rule_table(path).features[:, 0], np.float32(values), rtol=1e-6)


def test_numbers_of_all_sizes_have_seven_correct_digits(tmp_path, rng):
    """At powers of ten and beside them, in thousandths and halves, and numbers of any bits."""
    powers = np.array([float(f"1e{power}") for power in range(-45, 39)], np.float32)
    bits = rng.integers(0, 2**32, size=2000, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate(
        [
            powers,
            np.nextafter(powers, np.float32(0)),
            np.nextafter(powers, np.float32(np.inf)),
            -rng.integers(0, 10**6, size=500) / np.float32(1000),
            rng.integers(0, 10**8, size=500) / np.float32(2),
            bits.view(np.float32),
        ],
        dtype=np.float32,
    )
    values = values[np.isfinite(values)].tolist()
    assert written_numbers(tmp_path / "t", values) == list(map(seven_digits, values))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**6), max_value=10**6))
def test_numbers_are_read_as_python_reads_them(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("table") / "t"
    texts = [f"{value}", f"{value:e}", f"+{abs(value)}", f"{value}000", f"{abs(value)}E-2", ".5", "7."]
    path.write_text("".join(f"[X] ||| a ||| b ||| F={text}\n" for text in texts))
    assert read_rule_table(path).features[:, 0].tolist() == [np.float32(float(text)) for text in texts]


def test_numbers_of_fifteen_digits_are_the_nearest_and_longer_ones_beside_them(rng):
    for number in range(200):
        digits = "".join(map(str, rng.integers(0, 10, size=15 + 3 * (number % 2))))
        place = rng.integers(0, len(digits) + 1)
        text = f"{digits[:place]}.{digits[place:]}"
        value, is_number = decimal_number(np.frombuffer(text.encode(), np.uint8), 0, len(text))
        assert is_number
        assert abs(value - float(text)) <= (np.spacing(float(text)) if len(digits) > 15 else 0.0), text


@pytest.mark.parametrize(("line", "message"), [case for case in BAD_LINES if case[0]])
def test_bad_lines_are_named(tmp_path, line, message):
    path = tmp_path / "t"
    path.write_text(f"# x\n[X] ||| a ||| b ||| F=1 ||| 0-0\n{line}\n")
    with pytest.raises(RuleTableError, match=f"t:3: .*{message}"):
        read_rule_table(path)


@example("[X,1] a ||| b [X,1] ||| F=1 ||| 0-0 0-1 1-0 1-1")  # Links at gaps are dropped.
@given(tails("[]X,1ab |=-.0F", ["[X,1]", "[X,2]"]))
@settings(max_examples=400)
def test_the_compiled_reader_accepts_what_the_plain_one_accepts(tmp_path_factory, tail):
    path = tmp_path_factory.mktemp("table") / "t"
    path.write_text(f"[X] ||| {tail}\n")
    expected, problem = None, None
    try:
        expected = parse_rule(f"[X] ||| {tail}")
    except RuleTableError as error:
        problem = error.found
    if problem is not None:
        with pytest.raises(RuleTableError) as found:
            read_rule_table(path)
        assert found.value.found == problem
    else:
        (entry,) = as_rules(read_rule_table(path))
        assert (*entry[:2], entry.alignment) == (*expected[:2], expected.alignment)


def test_lines_may_be_empty_comments_or_end_the_windows_way(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"# made\r\n\r\n[X] ||| a ||| b ||| F=1 ||| 0-0\r\n# note\n\n[X] ||| c ||| d ||| F=2")
    table = read_rule_table(path)
    assert table.signature == "made"
    assert [entry.source for entry in as_rules(table)] == [("a",), ("c",)]
    assert table.features[:, 0].tolist() == [1.0, 2.0]


def test_features_may_come_in_any_order_and_be_missing(tmp_path):
    path = tmp_path / "t"
    path.write_text("[X] ||| a ||| b ||| F=1 G=2\n[X] ||| c ||| d ||| G=3 F=4\n[X] ||| e ||| f ||| H=5\n")
    table = read_rule_table(path)
    assert table.feature_names == ("F", "G", "H")
    assert table.features.tolist() == [[1, 2, 0], [4, 3, 0], [0, 0, 5]]


def test_counts_are_those_of_the_feature(tmp_path):
    path = tmp_path / "t"
    path.write_text("[X] ||| a ||| b ||| LogCount=1.386294\n[X] ||| c ||| d ||| LogCount=0\n")
    np.testing.assert_allclose(read_rule_table(path).count, [4.0, 1.0], rtol=1e-6)


def test_words_spelled_in_two_ways_are_one_word(tmp_path):
    path = tmp_path / "t"
    path.write_text("[X] ||| a &#97; ||| b ||| F=1\n[X] ||| b &#97; ||| &#98; ||| F=1\n")
    table = read_rule_table(path)
    assert [entry.source for entry in as_rules(table)] == [("a", "a"), ("b", "a")]
    assert table.source_vocabulary.words == ["a", "b"]


def test_tables_longer_than_a_block_are_read_whole(tmp_path):
    # 60,000 words: more than the room the reader begins with, twice over.
    lines = [f"[X] ||| w{k} x ||| v{k % 7} ||| F={k} ||| 0-0\n" for k in range(60_000)]
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    table = read_rule_table(path)
    assert table.num_rules == 60_000
    assert len(table.source_vocabulary) == 60_001
    assert table.features[:, 0].tolist() == list(range(60_000))
    assert rule(table, 59_999).source == ("w59999", "x")


def test_blocks_do_not_show(tmp_path, monkeypatch):
    from scfg_sampler.core.arrays.blocks import read_blocks
    from scfg_sampler.rules import table as rule_table

    path = tmp_path / "t"
    path.write_text("".join(f"[X] ||| w{k} ||| v ||| F={k} G{k // 9}=1 ||| 0-0\n" for k in range(30)))
    whole = read_rule_table(path)
    monkeypatch.setattr(rule_table, "read_blocks", lambda path: read_blocks(path, 50))
    pieces = read_rule_table(path)
    assert as_rules(pieces) == as_rules(whole)
    path.write_text(path.read_text() + "[X] ||| a ||| b\n")
    with pytest.raises(RuleTableError, match="t:31: has 3 fields"):
        read_rule_table(path)


def test_files_that_cannot_be_read_say_so(tmp_path):
    with pytest.raises(InputError, match=r"missing\.gz: cannot be read"):
        read_rule_table(tmp_path / "missing.gz")
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(b"[X] ||| a ||| b ||| F=1\n" * 1000)[:-20])
    with pytest.raises(InputError, match="the gzip data is damaged or ends too early"):
        read_rule_table(path)
    (tmp_path / "latin").write_bytes(b"[X] ||| a ||| b ||| F=1\n[X] ||| \xe9 ||| b ||| F=1\n")
    with pytest.raises(InputError, match="latin:2: byte 0xe9 at column 9 is not UTF-8"):
        read_rule_table(tmp_path / "latin")


def test_features_that_are_no_numbers_are_not_written(tmp_path):
    table = table_of([Rule(("a",), ("b",), {"F": float("nan")})], ("F",))
    with pytest.raises(RuleTableError, match="feature F of rule 0 is nan"):
        write_rule_table(table, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_rows_are_selected_by_mask_or_index():
    table = table_of([Rule((w,), (w.upper(), "x"), {"b": k}, ((0, 0),)) for k, w in enumerate("abc")])
    assert as_rules(select_rows(table, np.array([True, False, True]))) == [rule(table, 0), rule(table, 2)]
    assert as_rules(select_rows(table, np.array([2, 0]))) == [rule(table, 2), rule(table, 0)]
