"""Marginals of several chains, pooled piece by piece, are the means of what the files say."""

from __future__ import annotations

import json

import pytest

from scfg_sampler.errors import InputError
from scfg_sampler.learner import pooled_marginals
from scfg_sampler.learner.pooled_marginals import pool_marginals


def written(path, rng, rules):
    """Marginals of three sentences, one without nodes, in the form that a run writes."""
    sentences = [
        {
            "nodes": [
                {"source": [0, k], "target": [k, 9], "in_tree": rng.random(), "cut": rng.random()}
                for k in range(number)
            ]
        }
        for number in (7, 0, 40)
    ]
    record = {"sweeps": int(rng.integers(2, 9)), "sentences": sentences, "rules": rules}
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def paths(rng, tmp_path):
    rules = [["a ||| b", 0.5], ['é " {\\u00e9}' + "x" * 300, 1e-7]], [], [["a ||| b", 0.25], ["A", 3.0]]
    return [written(tmp_path / f"{k}.json", rng, each) for k, each in enumerate(rules)]


@pytest.mark.parametrize("piece", [1, 2, 7, 1000, 1 << 16])
def test_pooled_values_are_means(paths, tmp_path, monkeypatch, piece):
    monkeypatch.setattr(pooled_marginals, "_PIECE", piece)
    pool_marginals(paths, tmp_path / "pooled")
    chains = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    text = (tmp_path / "pooled").read_text(encoding="utf-8")
    found = json.loads(text)
    assert text == json.dumps(found, ensure_ascii=False) + "\n"
    assert found["sweeps"] == sum(each["sweeps"] for each in chains)
    expected = chains[0]["sentences"]
    for s, sentence in enumerate(expected):
        for n, node in enumerate(sentence["nodes"]):
            for name in ("in_tree", "cut"):
                node[name] = sum(each["sentences"][s]["nodes"][n][name] for each in chains[1:]) + node[name]
                assert found["sentences"][s]["nodes"][n].pop(name) == pytest.approx(node.pop(name) / 3)
    assert found["sentences"] == expected
    assert found["rules"] == [
        ["A", 1.0],
        ["a ||| b", pytest.approx(0.25)],
        ['é " {\\u00e9}' + "x" * 300, pytest.approx(1e-7 / 3)],
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"sweeps"', '{"sweep"'),
        ('"in_tree"', '"tree"'),
        ('"cut": ', '"cut": "x'),
        (', "rules"', ""),
        ("]}\n", ""),
        ('{"nodes": []}', '{"nodes": [1]}'),
        ('{"nodes": []}, ', ""),
        ('["A", 3.0]', '["A"]'),
    ],
)
def test_damaged_marginals_are_refused_in_one_line(paths, tmp_path, old, new):
    path = paths[2]
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"\.json: is damaged, or another chain's\. Sample again"):
        pool_marginals(paths, tmp_path / "pooled")
    assert not (tmp_path / "pooled").exists()
