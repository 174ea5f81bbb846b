"""What was done to a text is kept, done again to new text, and undone."""

from __future__ import annotations

import json

import pytest

from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.preparation import learning
from scfg_sampler.preparation.learning import (
    SegmentationSettings,
    learn_preparation,
    parse_segmentation,
    pieces_instead_of_words,
)
from scfg_sampler.preparation.normalise import normalise
from scfg_sampler.preparation.preparation import Prepared, load_preparation, spelling, write_preparation

GERMAN = [
    "Der Hund sieht Anna (den Mann).",
    "Ein Mann sieht den Hund, und er läuft.",
    "Anna, sieht der Mann?",
] * 4
ENGLISH = ["The dog sees Anna (the man).", "A man sees the dog, and it runs.", "Anna, does the man see?"] * 4
CHINESE = ["狗看见Anna。", "男人看见狗，它跑了。", "男人看见Anna吗？"] * 4
LANGUAGES = {"de": GERMAN, "en": ENGLISH, "zh": CHINESE, "ja": CHINESE}
NEW = "\ufeffThe  Man; sees: (“Zoë” & ann@b.org) 1,5 Cafe\u0301s. It Runs!\r"


def learn(languages=("de", "en"), segment="words", case="true", **more):
    if segment == "words":
        pytest.importorskip("sacremoses")
    settings = SegmentationSettings(languages, parse_segmentation(segment), case=case, **more)
    return learn_preparation(*(LANGUAGES[language] for language in languages), settings)


@pytest.mark.parametrize("segment", ["words", "subwords:60", "subwords:60,70", "none"])
@pytest.mark.parametrize("case", ["lower", "true", "keep"])
def test_it_is_the_same_after_saving(tmp_path, segment, case):
    preparation = learn(segment=segment, case=case)
    preparation.record["settings"] = {"seed": 7}
    write_preparation(preparation, tmp_path)
    again = load_preparation(tmp_path)
    assert again.record["settings"] == {"seed": 7}
    for language in ("de", "en"):
        for text in (*LANGUAGES[language], NEW):
            words = preparation.segment(text, language)
            assert again.segment(text, language) == words
            assert again.restore(words, language) == preparation.restore(words, language)


