"""`scfg-sampler verify` on systems and compiled files."""

from __future__ import annotations

import json

import pytest

from decoder.lm.arpa import write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.system.bundle import write_system
from scfg_sampler.cli import main
from tests.decoder import small_grammars as small


@pytest.fixture
def system(tmp_path, rng):
    model, _ = estimate_lm(encode_text(["a b c a b", "b c a", "c"]), 2)
    write_arpa(model, tmp_path / "lm.arpa")
    names = (*small.FEATURES, "LanguageModel", "Glue", "PassThrough")
    (tmp_path / "weights").write_text(json.dumps(dict.fromkeys(names, 0.5)))
    table = small.rule_table(small.random_rules(rng, 12, max_arity=2))
    write_system(table, tmp_path / "lm.arpa", tmp_path / "weights", None, tmp_path / "system")
    return tmp_path / "system"


def test_a_system_and_its_parts_are_found_right(system, capsys):
    capsys.readouterr()
    for path in (system, system / "grammar.bin", system / "lm.bin"):
        assert main(["verify", str(path)]) == 0
    said = capsys.readouterr().err
    assert "4 files, their digests, and the ranking of the rules" in said
    assert "a model of order 2" in said


@pytest.mark.parametrize("name", ["grammar.bin", "lm.bin", "ranking.bin", "weights.json", "system.json"])
def test_every_changed_file_of_a_system_is_found(system, capsys, name):
    whole = (system / name).read_bytes()
    at = len(whole) * 2 // 3
    (system / name).write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
    capsys.readouterr()
    assert main(["verify", str(system)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_lost_record_is_told_of(system, capsys):
    (system / "system.json").unlink()
    capsys.readouterr()
    assert main(["verify", str(system)]) == 2
    assert "has grammar.bin, but neither system.json nor parser.json. Copy" in capsys.readouterr().err
