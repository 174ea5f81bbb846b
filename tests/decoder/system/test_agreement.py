"""Several systems translate a line together: what they agree on is written as one of them writes it."""

from __future__ import annotations

import gzip
import json
import math
import pickle

import numpy as np
import pytest

import decoder
from decoder.cli import main
from decoder.system.agreement import Agreement, _cut_alike
from decoder.system.system import System
from decoder.translation.settings import SearchDefaults
from scfg_sampler.cli import main as sampler
from scfg_sampler.preparation.preparation import (
    LanguagePreparation,
    Preparation,
    Prepared,
    load_preparation,
)
from scfg_sampler.preparation.segments import Plain
from scfg_sampler.preparation.words import WordSegmenter
from tests.decoder.system.test_system import SOURCES, TARGETS, WEIGHTS, write

# ---------------------------------------------------------------- what is chosen


def random_system(rng, folder, name):
    """One that says of each of six words up to three things, with scores and a model of its own."""
    rows = [
        f"[X] ||| f{word} ||| e{rng.integers(6)} ||| LogForward={-3 * rng.random():.4f} ||| "
        for word in range(6)
        for _ in range(3)
    ]
    rows += [f"[X] ||| f{word} f{word + 1} ||| e{word} e0 e1 ||| LogForward=-1 ||| " for word in range(5)]
    rules = write(folder / name, dict.fromkeys(rows))
    lm = decoder.train_lm([" ".join(f"e{word}" for word in rng.integers(6, size=7)) for _ in range(20)])
    return decoder.make_system(rules, lm, {**WEIGHTS, "LogForward": float(rng.choice([0.3, 3.0]))})


@pytest.fixture(scope="module")
def randoms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("randoms")
    return [random_system(np.random.default_rng(seed), folder, f"rules{seed}") for seed in range(3)]


RANDOM_LINES = [
    " ".join(f"f{word}" for word in np.random.default_rng(seed).integers(7, size=5 + seed % 4))
    for seed in range(12)
]


