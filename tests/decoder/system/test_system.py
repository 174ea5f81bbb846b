"""A system directory translates raw text wherever it lies, and says what is wrong with it."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil

import numpy as np
import pytest

import decoder
from decoder.cli import main
from decoder.system.system import cut_line
from decoder.translation.settings import SearchDefaults
from scfg_sampler.cli import main as sampler
from scfg_sampler.errors import InputError

SOURCES = [
    "Der Hund läuft.", "Der Mann sieht den Hund.", "Anna sieht, dass der Mann läuft.", "Läuft der Hund?",
    "Der Mann läuft, und der Hund sieht Anna.", "Der Hund (der Mann) läuft.",
] * 5  # fmt: skip
TARGETS = [
    "The dog runs.", "The man sees the dog.", "Anna sees that the man runs.", "Does the dog run?",
    "The man runs, and the dog sees Anna.", "The dog (the man) runs.",
] * 5  # fmt: skip
LEXICON = [
    *[("der", "the"), ("den", "the"), ("Hund", "dog"), ("Mann", "man"), ("sieht", "sees"), ("läuft", "runs")],
    *[("und", "and"), ("Anna", "Anna"), (".", "."), ("?", "?"), (",", ","), ("(", "("), (")", ")")],
    *[(", dass", "that"), ("läuft [X,1] ?", "does [X,1] run ?"), ("der [X,1]", "the [X,1]")],
    ("der [X,1] sieht [X,2]", "the [X,1] sees [X,2]"),
]
WEIGHTS = {"LogForward": 1.0, "LanguageModel": 0.1, "Glue": -1.0, "PassThrough": -1.0}


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Preparations by words and by pieces, and a grammar for each whose rules are known."""
    pytest.importorskip("sacremoses")
    folder = tmp_path_factory.mktemp("parts")
    texts = ["--source", write(folder / "raw.de", SOURCES), "--target", write(folder / "raw.en", TARGETS)]
    prepare = ["prepare", *texts, "--dev", "0", "--test", "0", "--keep-doubled", "--quiet", "--output"]
    assert sampler([*prepare, f"{folder}/words"]) == 0
    assert sampler([*prepare, f"{folder}/lower", "--case", "lower"]) == 0
    rules = "".join(f"[X] ||| {f} ||| {e} ||| LogForward=-1 ||| \n" for f, e in LEXICON)
    (folder / "grammar.gz").write_bytes(gzip.compress(rules.encode()))
    (folder / "lower.gz").write_bytes(
        gzip.compress(rules.lower().replace("[x", "[X").replace("logf", "LogF").encode())
    )
    for name in ("words", "lower"):
        train = ["train-lm", f"{folder}/{name}/train.en", "--order", "2", "--output", f"{folder}/{name}.arpa"]
        assert main([*train, "--quiet"]) == 0
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    return folder


def bundle(parts, output, *more, grammar="grammar.gz", lm="words.arpa", preparation="words"):
    models = ["--grammar", f"{parts}/{grammar}", "--lm", f"{parts}/{lm}", "--weights", f"{parts}/w.json"]
    prepared = ["--preparation", f"{parts}/{preparation}"] if preparation else []
    return main(["bundle", *models, *prepared, "--output", str(output), "--quiet", *more])


@pytest.fixture
def system(parts, tmp_path):
    assert bundle(parts, tmp_path / "system") == 0
    return tmp_path / "system"


def text_of(found):
    return [each.text for each in found]


# ---------------------------------------------------------------- what it translates


RAW = [
    "Der Hund läuft.",
    "",
    " \ufeffDer  Mann sieht den Hund (Anna).\r",
    "Läuft der Hund?",
    "Qux/Zap läuft, 1.234,5 ann@B.org http://Foo.org/Bar?x=(1).",
    "Anna sieht, dass QUX läuft.",
    "der Hund läuft",
    "|||  [X,1] <s> ￭ ␣ ▁",
]
TRANSLATED = [
    "The dog runs.",
    "",
    "The man sees the dog (Anna).",
    "Does the dog run?",
    "Qux/Zap runs, 1.234,5 ann@B.org http://Foo.org/Bar?x=(1).",
    "Anna sees that QUX runs.",
    "the dog runs",
    "||| [X,1] <s> ￭ ␣ ▁",
]


def test_raw_text_becomes_plain_text_line_by_line(system):
    assert text_of(decoder.load_system(system).translate(RAW)) == TRANSLATED


