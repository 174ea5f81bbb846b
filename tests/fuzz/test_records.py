"""Every value in every record of JSON, in turn missing or another: read, or refused in a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuzz.readers import READERS
from tests.fuzz.trial import fault

RECORDS = (
    *("system", "parser", "preparation", "expressions", "ranker", "ot-summary", "pcfg-summary"),
    *("run-record", "reported-record", "scored-record"),
    *("tsg-record", "tsg-reported-record", "ot-record", "ot-reported-record"),
    *("pcfg-record", "pcfg-reported-record", "pcfg-reported-summary"),
)
OTHERS = (None, True, -1, 10**400, float("inf"), "x", [], {}, [1], {"x": "y"})


@pytest.mark.parametrize("name", RECORDS)
def test_records_with_a_value_that_is_another_are_read_or_refused(name):
    assert not faults_of(name, every=2 * len(OTHERS) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_records_with_any_value_that_is_another_are_read_or_refused(name):
    assert not faults_of(name, every=1)


def faults_of(name: str, every: int) -> dict[str, str]:
    """What is wrong with a reader, by what was changed: values left out, and every so many of others."""
    (content, *_) = READERS[name].seeds
    READERS[name].warm()
    found = {}
    for change, record in changes(json.loads(content), every):
        wrong = fault(READERS[name], json.dumps(record).encode())
        if wrong is not None:
            found[change] = wrong
    return found


def changes(record: Any, every: int) -> Iterator[tuple[str, Any]]:
    """What was changed, and the whole record with it."""
    number = 0
    for path in paths(record):
        yield f"{path} left out", without(record, path)
        for other in OTHERS:
            number += 1
            if number % every == 0:
                yield f"{path} = {other!r:.20}", changed(record, path, other)


def paths(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    """Where values lie; of those in a list only the first."""
    inside = value.items() if isinstance(value, dict) else list(enumerate(value))[:1]
    for key, each in inside:
        yield (*before, key)
        if isinstance(each, (dict, list)):
            yield from paths(each, *before, key)


def changed(record: Any, path: tuple[Any, ...], other: Any) -> Any:
    """A copy with another value at a place."""
    copy = json.loads(json.dumps(record))
    at(copy, path[:-1])[path[-1]] = other
    return copy


def without(record: Any, path: tuple[Any, ...]) -> Any:
    """A copy without the value at a place."""
    copy = json.loads(json.dumps(record))
    del at(copy, path[:-1])[path[-1]]
    return copy


def at(record: Any, path: tuple[Any, ...]) -> Any:
    """The value at a place."""
    for key in path:
        record = record[key]
    return record
