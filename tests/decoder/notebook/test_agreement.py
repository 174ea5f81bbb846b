"""Several systems that agree, as a notebook has them."""

import pytest

import decoder
from decoder.system.system import SystemTranslation


def said(*translations):
    return [SystemTranslation("line", text, score, []) for text, score in translations]


LISTS = [said((f"{word} b c d", 0.0), ("a b c d", -0.1)) for word in "xyz"]


def test_the_translation_of_all_lists_that_is_most_like_them_is_found():
    found = decoder.consensus(LISTS)
    assert found is LISTS[0][1]
    assert decoder.consensus(iter(LISTS), scale=1e6) is LISTS[0][0]
    assert decoder.consensus([[], said(("e", 1.0)), []]).text == "e"


def test_raw_text_is_compared_by_a_tokenizer():
    lists = [said((text, 0.0)) for text in ("p q r s", "a b c (d)", "a b c (e)")]
    assert decoder.consensus(lists).text == "a b c (d)"
    lists = [said((text, 0.0)) for text in ("xyzw", "abcd", "abce")]
    assert decoder.consensus(lists).text == "xyzw"
    assert decoder.consensus(lists, tokenize="char").text == "abcd"


def test_words_stand_between_blanks_as_they_do_in_lists():
    """Other spaces are parts of words, so that a word with one is not two that others have."""
    lists = [said((text, 0.0)) for text in ("c d", "a\u00a0b", "a b")]
    assert decoder.consensus(lists).text == "c d"  # All are equally good.
    assert decoder.consensus([said(("", 0.0), (" ", 1.0)), said(("", 0.0))]).text == ""


@pytest.mark.parametrize(
    ("lists", "options", "error", "message"),
    [
        ([], {}, ValueError, "lists has no translations"),
        ([[], []], {}, ValueError, "lists has no translations"),
        (LISTS, {"scale": 0.0}, ValueError, "scale is 0.0; it is a number above 0"),
        (LISTS, {"tokenize": "13"}, ValueError, "tokenize is '13'; choose from none, 13a"),
        (LISTS, {"scale": "1"}, TypeError, "scale is '1'; give a number"),
        (LISTS, {"scale": None}, TypeError, "scale is None; give a number"),
        (LISTS, {"tokenize": None}, TypeError, "tokenize is a NoneType; give a string"),
        (LISTS[0], {}, TypeError, "lists is a list of translations; give a list of lists of translations"),
        (["a b"], {}, TypeError, "what one of lists has is a str; give what System.n_best has"),
        ([None], {}, TypeError, "one of lists is a NoneType; give a list of translations"),
        (3, {}, TypeError, "lists is a int; give a list of lists of translations"),
    ],
)
def test_what_cannot_be_done_is_said(lists, options, error, message):
    with pytest.raises(error, match=message):
        decoder.consensus(lists, **options)
