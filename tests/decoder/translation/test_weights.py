"""Weights on disk."""

import pytest

from decoder.translation.weights import read_weights, weight_vector, write_weights
from scfg_sampler.errors import InputError


def test_weights_read_back_exactly(tmp_path):
    weights = {"LogForward": 0.1 + 0.2, "Glue": -1e-17, "Ünïcode": 3.0}
    write_weights(weights, tmp_path / "w.json")
    assert read_weights(tmp_path / "w.json") == weights


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1,\n "b" 2}', r"w\.json:2: not JSON"),
        ("[1, 2]", "a JSON list instead of an object"),
        ('{"a": "1"}', "the weight of 'a' is '1'"),
        ('{"a": NaN}', "the weight of 'a' is nan"),
        ('{"a": -1e308}', r"the weight of 'a' is -1e\+308\. Weights are numbers from -1e\+30 to 1e\+30"),
        ('{"a": true}', "the weight of 'a' is True"),
        ('{"Glue": -1, "a": 1, "Glue": -1}', r"w\.json: the weight of 'Glue' is given twice"),
        ("[" * 100_000, "not JSON"),
        ("", "not JSON"),
    ],
)
def test_bad_weights_are_refused_with_a_reason(tmp_path, text, complaint):
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_weights(path)


def test_a_feature_without_weight_is_refused():
    with pytest.raises(InputError, match="no weight for 'b', 'c'"):
        weight_vector({"a": 1.0}, ["a", "b", "c"])


def test_vector_follows_the_names():
    assert weight_vector({"b": 2.0, "a": 1.0}, ["a", "b"]).tolist() == [1.0, 2.0]
