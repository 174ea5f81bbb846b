"""Lines that the command translates by a system, with a preparation and without, are those of Python."""

from __future__ import annotations

from types import SimpleNamespace

import decoder
from decoder.cli import main
from scfg_sampler.explore.questions import Question
from scfg_sampler.explore.translation import translate
from tests.decoder.system import test_system
from tests.decoder.system.test_system import bundle, text_of, write

parts, system = test_system.parts, test_system.system


def test_the_command_cuts_long_lines_without_a_preparation_as_python_does(parts, tmp_path, capsys):
    assert bundle(parts, tmp_path / "s", preparation=None) == 0
    # Behind the comma of ", dass", which is "that" where it is not cut.
    lines = [" ".join(["QUX"] * 99 + [",", "dass"] + ["Hund"] * 20), "der Hund , dass läuft"]
    expected = text_of(decoder.load_system(tmp_path / "s").translate(lines))
    given = ["translate", "--input", write(tmp_path / "input", lines), "--quiet"]
    for times in (1, 2):
        assert main([*given, *["--system", f"{tmp_path}/s"] * times]) == 0
        assert capsys.readouterr().out.splitlines() == expected
    assert [" that " in f" {line} " for line in expected] == [False, True]


def test_lists_of_raw_text_have_no_text_twice(parts, tmp_path, capsys):
    rules = [("der", "the"), ("der", "The"), ("der", "a"), ("Hund", "dog"), ("Hund", "hound")]
    table = "".join(f"[X] ||| {f} ||| {e} ||| LogForward=-{at} ||| \n" for at, (f, e) in enumerate(rules))
    (tmp_path / "table").write_text(table)
    models = ["--lm", f"{parts}/words.arpa", "--weights", f"{parts}/w.json"]
    models += ["--preparation", f"{parts}/words"]
    output = f"{tmp_path}/system"
    assert main(["bundle", "--grammar", f"{tmp_path}/table", *models, "--output", output, "--quiet"]) == 0
    capsys.readouterr()
    given = ["translate", "--system", output, "--quiet", "--nbest", "6"]
    given += ["--input", write(tmp_path / "input", ["Der Hund"])]
    lists = []
    for more in ([], ["--not-unique"]):
        assert main([*given, *more]) == 0
        lists.append([line.split(" ||| ") for line in capsys.readouterr().out.splitlines()])
    listed, derived = lists
    texts = ["The dog", "The hound", "A dog", "A hound"]
    assert sorted(line[1] for line in derived) == sorted([*texts, *texts[:2]])
    # Of derivations of one text, the best.
    assert listed == [line for at, line in enumerate(derived) if line[1] not in {d[1] for d in derived[:at]}]
    system = decoder.load_system(output)
    found = system.n_best("Der Hund", 6)
    assert [(each.text, f"{each.score:.6f}") for each in found] == [(line[1], line[3]) for line in listed]
    explored = SimpleNamespace(with_weights=lambda weights: system)
    sources = SimpleNamespace(system=lambda question: explored)
    answer = translate(sources, Question({"text": "Der Hund", "nbest": 6}))
    assert [each["translation"] for each in answer["nbest"]] == [line[1] for line in listed]


def test_words_of_input_are_not_told_to_what_takes_raw_text(system, capsys):
    assert main(["translate", "--system", str(system), "--input-words", "moses"]) == 2
    assert f"--input-words is of words between spaces, but {system} takes raw" in capsys.readouterr().err