def bleu_plus_one(one, other):
    """BLEU+1 of one text against the other, by sacrebleu: of texts that have four words or more."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, effective_order=False, force=True)
    return metric.sentence_score(one, [other]).score / 100


def expected_of_texts(lists, scale):
    """BLEU+1 that each text can expect, added up pair by pair."""
    votes: dict[str, float] = {}
    for listed in lists:
        shares = [math.exp(scale * one.score) for one in listed]
        for one, share in zip(listed, shares, strict=True):
            votes[one.text] = votes.get(one.text, 0.0) + share / sum(shares) / len(lists)
    return {one: sum(share * bleu_plus_one(one, other) for other, share in votes.items()) for one in votes}


def test_it_is_the_translation_with_the_highest_expected_bleu_of_all_lists(randoms):
    firsts = [system.translate(RANDOM_LINES) for system in randoms]
    better = 0
    for scale in (0.1, 1.0):
        agreement = decoder.Agreement(randoms, scale=scale, size=8)
        for line, found, *first in zip(RANDOM_LINES, agreement.translate(RANDOM_LINES), *firsts, strict=True):
            expected = expected_of_texts([system.n_best(line, 8) for system in randoms], scale)
            assert expected[found.text] == pytest.approx(max(expected.values()), rel=1e-9)
            better += found.text not in {one.text for one in first}
    assert better  # Otherwise first translations were enough.


def test_it_has_the_score_and_the_phrases_of_whose_it_is(randoms):
    for line, found in zip(RANDOM_LINES, decoder.Agreement(randoms).translate(RANDOM_LINES), strict=True):
        assert any(found == one for system in randoms for one in system.n_best(line, 50))


def test_lists_have_fifty_translations_and_are_scaled_as_those_of_consensus(randoms):
    for line in RANDOM_LINES[:4]:
        lists = [system.n_best(line, 50) for system in randoms]
        assert decoder.Agreement(randoms).translate_line(line).text == decoder.consensus(lists).text


def test_threads_and_processes_change_nothing(randoms):
    agreement = decoder.Agreement(randoms)
    lines = RANDOM_LINES * 3
    found = agreement.translate(lines)
    assert agreement.translate(lines, threads=2) == found
    assert list(pickle.loads(pickle.dumps(agreement)).stream(iter(lines))) == found


def test_a_system_that_is_given_twice_has_two_votes(tmp_path):
    lm = decoder.train_lm(["a b c d", "p q r s"])
    one, other = (
        decoder.make_system(write(tmp_path / text[0], [f"[X] ||| f ||| {text} ||| F=-1"]), lm)
        for text in ("a b c d", "p q r s")
    )
    said = [
        decoder.Agreement(systems).translate_line("f").text
        for systems in ([one, other], [other, one], [one, other, other])
    ]
    assert said == ["a b c d", "p q r s", "p q r s"]


# ---------------------------------------------------------------- raw text

WORDS = ("Hund", "Mann", "Katze")
SAID = {
    "one": ("dog", "man", "kitten"),
    "two": ("dog", "gentleman", "cat"),
    "three": ("hound", "man", "cat"),
    "names": ("Anna Anna", "man", "cat"),
    "low": ("anna anna", "gentleman", "kitten"),
    "loud": ("dog", "man", "cat"),
    "four": ("wolf", "man", "cat"),
    "five": ("dog", "man", "lion"),
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Systems that say other things of three words, most with the same preparation."""
    pytest.importorskip("sacremoses")
    folder = tmp_path_factory.mktemp("parts")
    texts = [SOURCES + ["Anna läuft."] * 5, TARGETS + ["Anna runs."] * 5]
    texts = ["--source", write(folder / "raw.de", texts[0]), "--target", write(folder / "raw.en", texts[1])]
    prepare = ["prepare", *texts, "--dev", "0", "--test", "0", "--keep-doubled", "--quiet", "--output"]
    assert sampler([*prepare, f"{folder}/words"]) == 0
    assert sampler([*prepare, f"{folder}/lower", "--case", "lower"]) == 0
    swapped = [part.replace("raw.de", "raw.") for part in texts]
    swapped[1], swapped[3] = f"{folder}/raw.en", f"{folder}/raw.de"
    assert sampler(["prepare", *swapped, *prepare[5:], f"{folder}/swapped"]) == 0
    lm = ["train-lm", f"{folder}/words/train.en", "--order", "2", "--output", f"{folder}/lm.arpa"]
    assert main([*lm, "--quiet"]) == 0
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    for name, said in SAID.items():
        source = [word.lower() if name in LOWER else word for word in WORDS]
        pairs = [*zip(source, said, strict=True), ("der", "the"), ("läuft", "runs"), ("?", "?")]
        pairs += [(".", "!" if name == "loud" else ".")]
        pairs += [(",", ",")] * (name == "three")
        rows = "".join(f"[X] ||| {f} ||| {e} ||| LogForward=-1 ||| \n" for f, e in pairs)
        (folder / f"{name}.gz").write_bytes(gzip.compress(rows.encode()))
        bundle(folder, name, folder / name, "lower" if name in LOWER else "words")
    bundle(folder, "one", folder / "swapped.system", "swapped")
    bundle(folder, "one", folder / "plain", None)
    return folder


LOWER = ("low", "loud", "four")  # Their preparation makes all letters small.


def bundle(folder, grammar, output, preparation):
    models = ["--grammar", f"{folder}/{grammar}.gz", "--lm", f"{folder}/lm.arpa"]
    prepared = ["--preparation", f"{folder}/{preparation}"] if preparation else []
    weights = ["--weights", f"{folder}/w.json", *prepared, "--output", str(output), "--quiet"]
    assert main(["bundle", *models, *weights]) == 0


def systems(parts, *names):
    return [decoder.load_system(parts / name) for name in names]


