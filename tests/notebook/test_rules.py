"""Rules from Python are those of the commands: which are kept of many alike, what tables are marked with."""

from __future__ import annotations

import numpy as np
import pytest

import scfg_sampler
from scfg_sampler.cli import main


@pytest.fixture(scope="module")
def corpus():
    """Pairs whose words are not in the order of their bytes when they come first, with many equal counts."""
    rng = np.random.default_rng(5)
    pairs = []
    for _ in range(60):
        size = int(rng.integers(2, 7))
        source, target = rng.integers(0, 12, (2, size)).tolist()
        links = sorted(zip(range(size), rng.permutation(size).tolist(), strict=True))
        texts = (
            " ".join(f"{letter}{9 * word % 13}" for word in side)
            for letter, side in (("f", source), ("e", target))
        )
        pairs.append((*texts, " ".join(f"{i}-{j}" for i, j in links)))
    # In text, a count of 3 is a little less: what is lost with the rule is 29.53755, and 29.53754 in text.
    return scfg_sampler.make_corpus([*pairs, *[("f", "e", "0-0")] * 3])


@pytest.fixture(scope="module", params=["occurrences", "fractional"])
def both(request, corpus, tmp_path_factory):
    """Extracted rules, and the table that the command writes."""
    folder = tmp_path_factory.mktemp("extracted")
    names = ("source", "target", "alignment")
    files = [f"--{name}={path}" for name, path in zip(names, corpus.write(folder), strict=True)]
    table = folder / "table"
    assert main(["extract", *files, "--counting", request.param, "--output", str(table), "--quiet"]) == 0
    return scfg_sampler.extract_rules(corpus, counting=request.param), table


PRUNED = [
    {"keep": "20%"},
    {"keep": 50},
    {"keep": "uses:50%"},
    {"how": "entropy"},
    {"how": "entropy:0", "keep": "10%"},
    {"how": "entropy:29.537543"},
    {"how": "redundancy", "keep": "10%"},
    {"how": "significance:0.5", "keep": "30%"},
    {"how": "count:2", "keep": "50%"},
]


def test_rules_kept_of_extracted_ones_are_those_of_the_commands(both, tmp_path):
    rules, table = both
    assert list(rules) == list(scfg_sampler.read_rules(table))
    kept = tmp_path / "kept"
    for asked in PRUNED:
        options = [f"--{'prune' if name == 'how' else name}={value}" for name, value in asked.items()]
        assert main(["prune", str(table), *options, "--output", str(kept), "--quiet"]) == 0
        assert list(rules.prune(**asked)) == list(scfg_sampler.read_rules(kept)), asked
    for by in rules.table.feature_names:
        assert list(rules.best(30, by=by)) == list(scfg_sampler.read_rules(table).best(30, by=by))
