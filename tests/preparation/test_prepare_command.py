"""`prepare` makes a data directory from what people have, and `segment` does the same to new text."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from scfg_sampler.cli import main
from scfg_sampler.errors import InputError
from scfg_sampler.preparation import directory

pytest.importorskip("sacremoses")

GERMAN = [f"Der Hund {n} sieht, dass der {'Mann ' * (1 + n % 3)}läuft." for n in range(60)]
ENGLISH = [f"The dog {n} sees that the {'man ' * (1 + n % 3)}runs." for n in range(60)]


def write(path, lines):
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


@pytest.fixture
def raw(tmp_path):
    """Raw text with something of everything."""
    dirty = [
        ("", ""),
        ("Ja.", ""),
        ("OK", "ok"),
        ("w" * 700, "x" * 700),
        (GERMAN[0], ENGLISH[0]),
        ("a " * 101, "b " * 101),
    ]
    german, english = GERMAN + [pair[0] for pair in dirty], ENGLISH + [pair[1] for pair in dirty]
    (tmp_path / "raw.de").write_bytes("\r\n".join(["\ufeff" + german[0], *german[1:]]).encode() + b"\r\n")
    (tmp_path / "raw.en.gz").write_bytes(gzip.compress("".join(line + "\n" for line in english).encode()))
    return tmp_path


def prepare(raw, *more, output="data"):
    source, target = f"{raw}/raw.de", f"{raw}/raw.en.gz"
    return main(["prepare", "--source", source, "--target", target, "--output", f"{raw}/{output}", *more])


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_a_data_directory_is_made(raw, capsys):
    assert prepare(raw, "--dev", "5", "--test", "7", "--verbose") == 0
    data = raw / "data"
    assert sorted(path.name for path in data.iterdir()) == [
        *["case.de.json", "case.en.json", "dev.de", "dev.en", "preparation.json", "raw"],
        *["test.de", "test.en", "train.de", "train.en"],
    ]
    assert [len(lines(data / f"{name}.de")) for name in ("train", "dev", "test")] == [48, 5, 7]
    assert [len(lines(data / f"{name}.en")) for name in ("train", "dev", "test")] == [48, 5, 7]
    for de, en in zip(lines(data / "raw" / "test.de"), lines(data / "raw" / "test.en"), strict=True):
        assert ENGLISH[GERMAN.index(de)] == en
    assert set(lines(data / "raw" / "dev.de")) < set(GERMAN)
    assert lines(data / "train.de")[1].startswith("der Hund ")
    assert lines(data / "train.de")[1].endswith(" läuft .")
    said = capsys.readouterr().err
    for number, reason in [
        (2, "a side is empty"),
        (1, "a side is too long"),
        (1, "both sides are the same"),
        (1, "the pair was there before"),
        (1, "a side has too many words"),
    ]:
        assert f"{-number:9,d}  {reason}\n" in said
    assert "line 63: OK ||| ok" in said
    assert "       66  pairs read\n" in said
    record = json.loads((data / "preparation.json").read_text())
    assert record["settings"]["seed"] == 1
    assert record["pairs"]["read"] == 66
    assert record["origin"]["source"].endswith("raw.de")


def test_no_sentence_of_the_sets_is_in_training(raw):
    prepare(raw, "--quiet")
    data = raw / "data"
    for language in ("de", "en"):
        sets = [set(lines(data / f"{name}.{language}")) for name in ("train", "dev", "test")]
        assert not sets[0] & sets[1]
        assert not sets[0] & sets[2]
        assert not sets[1] & sets[2]
        assert len(sets[1]) == len(sets[2]) == 6  # A tenth of the sentences.


def test_the_same_seed_gives_the_same_bytes(raw):
    for output, seed in (("one", "3"), ("two", "3"), ("three", "4")):
        prepare(raw, "--segment", "subwords:60", "--seed", seed, "--quiet", output=output)
    names = sorted(path.relative_to(raw / "one") for path in (raw / "one").rglob("*.*"))
    contents = [[(raw / output / name).read_bytes() for name in names] for output in ("one", "two", "three")]
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_segmentation_is_learnt_from_training_text_alone(raw):
    """The same training text, another test set: the same models."""
    test = [
        write(raw / f"test.{name}", [f"{name} unheard-of Qqqq {n}" for n in range(3)]) for name in ("a", "b")
    ]
    given = ("--dev", "0", "--segment", "subwords:60", "--quiet")
    prepare(raw, *given, "--test", "0", output="without")
    prepare(raw, *given, "--test-source", str(test[0]), "--test-target", str(test[1]), output="with")
    for name in ("subwords.de.model", "subwords.en.model", "case.en.json", "train.de"):
        assert (raw / "without" / name).read_bytes() == (raw / "with" / name).read_bytes()


def test_given_sets_are_kept_line_by_line_and_out_of_training(raw):
    source = write(raw / "my.de", [GERMAN[3], "", "Neu."])
    first, second = [ENGLISH[3], "", "New."], ["", "", ENGLISH[4]]
    references = [write(raw / "my.en1", first), write(raw / "my.en2", second)]
    given = ["--dev", "0", "--test-source", str(source), "--test-target", *map(str, references)]
    assert prepare(raw, *given) == 0
    data = raw / "data"
    assert lines(data / "raw" / "test.de") == [GERMAN[3], "", "Neu."]
    assert lines(data / "raw" / "test.en.ref0") == [ENGLISH[3], "", "New."]
    assert lines(data / "raw" / "test.en.ref1") == ["", "", ENGLISH[4]]
    assert lines(data / "test.de")[1] == ""
    assert len(lines(data / "train.de")) == 58
    assert not (data / "dev.de").exists()


def test_more_text_of_the_target_language_is_prepared(raw):
    more = write(
        raw / "more.txt", ["A new sentence runs.", "", "A new sentence runs.", ENGLISH[5], "x" * 700]
    )
    assert prepare(raw, "--dev", "0", "--test", "58", "--monolingual", str(more), "--quiet") == 0
    found = lines(raw / "data" / "monolingual.en")
    tested = ENGLISH[5] in lines(raw / "data" / "raw" / "test.en")
    assert len(found) == 2 - tested
    assert found[0].endswith("sentence runs .")


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_of_an_older_preparation_go(raw, capsys):
    prepare(raw, "--segment", "subwords:60", "--quiet")
    names = ("gdfa", "rev.gz", "2.gdfa", "12.fwd.gz", "phrases", "2.phrases")
    alignments = [f"train.de-en.{name}" for name in names]
    for name in (*alignments, "train.de-en.mine"):
        write(raw / "data" / name, ["0-0"])
    prepare(raw, "--dev", "0", "--test", "0", "--quiet", "--overwrite")
    left = {path.name for path in (raw / "data").iterdir()}
    assert left == {
        "train.de",
        "train.en",
        "case.de.json",
        "case.en.json",
        "preparation.json",
        "raw",
        "train.de-en.mine",
    }
    assert not list((raw / "data" / "raw").iterdir())
    said = capsys.readouterr().err
    for name in alignments:
        assert f"warning: {raw}/data/{name} is removed: it aligned text that was there before\n" in said
    assert said.count("removed") == len(alignments)


def test_alignments_of_the_same_training_text_stay(raw, capsys):
    prepare(raw, "--quiet")
    write(raw / "data" / "train.de-en.gdfa", ["0-0"])
    before = contents(raw / "data")
    assert prepare(raw, "--quiet", "--overwrite") == 0
    assert contents(raw / "data") == before
    assert "removed" not in capsys.readouterr().err


def test_alignments_go_with_the_languages_of_an_older_preparation(raw):
    prepare(raw, "--quiet", "--languages", "xx,yy", "--segment", "none")
    write(raw / "data" / "train.xx-yy.gdfa", ["0-0"])
    assert prepare(raw, "--quiet", "--overwrite") == 0
    assert not list((raw / "data").glob("*xx*"))


def test_a_file_in_the_place_of_the_directory_is_told_of_before_anything_is_read(raw, capsys):
    (raw / "data").write_text("kept")
    (raw / "raw.de").unlink()
    for more in ([], ["--overwrite"]):
        assert prepare(raw, *more) == 2
        said = f"{raw}/data: is a file, where a directory is to be made. Name another one"
        assert capsys.readouterr().err == f"scfg-sampler: {said}\n"
    assert (raw / "data").read_text() == "kept"


def test_an_older_preparation_is_not_replaced_unless_asked(raw, capsys):
    prepare(raw, "--quiet")
    before = contents(raw)
    (raw / "raw.de").write_text("changed, and not even read\n")
    before["raw.de"] = b"changed, and not even read\n"
    assert prepare(raw) == 2
    hint = "Name another directory, or give --overwrite"
    assert capsys.readouterr().err == f"scfg-sampler: {raw}/data: holds a preparation already. {hint}\n"
    assert contents(raw) == before


@pytest.mark.parametrize("name", ["train.en", "test.de", "raw/dev.en"])
def test_files_that_are_no_preparation_are_not_replaced_unless_asked(raw, capsys, name):
    (raw / "data" / "raw").mkdir(parents=True)
    write(raw / "data" / name, ["mine"])
    before = contents(raw)
    assert prepare(raw, "--quiet") == 2
    assert f"{raw}/data: holds {name} already. Name another directory" in capsys.readouterr().err
    assert contents(raw) == before
    assert prepare(raw, "--quiet", "--overwrite") == 0
    assert lines(raw / "data" / name) != ["mine"]


@pytest.mark.parametrize("option", ["--source", "--dev-source", "--monolingual"])
def test_text_that_is_read_is_never_replaced(raw, capsys, option):
    (raw / "data" / "raw").mkdir(parents=True)
    mine = write(raw / "data" / "raw" / "test.de", GERMAN)
    more = ["--dev-target", str(write(raw / "given.en", ENGLISH))] if option == "--dev-source" else []
    before = contents(raw)
    assert prepare(raw, option, str(raw / "x" / ".." / mine), *more, "--overwrite") == 2
    found = "test.de: is to be read, and would be replaced. Name another directory than"
    assert found in capsys.readouterr().err
    assert contents(raw) == before


def test_nothing_is_lost_where_the_new_files_cannot_be_written(raw, capsys, monkeypatch):
    prepare(raw, "--quiet")
    before = contents(raw)

    def full(preparation, directory):
        raise InputError(directory / "preparation.json", None, "cannot be written (No space left on device)")

    monkeypatch.setattr(directory, "write_preparation", full)
    assert prepare(raw, "--dev", "0", "--quiet", "--overwrite") == 2
    found = f"scfg-sampler: {raw}/data: cannot be written (No space left on device)\n"
    assert capsys.readouterr().err == found
    assert contents(raw) == before


def test_tables_and_memories_are_read(raw, tmp_path):
    rows = [f"{n}\t{en}\t{de}" for n, (de, en) in enumerate(zip(GERMAN, ENGLISH, strict=True))]
    tsv = write(tmp_path / "a.tsv", rows)
    unit = '<tu><tuv xml:lang="de"><seg>%s</seg></tuv><tuv xml:lang="en"><seg>%s</seg></tuv></tu>'
    tmx = write(
        tmp_path / "a.tmx",
        ["<tmx><body>", *(unit % pair for pair in zip(GERMAN, ENGLISH, strict=True)), "</body></tmx>"],
    )
    languages = ["--languages", "de,en", "--quiet", "--keep-doubled", "--output"]
    assert main(["prepare", "--tsv", str(tsv), "--columns", "3,2", *languages, f"{tmp_path}/tsv"]) == 0
    assert main(["prepare", "--tmx", str(tmx), *languages, f"{tmp_path}/tmx"]) == 0
    for name in ("train.de", "test.en"):
        assert (tmp_path / "tsv" / name).read_bytes() == (tmp_path / "tmx" / name).read_bytes()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--segment", "word"], "--segment is 'word'"),
        (["--source-language", "en"], "both languages are called 'en': give them different names"),
        (["--languages", "es,es", "--segment", "none"], "both languages are called 'es': give them"),
        (["--languages", "de"], "--languages names two languages"),
        (["--languages", "d/e,en"], "a language is called 'd/e'"),
        (["--languages", "xx,en"], "sacremoses has no rules for the language 'xx'"),
        (["--rules", "xx"], "--rules is 'xx'"),
        (["--rules", "de=en", "--rules", "de=nl"], "--rules names 'de' twice, as 'en' and as 'nl'"),
        (["--tsv", "x"], "give --source and --target, or --tsv, or --tmx"),
        (["--columns", "2,1"], "--columns is for --tsv"),
        (["--segment", "none", "--subword-model", "bpe"], "--subword-model is for --segment subwords:N"),
        (["--dev", "-1"], "--dev is -1"),
        (["--seed", "-1"], "--seed is -1; it must be at least 0"),
        (["--dev", "40", "--test", "40"], "--dev 40 and --test 40 are too many"),
        (["--test-source", "x"], "--test-source and --test-target are given together"),
        (["--max-ratio", "0.5"], "--max-ratio is 0.5"),
        (["--monolingual", "no-such-file"], "no-such-file: cannot be read"),
        (["--max-characters", "5"], "no training pair is left. Left out: "),
        (["--segment", "subwords:5"], "--segment subwords:5 is too few for the text in de"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_nothing_is_written(raw, capsys, options, complaint):
    assert prepare(raw, *options) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (raw / "data").exists()


def test_a_text_without_lines_is_said_to_have_none(tmp_path, capsys):
    for name in ("raw.de", "raw.en"):
        (tmp_path / name).write_text("")
    files = ["--source", f"{tmp_path}/raw.de", "--target", f"{tmp_path}/raw.en"]
    assert main(["prepare", *files, "--output", f"{tmp_path}/data"]) == 2
    assert "raw.de: has no lines. Give text, one sentence a line\n" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--segment", "none", "--rules", "de=nl"], "--rules of 'de' does nothing without --segment words"),
        (["--segment", "none,words", "--rules", "de=nl"], "--rules of 'de' does nothing without"),
        (["--rules", "fr=nl"], "--rules of 'fr' does nothing: the languages are de and en"),
        (["--segment", "words,none", "--rules", "de=nl"], ""),
        (
            ["--segment", "words,none", "--subword-model", "bpe"],
            "--subword-model does nothing: no side is cut",
        ),
    ],
)
def test_rules_that_do_nothing_are_warned_of(raw, capsys, options, told):
    assert prepare(raw, *options, "--quiet") == 0
    said = capsys.readouterr().err
    assert said.startswith(f"warning: {told}" if told else said)
    assert said.count("\n") == bool(told)


@pytest.mark.parametrize("option", ["--rules", "--apostrophes"])
def test_what_is_said_of_words_where_a_script_has_no_spaces_is_warned_of(raw, capsys, option):
    chinese = [f"第{n}只狗看见人们{'很快地' * (1 + n % 3)}跑步。" for n in range(60)]
    write(raw / "raw.zh", chinese)
    write(raw / "raw.fr", GERMAN[:60])
    pair = ["--source", f"{raw}/raw.zh", "--target", f"{raw}/raw.fr", "--output", f"{raw}/data", "--quiet"]
    of = {"--rules": "{}=en", "--apostrophes": "{}"}[option]
    assert main(["prepare", *pair, option, of.format("zh"), option, of.format("fr")]) == 0
    said = f"warning: {option} of 'zh' does nothing: its script has no spaces, and it is cut into subwords\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("das Haus\tthe house\n", ["--columns", ""], "--columns is '', but must be two column numbers"),
        ("das Haus\tthe house\rHaus\thouse\r", [], "pairs.tsv:1: lines end in a carriage return alone"),
    ],
)
def test_tables_are_not_read_otherwise_than_they_are(tmp_path, capsys, text, options, complaint):
    (tmp_path / "pairs.tsv").write_bytes(text.encode())
    table = ["--tsv", str(tmp_path / "pairs.tsv"), *options, "--languages", "de,en", "--segment", "none"]
    assert main(["prepare", *table, "--dev", "0", "--test", "0", "--output", str(tmp_path / "data")]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_languages_are_the_suffixes_unless_they_say_nothing(tmp_path, capsys):
    for name in ("a.txt", "b.txt"):
        write(tmp_path / name, ["x"])
    given = ["--source", f"{tmp_path}/a.txt", "--target", f"{tmp_path}/b.txt", "--output", f"{tmp_path}/o"]
    assert main(["prepare", *given]) == 2
    assert "name them, as in --languages fr,en" in capsys.readouterr().err


def run_segment(monkeypatch, capsysbinary, text, *arguments):
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    assert main(["segment", *map(str, arguments)]) == 0
    return capsysbinary.readouterr().out.decode()


def test_new_text_is_segmented_and_restored(raw, monkeypatch, capsysbinary):
    prepare(raw, "--quiet")
    words = run_segment(monkeypatch, capsysbinary, "Der Hund läuft.\n\nAnna, Anna!\r\n", raw / "data")
    assert words == "der Hund läuft .\n\nAnna , Anna !\n"
    english = "the dog , 3 ￭/￭ 4 .\n\nAnna runs .\n"
    text = run_segment(monkeypatch, capsysbinary, english, raw / "data", "--undo")
    assert text.splitlines()[1:] == ["", "Anna runs."]
    assert text.startswith("The dog")
    back = run_segment(monkeypatch, capsysbinary, words, raw / "data", "--undo", "--language", "de")
    assert back == "Der Hund läuft.\n\nAnna, Anna!\n"