def test_threads_change_nothing(system):
    loaded = decoder.load_system(system)
    assert loaded.translate(RAW, threads=3) == loaded.translate(RAW)


def test_small_letters_are_undone_and_copies_keep_their_own(parts, tmp_path):
    assert bundle(parts, tmp_path / "s", grammar="lower.gz", lm="lower.arpa", preparation="lower") == 0
    found = text_of(decoder.load_system(tmp_path / "s").translate(RAW))
    assert found[:6] == TRANSLATED[:6]


def test_copied_characters_join_no_translated_words(parts, tmp_path):
    texts = {"zh": ["狗跑。", "狗看狗。"] * 5, "en": ["The dog runs.", "Dogs see dogs."] * 5}
    source, target = (write(tmp_path / f"raw.{language}", lines) for language, lines in texts.items())
    prepare = ["prepare", "--source", source, "--target", target, "--keep-doubled"]
    prepare += ["--dev", "0", "--test", "0"]
    assert sampler([*prepare, "--segment", "subwords:10,60", "--quiet", "--output", f"{tmp_path}/zh"]) == 0
    rules = "".join(f"[X] ||| {f} ||| {e} ||| LogForward=-1 ||| \n" for f, e in (("狗", "▁dog"), ("。", ".")))
    (tmp_path / "grammar.gz").write_bytes(gzip.compress(rules.encode()))
    models = ["--grammar", f"{tmp_path}/grammar.gz", "--lm", f"{parts}/words.arpa"]
    models += ["--weights", f"{parts}/w.json", "--preparation", f"{tmp_path}/zh"]
    assert main(["bundle", *models, "--output", f"{tmp_path}/system", "--quiet"]) == 0
    system = decoder.load_system(tmp_path / "system")
    sent = pickle.loads(pickle.dumps(system))  # As to another process.
    for one in (system, sent):
        assert text_of(one.translate(["狗漢字。", "狗1漢。"])) == ["Dog 漢字.", "Dog 1 漢."]


def test_phrases_are_ranges_of_the_raw_text(system):
    raw = " \ufeffLäuft  der McX\u0308 ?\r"
    (found,) = decoder.load_system(system).translate([raw])
    assert found.source == raw
    assert found.text == "Does the McẌ run?"
    shown = [
        ([raw[b:e] for b, e in phrase.source], [found.text[b:e] for b, e in phrase.target], phrase.is_copied)
        for phrase in found.phrases
    ]
    assert sorted(shown) == [
        (["Läuft", "?"], ["Does", "run?"], False),
        (["McX\u0308"], ["McẌ"], True),
        (["der"], ["the"], False),
    ]


def test_empty_lines_have_no_phrases(system):
    (found,) = decoder.load_system(system).translate(["\u200b \t"])
    assert found == ("\u200b \t", "", 0, [])


def test_wrong_arguments_are_refused(system):
    loaded = decoder.load_system(system)
    for method in (loaded.translate_line, loaded.n_best, loaded.derivation):
        with pytest.raises(TypeError, match="line is a list; give a string"):
            method(["Der Hund läuft."])
    with pytest.raises(TypeError, match="k is None; give a whole number"):
        loaded.n_best("Der Hund läuft.", None)
    with pytest.raises(ValueError, match="k is 0; it is at least 1"):
        loaded.n_best("Der Hund läuft.", 0)
    assert len(loaded.n_best("Der Hund läuft.", np.int64(1))) == 1


