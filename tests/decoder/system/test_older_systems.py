"""A system that is written where an older one lies, with or without something else in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoder.lm.arpa import write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.system.bundle import write_system
from scfg_sampler.errors import InputError
from scfg_sampler.preparation.learning import SegmentationSettings, learn_preparation, parse_segmentation
from scfg_sampler.preparation.preparation import write_preparation
from tests.decoder import small_grammars as small


@pytest.fixture
def write(tmp_path, rng):
    """A function that writes a system, of a few models, with a preparation if it is asked for."""
    model, _ = estimate_lm(encode_text(["a b c a b", "b c a", "c"]), 2)
    write_arpa(model, tmp_path / "lm.arpa")
    names = (*small.FEATURES, "LanguageModel", "LanguageModel_1", "Glue", "PassThrough")
    (tmp_path / "weights").write_text(json.dumps(dict.fromkeys(names, 0.5)))
    table = small.rule_table(small.random_rules(rng, 12, max_arity=2))

    def write(lms: int = 1, preparation: Path | None = None) -> Path:
        models = lms * [tmp_path / "lm.arpa"]
        write_system(table, models, tmp_path / "weights", preparation, tmp_path / "system")
        return tmp_path / "system"

    return write


@pytest.fixture
def preparation(tmp_path):
    pytest.importorskip("sentencepiece")
    texts = [["der Hund sieht den Mann", "Anna läuft"] * 4, ["the dog sees the man", "Anna runs"] * 4]
    settings = SegmentationSettings(("de", "en"), parse_segmentation("subwords:40"), case="true")
    (tmp_path / "prepared").mkdir()
    write_preparation(learn_preparation(*texts, settings), tmp_path / "prepared")
    return tmp_path / "prepared"


@pytest.mark.parametrize("record", [None, "{", "{}"])
def test_an_older_system_is_replaced(write, preparation, record):
    """Also one whose record is damaged, by the names of its files."""
    system = write(2, preparation)
    assert {"lm-1.bin", "case.de.json", "preparation.json"} < {path.name for path in system.iterdir()}
    if record is not None:
        (system / "system.json").write_text(record)
    write()
    assert sorted(path.name for path in system.iterdir()) == [
        *("grammar.bin", "lm.bin", "ranking.bin", "system.json", "weights.json")
    ]


@pytest.mark.parametrize("record", [None, "{"])
def test_results_in_an_older_system_are_not_lost(write, record):
    system = write()
    if record is not None:
        (system / "system.json").write_text(record)
    (system / "out").mkdir()
    (system / "out" / "test.en").write_text("kept")
    with pytest.raises(InputError) as refused:
        write()
    found = "holds out, which is no part of a system. Move it, or name another directory"
    assert str(refused.value) == f"{system}: {found}"
    assert (system / "out" / "test.en").read_text() == "kept"
