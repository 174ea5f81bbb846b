"""`scfg-sampler forest` of pairs that are long."""

from __future__ import annotations

import json

import pytest

from scfg_sampler.cli import main


def test_forest_tells_of_what_is_too_long_before_it_is_made(corpus_options, tmp_path, capsys, monkeypatch):
    assert main(["forest", *corpus_options, "--quiet"]) == 0
    complete = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["forest", *corpus_options, "--max-length", "3", "--quiet"]) == 0
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    skipped = [line["sentence"] for line in lines if "words, more than 3" in (line["skipped"] or "")]
    assert 0 < len(skipped) < len(lines)
    said = f"warning: {len(skipped)} pairs have more than 3 words on a side, and no forest here"
    assert err.startswith(said)
    assert [line for line in lines if line["sentence"] not in skipped] == [
        line for line in complete if line["sentence"] not in skipped
    ]
    drawn = ["--sentence", str(skipped[0]), "--format", "svg"]
    assert main(["forest", *corpus_options, *drawn, "--max-length", "3"]) == 2
    assert f"sentence {skipped[0]} has" in capsys.readouterr().err
    assert main(["forest", *corpus_options, "--max-length", "0"]) == 2
    assert "--max-length is 0; it must be from 1 to" in capsys.readouterr().err
    number = len(complete[skipped[0]]["edges"])
    monkeypatch.setattr("scfg_sampler.commands.forest._MANY_EDGES", number - 1)
    for how in (drawn, drawn[:2]):
        assert main(["forest", *corpus_options, *how, "--output", str(tmp_path / "out")]) == 0
        assert f"the forest of sentence {skipped[0]} has {number} edges" in capsys.readouterr().err


@pytest.mark.parametrize("choose", ["phrase", "sentence"])
def test_forest_tells_of_what_is_large_where_an_alignment_is_chosen(
    corpus_options, tmp_path, capsys, monkeypatch, choose
):
    alignment = corpus_options[corpus_options.index("--alignment") + 1]
    both = [*corpus_options, alignment, "--choose", choose, "--sentence", "0", "--quiet"]
    assert main(["forest", *both]) == 0
    out, err = capsys.readouterr()
    assert "edges, which take" not in err
    number = len(json.loads(out)["edges"])
    monkeypatch.setattr("scfg_sampler.commands.forest._MANY_EDGES", number - 1)
    assert main(["forest", *both, "--output", str(tmp_path / "out")]) == 0
    assert f"the forest of sentence 0 has {number} edges, which take about" in capsys.readouterr().err