RAW = [
    ("Der Hund läuft.", "The dog runs."),
    ("", ""),
    ("der  Mann läuft ?\r", "the man runs?"),
    ("Qux/Zap läuft, Katze.", "Qux/Zap runs, cat."),
]


def test_raw_text_is_joined_and_cased_and_copied_as_by_one_system(parts):
    agreement = decoder.Agreement(systems(parts, "one", "two", "three"))
    found = agreement.translate([line for line, _ in RAW])
    assert [each.text for each in found] == [text for _, text in RAW]
    assert found[1].phrases == []
    copied = [
        (found[3].source[b:e], found[3].text[c:d])
        for phrase in found[3].phrases
        for (b, e), (c, d) in zip(phrase.source, phrase.target, strict=True)
        if phrase.is_copied
    ]
    assert ("Qux", "Qux") in copied or ("Qux/Zap", "Qux/Zap") in copied


def test_translations_of_other_preparations_are_compared_as_text(parts):
    """Names are in capitals for one preparation and in small letters for the other."""
    assert not load_preparation(parts / "low").target.does_as(load_preparation(parts / "one").target)
    three = systems(parts, "one", "names", "low")
    words = [
        system.decoder.translate(["Hund" if at < 2 else "hund"]).words for at, system in enumerate(three)
    ]
    assert words == [["dog"], ["Anna", "Anna"], ["anna", "anna"]]
    assert decoder.Agreement(three).translate_line("Hund.").text == "Anna Anna."
    assert decoder.Agreement(three[::-1]).translate_line("Hund.").text == "Anna Anna."
    assert decoder.Agreement(three).translate_line("Hund").text == "Anna Anna"  # Nothing else in common.


def test_text_is_compared_by_its_words_not_by_what_stands_between_blanks(parts):
    """A man with a full stop has a word in common with either other one."""
    three = systems(parts, "two", "one", "loud")
    assert [system.translate_line("Mann.").text for system in three] == ["Gentleman.", "Man.", "Man!"]
    assert decoder.Agreement(three).translate_line("Mann.").text == "Man."


def test_what_a_preparation_makes_of_text_is_told_by_all_that_decides_about_it(parts, tmp_path):
    words, lower = (load_preparation(parts / name) for name in ("words", "lower"))
    assert words.source.does_as(load_preparation(parts / "one").source)
    assert not words.source.does_as(words.target)
    assert not words.source.does_as(lower.source)
    plain, parted = (
        LanguagePreparation("en", each, "keep", None) for each in (Plain(), WordSegmenter("en", [], []))
    )
    assert not plain.does_as(parted)
    texts = ["--source", f"{parts}/raw.de", "--target", f"{parts}/raw.en", "--dev", "0", "--test", "0"]
    for name, model in (("unigram", "unigram"), ("again", "unigram"), ("bpe", "bpe")):
        more = ["--segment", "subwords:25", "--subword-model", model, "--keep-doubled", "--quiet"]
        assert sampler(["prepare", *texts, *more, "--output", f"{tmp_path}/{name}"]) == 0
    pieces, again, other = (load_preparation(tmp_path / name).target for name in ("unigram", "again", "bpe"))
    assert pieces.does_as(again)
    assert pieces.segmenter.record() == other.segmenter.record()
    assert not pieces.does_as(other)


# ---------------------------------------------------------------- long lines


def test_a_long_line_is_agreed_on_piece_by_piece(parts):
    line = "Der Hund läuft. " * 25 + "Der Mann läuft. " * 25 + "Der Katze läuft. " * 20 + "Qux läuft."
    (found,) = decoder.Agreement(systems(parts, "one", "two", "three")).translate([line])
    wanted = "The dog runs. " * 25 + "The man runs. " * 25 + "The cat runs. " * 20 + "Qux runs."
    assert found.text == wanted
    copied = [phrase for phrase in found.phrases if phrase.is_copied]
    assert [line[b:e] for b, e in copied[-1].source] == ["Qux"]
    assert [found.text[b:e] for b, e in copied[-1].target] == ["Qux"]
    pairs = [
        (
            line[phrase.source[0][0] : phrase.source[0][1]],
            found.text[phrase.target[0][0] : phrase.target[0][1]],
        )
        for phrase in found.phrases
    ]
    assert set(pairs) >= {("Hund", "dog"), ("Mann", "man"), ("Katze", "cat")}
    assert sum(source == "Mann" and target == "man" for source, target in pairs) == 25


