"""The pages of features and settings name what there is, with the numbers of the code."""

from __future__ import annotations

import importlib
import math
import re

import pytest

import scfg_sampler
from decoder.expressions.decoder import FEATURES as EXPRESSION_FEATURES
from decoder.translation.weights import initial_weights
from scfg_sampler.rules.columns import FEATURE_NAMES
from tests.test_docs import MODULES, ROOT

DOCS = ROOT / "docs"
SETTINGS = re.findall(
    r"^```\{settings\} (\S+)\n(.*)\n```", (DOCS / "look-up" / "settings.md").read_text(), re.MULTILINE
)


@pytest.fixture
def rows_of(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    return importlib.import_module("setting_rows").rows_of


def test_all_settings_of_the_code_are_on_the_page():
    named = {place for place, _ in SETTINGS}
    assert len(named) == len(SETTINGS)
    for module in MODULES:
        if module.rpartition(".")[2] == "settings" and ".notebook." not in module:
            for name, value in vars(importlib.import_module(module)).items():
                if hasattr(value, "_fields") and value.__module__ == module:
                    assert f"{module}.{name}" in named, f"{module}.{name} is not on docs/look-up/settings.md"


@pytest.mark.parametrize(("place", "command"), SETTINGS, ids=[place for place, _ in SETTINGS])
def test_every_setting_is_told_with_its_option(rows_of, place, command):
    module, _, name = place.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    rows = rows_of(place, command)
    assert [row.name for row in rows] == list(kind._fields)
    assert all(row.text for row in rows)
    assert sum(bool(row.option) for row in rows) > len(rows) / 2
    for row in rows:
        default = kind._field_defaults.get(row.name)
        if isinstance(default, int) and not isinstance(default, bool):
            assert int(row.default) == default
        elif isinstance(default, float):
            assert float(row.default) == default


def test_text_of_a_setting_is_that_of_the_code_or_of_its_option(rows_of):
    learner = next(each for each in SETTINGS if each[0].endswith("LearnerSettings"))
    rows = {row.name: row for row in rows_of(*learner)}
    assert rows["max_length"].text == "Pairs with a longer sentence are skipped."
    assert rows["max_length"].option == "--max-length"
    assert rows["model"].choices == "pitman-yor, dirichlet"
    assert rows["learned"].option == ""
    assert rows["density_factor"].option == "--no-density-factor"
    assert "(default" not in rows["discount"].text


def features() -> dict[str, float]:
    """The features of the page, with what tuning begins with."""
    text = (DOCS / "look-up" / "features.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| (-?[\d.]+) \|$", text, re.MULTILINE)
    assert len({name for name, _ in rows}) == len(rows)
    return {name: float(weight) for name, weight in rows}


def test_features_are_those_of_tables_and_of_the_decoder(tmp_path):
    decoder = {"LanguageModel", "Glue", "PassThrough", "LabelMismatch"}
    for name, line in {"source": "a", "target": "A", "alignment": "0-0", "labels": "0-1:N"}.items():
        (tmp_path / name).write_text(f"{line}\n")
    texts = [tmp_path / name for name in ("source", "target", "alignment")]
    corpus = scfg_sampler.read_corpus(*texts, labels=tmp_path / "labels")
    labelled = next(iter(scfg_sampler.extract_rules(corpus))).features
    assert set(features()) == {*FEATURE_NAMES, *labelled, "LogPosterior", *decoder, *EXPRESSION_FEATURES}


def test_weights_are_those_that_tuning_begins_with():
    found = features()
    assert initial_weights(list(found)) == found


def test_probabilities_have_the_half_that_the_page_says():
    pairs = [("a", "A", "0-0")] * 3 + [("a", "B", "0-0"), ("b", "B", "0-0")]
    rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    found = {(rule.source, rule.target): rule.features for rule in rules}
    logs = {name: found[("a",), ("B",)][name] for name in ("LogForward", "LogBackward")}
    assert logs["LogForward"] == pytest.approx(-math.log(4 + 0.5), abs=1e-5)
    assert logs["LogBackward"] == pytest.approx(-math.log(2 + 0.5), abs=1e-5)
    assert found[("a",), ("A",)]["LogCount"] == pytest.approx(math.log(3), abs=1e-5)
