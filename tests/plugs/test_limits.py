"""What other decoders do at their limits, as they were seen to do it: what is left out, and what is said."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from scfg_sampler.cli import main
from scfg_sampler.rules.text import Rule
from tests.formats.test_labels import labelled_table
from tests.plugs.directories import ARPA, complaint, plug
from tests.plugs.test_labels import save
from tests.rules.test_table import table_of

LONG = "[X] ||| a b c ||| t ||| LogForward=0\n"
RULES = "[X] ||| [X,1] b [X,2] ||| [X,1] t [X,2] ||| LogForward=0\n[X] ||| b ||| u ||| LogForward=0\n"


def save_text(folder: Path, rules: str, **weights: float) -> None:
    (folder / "table.gz").write_bytes(gzip.compress(rules.encode()))
    (folder / "lm.arpa").write_text(ARPA, encoding="utf-8")
    own = dict.fromkeys(("LogForward", "LanguageModel", "Glue", "PassThrough"), 0.5)
    own |= {"TargetWords": 0.0, "Abstract": 0.0}
    (folder / "w.json").write_text(json.dumps(own | weights))


def test_travatar_is_given_no_rule_longer_than_any_span(tmp_path, capsys):
    """rule-fsm.cc, BuildHyperGraphComponent: the limit is that of each gap, words of rules have none."""
    save_text(tmp_path, LONG + RULES)
    assert plug(tmp_path, "travatar", "--max-span", "2") == 0
    said = capsys.readouterr().err
    assert "2 rules have a source side of more than 2 symbols; left out, as no rule covers more" in said
    assert "Travatar limits what fills a gap to 2 words, and not what a whole rule covers" in said
    assert gzip.decompress((tmp_path / "travatar" / "rules.gz").read_bytes()).count(b"\n") == 1
    assert plug(tmp_path, "travatar", "--max-span", "3") == 0
    assert gzip.decompress((tmp_path / "travatar" / "rules.gz").read_bytes()).count(b"\n") == 3
    assert plug(tmp_path, "cdec", "--max-span", "2") == 0
    assert gzip.decompress((tmp_path / "cdec" / "grammar.gz").read_bytes()).count(b"\n") == 3


def test_tables_of_which_nothing_is_left_are_refused(tmp_path, capsys):
    save_text(tmp_path, LONG)
    said = complaint(tmp_path, capsys, "travatar", "--max-span", "2")
    assert "has only rules that must be left out: 1 rule has a source side of more than 2 symbols" in said


def test_moses_is_said_to_leave_out_a_last_line_without_an_end(tmp_path, capsys):
    """Sentence.cpp: `if (getline(in, line).eof()) return 0`."""
    save_text(tmp_path, RULES)
    assert plug(tmp_path, "moses") == 0
    said = capsys.readouterr().err
    assert "Moses leaves out a last line that has no end; convert --to moses --text gives it one" in said
    assert "1 rule without" not in said
    save_text(tmp_path, RULES.splitlines()[1])
    assert plug(tmp_path, "moses") == 0
    assert "1 rule without LogBackward, LexBackward, LexForward," in capsys.readouterr().err


def test_weights_of_cdec_do_not_begin_as_binary_ones_do(tmp_path):
    """utils/weights.cc: a file that begins with `_PHWf` is one that was packed."""
    names = ("_PHWf", "LogForward")  # Weights of rules are written in the order of the table.
    save(tmp_path, table_of([Rule(("a",), ("t",), dict.fromkeys(names, 1.0), ())], names))
    own = dict.fromkeys((*names, "LanguageModel", "Glue", "PassThrough"), 1.0)
    (tmp_path / "w.json").write_text(json.dumps(own))
    assert plug(tmp_path, "cdec", "--quiet") == 0
    text = (tmp_path / "cdec" / "weights").read_text()
    assert not text.startswith("_PHWf")
    assert re.findall("^[^ ]+", text, re.MULTILINE)[-2] == "_PHWf"


def test_cdec_has_glue_rules_where_gaps_alone_have_labels(tmp_path):
    save(tmp_path, labelled_table([Rule(("a", -1), (-1, "t"), {}, (), ("X", "NP"))]))
    assert plug(tmp_path, "cdec", "--quiet") == 0
    assert "[S] ||| [S,1] [X,2] ||| [1] [2] ||| Glue=1\n" in (tmp_path / "cdec" / "glue-rules").read_text()
    command = ["convert", f"{tmp_path}/table.gz", "--to", "cdec", "--output", f"{tmp_path}/converted"]
    assert main([*command, "--glue", f"{tmp_path}/glue"]) == 0
    assert (tmp_path / "glue").read_text() == (tmp_path / "cdec" / "glue-rules").read_text()


@pytest.mark.parametrize("decoder", ["cdec", "moses", "joshua", "travatar"])
def test_the_largest_limits_are_those_that_all_decoders_read(tmp_path, decoder):
    save_text(tmp_path, RULES)
    most = str(2**31 - 1)
    assert plug(tmp_path, decoder, "--pop-limit", most, "--max-span", most, "--quiet") == 0