@pytest.mark.parametrize("order", [("two", "one", "low"), ("low", "two", "one"), ("one", "low", "two")])
def test_a_long_line_of_other_preparations_is_one_systems(parts, order):
    """Of dogs `one` and `two` say the same, of men `two` and `low`, of few cats `one` and `low`."""
    line = "Der Hund läuft. " * 25 + "Der Mann läuft. " * 25 + "Der Katze läuft. " * 5
    found = decoder.Agreement(systems(parts, *order)).translate_line(line)
    assert found.text == ("The dog runs. " * 25 + "The gentleman runs. " * 25 + "The cat runs. " * 5).strip()


def test_a_long_line_is_one_systems_where_only_the_target_is_prepared_otherwise(parts):
    one, two, three, low = systems(parts, "one", "two", "three", "low")
    mixed = Preparation(one.preparation.source, low.preparation.target, {})
    three = System(three.decoder, mixed, {})
    line = "Der Hund läuft. " * 25 + "Der Mann läuft. " * 25 + "Der Katze läuft. " * 5
    assert decoder.Agreement([two, three, one]).translate_line(line).text == one.translate_line(line).text


def test_a_long_piece_weighs_more_than_a_short_one(parts):
    """Of dogs, of whom most is said, two say the same; of one cat two others do, and differ more."""
    line = "Der Hund läuft. " * 25 + "Katze"
    found = decoder.Agreement(systems(parts, "one", "five", "three", "four")).translate_line(line)
    assert found.text == "The dog runs. " * 25 + "Kitten"


def test_pieces_have_the_phrases_and_the_scores_of_whose_they_are(parts):
    one, names = systems(parts, "one", "names")
    assert decoder.Agreement([one, names, names]).translate_line("Der Hund läuft.") == names.translate_line(
        "Der Hund läuft."
    )
    line = "Der Hund läuft. " * 60
    found = decoder.Agreement([one, one]).translate_line(line)
    assert found == one.translate_line(line)
    pieces = ("Der Hund läuft. " * sentences for sentences in (25, 25, 10))
    assert found.score == pytest.approx(sum(one.translate_line(piece).score for piece in pieces))


def test_a_piece_in_which_a_system_sees_no_words_is_the_others(parts):
    one, low = systems(parts, "one", "low")
    many = prepared_of("h", *["+h"] * 119)
    few = prepared_of("Hund")._replace(places=[(0, 120)])
    found = decoder.Agreement([one, low]).translate_prepared("h" * 120, [few, many])
    assert found.text in ("Dog", low.translate_prepared("h" * 120, many).text)


def prepared_of(*words):
    """As words stand in a line; a word that begins with + goes on where the one before it ends."""
    line, places = "", []
    for word in words:
        line += " " if line and word[0] != "+" else ""
        places.append((len(line), len(line) + len(word.lstrip("+"))))
        line += word.lstrip("+")
    spelled = [word.lstrip("+") for word in words]
    return Prepared(spelled, places, spelled, spelled, [False] * len(words), False)


