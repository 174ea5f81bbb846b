"""Labels that need not match, from files to files: tuning, bundling, translating."""

import json

import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL, RULES

LABELLED = """[NP] ||| u [NN,1] ||| a [NN,1] ||| First=0.5 Second=0
[NN] ||| v ||| b ||| First=0.1 Second=0
[VP] ||| w [PP,1] ||| [PP,1] c ||| First=1 Second=0
"""


@pytest.fixture
def models(tmp_path):
    """A directory with a grammar of X, one with labels, a language model, and a sentence to tune on."""
    write_rule_table(small.rule_table(RULES), tmp_path / "grammar.gz")
    write_arpa(random_model(5, 2), tmp_path / "lm.arpa")
    (tmp_path / "labelled").write_text(LABELLED)
    (tmp_path / "text").write_text("w u v\n")
    (tmp_path / "wanted").write_text("a b c\n")
    return tmp_path


def test_weights_make_labels_soft(models, capsys):
    given = ["--lm", f"{models}/lm.arpa", "--threads", "1"]
    pairs = [
        "--source",
        f"{models}/text",
        "--references",
        f"{models}/wanted",
        "--output",
        f"{models}/new.json",
    ]
    tune = ["tune", *given, *pairs, "--rounds", "2", "--soft-labels"]
    assert main([*tune, "--grammar", f"{models}/labelled", "--quiet"]) == 0
    weights = json.loads((models / "new.json").read_text())
    assert "LabelMismatch" in weights
    begun = {**INITIAL, "LabelMismatch": -0.25}
    (models / "w.json").write_text(json.dumps(begun))
    begin = ["--initial", f"{models}/w.json", "--overwrite", "--quiet"]
    assert main([*tune, "--grammar", f"{models}/labelled", *begin]) == 0
    names, first, *_ = (models / "new.json.rounds.tsv").read_text().splitlines()
    begun_with = dict(zip(names.split("\t"), first.split("\t"), strict=True))
    assert float(begun_with["LabelMismatch"]) == -0.25
    bundled = f"{models}/system"
    parts = ["--grammar", f"{models}/labelled", *given[:2], "--weights", f"{models}/w.json"]
    assert main(["bundle", *parts, "--output", bundled, "--quiet"]) == 0
    found = []
    for system in (["--system", bundled], [*parts, "--threads", "1"]):
        out = ["--input", f"{models}/text", "--output", f"{models}/out", "--nbest", "9", "--quiet"]
        assert main(["translate", *system, *out]) == 0
        found.append((models / "out").read_text())
    assert found[0] == found[1]
    row = next(line for line in found[0].splitlines() if "||| a b c |||" in line)
    assert " LabelMismatch=1 " in row
    capsys.readouterr()
    assert main([*tune, "--grammar", f"{models}/grammar.gz", "--overwrite"]) == 2
    assert "--soft-labels: the grammar has no labels but X" in capsys.readouterr().err
