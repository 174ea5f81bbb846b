"""Words that sacremoses would cut: accents by themselves, joiners, scripts that it has no list of."""

from __future__ import annotations

import json

import pytest

from scfg_sampler.preparation.case import CaseModel, learn_case
from scfg_sampler.preparation.learning import SegmentationSettings, learn_preparation, parse_segmentation
from scfg_sampler.preparation.letters import is_letter
from scfg_sampler.preparation.normalise import normalise
from scfg_sampler.preparation.preparation import FILE, load_preparation, write_preparation
from scfg_sampler.preparation.subwords import is_unspaced, uses_spaces
from scfg_sampler.preparation.words import WordSegmenter

pytest.importorskip("sacremoses")

FON = normalise("Mɛ tɛ\u0301nwe nukɔntɔn e é wɔ\u0301 lɛ\u0301ɛ ɔ\u0301.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FON, "Mɛ tɛ\u0301nwe nukɔntɔn e é wɔ\u0301 lɛ\u0301ɛ ɔ\u0301 ."),
        ("o\u0323\u0300ro\u0323\u0300, a\u0331.", "ọ\u0300rọ\u0300 , a\u0331 ."),
        ("می\u200cخواهم بروم.", "می\u200cخواهم بروم ."),
        ("क्\u200dष है", "क्\u200dष है"),
        ("한국어 문장, 좋아요.", "한국어 문장 , 좋아요 ."),
        ("𞤀𞤣𞤤𞤢𞤥 𞤆𞤵\u0301𞤤𞤢𞤪.", "𞤀𞤣𞤤𞤢𞤥 𞤆𞤵\u0301𞤤𞤢𞤪 ."),
        ("Ꮳꮃꭹ ꮧꮳꮃꭹ", "Ꮳꮃꭹ ꮧꮳꮃꭹ"),
        ("ma\ua789tu, ˈa˩˥ b", "ma\ua789tu , ˈa˩˥ b"),
        ("col·lecció · b", "col·lecció · b"),
        ("col‧lecció ‧ b", "col‧lecció ‧ b"),
        ("፲፪ኛ ፳፻፲፬።", "፲፪ኛ ፳፻፲፬ ￭።"),
        ("Ինչո՞ւ, մա՛րդ։", "Ինչո՞ւ , մա՛րդ ￭։"),
        ("צה״ל ו׳ ג׳ירפה", "צה״ל ו׳ ג׳ירפה"),
        ('"מנכ"ל" "א"', '"￭ מנכ"ל ￭" "￭ א ￭"'),
        ("mɛ\u0300‑ɖé là‐bas ‐ ‑b", "mɛ\u0300‑ɖé là‐bas ‐ ‑￭ b"),
        ("col· b", "col ￭· b"),
    ],
)
def test_words_are_whole(text, expected):
    text = normalise(text)
    segmenter = WordSegmenter.learn(["a, b."], "en")
    found = segmenter.segment(text).words
    assert found == normalise(expected).split(" ")
    assert segmenter.join(found).text == text


@pytest.mark.parametrize("rules", ["en", "fr"])
def test_either_apostrophe_is_cut_alike(rules):
    """Between letters; one that opens or closes a quotation is not an apostrophe."""
    segmenter = WordSegmenter.learn(["a."], rules)
    for text in ("don't say l'homme", "he's tɛ\u0301'a"):
        cut = segmenter.segment(text).words
        curly = segmenter.segment(text.replace("'", "’")).words
        assert [word.replace("’", "'") for word in curly] == cut
    assert segmenter.segment("‘a b’ c").words == ["‘￭", "a", "b", "￭’", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I ❤\ufe0fyou❤\ufe0f", "I ❤\ufe0f￭ you ￭❤\ufe0f"),
        ("🇬🇭🇳🇬!", "🇬🇭 ￭🇳🇬 !"),
        ("👩🏾\u200d🌾 👍🏽ok 👩\u200d🌾", "👩🏾\u200d🌾 👍🏽￭ ok 👩\u200d🌾"),
        ("😀😀 a", "😀 ￭😀 a"),
        ("#\ufe0f\u20e3b -\u0301a", "#\ufe0f\u20e3￭ b -\u0301￭ a"),
        ("see http://a.org/❤\ufe0f ❤\ufe0f", "see http://a.org/❤\ufe0f ❤\ufe0f"),
        ("❤\ufe0fb @ann", "❤\ufe0f￭ b @ann"),
        ("\u0301a", "\u0301a"),
    ],
)
def test_what_changes_a_sign_stays_with_it(text, expected):
    """It is no part of the word behind it, which nobody would know."""
    segmenter = WordSegmenter.learn(["a, b."], "en")
    found = segmenter.segment(text).words
    assert found == expected.split(" ")
    assert segmenter.join(found).text == text


