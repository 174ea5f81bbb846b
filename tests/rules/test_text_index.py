"""Words of a text are found however a table spells them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scfg_sampler.core.arrays.word_pool import pool_of
from scfg_sampler.core.jit import kernel
from scfg_sampler.rules.text import unescape
from scfg_sampler.rules.text_filter import filter_table
from scfg_sampler.rules.text_index import UNKNOWN, word_of


@pytest.mark.parametrize("spelled", ["a|b", "a&#124;b", "&#97;&#124;b", "&#0097;|b"])
@pytest.mark.parametrize("before", ["", "c "])
def test_words_match_however_a_table_spells_them(tmp_path, before, spelled):
    """As they are in tables of others, as codes in ours; the reader takes both for one word."""
    (tmp_path / "text").write_text(f"{before}a|b\n")
    line = f"[X] ||| {before}{spelled} ||| b ||| F=1"
    (tmp_path / "table").write_text(f"{line}\n[X] ||| a ||| b ||| F=1\n")
    filter_table(tmp_path / "table", source=tmp_path / "text", output=tmp_path / "out")
    assert (tmp_path / "out").read_text() == f"{line}\n"


@given(st.text("&#0123456789;é|", max_size=12) | st.integers(0, 0x11FFFF).map("x&#{};".format))
@example("x&#55296;")
@example("&#;")
@example("&#0;")
@example("&#00000038;")
@example("&#0000038;&#128512;&#127;&#128;&#2047;&#2048;&#65535;&#65536;")
def test_codes_are_read_as_the_reader_of_tables_reads_them(spelled):
    word = unescape(spelled).encode("utf-8")
    block = np.frombuffer(spelled.encode(), np.uint8)
    room = np.empty(len(block), np.uint8)
    assert _word_of(pool_of([b"other", word]), block, room) == 1
    assert _word_of(pool_of([b"other", word + b"x"]), block, room) == UNKNOWN


@kernel
def _word_of(words, block, room):
    return word_of(words, block, 0, len(block), room)
