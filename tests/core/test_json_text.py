"""JSON is read, or is no value: nothing else is raised."""

import pytest

from scfg_sampler.core.json_text import parse_json


def test_what_is_json_is_read():
    assert parse_json('{"a": [1, null]}') == {"a": [1, None]}
    assert parse_json(b"[1.5]") == [1.5]


@pytest.mark.parametrize("text", ["", "{", "[1,]", 50_000 * "[", 50_000 * '{"a":', "1" * 5_000, b"\xff"])
def test_what_is_none_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"\S"):
        parse_json(text)


@pytest.mark.parametrize("text", ["[NaN]", "[-Infinity]", '{"a": 1e999}'])
def test_numbers_that_are_not_finite_are_refused_where_that_is_asked(text):
    parse_json(text)
    with pytest.raises(ValueError, match="is no finite number"):
        parse_json(text, finite=True)
