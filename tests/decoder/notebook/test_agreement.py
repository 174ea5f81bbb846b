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


@pytest.mark.parametrize(
    ("lists", "options", "error", "message"),
    [
        ([], {}, ValueError, "lists has no translations"),
        ([[], []], {}, ValueError, "lists has no translations"),
        (LISTS, {"scale": 0.0}, ValueError, "scale is 0.0; it is a number above 0"),
        (LISTS, {"tokenize": "13"}, ValueError, "tokenize is '13'; choose from none, 13a"),
        (LISTS[0], {}, TypeError, "lists"),
        (["a b"], {}, TypeError, "lists"),
        (3, {}, TypeError, "lists is a int; give a list of lists of translations"),
    ],
)
def test_what_cannot_be_done_is_said(lists, options, error, message):
    with pytest.raises(error, match=message):
        decoder.consensus(lists, **options)
