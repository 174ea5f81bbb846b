"""Every way of segmentation gives the text back, whatever is in it."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.preparation.normalise import normalise
from scfg_sampler.preparation.segments import JOIN, SPACE, WORD_BEGIN, Plain, escape, unescape
from scfg_sampler.preparation.subwords import SubwordSegmenter, train_subwords, uses_spaces
from scfg_sampler.preparation.words import WordSegmenter

ENGLISH = [
    'He said: "I don\'t know (at all), Mr. Smith!"',
    "She paid $5, didn't she? Yes; 50% of it.",
    'The dog (a "pug") runs to the man, and the man runs.',
    "A man's dog: it runs, doesn't it? It doesn't.",
    "They paid $7 for a dog ($3 for a pug), and left.",
] * 3
CHINESE = ["我喜欢这只狗。", "这只狗跑得很快！", "他给了我三本书。"] * 3
MARKS = JOIN + SPACE + WORD_BEGIN + "␛"
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=MARKS + "ejsw ab.,\"'()$5-@/狗Ü\u200c"),
    st.text(alphabet="his dog.,\"' $5?()"),
)
ODD = (
    f"a{MARKS}b {MARKS} ␛j ▁x x▁ ￭ ␣ DOTMULTI ... THISISPROTECTED000 <s> <unk> </s> "
    "| ||| [X,1] &amp; @-@ \\u2047"
)


@pytest.fixture(scope="module")
def words():
    pytest.importorskip("sacremoses")
    return WordSegmenter.learn(ENGLISH, "en")


@pytest.fixture(scope="module")
def pieces():
    return SubwordSegmenter(train_subwords(ENGLISH, 60), spaced=True)


@pytest.fixture(scope="module")
def chinese():
    return SubwordSegmenter(train_subwords(CHINESE, 30), spaced=False)


def check(segmenter, raw):
    text = normalise(raw)
    found = segmenter.segment(text)
    joined = segmenter.join(found.words)
    assert joined.text == text
    assert all(word and " " not in word for word in found.words)
    assert joined.places == found.places
    assert all(begin < end for begin, end in found.places)
    # The places are in order, and cover all but spaces.
    covered = "".join(text[begin:end] for begin, end in found.places)
    assert covered == text.replace(" ", "")


@given(TEXTS)
@example(ODD)
def test_words_give_the_text_back(words, raw):
    check(words, raw)


@given(TEXTS)
@example(ODD)
def test_pieces_give_the_text_back(pieces, raw):
    check(pieces, raw)


@given(TEXTS)
@example(ODD)
@example("我 喜欢 ▁狗 Tom。")
def test_pieces_of_text_without_spaces_give_it_back(chinese, raw):
    check(chinese, raw)


@given(TEXTS)
def test_words_between_spaces_give_the_text_back(raw):
    check(Plain(), raw)


@given(st.text(alphabet=MARKS + "ejswx"))
def test_escaping_leaves_no_mark_and_is_undone(text):
    assert not set(escape(text)) & {JOIN, SPACE, WORD_BEGIN}
    assert unescape(escape(text)) == text


# ---------------------------------------------------------------- words


def test_where_words_join_is_learnt(words):
    assert {",", ".", "?", "!", ")", "'t", "%", ":"} <= words.joins_left
    assert {"$", "("} <= words.joins_right
    assert '"' not in words.joins_left | words.joins_right


def test_common_punctuation_joins_as_it_always_does_where_the_text_has_too_little_of_it():
    pytest.importorskip("sacremoses")
    few = WordSegmenter.learn(["So it is. (Or not.)"], "en")
    assert few.segment("(See [it]; why?)").words == ["(", "See", "[", "it", "]", ";", "why", "?", ")"]
    otherwise = WordSegmenter.learn(["What ? ( So . )"] * 3, "en")
    assert not {"?", ".", ")"} & otherwise.joins_left
    assert "(" not in otherwise.joins_right
    assert not {"?", ":"} & WordSegmenter.learn(["Oui."], "fr").joins_left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He runs, doesn't he?", "He runs , doesn 't he ?"),
        ('A "pug" (a dog).', 'A "￭ pug ￭" ( a dog ) .'),
        ("Costs $5 , not 5 %", "Costs $ 5 ␣, not 5 ␣%"),
        ("Mr. Smith, and/or a@b.org: x", "Mr. Smith , and ￭/￭ or a@b.org : x"),
        ("$ 5", "$␣ 5"),
        ("", ""),
    ],
)
def test_marks_stand_where_words_join_in_an_unusual_way(words, text, expected):
    assert " ".join(words.segment(text).words) == expected


def test_addresses_are_words_whatever_they_stand_beside(words):
    assert words.segment("éann@b.orgé @x").words == ["é", "￭ann@b.org", "￭é", "@x"]


@pytest.mark.parametrize(
    ("given_words", "text"),
    [
        ("they paid $ 5 , ( no ) .", "they paid $5, (no)."),
        ("￭a b￭", "a b"),
        ("￭ a ␣ b", "a b"),
        ('"￭ a ￭" b', '"a" b'),
        ("a ￭/￭ b ␣. c", "a/b . c"),
        ("", ""),
    ],
)
def test_any_sequence_of_words_is_joined(words, given_words, text):
    assert words.join(given_words.split()).text == text


def test_case_tells_sentences_from_abbreviations(words):
    text = "It runs. The dog, approx. five, runs. Mr. Smith too."
    expected = "it runs . the dog , approx. five , runs . mr. smith too ."
    assert " ".join(words.segment(text.lower(), text).words) == expected


@pytest.mark.parametrize(
    ("word", "other"),
    [("￭a", "a"), ("␣a￭", "a"), ("a", "a"), ("￭", "￭"), ("␣?", "?"), ("￭/￭", "￭/￭"), ("␣", "␣")],
)
def test_a_word_can_be_spelled_without_marks(words, word, other):
    assert words.respelled(word) == other


def test_a_piece_can_be_spelled_with_or_without_its_space(pieces):
    assert pieces.respelled("▁a") == "a"
    assert pieces.respelled("a") == "▁a"


def test_addresses_and_numbers_stay_whole(words):
    text = "(See http://a.org/b_c(d), or Ann@b.org; 1,234.5 at 12:30, 3/4 #tag.)"
    found = [word.strip(MARKS) for word in words.segment(text).words]
    for part in ("http://a.org/b_c(d)", "Ann@b.org", "1,234.5", "12:30", "3/4", "#tag"):
        assert part in found


def test_languages_sacremoses_lacks_are_refused():
    pytest.importorskip("sacremoses")
    with pytest.raises(SettingsError, match=r"'xx'.*subwords:8000.*--rules xx=en.* de .* en "):
        WordSegmenter.learn(["a b"], "xx")


# ---------------------------------------------------------------- subwords


def test_training_is_repeatable():
    digests = {hashlib.sha256(train_subwords(ENGLISH, 50)).hexdigest() for _ in range(2)}
    assert len(digests) == 1


def test_a_word_has_the_same_pieces_anywhere(pieces):
    assert pieces.segment("man man").words == 2 * pieces.segment("man").words
    assert pieces.segment("man").words[0].startswith(WORD_BEGIN)


def test_text_without_spaces_begins_without_one(chinese):
    assert not chinese.segment("我喜欢").words[0].startswith(WORD_BEGIN)


def test_protected_parts_are_single_pieces(pieces):
    found = pieces.segment("The 1,234.5 dogs (http://a.org/b) run5.").words
    assert "▁1,234.5" in found
    assert "http://a.org/b" in found
    assert "5" in found


def test_foreign_words_in_text_without_spaces_are_single_pieces(chinese):
    words = chinese.segment("我喜欢Xzqy和Ann-Marie O'Neill。").words
    assert [word for word in words if word.isascii() or WORD_BEGIN in word] == [
        "Xzqy",
        "Ann-Marie",
        "▁O'Neill",
    ]


def test_no_space_is_a_word_of_its_own(pieces):
    assert "▁漢字" in pieces.segment("dog 漢字 dog").words
    assert WORD_BEGIN not in pieces.segment("Xq ? z Zd").words


def test_pieces_in_any_order_make_normalised_text(pieces):
    assert pieces.join(["a", "▁", "▁b", "▁▁c", "▁"]).text == "a b c"
    assert pieces.join([]).text == ""
    assert pieces.join(["▁"]).text == ""


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_number_of_pieces_is_kept_where_there_are_as_many(model):
    assert SubwordSegmenter(train_subwords(ENGLISH, 60, model), spaced=True).num_pieces == 60


def test_more_pieces_than_the_text_has_are_fewer():
    assert SubwordSegmenter(train_subwords(ENGLISH, 5000), spaced=True).num_pieces < 500


@pytest.mark.parametrize(
    ("lines", "size", "model", "complaint"),
    [
        (ENGLISH, 5, "unigram", r"--segment subwords:5 is too few for the text, which has \d+ different"),
        ([], 50, "unigram", "no words to learn subwords from"),
        (["", "5 12:30"], 50, "unigram", "no words to learn subwords from"),
        (ENGLISH, 50, "word", "--subword-model is 'word'"),
    ],
)
def test_what_cannot_be_trained_is_said(lines, size, model, complaint):
    with pytest.raises(SettingsError, match=complaint):
        train_subwords(lines, size, model)


def test_damaged_models_are_refused():
    for content in (b"", b"no model", train_subwords(ENGLISH, 50)[:100]):
        with pytest.raises(InputError, match=re.escape("x.model: not a sentencepiece model")):
            SubwordSegmenter(content, spaced=True, name="x.model")


@pytest.mark.parametrize(
    ("lines", "spaces"),
    [(ENGLISH, True), (CHINESE, False), (["ฉันรักหมา"], False), (["나는 개를 좋아한다"], True), ([], True)],
)
def test_scripts_without_spaces_are_recognised(lines, spaces):
    assert uses_spaces(lines) is spaces
