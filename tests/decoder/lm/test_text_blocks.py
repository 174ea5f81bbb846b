"""Text that is scored in blocks of bytes has the scores of its lines."""

from __future__ import annotations

import lzma
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.commands import query_lm
from decoder.lm import text_blocks
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import LmVocabulary, build_lm, score_text
from decoder.lm.text_blocks import score_file
from scfg_sampler.errors import InputError

WORDS = st.sampled_from(["a", "b", "é", "zz", "ab", "<s>", "</s>", "<unk>", "a\u3000b", "\u00a0", "a\x0bb"])
GAPS = st.sampled_from([" ", "  ", "\t", "\r", " \r "])
LINES = st.lists(st.lists(st.tuples(WORDS, GAPS), max_size=6).map(lambda pairs: "".join(map("".join, pairs))))


@pytest.fixture(scope="module")
def model():
    found, _ = estimate_lm(encode_text(["a b é a\u3000b", "b é a a", "é \u00a0"]), 3)
    return build_lm(found), LmVocabulary(found.words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("blocks")


@given(lines=LINES, ends=st.booleans(), size=st.integers(1, 60))
@settings(max_examples=50)
def test_blocks_have_the_scores_of_their_lines(model, folder, lines, ends, size):
    lines = ["a", *lines]  # One line alone that has carriage returns is refused.
    (folder / "text").write_bytes("".join(line + "\n" for line in lines).encode()[: None if ends else -1])
    expected = score_text(*model, lines[: len(lines) - (not ends and lines[-1:] == [""])])
    usual, text_blocks._BLOCK = text_blocks._BLOCK, size
    try:
        found = list(score_file(*model, folder / "text"))
    finally:
        text_blocks._BLOCK = usual
    assert [score for part in found for score in part.log_probs] == expected.log_probs.tolist()
    assert [
        score for part in found for score in part.unknown_log_probs
    ] == expected.unknown_log_probs.tolist()
    assert tuple(sum(part[k] for part in found) for k in (2, 3, 4)) == expected[2:]


def test_what_is_not_utf8_is_named_by_line_and_column(model, folder, monkeypatch):
    (folder / "bad").write_bytes(b"a b\nb a\n" + "é".encode() + b" \xff\n")
    for size in (3, 1 << 20):
        monkeypatch.setattr(text_blocks, "_BLOCK", size)
        with pytest.raises(InputError, match="bad:3: byte 0xff at column 4 is not UTF-8"):
            list(score_file(*model, folder / "bad"))
    (folder / "packed").write_bytes(lzma.compress(b"a b\n"))
    with pytest.raises(InputError, match="packed:1: looks like a file of xz"):
        list(score_file(*model, folder / "packed"))


def test_sums_do_not_depend_on_how_numbers_come(monkeypatch):
    monkeypatch.setattr(query_lm, "_SUMMED", 4)
    numbers = [0.1 * k for k in range(11)]
    expected = math.fsum(numbers[:4]) + math.fsum(numbers[4:8]) + math.fsum(numbers[8:])
    for size in (1, 3, 11):
        total = query_lm._Total()
        for at in range(0, 11, size):
            total.add(numbers[at : at + size])
        assert total.sum() == expected