def test_signs_that_join_the_word_behind_them_are_learnt():
    found = WordSegmenter.learn(["❤\ufe0fa b"] * 4, "en")
    assert "❤\ufe0f" in found.joins_right
    assert found.segment("❤\ufe0fb").words == ["❤\ufe0f", "b"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [("fr", "n'￭ aso"), ("it", "n'￭ aso"), ("en", "n ￭'aso"), ("es", "n ￭'￭ aso"), ("ga", "n ￭'￭ aso")],
)
def test_rules_decide_about_apostrophes_but_not_about_the_letter(rules, expected):
    """As docs/raw-text.md says."""
    segmenter = WordSegmenter(rules)
    assert segmenter.segment("n'aso").words == expected.split(" ")
    assert segmenter.segment("ngʼombe ʼyan").words == ["ngʼombe", "ʼyan"]


@pytest.mark.parametrize("rules", ["en", "es", "fr"])
def test_apostrophes_may_be_letters(rules, tmp_path):
    """Between letters, by any sign; not where they quote, and not in the other language."""
    segmenter = WordSegmenter.learn(["a."], rules, apostrophes=True)
    text = "ng'ombe p’isi-q`ara o‘zbek lɛ\u0301'ɛ 'a b' l'"
    found = segmenter.segment(text).words
    assert [word.strip("￭") for word in found][:4] == ["ng'ombe", "p’isi-q`ara", "o‘zbek", "lɛ\u0301'ɛ"]
    assert segmenter.join(found).text == text
    assert "'￭" in found or "￭'" in found
    settings = SegmentationSettings(
        ("aym", "es"), parse_segmentation("words"), rules={"aym": rules}, apostrophes=("aym",)
    )
    write_preparation(learn_preparation(["p'isi"], ["p'isi"], settings), tmp_path)
    read = load_preparation(tmp_path)
    assert read.segment("p'isi") == ["p'isi"]
    assert len(read.segment("p'isi", "es")) == 3


@pytest.mark.parametrize("rules", ["en", "es", "fr"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("'Yan mata da 'ya'yansu", ["'Yan", "mata", "da", "'ya'yansu"]),
        ('(‘yan Najeriya) "’ya"', ["(", "‘yan", "Najeriya", ")", '"', "’ya", '"']),
        ("'A'ole 'o ia 'o 𞤢𞤣", ["'A'ole", "'o", "ia", "'o", "𞤢𞤣"]),
        ("ya ce 'a gida', 'ya", ["ya", "ce", "'", "a", "gida", "'", ",", "'ya"]),
        ("'ya 'a' 'ya", ["'ya", "'", "a", "'", "'ya"]),
        ("''ya '90 ' ya", ["'", "'", "ya", "'", "90", "'", "ya"]),
    ],
)
def test_apostrophes_before_words_may_be_letters(rules, text, words):
    """Unless they are the first of a pair around words."""
    segmenter = WordSegmenter.learn(["a."], rules, apostrophes=True)
    found = segmenter.segment(text).words
    assert segmenter.join(found).text == text
    assert [word.strip("￭␣") for word in found] == words


def test_capitals_and_small_letters_stay_so():
    """A small letter after a full stop says that it ends no sentence; a capital by itself is an initial."""
    segmenter = WordSegmenter.learn(["a."], "en")
    for script in ("ab AB", "𞤢𞤣 𞤀𞤁"):
        small, capital = script.split(" ")
        cut = segmenter.segment(f"{small}. {small} {small}. {capital} {capital[0]}. {capital}").words
        assert cut == [f"{small}.", small, small, ".", capital, f"{capital[0]}.", capital]


def test_words_that_end_in_accents_are_not_taken_for_punctuation():
    """Nothing joins what comes after them, however often it does."""
    found = WordSegmenter.learn(["b / c"] * 10 + ["ɔ\u0301/a"] * 4, "en")
    assert not any(word.startswith("ɔ") for word in found.joins_right)
    assert found.segment("ɔ\u0301/a").words == ["ɔ\u0301", "￭/￭", "a"]