def test_the_command_does_the_same(system, tmp_path):
    write(tmp_path / "raw", RAW)
    files = ["--input", f"{tmp_path}/raw", "--output", f"{tmp_path}/out", "--quiet"]
    assert main(["translate", "--system", str(system), *files]) == 0
    assert (tmp_path / "out").read_text(encoding="utf-8").split("\n") == [*TRANSLATED, ""]
    assert main(["translate", "--system", str(system), *files, "--mbr", "3"]) == 0
    assert (tmp_path / "out").read_text(encoding="utf-8").split("\n")[:2] == [TRANSLATED[0], ""]
    more = ["--nbest", "2", "--derivations", f"{tmp_path}/trees"]
    assert main(["translate", "--system", str(system), *files, *more]) == 0
    rows = [line.split(" ||| ") for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert next(row[1] for row in rows if row[0] == "3") == TRANSLATED[3]
    assert {len(row) for row in rows} == {4}
    records = [json.loads(line) for line in (tmp_path / "trees").read_text(encoding="utf-8").splitlines()]
    assert records[0]["translation"] == "the dog runs ."
    assert len(records) == len(RAW)


def test_without_a_preparation_words_stand_between_spaces(parts, tmp_path):
    assert bundle(parts, tmp_path / "s", preparation=None) == 0
    loaded = decoder.load_system(tmp_path / "s")
    (found, _) = loaded.translate(["der  Hund\tläuft . QUX\u00a0x \r", ""])
    assert found.text == "the dog runs . QUX\u00a0x"
    assert found.phrases[1][:2] == ([(5, 9)], [(4, 7)])


# ---------------------------------------------------------------- long lines


def test_long_lines_are_cut_at_sentences_then_clauses_then_anywhere():
    words = ["w"] * 240
    assert list(cut_line(words)) == [(0, 100), (100, 200), (200, 240)]
    assert list(cut_line(words[:100])) == [(0, 100)]
    assert list(cut_line([])) == []
    words[69] = ","
    words[89] = ","
    assert list(cut_line(words)) == [(0, 90), (90, 190), (190, 240)]
    words[9] = "."
    words[20] = "?”"
    assert next(cut_line(words)) == (0, 21)
    words[9:10] = ["."]
    words[99] = "…"
    assert next(cut_line(words)) == (0, 100)
    assert list(cut_line(["a", "."] * 100)) == [(0, 100), (100, 200)]


@pytest.mark.parametrize("stop", [*"።፧؟۔߹⸮॥։။។꘎", "::"])
@pytest.mark.parametrize("comma", "፣፤،؛߸⹁၊")
def test_long_lines_are_cut_at_the_stops_of_their_script(stop, comma):
    words = ["w"] * 240
    words[69] = stop
    words[89] = comma
    assert list(cut_line(words)) == [(0, 70), (70, 170), (170, 240)]
    words[69] = comma
    assert next(cut_line(words)) == (0, 90)


def test_long_lines_are_cut_behind_two_colons():
    """Which stand for Ethiopic's full stop; they are two words for sacremoses."""
    words = ["w"] * 240
    words[68:70] = [":", ":"]
    words[89] = ","
    assert next(cut_line(words)) == (0, 70)
    words[68] = "w"
    assert next(cut_line(words)) == (0, 90)


def test_a_long_line_is_translated_as_one_line(system):
    line = "Der Hund läuft. " * 60 + "Qux läuft."
    (found,) = decoder.load_system(system).translate([line])
    assert found.text == "The dog runs. " * 60 + "Qux runs."
    copied = [phrase for phrase in found.phrases if phrase.is_copied]
    assert [line[b:e] for b, e in copied[0].source] == ["Qux"]
    assert [found.text[b:e] for b, e in copied[0].target] == ["Qux"]


def test_what_is_copied_is_spelled_twice_a_line_however_long(system, monkeypatch):
    loaded = decoder.load_system(system)
    inner, spelled = loaded.preparation.copied, []
    monkeypatch.setattr(
        loaded.preparation, "copied", lambda *args, **more: spelled.append(more) or inner(*args, **more)
    )
    raw = "Der Qux läuft. " * 200
    assert loaded.translate_line(raw).text == "The Qux runs. " * 199 + "The Qux runs."
    assert len(spelled) == 2  # For the search of all pieces, and in the case of the line.


# ---------------------------------------------------------------- where it lies


def test_it_can_be_moved(parts, tmp_path):
    assert bundle(parts, tmp_path / "one") == 0
    shutil.move(tmp_path / "one", tmp_path / "deep down" / "two")
    assert text_of(decoder.load_system(tmp_path / "deep down" / "two").translate(RAW)) == TRANSLATED


def test_an_older_system_is_replaced_and_nothing_else_is(parts, system, capsys):
    before = (system / "system.json").read_bytes()
    assert bundle(parts, system, "--beam", "7", preparation=None) == 0
    assert (system / "system.json").read_bytes() != before
    assert not (system / "preparation.json").exists()
    assert decoder.load_system(system).decoder.beam == 7
    other = system.parent / "other"
    other.mkdir()
    (other / "mine").touch()
    capsys.readouterr()
    assert bundle(parts, other) == 2
    assert "exists and is no system" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == ["mine"]
    assert sorted(path.name for path in system.parent.iterdir()) == ["other", "system"]


def test_settings_are_those_of_the_system_unless_told(system, parts, tmp_path, capsys):
    assert bundle(parts, tmp_path / "s", "--max-span", "3", "--widen", "0") == 0
    loaded = decoder.load_system(tmp_path / "s")
    assert loaded.decoder._max_span == 3
    assert loaded.decoder.widen == 0
    told = decoder.load_system(tmp_path / "s", SearchDefaults(beam=9))
    assert (told.decoder.beam, told.decoder._max_span) == (9, 20)
    write(tmp_path / "raw", ["x"])
    files = ["--input", f"{tmp_path}/raw", "--output", f"{tmp_path}/out"]
    assert main(["translate", "--system", str(system), *files, "--max-span", "0"]) == 2
    assert "--max-span is 0" in capsys.readouterr().err


def test_weights_of_words_unknown_to_the_language_model_count(parts, system, tmp_path):
    weights = write(tmp_path / "w.json", [json.dumps({**WEIGHTS, "LanguageModel_OOV": -5.0})])
    models = ["--grammar", f"{parts}/grammar.gz", "--lm", f"{parts}/words.arpa", "--weights", weights]
    given = ["--preparation", f"{parts}/words", "--output", f"{tmp_path}/s", "--quiet"]
    assert main(["bundle", *models, *given]) == 0
    for line, unknown in (("Der Hund läuft.", 0), ("Qux läuft.", 1)):
        (plain,) = decoder.load_system(system).translate([line])
        (weighed,) = decoder.load_system(tmp_path / "s").translate([line])
        assert weighed.text == plain.text
        assert weighed.score == pytest.approx(plain.score - 5 * unknown)


def test_rules_are_ranked_once(system, monkeypatch):
    loaded = decoder.load_system(system).decoder
    ranked_again = loaded.with_weights(loaded.weights)
    for one, other in zip(loaded.rules, ranked_again.rules, strict=True):
        np.testing.assert_array_equal(one, other)
    anew = decoder.load_system(system, SearchDefaults(max_targets=0)).decoder
    assert anew.translate(["der", "Hund"]).words == ["the", "dog"]

    def refuse(*_):
        raise AssertionError("ranked")

    monkeypatch.setattr("decoder.translation.decoder.rank_rules", refuse)
    assert text_of(decoder.load_system(system).translate(RAW)) == TRANSLATED
    with pytest.raises(AssertionError, match="ranked"):
        decoder.load_system(system, SearchDefaults(max_targets=0))


def test_compiled_parts_are_taken_as_they_are(parts, tmp_path, system):
    compiled = [f"{tmp_path}/g.bin", f"{tmp_path}/l.bin"]
    assert main(["compile-grammar", f"{parts}/grammar.gz", "--output", compiled[0], "--quiet"]) == 0
    assert main(["compile-lm", f"{parts}/words.arpa", "--output", compiled[1], "--quiet"]) == 0
    models = ["--grammar", compiled[0], "--lm", compiled[1], "--weights", f"{parts}/w.json"]
    given = ["--preparation", f"{parts}/words", "--output", f"{tmp_path}/s", "--quiet"]
    assert main(["bundle", *models, *given]) == 0
    for name in ("grammar.bin", "lm.bin"):
        assert (tmp_path / "s" / name).read_bytes() == (system / name).read_bytes()


# ---------------------------------------------------------------- what is wrong with it


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def change(system, **values):
    path = system / "system.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (
            lambda s: (s / "system.json").unlink(),
            "has no system.json. Name a directory that scfg-decoder bundle made",
        ),
        (lambda s: (s / "system.json").write_text("{}"), "system.json: is damaged"),
        (lambda s: cut(s / "system.json"), None),
        (
            lambda s: change(s, format=9, version="9.9"),
            "is of format 9, but this version reads up to 3. It was .* 9.9; bundle",
        ),
        (lambda s: change(s, files={}), "system.json: does not list grammar.bin"),
        (lambda s: change(s, settings={"beams": 1}), "system.json: is damaged"),
        (lambda s: change(s, settings={"max_span": "20"}), "system.json: is damaged"),
        (lambda s: change(s, settings={"max_span": True}), "system.json: is damaged"),
        (lambda s: change(s, settings={"beam": 10**400}), "system.json: is damaged"),
        *(
            (lambda s, name=name: change(s, settings={name: 2.5}), "is damaged .TypeError: 2.5 is no int")
            for name in ("beam", "max_targets", "max_span")
        ),
        (lambda s: (s / "lm.bin").unlink(), "lm.bin: is missing from the system"),
        (lambda s: (s / "preparation.json").unlink(), "preparation.json: is missing from the system"),
        (lambda s: (s / "case.de.json").unlink(), "case.de.json: is missing from the system"),
        (lambda s: cut(s / "grammar.bin"), r"grammar.bin: has \d+ bytes where \d+ should be"),
        (lambda s: flip(s / "grammar.bin"), "grammar.bin: does not match its digest"),
        (lambda s: flip(s / "weights.json"), "weights.json: does not match its digest"),
        (lambda s: flip(s / "case.en.json"), "case.en.json: does not match its digest"),
    ],
)
def test_damage_is_told_in_one_line(system, tmp_path, capsys, damage, complaint):
    damage(system)
    if complaint is None:  # Only the last line end is gone.
        assert text_of(decoder.load_system(system).translate(RAW)) == TRANSLATED
        return
    with pytest.raises(InputError, match=complaint):
        decoder.load_system(system)
    write(tmp_path / "raw", ["x"])
    assert (
        main(
            [
                "translate",
                "--system",
                str(system),
                "--input",
                f"{tmp_path}/raw",
                "--output",
                f"{tmp_path}/out",
            ]
        )
        == 2
    )
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def listed(system, name, content):
    """Change a file and what system.json says of it, as another version would have written it."""
    import hashlib

    (system / name).write_bytes(content)
    files = json.loads((system / "system.json").read_text())["files"]
    files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    change(system, files=files)


