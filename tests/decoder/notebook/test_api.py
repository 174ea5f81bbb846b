"""What `import decoder` offers does what the commands do, byte for byte where they write files."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints
from xml.etree import ElementTree

import numpy as np
import pytest

import decoder
import monolingual
import scfg_sampler
from decoder.cli import main
from decoder.notebook.systems import SearchOptions
from decoder.notebook.texts import sets_of
from decoder.notebook.tuning import TuneOptions
from decoder.translation.settings import SearchDefaults
from decoder.tuning.settings import TuneSettings
from scfg_sampler.errors import InputError
from tests.decoder.translation import test_sparse_features as sparse_features

PAIRS = [
    ("un chat dort", "a cat sleeps", "0-0 1-1 2-2"),
    ("un chien dort", "a dog sleeps", "0-0 1-1 2-2"),
    ("un chien mange", "one dog eats", "0-0 1-1 2-2"),
    ("le chat mange", "the cat eats", "0-0 1-1 2-2"),
    ("le chien mange le chat", "the dog eats the cat", "0-0 1-1 2-2 3-3 4-4"),
]
SOURCE, TARGET = [list(side) for side in list(zip(*PAIRS, strict=True))[:2]]


@pytest.fixture(scope="module")
def rules():
    return scfg_sampler.extract_rules(scfg_sampler.make_corpus(PAIRS))


@pytest.fixture(scope="module")
def files(rules, tmp_path_factory):
    """Paths of a table, a model, a development set and weights that the commands made."""
    folder = tmp_path_factory.mktemp("commands")
    rules.write(folder / "table")
    for name, lines in (("source", SOURCE), ("target", TARGET)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    assert main(["train-lm", str(folder / "target"), "--output", str(folder / "lm.arpa"), "--quiet"]) == 0
    models = ["--grammar", str(folder / "table"), "--lm", str(folder / "lm.arpa"), "--quiet"]
    data = ["--source", str(folder / "source"), "--references", str(folder / "target")]
    tuned = ["--output", str(folder / "weights.json"), "--rounds", "3"]
    assert main(["tune", *models, *data, *tuned]) == 0
    return folder


def test_importing_loads_nothing_and_all_names_are_there():
    script = (
        "import sys, decoder\nassert 'tune' in dir(decoder)\n"
        "heavy = {'numba', 'numpy', 'scipy', 'rich'} & set(sys.modules)\nassert not heavy, heavy\n"
        "decoder.tune\nassert 'numba' in sys.modules"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    for name in decoder.__all__:
        assert getattr(decoder, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'tnue'"):
        decoder.tnue  # noqa: B018


def test_language_models_are_those_of_the_command(files, tmp_path):
    lm = decoder.train_lm(TARGET, tmp_path / "lm.arpa")
    assert (tmp_path / "lm.arpa").read_bytes() == (files / "lm.arpa").read_bytes()
    in_memory, read = decoder.train_lm(files / "target"), decoder.load_lm(files / "lm.arpa")
    text = ["the cat sleeps", "", "a wolf"]
    for other in (in_memory, read):
        assert np.array_equal(other.log_probs(text), lm.log_probs(text))
    assert lm.perplexity(text) == pytest.approx(np.exp(-lm.log_probs(text).sum() / 8), rel=1e-12)
    with pytest.raises(InputError, match="text: has no lines, and so no perplexity"):
        lm.perplexity([])


def test_tuning_is_that_of_the_command(rules, files, tmp_path):
    tuning = decoder.tune(rules, files / "lm.arpa", SOURCE, files / "target", rounds=3)
    assert tuning.weights == json.loads((files / "weights.json").read_text())
    tuning.write(tmp_path / "weights.json")
    assert json.loads((tmp_path / "weights.json").read_text()) == tuning.weights
    assert tuning.score == max(found.score for found in tuning.rounds)
    assert f"bleu {tuning.score:.2f}" in repr(tuning)
    with pytest.raises(InputError, match="has 1 line, but the source has 5"):
        decoder.tune(rules, files / "lm.arpa", SOURCE, TARGET[:1])
    for source, references in ((SOURCE, [" "] * 5), ([""] * 5, TARGET)):
        found = "references" if source is SOURCE else "source"
        with pytest.raises(InputError, match=f"{found}: has no words. Tuning needs sentences and"):
            decoder.tune(rules, files / "lm.arpa", source, references)


def test_tuning_takes_carriage_returns_for_parts_of_words_as_the_command_does(tmp_path, capsys):
    pairs = [("a\rb c d e", "x\ry p q r", "0-0 1-1 2-2 3-3")] * 2
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    for name, lines in (("source", source), ("target", target)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), newline="")
    table = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    lm = decoder.train_lm(["p q r"], tmp_path / "lm.arpa")
    table.write(tmp_path / "table")
    tuning = decoder.tune(table, lm, source, target, rounds=1)
    files = ["--grammar", "table", "--lm", "lm.arpa", "--source", "source", "--references", "target"]
    with contextlib.chdir(tmp_path):
        assert main(["tune", *files, "--rounds", "1", "--output", "w.json", "--quiet"]) == 0
    assert tuning.score == pytest.approx(100.0)
    assert tuning.weights == json.loads((tmp_path / "w.json").read_text())


@pytest.mark.filterwarnings("error")
def test_features_that_few_rules_have_are_tuned(capsys):
    """As those of columns are; the weights of all of them come back."""
    whole, few = sparse_features.tables()
    lm = decoder.train_lm(["a b c a b", "c c b a", "a c b", "b a"])
    known, _ = sparse_features.decoders()
    wanted = [known.translate(words).text for words in sparse_features.SOURCES]
    source = [" ".join(words) for words in sparse_features.SOURCES]
    capsys.readouterr()
    one, other = (decoder.tune(table, lm, source, wanted, rounds=4, nbest=20) for table in (whole, few))
    assert len(one.rounds) > 1
    assert any(one.weights[name] for name in sparse_features.FEW)
    assert other.weights == pytest.approx(one.weights, abs=1e-6)
    assert "no weight" not in capsys.readouterr().err


@pytest.mark.parametrize("more", [{}, {"within": 0.0}, {"method": "pro"}])
def test_progress_of_tuning_counts_the_mean_of_rounds_and_no_more(rules, files, monkeypatch, more):
    totals, steps = [], []

    @contextlib.contextmanager
    def progress(description, total):
        totals.append(total)
        yield lambda number, note: steps.append(number)

    monkeypatch.setattr("decoder.notebook.tuning.progress", progress)
    has_mean = not more
    source, target = SOURCE + SOURCE[:1], [*TARGET, "one cat sleeps"]
    tuning = decoder.tune(rules, files / "lm.arpa", source, target, rounds=3, **more)
    assert totals == [(4 + has_mean) * len(source)]
    assert sum(steps) <= totals[0]
    assert sum(steps) >= len(tuning.rounds) * len(source)


def test_translations_are_those_of_the_command(rules, files, capsys):
    system = decoder.make_system(rules, decoder.load_lm(files / "lm.arpa"), files / "weights.json")
    again = decoder.make_system(
        files / "table", files / "lm.arpa", json.loads((files / "weights.json").read_text())
    )
    models = [f"--{name}={files / path}" for name, path in (("grammar", "table"), ("lm", "lm.arpa"))]
    weights = f"--weights={files / 'weights.json'}"
    assert main(["translate", *models, weights, "--input", str(files / "source"), "--quiet"]) == 0
    told = capsys.readouterr().out.splitlines()
    for each in (system, again):
        assert [found.text for found in each.translate(SOURCE)] == told
    assert repr(system) == f"System of {len(rules)} rules and a language model; takes words between spaces"


def test_best_lists_and_derivations_are_of_the_best_translation(rules, files):
    system = decoder.make_system(rules, files / "lm.arpa")
    line = "un chien dort"
    found = system.n_best(line, 4)
    assert found[0] == system.translate_line(line)
    assert sorted(each.text for each in found) == ["a dog sleeps", "one dog sleeps"]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    tree = system.derivation(line)
    assert tree.text == found[0].text
    weights = dict(zip(system.decoder.feature_names, system.decoder.weights, strict=True))
    score = sum(weights[name] * value for name, value in tree.features.items())
    assert score == pytest.approx(found[0].score, abs=1e-6)
    ElementTree.fromstring(tree._repr_html_())
    assert system.n_best("") == system.translate([""])
    assert system.derivation("").text == ""


def test_systems_come_back_from_their_directories(rules, files, tmp_path):
    made = decoder.bundle(
        rules, decoder.train_lm(TARGET), files / "weights.json", tmp_path / "system", beam=7
    )
    read = decoder.load_system(tmp_path / "system")
    in_memory = decoder.make_system(rules, files / "lm.arpa", files / "weights.json", beam=7)
    assert read.record["settings"]["beam"] == made.decoder.beam == 7
    for line in SOURCE:
        assert read.translate_line(line) == made.translate_line(line) == in_memory.translate_line(line)


def test_scores_are_those_of_the_command(files, tmp_path, capsys):
    translations = [line.replace("cat", "dog") for line in TARGET]
    (tmp_path / "out").write_text("".join(f"{line}\n" for line in translations))
    options = ["--hypothesis", str(tmp_path / "out"), "--references", str(files / "target"), "--json"]
    assert main(["evaluate", *options, "--against", str(files / "target")]) == 0
    told = json.loads(capsys.readouterr().out)
    scores = decoder.evaluate(translations, TARGET, against=files / "target")
    assert [scores.bleu, scores.chrf, scores.ter] == [told[name]["score"] for name in ("bleu", "chrf", "ter")]
    assert scores.against["bleu"].difference == pytest.approx(scores.bleu - 100.0, abs=0.01)
    assert scores.against["bleu"].p_value < 0.5
    both = decoder.evaluate(tmp_path / "out", [TARGET, translations])
    assert both.bleu == pytest.approx(100.0)


def test_scores_as_a_table_say_what_is_known_of_a_difference():
    translations = [line.replace("cat", "dog") for line in TARGET]
    alone = decoder.evaluate(translations, TARGET)
    compared = decoder.evaluate(translations, TARGET, against=TARGET)
    header, *rows = ElementTree.fromstring(alone._repr_html_())
    assert [cell.text for cell in header] == ["score", None, "signature"]
    assert {len(row) for row in rows} == {3}
    header, *rows = ElementTree.fromstring(compared._repr_html_())
    assert [cell.text for cell in header] == ["score", None, "difference", "p", "signature"]
    for row, (name, value) in zip(rows, zip(compared.details, compared[:3], strict=True), strict=True):
        cells = [cell.text for cell in row]
        assert cells[:2] == [compared.details[name]["name"], f"{value:.2f}"]
        against = compared.against[name]
        assert cells[2:4] == [f"{against.difference:+.2f}", f"{against.p_value:.3f}"]
        assert cells[4] == compared.details[name]["signature"]
    assert [float(row[2].text) < 0 for row in rows] == [True, True, False]


def test_one_text_and_several_are_told_apart(files):
    assert sets_of(TARGET) == [TARGET]
    assert sets_of(files / "target") == [files / "target"]
    assert sets_of([files / "target", files / "source"]) == [files / "target", files / "source"]
    assert sets_of([TARGET, SOURCE]) == [TARGET, SOURCE]


def test_editors_know_every_setting_that_is_taken_by_name():
    assert get_type_hints(SearchOptions) == get_type_hints(SearchDefaults)
    assert get_type_hints(TuneOptions) == get_type_hints(TuneSettings)


@pytest.mark.parametrize(
    "package", [scfg_sampler, decoder, monolingual], ids=lambda package: package.__name__
)
def test_help_on_every_name_shows_an_example(package):
    for name in package.__all__:
        assert ">>> " in (inspect.getdoc(getattr(package, name)) or ""), name


def test_tables_without_known_names_are_native_as_for_the_command(files, tmp_path, capsys):
    table, source = tmp_path / "table", tmp_path / "source"
    table.write_text("[X] ||| un ||| a ||| F=0\n[X] ||| chat ||| cat ||| F=0\n")
    (tmp_path / "w.json").write_text('{"F": 1, "LanguageModel": 1, "Glue": 0, "PassThrough": -1}')
    source.write_text("un chat\n")
    weights, lm = tmp_path / "w.json", files / "lm.arpa"
    models = [f"--grammar={table}", f"--lm={lm}", f"--weights={weights}"]
    assert main(["translate", *models, "--input", str(source), "--quiet"]) == 0
    told = capsys.readouterr().out.splitlines()
    for system in (
        decoder.make_system(table, lm, weights),
        decoder.bundle(table, lm, weights, tmp_path / "system"),
    ):
        assert [found.text for found in system.translate(["un chat"])] == told == ["a cat"]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_tables_in_pipes_are_native_as_for_the_command(files):
    """They can be read only once, and so not be looked at before."""
    reading, writing = os.pipe()
    os.write(writing, b"[X] ||| un ||| a ||| LogForward=0\n")
    os.close(writing)
    with os.fdopen(reading):
        system = decoder.make_system(f"/dev/fd/{reading}", files / "lm.arpa")
    assert system.translate_line("un").text == "a"


def test_a_file_that_is_no_table_is_refused_without_an_option_of_commands(files, tmp_path):
    (tmp_path / "table").write_text("un ||| a\n")
    with pytest.raises(InputError, match=r"table:1: has 2 fields instead of 4 or 5\. Expected"):
        decoder.make_system(tmp_path / "table", files / "lm.arpa")


def test_something_else_than_rules_is_refused(files):
    with pytest.raises(TypeError, match="rules is a list; give Rules, or the path"):
        decoder.make_system([], files / "lm.arpa")
    with pytest.raises(InputError, match="no weight for"):
        decoder.make_system(Path(files / "table"), files / "lm.arpa", {"LanguageModel": 1.0})
