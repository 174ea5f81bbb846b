"""Parallel text is read as it is, and what cannot be right is named by file and line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.corpus import parallel_text
from scfg_sampler.corpus.parallel_text import (
    CorpusFiles,
    parse_corpus,
    parse_links,
    read_alignment,
    read_corpus,
    read_text,
)
from scfg_sampler.errors import AlignmentError, InputError


@pytest.fixture
def write(tmp_path):
    """Write a corpus of three files and read it."""

    def write(source: str, target: str, alignment: str):
        for name, text in (("f", source), ("e", target), ("a", alignment)):
            (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        return read_corpus(tmp_path / "f", tmp_path / "e", tmp_path / "a")

    return write


def test_sentences_keep_their_lines_and_links_are_sorted_and_unique(write):
    corpus = write("a b a\n\nc\n", "x y\n\nz\n", "2-1 0-0 2-1 1-0\n\n0-0\n")
    assert corpus.num_sentences == 3
    assert corpus.source_vocabulary.words == ["a", "b", "c"]
    assert corpus.source.tolist() == [0, 1, 0, 2]
    assert corpus.source_start.tolist() == [0, 3, 3, 4]
    assert corpus.target_start.tolist() == [0, 2, 2, 3]
    assert corpus.link_start.tolist() == [0, 3, 3, 4]
    assert corpus.links.tolist() == [[0, 0], [1, 0], [2, 1], [0, 0]]
    assert corpus.source.dtype == corpus.target.dtype == corpus.links.dtype == np.int32
    assert corpus.source_start.dtype == corpus.link_start.dtype == np.int64


def test_only_spaces_and_tabs_separate_words(write):
    corpus = write("a\u00a0b  c\u2028d\te \n", " x\u3000y\n", "0-0 1-0 2-0\n")
    assert corpus.source_vocabulary.words == ["a\u00a0b", "c\u2028d", "e"]
    assert corpus.target_vocabulary.words == ["x\u3000y"]


def test_windows_line_ends_are_no_part_of_words(write):
    corpus = write("a b\r\n", "x\r\n", "0-0 1-0\r\n")
    assert corpus.source_vocabulary.words == ["a", "b"]
    assert corpus.links.tolist() == [[0, 0], [1, 0]]


def test_gzipped_files_and_a_missing_last_line_end_read_the_same(tmp_path):
    for name, text in (("f", "a b\nc"), ("e", "x\ny"), ("a", "0-0 1-0\n0-0")):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        (tmp_path / name).write_text(text + "\n")
    plain = read_corpus(tmp_path / "f", tmp_path / "e", tmp_path / "a")
    zipped = read_corpus(tmp_path / "f.gz", tmp_path / "e.gz", tmp_path / "a.gz")
    for one, other in zip(plain, zipped, strict=True):
        assert one == other if not isinstance(one, np.ndarray) else np.array_equal(one, other)


def test_empty_files_are_a_corpus_without_sentences(write):
    corpus = write("", "", "")
    assert corpus.num_sentences == 0
    assert corpus.links.shape == (0, 2)


@pytest.mark.parametrize(
    ("alignment", "message"),
    [
        ("0-0\n3-0\n", "a:2: link 3-0 points past the end of a 3-word source sentence"),
        ("0-0\n0-2\n", "a:2: link 0-2 points past the end of a 2-word target sentence"),
        ("0-0\n0-0 1\n", "a:2: '1' is not a link"),
        ("0-0\n1--1\n", "a:2: '1--1' is not a link"),
        ("0-0\n0-0,1-1\n", "a:2: '0-0,1-1' is not a link"),
        ("0-0\n-1-0\n", "a:2: '-1-0' is not a link"),
        ("0-0\n0-0 ²-1\n", "a:2: '²-1' is not a link"),
        ("0-0\n0-0\x0b1-1\n", "a:2: '0-0\\\\x0b1-1' is not a link"),
        ("0-0\n99999999999-0\n", "a:2: link 99999999999-0 cannot be right"),
    ],
)
def test_links_that_cannot_be_are_named_by_line(write, alignment, message):
    with pytest.raises(AlignmentError, match=message):
        write("a b c\nd e f\n", "x y\nz w\n", alignment)


def test_link_into_an_empty_sentence_is_an_error(write):
    with pytest.raises(AlignmentError, match="a:1: link 0-0 points past the end of a 0-word source sentence"):
        write("\n", "x\n", "0-0\n")


def test_unequal_numbers_of_lines_name_the_short_file_and_its_end(write):
    with pytest.raises(InputError, match=r"e:2: ends after 1 line, but .*f has 2"):
        write("a\nb\n", "x\n", "0-0\n0-0\n")
    with pytest.raises(InputError, match=r"a:3: ends after 2 lines, but .*f has 3"):
        write("a\nb\nc\n", "x\ny\nz\n", "0-0\n0-0\n")


def test_several_alignments_are_the_corpus_said_again(tmp_path, write):
    write("a b\n\nc\n", "x y\n\nz\n", "1-1\n\n0-0\n")
    (tmp_path / "b").write_text("0-0 0-1\n\n\n")
    corpus = read_corpus(*(tmp_path / name for name in "feab"))
    twice = write("a b\n\nc\n" * 2, "x y\n\nz\n" * 2, "1-1\n\n0-0\n0-0 0-1\n\n\n")
    for one, other in zip(corpus, twice, strict=True):
        assert one == other if not isinstance(one, np.ndarray) else np.array_equal(one, other)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("0-0\n", r"b:2: ends after 1 line, but .*f has 2"),
        ("0-0\n0-0\n0-0\n", r"f:3: ends after 2 lines, but .*b has 3"),
        ("0-0\n0-1\n", "b:2: link 0-1 points past the end of a 1-word target sentence"),
        ("0-0\nx\n", "b:2: 'x' is not a link"),
    ],
)
def test_a_second_alignment_is_checked_like_the_first(tmp_path, write, second, message):
    write("a\nb\n", "x\ny\n", "0-0\n0-0\n")
    (tmp_path / "b").write_text(second)
    with pytest.raises(InputError, match=message):
        read_corpus(*(tmp_path / name for name in "feab"))


@pytest.mark.parametrize("alignments", [("a",), ("a", "b"), ("a", "b", "c")])
def test_files_come_back_from_their_names(alignments):
    files = CorpusFiles("f", "e", alignments)
    assert list(files.by_name())[:3] == ["source", "target", "alignment"]
    assert CorpusFiles.from_names(files.by_name()) == files


def test_bytes_that_are_not_utf8_are_named_by_line(write):
    with pytest.raises(InputError, match="f:2: byte 0xff at column 3 is not UTF-8"):
        write("a\nb \udcff\n", "x\ny\n", "0-0\n0-0\n")


def test_parse_links_keeps_the_order_of_the_line():
    assert parse_links("2-1 0-0 2-1") == [(2, 1), (0, 0), (2, 1)]
    assert parse_links("") == []


def test_a_second_text_can_share_the_vocabulary_of_the_first(tmp_path):
    (tmp_path / "one").write_text("a b\n")
    (tmp_path / "two").write_text("b c\n")
    vocabulary, _, _ = read_text(tmp_path / "one")
    same, start, words = read_text(tmp_path / "two", vocabulary)
    assert same is vocabulary
    assert words.tolist() == [1, 2]
    assert start.tolist() == [0, 2]


@given(st.lists(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8), max_size=8))
def test_any_links_come_back_sorted_and_unique(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("links") / "a"
    path.write_text("".join(" ".join(f"{i}-{j}" for i, j in line) + "\n" for line in lines))
    start, links = read_alignment(path)
    assert start.tolist() == np.cumsum([0] + [len(set(line)) for line in lines]).tolist()
    for line, begin, end in zip(lines, start[:-1], start[1:], strict=True):
        assert list(map(tuple, links[begin:end].tolist())) == sorted(set(line))


def test_links_are_the_same_however_many_lines_are_read_at_once(tmp_path, monkeypatch, rng):
    lines = [[(int(i), int(j)) for i, j in rng.integers(0, 5, (rng.integers(4), 2))] for _ in range(20)]
    (tmp_path / "a").write_text("".join(" ".join(f"{i}-{j}" for i, j in line) + "\n" for line in lines))
    start, links = read_alignment(tmp_path / "a")
    for at_once in (1, 3, 20):
        monkeypatch.setattr(parallel_text, "_LINES_AT_ONCE", at_once)
        again = read_alignment(tmp_path / "a")
        assert np.array_equal(again[0], start)
        assert np.array_equal(again[1], links)
    (tmp_path / "a").write_text("0-0\n" * 4 + "1-3000000000\n0-0\n")
    with pytest.raises(AlignmentError, match="a:5: link 1-3000000000 cannot be right"):
        read_alignment(tmp_path / "a")


@pytest.mark.parametrize(
    ("lines", "hint"),
    [
        (
            ["1-1 2-2", "1-1 2-2 3-3"],
            "counted from 0, and no link of the file has a 0: subtract 1 from every",
        ),
        (["0-0 1-1", "1-1 2-2 3-3"], "were the two languages swapped?"),
        (["", "1-1 3-0"], "were the two languages swapped?"),
    ],
)
def test_links_past_the_end_are_explained(lines, hint):
    texts = ["a b", "a b c"]
    with pytest.raises(AlignmentError, match="points past the end of a") as error:
        parse_corpus(texts, texts, lines)
    assert hint in str(error.value)
