"""Lines that the command translates by a system, with a preparation and without, are those of Python."""

from __future__ import annotations

import decoder
from decoder.cli import main
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


def test_words_of_input_are_not_told_to_what_takes_raw_text(system, capsys):
    assert main(["translate", "--system", str(system), "--input-words", "moses"]) == 2
    assert f"--input-words is of words between spaces, but {system} takes raw" in capsys.readouterr().err
