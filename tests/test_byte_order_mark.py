"""All readers of text drop a byte order mark."""

from __future__ import annotations

import codecs
import gzip
import pickle

import pytest

from monolingual.pcfg.encoded_text import read_encoded_lines
from scfg_sampler.cli import main
from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.files import read_lines
from scfg_sampler.corpus.parallel_text import read_text
from scfg_sampler.errors import InputError
from scfg_sampler.rules.table import read_rule_table
from tests.test_text_readers import EVERY, write


@EVERY
def test_byte_order_mark_is_dropped(tmp_path, reader):
    """Of a plain and of a compressed file."""
    path = write(tmp_path, reader.text.replace("@", reader.number))
    plain, expected = path.read_bytes(), pickle.dumps(reader.read(path))
    for compress in (bytes, gzip.compress):
        if compress is gzip.compress and reader.read is read_trace:
            continue  # Nobody compresses a trace.
        marked = compress(codecs.BOM_UTF8 + plain)
        path.write_bytes(marked)
        assert pickle.dumps(reader.read(path)) == expected


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n", b"ab\ncd\n", b"ab\ncd", codecs.BOM_UTF8 + b"a\n"])
def test_one_byte_order_mark_is_dropped_from_lines_and_blocks(tmp_path, text):
    path = tmp_path / "text"
    path.write_bytes(codecs.BOM_UTF8 + text)
    assert list(read_lines(path)) == text.decode().removesuffix("\n").split("\n")[: None if text else 0]
    for size in (1, 2, 3, 4, 1 << 20):
        assert b"".join(read_blocks(path, size)) == text


def test_wrong_bytes_behind_a_byte_order_mark_are_found_by_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(codecs.BOM_UTF8 + b"a\nna\xefv\n")
    with pytest.raises(InputError, match=r"text:2: byte 0xef at column 3"):
        list(read_lines(path))


def test_first_word_of_a_marked_text_is_that_word(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(codecs.BOM_UTF8 + b"das Haus\ndas\n")
    vocabulary, _, words = read_text(path)
    assert (vocabulary.words, words.tolist()) == (["das", "Haus"], [0, 1, 0])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "gb18030", "utf-8-sig"])
def test_byte_order_mark_is_dropped_in_any_encoding(tmp_path, encoding):
    path = tmp_path / "text"
    for mark in ("", "\ufeff"):
        path.write_bytes(f"{mark}ä b\n\ufeffc\n".encode(encoding.removesuffix("-sig")))
        assert list(read_encoded_lines(path, encoding)) == ["ä b", "\ufeffc"]
        path.write_bytes(mark.encode(encoding.removesuffix("-sig")))
        assert list(read_encoded_lines(path, encoding)) == []


def test_words_that_begin_with_one_come_back_from_moses(tmp_path):
    """Its tables begin with a word."""
    (tmp_path / "table").write_text("[X] ||| \ufeff ||| \ufeffA ||| LogForward=-1 LogCount=0 ||| 0-0\n")
    for to, path in (("moses", "table"), ("native", "table.moses")):
        arguments = ["convert", f"{tmp_path}/{path}", "--to", to, "--output", f"{tmp_path}/table.{to}"]
        assert main([*arguments, "--quiet"]) == 0
    assert "\ufeff" not in (tmp_path / "table.moses").read_text()
    table = read_rule_table(tmp_path / "table.native")
    assert (table.source_vocabulary.words, table.target_vocabulary.words) == (["\ufeff"], ["\ufeffA"])