def test_parts_of_another_version_are_told(system):
    grammar = (system / "grammar.bin").read_bytes()
    listed(system, "grammar.bin", b"scfg-grammar 0\n" + grammar[15:])
    with pytest.raises(
        InputError, match=r"grammar.bin: is not a compiled grammar as version .* Bundle the system again"
    ):
        decoder.load_system(system)
    listed(system, "grammar.bin", grammar)
    lm = (system / "lm.bin").read_bytes()
    listed(system, "lm.bin", b"scfg-lm 0\n" + lm[10:])
    with pytest.raises(InputError, match=r"lm.bin: is not a compiled language model of this version"):
        decoder.load_system(system)


def test_a_large_file_is_checked_when_it_is_mapped(system, monkeypatch):
    monkeypatch.setattr("decoder.system.inventory._HASHED", 0)
    flip(system / "grammar.bin")
    with pytest.raises(InputError, match=r"grammar\.bin: the contents do not match their checksum"):
        decoder.load_system(system)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"grammar": "no-such"}, "no-such: cannot be read"),
        ({"grammar": "w.json"}, "w.json"),
        ({"lm": "w.json"}, "w.json"),
        ({"preparation": "nothing"}, "nothing: has no preparation.json"),
    ],
)
def test_parts_that_cannot_be_used_are_told_and_nothing_is_left(parts, tmp_path, capsys, more, complaint):
    assert bundle(parts, tmp_path / "s", **more) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_weights_must_fit_the_grammar(parts, tmp_path, capsys):
    weights = write(tmp_path / "w.json", [json.dumps({"Glue": 1})])
    models = ["--grammar", f"{parts}/grammar.gz", "--lm", f"{parts}/words.arpa", "--weights", weights]
    assert main(["bundle", *models, "--output", f"{tmp_path}/s", "--quiet"]) == 2
    assert "no weight for 'LogForward'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--system", "s", "--lm", "x"], "--system has all its parts, so --lm cannot be given beside it"),
        (["--lm", "x"], "give --system, or --grammar, --lm and --weights; --grammar is missing"),
        (["--system", "no-such-system"], "no-such-system: there is no such directory"),
    ],
)
def test_wrong_calls_are_refused(tmp_path, capsys, options, complaint):
    assert main(["translate", *options, "--input", write(tmp_path / "x", ["x"])]) == 2
    assert complaint in capsys.readouterr().err


def test_the_package_offers_no_other_names():
    with pytest.raises(AttributeError, match="module 'decoder' has no attribute 'frob'"):
        decoder.frob  # noqa: B018


def test_workers_translate_raw_text_as_one_process_does(system, tmp_path, scheduler):
    raw = write(tmp_path / "raw", SOURCES)
    arguments = ["translate", "--system", str(system), "--input", raw, "--quiet", "--output"]
    assert main([*arguments, f"{tmp_path}/here"]) == 0
    assert main([*arguments, f"{tmp_path}/there", *scheduler]) == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