@pytest.mark.parametrize("segment", ["words", "subwords:60", "none"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_with_case_kept_the_text_comes_back(segment, language):
    preparation = learn(segment=segment, case="keep")
    for text in (*LANGUAGES[language], NEW, ""):
        assert preparation.restore(preparation.segment(text, language), language) == normalise(text)


@pytest.mark.parametrize("segment", ["words", "subwords:60"])
@pytest.mark.parametrize("case", ["lower", "true"])
def test_capitals_come_back(segment, case):
    preparation = learn(segment=segment, case=case)
    for language in ("de", "en"):
        for text in LANGUAGES[language]:
            assert preparation.restore(preparation.segment(text, language), language) == text
    words = preparation.segment("The dog sees Anna.", "en")
    assert preparation.target.restore(words, begins_small=True) == "the dog sees Anna."
    words = preparation.segment("(The dog sees Anna.) The dog sees Anna.", "en")
    text = preparation.target.restore(words, begins_small=True)
    assert text == "(the dog sees Anna.) The dog sees Anna."


def test_source_and_target_are_the_defaults():
    preparation = learn()
    assert preparation.segment("Der Hund.") == ["der", "Hund", "."]
    assert preparation.restore(["the", "dog", "."]) == "The dog."
    with pytest.raises(SettingsError, match="the language is 'fr', but the preparation is of de and en"):
        preparation.segment("x", "fr")


@pytest.mark.parametrize(
    ("languages", "segment"),
    [(("de", "en"), "words"), (("de", "en"), "subwords:60"), (("zh", "en"), "subwords:40")],
)
@pytest.mark.parametrize("case", ["lower", "true", "keep"])
def test_words_know_where_in_the_raw_text_they_stand(languages, segment, case):
    preparation = learn(languages, segment, case)
    prepared = preparation.source.prepare(NEW)
    assert prepared.words == preparation.segment(NEW)
    for (begin, end), part, cased in zip(prepared.places, prepared.parts, prepared.cased, strict=True):
        assert normalise(NEW[begin:end]) == part
        assert cased in (part, part.lower())
    assert "".join(prepared.parts) == normalise(NEW).replace(" ", "")
    stuck = normalise(NEW)
    for part, joined in list(zip(prepared.parts, prepared.joined, strict=True))[::-1]:
        stuck = stuck.removesuffix(part)
        assert joined == (stuck != "" and not stuck.endswith(" "))
        stuck = stuck.rstrip(" ")
    assert not prepared.begins_small


def test_words_are_copied_as_they_are_between_languages_that_mark_alike():
    preparation = learn(segment="words")
    prepared = preparation.source.prepare("Qux/qux 1,5 a@B.org")
    assert preparation.copied(prepared) == prepared.words
    preparation = learn(segment="subwords:60", case="lower")
    prepared = preparation.source.prepare("漢 Qux@B.org Anna")
    assert preparation.restore(preparation.copied(prepared)) == "漢 Qux@B.org Anna"
    assert "▁qux" not in preparation.copied(prepared, own_case=True)
    assert preparation.restore(preparation.copied(prepared, own_case=True)) == "漢 Qux@B.org Anna"


def test_own_case_of_copied_words():
    preparation = learn(segment="words", case="lower")
    prepared = preparation.source.prepare("der Qux/McX")
    assert preparation.copied(prepared) == ["der", "qux", "￭/￭", "mcx"]
    assert preparation.copied(prepared, own_case=True) == ["der", "Qux", "￭/￭", "McX"]


@pytest.mark.parametrize("target_segment", [40, 60])
def test_what_stands_without_spaces_is_copied_with_them(target_segment):
    preparation = learn(("zh", "en"), f"subwords:40,{target_segment}", "keep")
    prepared = preparation.source.prepare("我1984在http://a.org/b看ÄÖ")
    copied = preparation.copied(prepared)
    text = preparation.restore(copied)
    assert " 1984 " in text
    assert " http://a.org/b " in text
    assert text.endswith(" ÄÖ")
    assert preparation.restore(["▁the", *copied[1:2], "▁dog"]) == "the 1984 dog"


def test_what_stands_between_spaces_is_copied_without_where_none_are_used():
    preparation = learn(("en", "zh"), "subwords:60,40", "keep")
    prepared = preparation.source.prepare("in 1984 Anna ran")
    copied = preparation.copied(prepared)
    assert copied[prepared.parts.index("1984")] == "1984"
    assert preparation.restore(["狗", copied[prepared.parts.index("1984")], "狗"]) == "狗1984狗"


def test_numbers_that_are_copied_one_after_the_other_stay_two():
    preparation = learn(("en", "zh"), "subwords:60,40", "keep")
    prepared = preparation.source.prepare("+86 10-12 Anna")
    number = prepared.parts.index("10-12")
    assert prepared.parts[number - 1] == "86"
    beside = preparation.copied(prepared, follows=[at == number for at in range(len(prepared.words))])
    apart = preparation.copied(prepared, follows=[False] * len(prepared.words))
    assert preparation.restore(beside[number - 1 : number + 1]) == "86 10-12"
    assert preparation.restore(["狗", apart[number]]) == "狗10-12"


def test_words_become_subwords_where_there_are_no_spaces():
    preparation = learn(("zh", "en"), "words")
    assert [side.segmenter.record()["kind"] for side in (preparation.source, preparation.target)] == [
        "subwords",
        "words",
    ]
    copied = preparation.copied(preparation.source.prepare("狗1984Qux狗"))
    assert preparation.restore(copied) == "狗 1984 Qux 狗"


@pytest.mark.parametrize("segment", ["words", "subwords:40,60"])
def test_characters_are_joined_to_those_that_are_copied_beside_them_alone(segment):
    preparation = learn(("zh", "en"), segment)
    parts = ["狗", "漢", "字"]
    prepared = Prepared(parts, [(0, 1), (1, 2), (2, 3)], parts, parts, [False, True, True], False)
    beside = preparation.copied(prepared, follows=[False, False, True])
    apart = preparation.copied(prepared, follows=[False, False, False])
    assert preparation.restore(["it", *beside[1:]]) == "It 漢字"
    assert preparation.restore(["it", *apart[1:]]) == "It 漢 字"


@pytest.mark.parametrize("segment", ["words", "subwords:40,60"])
def test_wide_punctuation_becomes_narrow_where_words_have_spaces(segment):
    preparation = learn(("zh", "en"), segment, "keep")
    copied = preparation.copied(preparation.source.prepare("（Ａ）。"))
    assert "".join(map(spelling, copied)) == "(A)."
    if segment == "words":
        assert preparation.restore(["Anna", *copied]) == "Anna (A)."
    back = learn(("zh", "ja"), segment, "keep")
    copied = back.copied(back.source.prepare("（狗）。"))
    assert "".join(map(spelling, copied)) == "（狗）。"


@pytest.mark.parametrize(
    ("characters", "pieces"),
    [(80, 4000), (1000, 4000), (1001, 2000), (1491, 2000), (2793, 4000), (6001, 9000)],
)
def test_scripts_of_many_characters_get_a_third_more_pieces_where_words_were_asked_for(characters, pieces):
    text = [chr(0x4E00 + number) * 3 for number in range(characters)]
    assert pieces_instead_of_words([*text, "".join(text)]) == pieces


def test_words_of_scripts_without_spaces_are_so_many_pieces(monkeypatch):
    for pieces in (13, 14):
        monkeypatch.setattr(learning, "pieces_instead_of_words", lambda text, pieces=pieces: pieces)
        assert learn(("zh", "ja"), "words").source.segmenter.num_pieces == pieces


def test_fewer_pieces_than_characters_are_refused():
    with pytest.raises(SettingsError, match="subwords:5 is too few"):
        learn(("zh", "ja"), "subwords:5")


def test_joint_subwords_are_one_model(tmp_path):
    preparation = learn(segment="subwords:80", joint=True)
    write_preparation(preparation, tmp_path)
    assert len(list(tmp_path.glob("*.model"))) == 1
    assert load_preparation(tmp_path).segment("Anna") == preparation.segment("Anna", "en")


def test_joint_subwords_are_said_to_be_fewer_than_wanted(capsys):
    wanted = 2000
    found = learn(segment=f"subwords:{wanted}", joint=True).source.segmenter.num_pieces
    assert found < wanted
    said = f"warning: the text in de and en has {found} subwords, fewer than {wanted}"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"languages": ("de", "de")}, "both languages are called 'de'"),
        ({"segment": "none", "case": "upper"}, "--case is 'upper'"),
        ({"segment": "none", "joint": True}, "--joint is for --segment subwords:N"),
        ({"segment": "subwords:80,90", "joint": True}, "--joint makes one set of subwords, of 80 or of 90"),
        ({"rules": {"de": "xx"}}, "no rules for the language 'xx'"),
    ],
)
def test_impossible_settings_are_refused(settings, complaint):
    with pytest.raises(SettingsError, match=complaint):
        learn(**settings)