def test_pieces_of_all_systems_begin_at_the_same_characters():
    few = prepared_of(*["ab"] * 80)
    many = prepared_of(*["a", "+b"] * 80)
    assert _cut_alike([few, many]) == [[(0, 50), (50, 80)], [(0, 100), (100, 160)]]
    assert _cut_alike([many, few])[1] == _cut_alike([few, many])[0]
    assert _cut_alike([few]) == [[(0, 80)]]
    assert _cut_alike([prepared_of()]) == [[]]
    assert _cut_alike([prepared_of(), few]) == [[(0, 0)], [(0, 80)]]
    over = prepared_of(*["ab"] * 49, "ab" + "ab", *["ab"] * 29)  # A word that the cut goes through.
    over = over._replace(places=[*few.places[:49], (few.places[49][0], few.places[50][1]), *few.places[51:]])
    assert _cut_alike([over, many])[0] == [(0, 50), (50, 79)]


# ---------------------------------------------------------------- systems that have nothing


def test_who_has_nothing_leaves_it_to_the_others(parts, monkeypatch):
    one, two = systems(parts, "one", "two")
    monkeypatch.setattr(one.decoder, "translations", lambda *_: [])
    line = "Der Mann läuft. " * 30
    for both in ([one, two], [two, one]):
        assert decoder.Agreement(both).translate_line(line).text == ("The gentleman runs. " * 30).strip()
    assert decoder.Agreement([one, one]).translate_line(line).text == ""


def test_a_translation_without_words_has_no_vote(parts, monkeypatch):
    one, two = systems(parts, "one", "two")
    inner = one.decoder.translations
    monkeypatch.setattr(
        one.decoder, "translations", lambda *given: [each._replace(words=[]) for each in inner(*given)]
    )
    assert decoder.Agreement([one, one, two]).translate_line("Der Mann läuft.").text == "The gentleman runs."


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ([], {}, ValueError, "systems is empty; give one or more"),
        ("one", {}, TypeError, "what systems has is a str; give a System: see load_system"),
        (3, {}, TypeError, "systems is a int; give a list of systems"),
        (["one"], {"scale": 0.0}, ValueError, "scale is 0.0; it is a number above 0"),
        (["one"], {"scale": "1"}, TypeError, "scale is '1'; give a number"),
        (["one"], {"size": 0}, ValueError, "size is 0; it is at least 1"),
        (["one"], {"size": 1.5}, TypeError, "size is 1.5; give a whole number"),
        (
            ["one", "two", "swapped.system"],
            {},
            ValueError,
            "system 3 translates raw text in en into de, but system 1 raw text in de into en",
        ),
        (["plain", "two"], {}, ValueError, "system 2 translates raw text in de .* 1 words between spaces"),
    ],
)
def test_what_cannot_agree_is_said(parts, given, options, error, message):
    with pytest.raises(error, match=message):
        decoder.Agreement(systems(parts, *given) if isinstance(given, list) else given, **options)


def test_lines_are_those_of_a_system(parts):
    agreement = Agreement(systems(parts, "one", "two"))
    assert repr(agreement).startswith("Agreement of 2: System of 7 rules and a language model;")
    with pytest.raises(TypeError, match="lines is a string"):
        agreement.translate("Hund")
    with pytest.raises(TypeError, match="line is a int"):
        agreement.translate_line(3)
    with pytest.raises(ValueError, match="threads is 0"):
        agreement.translate([], threads=0)


# ---------------------------------------------------------------- the command


def translate(parts, *arguments):
    return main(["translate", *(word.replace("@/", f"{parts}/") for word in arguments)])


THREE = ("--system", "@/one", "--system", "@/two", "--system", "@/three")


def test_the_command_writes_what_systems_agree_on(parts, tmp_path, capsys):
    raw = write(tmp_path / "raw", [line.rstrip("\r") for line, _ in RAW] * 20)
    for threads in ("1", "2"):
        out = ("--input", raw, "--output", f"{tmp_path}/out", "--threads", threads)
        assert translate(parts, *THREE, *out) == 0
        assert (tmp_path / "out").read_text() == "".join(text + "\n" for _, text in RAW) * 20
    told = capsys.readouterr().err
    assert "22 rules of 3 systems loaded in" in told
    # Of each four lines, der Hund läuft . der Mann läuft ? Qux / Zap läuft , Katze . have five words
    # that `one` does not know, one of them spelled for the blank before it; `three` knows the comma.
    assert "80 lines (80 of 300 words in no rule) translated in" in told