def test_joined_letters_are_told_from_joined_marks():
    assert all(map(is_letter, ("a", "7", "\u0301", "\u200d", "ि")))
    assert not any(map(is_letter, ("-", "’", " ", "")))


def test_words_that_begin_with_a_vowel_are_words():
    """A sign of punctuation says that it joins one, as it does with other words."""
    segmenter = WordSegmenter.learn(["a, b."], "en")
    assert segmenter.segment("a /िb").words == ["a", "/￭", "िb"]
    assert segmenter.segment("a /b").words == ["a", "/￭", "b"]


def test_words_of_scripts_without_spaces_are_cut_as_ever():
    assert WordSegmenter.learn(["a."], "en").segment("met 习近平").words == ["met", "习", "￭近", "￭平"]


@pytest.mark.parametrize("text", ["ꦲꦏ꧀ꦱꦫꦗꦮ", "ᬅᬓ᭄ᬱᬭᬩᬮᬶ", "ᨲ᩠ᩅᩫᨾᩮᩬᩥᨦ", "ᦅᧄᦟᦹᧉᦑᦺᦟᦹᧉ", "ᥖᥭᥰᥖᥬᥳ", "ꪎꪳꪼꪕ", "ꩡꩢꩣ", "ꧠꧡꧢ"])
def test_sentences_of_scripts_without_spaces_are_no_words(text):
    """Javanese, Balinese, Tai Tham, New Tai Lue, Tai Le, Tai Viet, Myanmar's letters for Shan and others."""
    assert all(map(is_unspaced, text))
    assert not uses_spaces([text])


def test_accents_are_of_words_where_case_is_told():
    """Where accents parted words, all these began with the word `Ɔ`, and its form was that of all of them."""
    lines = ["A ɔ\u0301sun.", "A ɔ\u0301sun.", "A Ɔsan.", "A Ɔ\u0301dun a.", "A Ɔ\u0301dun a."]
    model = learn_case(lines)
    assert model.true("Ɔ\u0301sun a.") == "ɔ\u0301sun a."
    assert model.true("Ɔ\u0301dun a.") == "Ɔ\u0301dun a."
    assert model.forms["ɔ\u0301sun"] == "ɔ\u0301sun"
    assert CaseModel.from_record(model.record()) == model
    assert learn_case(["А сл\ua66fво."] * 2).forms.keys() >= {"сл\ua66fво"}
    assert learn_case(["Mɛ\u0301. a", "mɛ\u0301. a", "a b"]).abbreviations == {"mɛ\u0301"}


def test_older_preparations_cut_as_they_did(tmp_path):
    """What was learnt of text that was cut otherwise would not know these words."""
    settings = SegmentationSettings(("fon", "en"), parse_segmentation("words"), rules={"fon": "en"})
    lines = [FON, FON.replace("e", "ɔ\u0301"), "Ɔ\u0301dun e a."]
    write_preparation(learn_preparation(lines, ["a b", "b", "c."], settings), tmp_path)
    assert "tɛ\u0301nwe" in load_preparation(tmp_path).segment(FON)
    record = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    for side in record["sides"]:
        del side["segmenter"]["whole"]
    (tmp_path / FILE).write_text(json.dumps(record), encoding="utf-8")
    found = load_preparation(tmp_path)
    assert "tɛ\u0301nwe" not in found.segment(FON)
    assert found.source.restore(found.segment(FON)) == FON
    assert found.segment("❤\ufe0fe") == ["❤", "￭\ufe0f￭", "e"]
    old = CaseModel.from_record({"begins_with_capital": True, "forms": ["ɔ"], "abbreviations": []})
    assert old.true("Ɔ\u0301dun a.") == "ɔ\u0301dun a."


@pytest.mark.parametrize("code", ["fra", "fra_Latn", "FR", "fr-CA"])
def test_languages_go_by_their_longer_codes_too(code):
    settings = SegmentationSettings((code, "eng"), parse_segmentation("words"))
    found = learn_preparation(["l'homme"], ["a"], settings)
    assert [side.segmenter.record()["rules"] for side in (found.source, found.target)] == ["fr", "en"]
