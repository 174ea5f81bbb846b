"""Normalised text has one spelling for what looks the same, and every character knows where it came from."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.preparation.normalise import normalise, normalise_with_places

# Marks above and below in either order, Hangul jamo, an Indic vowel in two parts, what NFC takes apart.
TRICKY = (
    "e\u0301\u0323o\u0308 \u1112\u1161\u11ab\u09c7\u09be\u0958\u2126"
    "\u00a0\u3000\u200b\ufeff\r\tab\u212b\u0344"
)
TEXTS = st.one_of(st.text(), st.text(alphabet=TRICKY))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ""),
        (" \t ", ""),
        ("plain text .", "plain text ."),
        ("Windows line\r", "Windows line"),
        ("\ufeffFirst", "First"),
        ("e\u0301te\u0301", "été"),
        ("a\u00a0b\u202fc\u3000d\u2003e\u2028f\u0085g\x0bh", "a b c d e f g h"),
        ("a\x00b\x07c\x7fd\x9fe", "abcde"),
        ("so\u00adft zero\u200bwidth \u200emarks\u200f\u202a\u2066\u2069", "soft zerowidth marks"),
        ("مرحبا\u061c بك f\u2061(x) a\u206ab \ufff9c\ufffad\ufffb", "مرحبا بك f(x) ab cd"),
        ("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"),
        ("\u1112\u1161\u11ab", "한"),
        ("a \u200b b", "a b"),
        ("ﬁ ² １", "ﬁ ² １"),  # NFC, not NFKC
    ],
)
def test_spelling(raw, expected):
    assert normalise(raw) == expected


@given(TEXTS)
def test_normalised_text_stays_and_has_single_spaces(raw):
    text = normalise(raw)
    assert normalise(text) == text
    assert unicodedata.is_normalized("NFC", text)
    assert "  " not in text
    assert text == text.strip(" ")


@given(TEXTS)
def test_places_are_those_of_the_raw_text(raw):
    text, places = normalise_with_places(raw)
    assert text == normalise(raw)
    assert len(places) == len(text)
    for (begin, end), character in zip(places, text, strict=True):
        assert 0 <= begin < end <= len(raw)
        # What a character stands for is all it was made of.
        assert character in normalise(f"x{raw[begin:end]}x") or character in normalise(raw)
    assert places == sorted(places)
    if places:
        assert normalise(raw[places[0][0] : places[-1][1]]) == text


def test_accents_in_a_row_are_composed_a_few_at_a_time(monkeypatch):
    composed = []
    raw = "x\u0301" + "\u0316" * 1000 + "e"
    text = normalise(raw)
    inner = unicodedata.normalize
    monkeypatch.setattr(
        unicodedata, "normalize", lambda form, text: composed.append(len(text)) or inner(form, text)
    )
    assert normalise_with_places(raw) == (text, [(0, 1), *[(1, 1002)] * 1001, (1002, 1003)])
    assert sum(composed) < 5 * len(raw)


@pytest.mark.parametrize(
    ("raw", "places"),
    [
        ("\ufeff a\u00a0 b\r", [(2, 3), (3, 5), (5, 6)]),
        (
            "xe\u0301\u0323y",
            [(0, 1), (1, 4), (1, 4), (4, 5)],
        ),  # ẹ and the acute, which were told the other way
        ("\u1112\u1161\u11ab!", [(0, 3), (3, 4)]),
        ("\u0958a", [(0, 1), (0, 1), (1, 2)]),
        ("x\u0323\u0301", [(0, 1), (1, 2), (2, 3)]),
        ("x\u0301\u0323", [(0, 1), (1, 3), (1, 3)]),
    ],
)
def test_places_by_hand(raw, places):
    assert normalise_with_places(raw)[1] == places
