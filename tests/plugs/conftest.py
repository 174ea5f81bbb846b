"""What is plugged in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scfg_sampler.rules.table import RuleTable, write_rule_table
from tests.plugs.directories import ARPA, FEATURES, SIGNATURE, WEIGHTS, some_rules
from tests.rules.test_table import table_of


@pytest.fixture
def table(rng) -> RuleTable:
    return table_of(some_rules(rng), FEATURES, SIGNATURE)


@pytest.fixture
def folder(tmp_path, table) -> Path:
    write_rule_table(table, tmp_path / "table.gz")
    (tmp_path / "lm.arpa").write_text(ARPA, encoding="utf-8")
    (tmp_path / "w.json").write_text(json.dumps(WEIGHTS))
    return tmp_path
