"""Records of derivations that were damaged: refused in a line, whatever is wrong with them."""

from __future__ import annotations

import copy
import json

import pytest

from decoder.cli import main
from decoder.translation.derivations import check_record
from scfg_sampler.errors import InputError


def chain(length: int, times: int) -> dict:
    """A record in which each node but the last is above the next one, so many times."""
    node = {"symbol": "X", "span": [0, 1], "source": [1], "target": [1], "score": 0.0}
    nodes = [{**node, "children": [at + 1] * times} for at in range(length - 1)]
    nodes.append({**node, "source": ["a"], "children": []})
    return {"sentence": 0, "source": ["a"], "translation": "A", "score": 0.0, "nodes": nodes}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("features", value)
            for value in ({"a": "x"}, {"a": None}, {"a": 10**400}, {"a": float("inf")}, [1], [], 1, None, "x")
        ),
        *(("posterior", value) for value in ("x", None, [], 10**400, float("nan"))),
    ],
)
def test_features_and_posteriors_that_are_no_numbers_are_refused(tmp_path, field, value, capsys):
    record = chain(2, 1)
    record["nodes"][1][field] = value
    (tmp_path / "trees").write_text(json.dumps(record) + "\n")
    assert main(["show", f"{tmp_path}/trees", "--sentence", "0", "--svg", f"{tmp_path}/o.svg"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("trees:1: not a derivation. Derivations are what translate --derivations writes\n")
    assert not (tmp_path / "o.svg").exists()


def test_features_and_posteriors_that_are_numbers_or_left_out_are_taken():
    for given in ({}, {"features": {}}, {"features": {"a": -1.5, "b": 2}}, {"posterior": 0}):
        record = chain(3, 1)
        record["nodes"][1] |= given
        assert check_record(copy.deepcopy(record), "trees", 1) == record


def test_a_node_is_part_of_one_rule_once():
    """What is below it would be drawn twice, and below that four times: 2^40 lines of 40 nodes."""
    with pytest.raises(InputError, match="trees:7: not a derivation"):
        check_record(chain(40, 2), "trees", 7)
    record = chain(3, 1)
    record["nodes"][0]["children"] = [1, 2]
    with pytest.raises(InputError, match="trees:7: not a derivation"):
        check_record(record, "trees", 7)
