"""Capitals that position forces are told from those of the word, and come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.preparation.case import _ABBREVIATION, _STOP, CaseModel, begins_small, learn_case

TEXT = [
    "The dog sees Anna. He barks at the House of Commons.",
    "Mr. Brown and the dog see Dr. Mabuse, approx. five men.",
    "Anna sees Dr. Brown. Anna saw approx. six men in Köln.",
    "THE DOG SEES THE DOG.",
    "See http://Dog.org/He/Sees and the dog.",
]


@pytest.fixture(scope="module")
def model():
    return learn_case(TEXT)


def test_the_form_of_a_word_is_the_one_no_sentence_begins_with(model):
    forms = model.forms
    assert (forms["the"], forms["dog"], forms["anna"], forms["köln"]) == ("the", "dog", "Anna", "Köln")
    assert "he" not in forms  # It only begins sentences; what is in an address does not count.
    assert model.begins_with_capital


def test_the_most_frequent_form_is_taken():
    assert learn_case(["a Fair", "a Fair", "a fair"]).forms["fair"] == "Fair"


def test_ties_go_to_small_letters():
    assert learn_case(["a Fair", "a fair"]).forms["fair"] == "fair"


def test_abbreviations_are_words_whose_full_stop_goes_on(model):
    assert model.abbreviations == {"approx"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog sees Anna.", "the dog sees Anna."),
        ("Anna sees The Dog.", "Anna sees The Dog."),
        ("“The dog!” The dog? 'The dog.' The dog.", "“the dog!” the dog? 'the dog.' the dog."),
        ("Unknown words stay. The dog... The dog", "Unknown words stay. the dog... The dog"),
        ("On the 3. The dog", "On the 3. The dog"),
        ("It was J. The dog", "It was J. The dog"),
        ("It was approx. The dog", "It was approx. The dog"),
        ("http://The.org. The dog", "http://The.org. the dog"),
        ("7 The dog", "7 The dog"),
        ("ANNA SEES THE UNKNOWN DOG! HE", "Anna sees the unknown dog! he"),
        ("THE DOG", "the DOG"),
        ("A B C D", "A B C D"),
        ("THE DOG SEES Me", "the DOG SEES Me"),
        ("", ""),
    ],
)
def test_true_case(model, text, expected):
    assert model.true(text) == expected


def test_lower_case_leaves_addresses(model):
    assert model.lower("ANNA at http://The.org/A, Ann@B.org") == "anna at http://The.org/A, Ann@B.org"


def test_forms_are_recalled_and_sentences_get_capitals(model):
    assert model.recalled("the dog sees anna in köln . xyz") == "the dog sees Anna in Köln . xyz"
    assert (
        model.with_capitals("the dog. (“he!”) über approx. five. ßa")
        == "The dog. (“He!”) Über approx. five. ßa"
    )
    assert model.with_capitals("http://a.org is one. so") == "http://a.org is one. So"


def test_text_without_capitals_gets_none():
    small = learn_case(["the dog sees anna .", "he barks ."])
    assert not small.begins_with_capital
    assert small.with_capitals("the dog. he") == "the dog. he"


def test_scripts_without_case_are_left(model):
    chinese = learn_case(["我很好。", "你好。"])
    assert chinese.true("我很好。你") == "我很好。你"
    assert not chinese.begins_with_capital
    assert not begins_small("我 a")
    assert begins_small("«a B")
    assert not begins_small("A b")
    assert not begins_small("5.")


@given(st.text())
def test_no_change_of_case_moves_anything(text):
    model = CaseModel(True, {"a": "A"}, frozenset())
    for changed in (model.true(text), model.lower(text), model.with_capitals(text), model.recalled(text)):
        assert len(changed) == len(text)
        # Some letters share a capital, µ and μ, ı and i, and some a small letter, å and the sign of Ångström.
        assert changed.upper().casefold() == text.upper().casefold()


def test_a_long_run_is_looked_through_once():
    for pattern, text in ((_ABBREVIATION, "ab" * 50 + ". c"), (_STOP, "?!" * 50 + "' ")):
        assert [at for at in range(len(text)) if pattern.match(text, at)] == [0]


def test_models_are_kept(model):
    assert CaseModel.from_record(model.record()) == model


def test_the_letter_behind_a_click_or_a_glottal_stop_is_the_capital():
    """Of ʼYan, ǃGâi, ʻŌlelo: those letters have no capitals of their own."""
    model = learn_case(["ʼYan bo ǃgâi.", "ʼYan co ʼyan.", "ǃGâi bo."])
    assert model.begins_with_capital
    assert model.true("ʼYan bo. ǃGâi bo.") == "ʼyan bo. ǃgâi bo."
    assert model.with_capitals("ʼyan bo. ǃgâi bo. ʻōlelo.") == "ʼYan bo. ǃGâi bo. ʻŌlelo."
    assert not learn_case(["ʼyan b.", "ʼyan c.", "B"]).begins_with_capital
    assert begins_small("ʼyan B")
    assert not begins_small("ʼYan b")
    assert not begins_small("ʼ")