@pytest.mark.parametrize(
    "text",
    [
        *("", "word", "subwords", "subwords:", "subwords:1", "subwords:a", "subwords:5,6,7", "subwords:5,1"),
        *("5", "words,5", "words,", ",words", "words,subwords:1", "words,words,none"),
    ],
)
def test_segmentations_are_words_none_or_sizes(text):
    with pytest.raises(SettingsError, match="--segment is "):
        parse_segmentation(text)


def test_pieces_have_a_number_for_each_language():
    assert parse_segmentation("subwords:50,60") == (("subwords", 50), ("subwords", 60))
    assert parse_segmentation("subwords:50") == (("subwords", 50), ("subwords", 50))
    preparation = learn(segment="subwords:27,26", case="keep")
    assert [side.segmenter.num_pieces for side in (preparation.source, preparation.target)] == [27, 26]


def test_each_language_can_be_cut_in_a_way_of_its_own():
    assert parse_segmentation("words,subwords:50") == (("words", 0), ("subwords", 50))
    assert parse_segmentation("subwords:50,none") == (("subwords", 50), ("none", 0))
    preparation = learn(segment="words,subwords:26", case="keep")
    kinds = [side.segmenter.record()["kind"] for side in (preparation.source, preparation.target)]
    assert kinds == ["words", "subwords"]
    assert preparation.target.segmenter.num_pieces == 26
    for language in ("de", "en"):
        assert preparation.restore(preparation.segment("Anna, 12!", language), language) == "Anna, 12!"


def test_rules_of_another_language_can_be_named():
    assert learn(rules={"de": "nl"}).source.segmenter.rules == "nl"
    assert learn(("de", "en")).source.segmenter.rules == "de"


# ---------------------------------------------------------------- damaged directories


@pytest.fixture
def saved(tmp_path):
    write_preparation(learn(segment="subwords:60"), tmp_path)
    return tmp_path


def change(saved, **values):
    path = saved / "preparation.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda d: (d / "preparation.json").unlink(), "has no preparation.json. Name a directory that"),
        (lambda d: (d / "preparation.json").write_text("{"), "preparation.json: not a preparation"),
        (lambda d: (d / "preparation.json").write_text("[]"), "preparation.json: not a preparation"),
        (lambda d: (d / "preparation.json").write_text("{}"), "preparation.json: not a preparation"),
        (
            lambda d: change(d, format=2, version="9.0"),
            "of format 2, but this version reads 1. It was .*version 9.0",
        ),
        (lambda d: change(d, sides=[]), "not a preparation"),
        (lambda d: (d / "subwords.de.model").unlink(), r"subwords.de.model: cannot be read \(No such file"),
        (lambda d: (d / "case.en.json").write_text("{}"), "case.en.json: does not match its digest"),
    ],
)
def test_damage_is_told_in_one_line(saved, damage, complaint):
    damage(saved)
    with pytest.raises(InputError, match=complaint) as caught:
        load_preparation(saved)
    assert "\n" not in str(caught.value)


def test_another_sacremoses_is_warned_of(tmp_path, capsys):
    write_preparation(learn(), tmp_path)
    load_preparation(tmp_path)
    assert capsys.readouterr().err == ""
    change(tmp_path, sacremoses="0.0.1")
    load_preparation(tmp_path)
    assert "words were told apart by sacremoses 0.0.1, here is " in capsys.readouterr().err