def test_votes_are_divided_as_one_says(parts, tmp_path, capsys):
    """The first of two systems has two translations: with one vote for the better of them, it is chosen."""
    lists = {"one": ("a b c d", "p q r t"), "two": ("p q r s",)}
    lm = decoder.train_lm(["a b c d", "p q r s t"])
    for name, texts in lists.items():
        rows = [f"[X] ||| f ||| {text} ||| F={-at}" for at, text in enumerate(texts, start=1)]
        rules = write(tmp_path / f"{name}.rules", rows)
        weights = {"F": 1.0, "LanguageModel": 0.0, "Glue": 0.0, "PassThrough": 0.0}
        decoder.bundle(rules, lm, weights, tmp_path / name)
    text = write(tmp_path / "text", ["f"])
    two = ("--system", f"{tmp_path}/one", "--system", f"{tmp_path}/two", "--input", text, "--search", "cube")
    assert translate(parts, *two, "--quiet") == 0
    assert translate(parts, *two, "--quiet", "--agree-scale", "50") == 0
    assert capsys.readouterr().out.splitlines() == ["p q r s", "a b c d"]


def test_search_is_that_of_each_system_unless_told(parts, tmp_path, monkeypatch):
    seen = []

    def load(directory, settings):
        seen.append(settings)
        return inner(directory, settings)

    inner = decoder.load_system
    monkeypatch.setattr("decoder.system.system.load_system", load)
    text = write(tmp_path / "text", ["Hund"])
    assert translate(parts, *THREE[:4], "--input", text, "--quiet", "--beam", "7", "--copy", "any") == 0
    assert seen == [SearchDefaults(beam=7, search="guided")] * 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        *[
            ([f"--{name}", *value], f"--{name} is of one system, but --system is given 3 times")
            for name, *value in [
                *[("nbest", "3"), ("mbr",), ("mbr-scale", "2"), ("not-unique",), ("predict", "3")],
                *[
                    ("markup", "xml"),
                    ("reference", "@/raw.en"),
                    ("derivations", "@/no"),
                    ("hypergraph", "@/no"),
                ],
                ("expressions", "@/no"),
            ]
        ],
        (["--agree-scale", "0"], "--agree-scale is 0.0; it is a number above 0"),
        (["--lm", "@/lm.arpa"], "--system has all its parts, so --lm cannot be given beside it"),
        (["--system", "@/none"], "none: there is no such directory"),
        (
            ["--system", "@/swapped.system"],
            "swapped.system translates raw text in en into de, but @/one raw text in de into en; give",
        ),
        (["--system", "@/plain"], "plain translates words between spaces, but @/one raw text in de into en"),
    ],
)
def test_what_does_not_go_with_several_systems_is_refused_in_a_line(
    parts, tmp_path, capsys, options, complaint
):
    out = ["--input", "@/raw.de", "--output", f"{tmp_path}/out", "--quiet"]
    assert translate(parts, *THREE, *options, *out) == 2
    told = capsys.readouterr().err
    assert complaint.replace("@/", f"{parts}/") in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_one_system_has_nobody_to_agree_with(parts, capsys):
    one = ("--system", "@/one", "--input", "@/raw.de", "--agree-scale", "1")
    assert translate(parts, *one) == 2
    assert "--agree-scale goes with several systems; give --system for each" in capsys.readouterr().err


def test_workers_agree_as_one_process_does(parts, tmp_path, scheduler):
    arguments = [*THREE, "--input", "@/raw.de", "--quiet", "--output"]
    assert translate(parts, *arguments, f"{tmp_path}/here") == 0
    assert translate(parts, *arguments, f"{tmp_path}/there", *scheduler) == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
