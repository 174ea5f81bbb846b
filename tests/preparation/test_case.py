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


@pytest.mark.parametrize(
    "line",
    [
        "한국은 NATO 회원국이 아니다.",
        'האו"ם UN הוא ארגון',
        "यह UN का नियम है",
        "นี่คือ UN ครับ",
        "欧洲，NATO，北京。",
        "ᎠᏴ UN ᎢᎦ",
    ],
)
def test_an_acronym_in_a_script_without_capitals_stays(line):
    """Its line is none of capitals, and says what form the acronym has."""
    model = learn_case([line, line])
    assert model.true(line) == line
    assert not model.begins_with_capital
    small = line.replace("NATO", "nato").replace("UN", "un")
    assert model.recalled(small) == line if " " in line else model.forms == {}


def test_ordinals_and_clicks_are_no_reason_against_a_line_of_capitals():
    model = learn_case(["o art. 1º da lei", "ʻo ka ʻaina ǃgaoǁgao"])
    assert model.true("O ART. 1º DA LEI") == "o art. 1º da lei"
    assert model.true("ʻO KA ʻAINA ǃGAOǁGAO") == "ʻo ka ʻaina ǃgaoǁgao"


def test_a_line_that_begins_with_a_foreign_name_does_not_give_a_script_capitals():
    model = learn_case(["Twitter는 아주 좋다.", "우리는 매일 검사를 한다.", "그는 집에서 일한다."])
    assert model.with_capitals("iPhone은 비싸다.") == "iPhone은 비싸다."


def test_cherokee_stays_as_it_is_written():
    lines = ["ᎠᏴ ᏣᎳᎩ ᏥᏬᏂᎭ ᎢᎦ.", "ᎣᏏᏲ ᎣᏥᏣᎳᎩ."]
    model = learn_case(lines)
    for line in lines:
        assert model.true(line) == model.lower(line) == model.recalled(line) == line
    assert not model.begins_with_capital


TURKISH = [
    "İyi günler ılık.",
    "Büyük şehirler çok iyi.",
    "Bugün ışık iyi.",
    "BÜTÜN ŞEHİRLER IŞIK DOLU",
    "Bu İzmir.",
]


def test_where_i_has_a_dot_its_capital_has_one():
    model = learn_case(TURKISH)
    assert model.dotless
    assert model.true("BÜTÜN ŞEHİRLER IŞIK DOLU") == "bütün şehirler ışık dolu"
    assert model.true("İyi günler. Işık iyi.") == "iyi günler. ışık iyi."
    assert model.lower("İYİ IŞIK") == "iyi ışık"
    assert model.recalled("bu izmir") == "bu İzmir"
    assert model.with_capitals("iyi günler. ışık iyi.") == "İyi günler. Işık iyi."
    assert CaseModel.from_record(model.record()) == model
    others = ["I am in the city of Diyarbakır.", "This is it, I think: it is a big city.", "IT IS IN IT"]
    assert not learn_case(others).dotless
    assert learn_case(others).true("IT IS IN DIYARBAKIR") == "it is in diyarbakir"
    assert not CaseModel.from_record({"begins_with_capital": True, "forms": [], "abbreviations": []}).dotless


def test_abbreviations_and_forms_are_told_whatever_their_case():
    model = learn_case(["a Bkz. bu", "o BKZ. bu", "a bkz. Bu", "o İL a", "o il", "o ıl", "o İl a", "o İl"])
    assert model.abbreviations == {"bkz"}
    assert model.forms["il"] == "İl"


def test_sigma_at_the_end_of_a_word_is_the_final_one():
    model = learn_case(["η γυναίκα της πόλης μας.", "Της αρέσει."])
    assert model.true("ΤΗΣ ΓΥΝΑΊΚΑ ΜΑΣ ΣΑΣ") == "της γυναίκα μας σας"
    assert model.lower("Της ΣΑΣ") == "της σας"


def test_sentences_end_in_greek_and_armenian_as_these_do():
    greek = learn_case(["Τι κάνεις; Πάω σπίτι.", "Και πάω εκεί."])
    assert greek.true("Τι κάνεις; Πάω σπίτι.") == "Τι κάνεις; πάω σπίτι."
    assert greek.with_capitals("τι κάνεις; πάω σπίτι. το σπίτι") == "Τι κάνεις; Πάω σπίτι. Το σπίτι"
    assert greek.with_capitals("he said; so") == "He said; so"
    armenian = learn_case(["Ես լավ եմ։ Դու գնում ես։", "Եվ դու գնում ես։"])
    assert armenian.true("Ես լավ եմ։ Դու գնում ես։") == "ես լավ եմ։ դու գնում ես։"
    assert armenian.with_capitals("ես լավ եմ։ տունը մեծ է։") == "Ես լավ եմ։ Տունը մեծ է։"


def test_georgian_has_no_capitals_at_the_beginning():
    """So what is translated from it begins as the other language does."""
    assert not begins_small("გამარჯობა")
    assert CaseModel(True, {}, frozenset()).with_capitals("გამარჯობა. a") == "გამარჯობა. A"
