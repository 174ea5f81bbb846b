"""Names in sentences, and their kinds."""

import pytest

from decoder.expressions.names import kinds_of_names, with_kinds

PHRASES = [
    ("texas", "'texas'@0"),
    ("texas", "state@1 'texas'@0"),
    ("new york", "state@1 'new_york'@0"),
    ("new york", "city@2 'new_york'@0 _@0"),
    ("new york city", "city@2 'new_york'@0 _@0"),
    ("york", "'york'@0"),
    ("", "'nothing'@0"),
]
NAMES = kinds_of_names(*([text.split() for text in side] for side in zip(*PHRASES, strict=True)))


def test_kinds_are_first_symbols_and_constants_where_there_is_nothing_else():
    assert NAMES == {
        "texas": "state@1",
        "new york": "city@2|state@1",
        "new york city": "city@2",
        "york": "constant",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cities in texas", "cities in <state@1>"),
        ("is new york city in new york", "is <city@2> in <city@2|state@1>"),
        ("new cities of york", "new cities of <constant>"),
        ("the city new", "the city new"),
        ("", ""),
    ],
)
def test_longest_names_from_the_left(text, expected):
    assert with_kinds(text.split(), NAMES) == expected.split()


def test_without_names_sentences_stay():
    assert with_kinds(["new", "york"], {}) == ["new", "york"]
