"""Names of files that are not UTF-8, as of old archives: such files are read, written, and found again."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import pytest

import monolingual.cli
import scfg_sampler.cli
from scfg_sampler.core.files import atomic_output
from scfg_sampler.notebook.rules import read_rules
from scfg_sampler.rules.annotation import annotate_table
from scfg_sampler.rules.table import write_rule_table
from scfg_sampler.rules.text import signature

ODD = os.fsdecode(b"m\xfcller")
CORPUS = {"s": "a b\nb a\na a b\n", "t": "A B\nB A\nA A B\n", "a": "0-0 1-1\n0-0 1-1\n0-0 1-1 2-2\n"}
FILES = ["--source", f"{ODD}.s", "--target", f"{ODD}.t", "--alignment", f"{ODD}.a", "--quiet"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        for ending, text in CORPUS.items():
            Path(f"{ODD}.{ending}").write_text(text)
    except OSError:
        pytest.skip("needs a file system that takes any bytes for names")


def run(*arguments: str) -> None:
    assert scfg_sampler.cli.main([*arguments]) == 0


def first_line(table: str) -> str:
    return gzip.decompress(Path(table).read_bytes()).decode().splitlines()[0]


def test_a_run_finds_its_files_again(monkeypatch):
    """Several chains, which read them once more; a table of it names them, and a page shows it."""
    monkeypatch.setattr(sys, "argv", ["scfg-sampler", "sample", *FILES])
    run("sample", *FILES, "--iterations", "3", "--chains", "2", "--output", f"{ODD}.run")
    assert 'm\\udcfcller.s"' in Path(f"{ODD}.run", "run.json").read_text(encoding="utf-8")
    record = json.loads(Path(f"{ODD}.run", "run.json").read_text(encoding="utf-8"))
    assert record["corpus"]["files"]["source"] == os.path.abspath(f"{ODD}.s")
    assert record["command"][3] == f"{ODD}.s"
    run("resume", f"{ODD}.run", "--iterations", "4", "--quiet")
    run("verify", f"{ODD}.run")
    run("grammar", f"{ODD}.run", "--output", f"{ODD}.gz", "--quiet")
    assert "|source:m\\xfcller.s|target:m\\xfcller.t|alignment:m\\xfcller.a|" in first_line(f"{ODD}.gz")
    run("report", f"{ODD}.run", "--output", f"{ODD}.html", "--quiet")
    assert Path(f"{ODD}.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_tables_name_what_they_were_made_of():
    run("extract", *FILES, "--output", f"{ODD}.gz")
    assert first_line(f"{ODD}.gz").endswith("|source:m\\xfcller.s|target:m\\xfcller.t|alignment:m\\xfcller.a")
    run("filter", f"{ODD}.gz", "--source", f"{ODD}.s", "--output", f"{ODD}.few.gz", "--quiet")
    assert first_line(f"{ODD}.few.gz").endswith("|alignment:m\\xfcller.a|text:m\\xfcller.s")
    write_rule_table(read_rules(f"{ODD}.gz").filter(f"{ODD}.s").table, "python.gz")
    assert first_line("python.gz") == first_line(f"{ODD}.few.gz")
    annotate_table(f"{ODD}.few.gz", f"{ODD}.gz", f"{ODD}.two.gz", prefix="Other", features=["LogCount"])
    assert first_line(f"{ODD}.two.gz").endswith("|text:m\\xfcller.s|features_of:m\\xfcller.gz")
    run("convert", "--to", "moses", f"{ODD}.few.gz", "--output", f"{ODD}.moses.gz", "--quiet")
    record = json.loads(Path(f"{ODD}.moses.gz.json").read_text(encoding="utf-8"))
    assert record["signature"] == first_line(f"{ODD}.few.gz")[2:]


def test_names_alone_are_spelled_otherwise():
    assert signature([("text", "Bücher \\ \U0001f600")]).endswith("|text:Bücher \\ \U0001f600")


def test_json_has_them_as_they_are():
    with atomic_output("record.json") as stream:
        json.dump([f"\\{ODD}", "ü"], stream, ensure_ascii=False)
    assert json.loads(Path("record.json").read_text(encoding="utf-8")) == [f"\\{ODD}", "ü"]


@pytest.mark.parametrize("model", ["tsg", "pcfg"])
def test_runs_of_one_language_find_them_too(model):
    Path(f"{ODD}.mrg").write_text("(S (NP a) (VP b))\n(S (NP b) (VP a))\n")
    Path(f"{ODD}.txt").write_text('S -> A B [1.0]\nA -> "a" [0.5]\nA -> "b" [0.5]\nB -> "b" [1.0]\n')
    Path(f"{ODD}.sentences").write_text("a b\nb b\n")
    begin = {
        "tsg": ["train", f"{ODD}.mrg"],
        "pcfg": ["sample", f"{ODD}.txt", "--sentences", f"{ODD}.sentences"],
    }[model]
    options = ["--output", f"{ODD}.run", "--iterations", "3", "--quiet"]
    assert monolingual.cli.main([model, *begin, *options]) == 0
    assert monolingual.cli.main([model, "resume", f"{ODD}.run", "--iterations", "4", "--quiet"]) == 0
