"""What is to be typed to translate with a directory."""

from __future__ import annotations

import subprocess

import pytest

from scfg_sampler.cli import main
from tests.plugs.directories import NAMES, READERS, TABLES


def test_the_command_enters_a_directory_that_is_called_like_an_option(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    files = ["--lm=lm.arpa", "--weights=w.json", "--output=-a b"]
    assert main(["plug", "table.gz", "--to=cdec", *files]) == 0
    entered = capsys.readouterr().out.partition(" && ")[0]
    assert subprocess.run(["sh", "-c", f"{entered} && ls cdec.ini)"], check=False).returncode == 0


@pytest.mark.parametrize("decoder", READERS)
def test_command_is_printed_and_kept(folder, decoder, capsys):
    (folder / "a b").mkdir()
    files = [f"--lm={folder / 'lm.arpa'}", f"--weights={folder / 'w.json'}"]
    out = folder / "a b" / "c"
    assert main(["plug", str(folder / "table.gz"), "--to", decoder, *files, f"--output={out}"]) == 0
    (command,) = capsys.readouterr().out.splitlines()
    assert command.startswith(f"(cd '{out}' && ")
    assert command.endswith(") < INPUT > OUTPUT")
    readme = (out / "README").read_text()
    assert command.replace(f"'{out}'", "DIR") in readme
    assert readme.startswith(f"For {NAMES[decoder]}, written by scfg-sampler ")
    assert f"--grammar {TABLES[decoder]},format={decoder} " in readme
    assert (" --copy any " in readme) == (decoder in ("cdec", "joshua"))
    assert ("\n- cdec leaves out empty lines of its input; convert" in readme) == (decoder == "cdec")
