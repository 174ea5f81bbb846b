"""A language model scores alike as it is and with its words spelled as the table's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import decoder as notebook
from decoder.cli import main as decode
from scfg_sampler.cli import main
from scfg_sampler.formats.words import speller
from scfg_sampler.plugs.language_model import copy_model
from tests.plugs.directories import FEATURES, READERS, TABLES, plug

WORDS = ("&#91;", "[", "&#124;", "|", "-lsb-", "%i")
COPIED = ("&#124;x", "|x")  # Without rules, which systems do not find in their ranking.
TEXT = (*WORDS, *COPIED)
WEIGHTS = {"LogForward": 1.0, "LanguageModel": 1.0, "Glue": 0.0, "PassThrough": 0.0}


def write_arpa(path: Path, *words: str) -> None:
    """A model in which every word has another probability, wherever it stands."""
    entries = "".join(f"-{k}.5\t{word}\n" for k, word in enumerate(words))
    head = f"\\data\\\nngram 1={len(words) + 3}\nngram 2=1\n\n\\1-grams:\n-9\t<unk>\n-99\t<s>\n-1\t</s>\n"
    path.write_text(f"{head}{entries}\n\\2-grams:\n-1\t<s> </s>\n\n\\end\\\n")


def write_parts(folder: Path) -> None:
    """A table that translates every word by itself, a model, weights and a text of them."""
    write_arpa(folder / "lm.arpa", *TEXT)
    spelled = [re.sub(r"[\[|]|&(?=#)", lambda match: f"&#{ord(match[0])};", word) for word in WORDS]
    rules = sorted(f"[X] ||| {word} ||| {word} ||| LogForward=0\n" for word in spelled)
    (folder / "table.gz").write_text("".join(rules))
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    (folder / "all.json").write_text(json.dumps(dict.fromkeys(FEATURES, 0.0) | WEIGHTS))
    (folder / "in").write_text("\n".join(TEXT) + "\n")


def scores(folder: Path, *models: str) -> list[float]:
    """Of the best translation of each word."""
    arguments = [*models, f"--input={folder / 'in'}", f"--output={folder / 'out'}", "--nbest=1", "--quiet"]
    assert decode(["translate", *arguments]) == 0
    return [float(line.split(" ||| ")[3]) for line in (folder / "out").read_text().splitlines()]


def of_files(folder: Path, table: str, model: str) -> list[float]:
    files = [f"--grammar={folder / table}", f"--lm={folder / model}", f"--weights={folder / 'all.json'}"]
    return scores(folder, *files, "--input-words=plain")


@pytest.fixture(params=READERS)
def plugged(tmp_path, request) -> tuple[Path, str]:
    """A directory with a table that is plugged in, and the decoder."""
    write_parts(tmp_path)
    assert plug(tmp_path, request.param, "--from=native", "--quiet") == 0
    return tmp_path, request.param


def test_words_that_look_like_escapes_have_their_own_probability(plugged):
    """There, `&#91;` is how some decoders spell `[`, and not how they spell `&#91;`."""
    folder, decoder = plugged
    table = f"{decoder}/{TABLES[decoder]},format={decoder}"
    theirs = of_files(folder, table, f"{decoder}/lm.arpa")
    assert theirs == of_files(folder, table, "lm.arpa")
    assert theirs == of_files(folder, "table.gz,format=native", "lm.arpa")
    assert len(set(theirs)) == len(TEXT)


def test_words_that_look_like_escapes_are_unknown_where_only_what_they_look_like_is_known(tmp_path):
    """Of a model with `[`, spelled `&#91;`, the word `&#91;` is not that word, in files and in systems."""
    write_parts(tmp_path)
    write_arpa(tmp_path / "lm.arpa", "[", "|", "%i")
    for decoder in READERS:
        assert plug(tmp_path, decoder, "--from=native", "--quiet") == 0
        table = f"{decoder}/{TABLES[decoder]},format={decoder}"
        theirs = of_files(tmp_path, table, f"{decoder}/lm.arpa")
        assert theirs == of_files(tmp_path, "table.gz,format=native", "lm.arpa")
        parts = [f"--grammar={tmp_path / table}", f"--lm={tmp_path / decoder / 'lm.arpa'}"]
        parts += [
            f"--weights={tmp_path / 'all.json'}",
            f"--output={tmp_path / 'system'}",
        ]
        assert decode(["bundle", *parts, "--quiet"]) == 0
        assert scores(tmp_path, f"--system={tmp_path / 'system'}") == theirs


@pytest.mark.parametrize("model", ["", "spelled", "compiled"])
def test_systems_score_as_their_parts_do(plugged, model):
    """With the model as it was, as it is spelled, and that compiled, beside a compiled table."""
    folder, decoder = plugged
    table, lm = folder / decoder / TABLES[decoder], folder / "lm.arpa"
    if model:
        lm = folder / decoder / "lm.arpa"
    if model == "compiled":
        assert decode(["compile-lm", str(lm), "--output", str(folder / "lm.bin"), "--quiet"]) == 0
        compiled = ["--output", str(folder / "table.bin"), "--quiet"]
        assert decode(["compile-grammar", f"{table},format={decoder}", *compiled]) == 0
        table, lm = folder / "table.bin", folder / "lm.bin"
    parts = [f"--grammar={table},format={decoder}", f"--lm={lm}", f"--weights={folder / 'all.json'}"]
    assert decode(["bundle", *parts, f"--output={folder / 'system'}", "--quiet"]) == 0
    theirs = scores(folder, f"--system={folder / 'system'}")
    assert theirs == of_files(folder, "table.gz,format=native", "lm.arpa")
    assert main(["verify", str(folder / "system")]) == 0
    again = [notebook.load_system(folder / "system").translate_line(word).score for word in TEXT]
    assert again == pytest.approx(theirs, abs=1e-6)


def test_systems_of_notebooks_score_as_their_parts_do(plugged):
    folder, decoder = plugged
    parts = [folder / decoder / each for each in (TABLES[decoder], "lm.arpa")]
    made = notebook.make_system(*parts, folder / "all.json")
    bundled = notebook.bundle(*parts, folder / "all.json", folder / "system")
    known = of_files(folder, "table.gz,format=native", "lm.arpa")
    for system in (made, bundled):
        assert [system.translate_line(word).score for word in TEXT] == pytest.approx(known, abs=1e-6)


def test_a_model_that_is_spelled_in_part_is_bundled_as_it_is_read(tmp_path):
    """Of a text with `]` in it, `&#91;` may be itself or `[`; both have its probability."""
    write_parts(tmp_path)
    write_arpa(tmp_path / "mixed.arpa", "]", "&#91;")
    assert plug(tmp_path, "cdec", "--from=native", "--quiet") == 0
    parts = [f"--grammar={tmp_path / 'cdec/grammar.gz'},format=cdec", f"--lm={tmp_path / 'mixed.arpa'}"]
    parts += [f"--weights={tmp_path / 'all.json'}", f"--output={tmp_path / 'system'}", "--quiet"]
    assert decode(["bundle", *parts]) == 0
    known = of_files(tmp_path, "cdec/grammar.gz,format=cdec", "mixed.arpa")
    assert scores(tmp_path, f"--system={tmp_path / 'system'}") == known
    assert known[0] == known[1] != known[2]


def test_only_systems_whose_models_are_spelled_otherwise_say_so(tmp_path):
    """So that those which versions before know how to read, they can."""
    write_parts(tmp_path)
    write_arpa(tmp_path / "plain.arpa", "a", "b")
    assert plug(tmp_path, "cdec", "--from=native", "--quiet") == 0
    parts = [f"--grammar={tmp_path / 'cdec/grammar.gz'},format=cdec", f"--weights={tmp_path / 'all.json'}"]
    for lm, number, spelling in (("plain.arpa", 1, None), ("cdec/lm.arpa", 3, "cdec")):
        assert decode(["bundle", *parts, f"--lm={tmp_path / lm}", f"--output={tmp_path / 's'}"]) == 0
        record = json.loads((tmp_path / "s" / "system.json").read_text())
        assert (record["format"], record.get("spelling")) == (number, spelling)


def test_a_system_in_no_known_spelling_is_damaged(tmp_path, capsys):
    write_parts(tmp_path)
    parts = [f"--grammar={tmp_path / 'table.gz'},format=native", f"--weights={tmp_path / 'all.json'}"]
    weights = json.loads((tmp_path / "w.json").read_text())
    (tmp_path / "all.json").write_text(json.dumps(weights))
    assert decode(["bundle", *parts, f"--lm={tmp_path / 'lm.arpa'}", f"--output={tmp_path / 's'}"]) == 0
    record = json.loads((tmp_path / "s" / "system.json").read_text())
    (tmp_path / "s" / "system.json").write_text(json.dumps(record | {"spelling": "latin"}))
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "s")]) == 2
    assert "is damaged (ValueError: spelling 'latin')" in capsys.readouterr().err


def test_bundle_takes_no_settings_of_a_table_but_its_format(capsys):
    for setting in ("prefix=a.", "max-span=3"):
        with pytest.raises(SystemExit):
            decode(["bundle", f"--grammar=t.gz,{setting}", "--lm=l", "--weights=w", "--output=s"])
        said = capsys.readouterr().err
        assert f"'t.gz,{setting}' has settings of translate; here TABLE,format=F is all" in said


def test_states_of_hypergraphs_have_words_as_the_table_has_them(tmp_path):
    write_parts(tmp_path)
    assert plug(tmp_path, "cdec", "--from=native", "--quiet") == 0
    arpa = "\\data\\\nngram 1=5\nngram 2=1\n\n\\1-grams:\n-9\t<unk>\n-99\t<s>\n-1\t</s>\n"
    arpa += "-1\t&#124;\t-.5\n-1\tb\n"
    (tmp_path / "two.arpa").write_text(f"{arpa}\n\\2-grams:\n-.5\t&#124; b\n\n\\end\\\n")
    (tmp_path / "in").write_text("|\n")
    models = [f"--grammar={tmp_path / 'cdec/grammar.gz'},format=cdec", f"--lm={tmp_path / 'two.arpa'}"]
    models += [f"--weights={tmp_path / 'all.json'}", "--input-words=plain"]
    files = [f"--input={tmp_path / 'in'}", f"--output={tmp_path / 'out'}", f"--hypergraph={tmp_path / 'h'}"]
    assert decode(["translate", *models, *files, "--quiet"]) == 0
    assert '"right": ["|"]' in (tmp_path / "h").read_text()


@pytest.mark.parametrize("first", READERS)
@pytest.mark.parametrize("second", READERS)
def test_a_model_of_one_decoder_is_spelled_for_another_as_the_first_was(tmp_path, first, second):
    write_parts(tmp_path)
    plain, theirs = (tmp_path / name for name in ("lm.arpa", "theirs"))
    copy_model(plain, theirs, speller(first).write, speller("native"))
    copy_model(plain, tmp_path / "expected", speller(second).write, speller("native"))
    for given in (theirs, plain):  # With the table of the first, either may be given, here as elsewhere.
        copy_model(given, tmp_path / "found", speller(second).write, speller(first))
        assert (tmp_path / "found").read_text() == (tmp_path / "expected").read_text()


def test_what_was_plugged_into_one_decoder_is_plugged_into_another(plugged):
    folder, first = plugged
    expected = of_files(folder, "table.gz,format=native", "lm.arpa")
    files = {"cdec": "weights", "moses": "moses.ini", "joshua": "joshua.config", "travatar": "travatar.ini"}
    imported = [f"{folder / first / files[first]}", f"--from={first}", f"--output={folder / 'again.json'}"]
    assert decode(["import-weights", *imported]) == 0
    table = f"{folder / first / TABLES[first]}"
    for second in ("cdec", "moses"):
        place = folder / f"from-{first}" / second
        parts = [f"--lm={folder / first / 'lm.arpa'}", f"--weights={folder / 'again.json'}"]
        assert main(["plug", table, f"--from={first}", f"--to={second}", *parts, f"--output={place}"]) == 0
        found = of_files(folder, f"{place}/{TABLES[second]},format={second}", f"{place}/lm.arpa")
        assert found == pytest.approx(expected)
