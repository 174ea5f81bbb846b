"""Which search `translate` takes where nobody says: the fast one, unless more than the best is asked for."""

import pytest

from decoder.commands.translate import _search_settings
from decoder.translation.settings import SearchDefaults
from tests.test_help_examples import parser_of


def searched(*options, bundled=None) -> str:
    known = None if bundled is None else SearchDefaults(search=bundled)
    return _search_settings(parser_of("scfg-decoder", "translate").parse_args(options), known).search


def test_best_translation_alone_is_searched_for_guided():
    assert searched() == searched("--beam", "50") == searched(bundled="boundary") == "guided"


@pytest.mark.parametrize(
    "options",
    [
        ("--nbest", "5"),
        ("--mbr",),
        ("--derivations", "trees.jsonl"),
        ("--hypergraph", "graphs/"),
        ("--expressions", "expressions.json"),
    ],
)
def test_what_is_made_of_the_forest_has_all_of_it(options):
    assert searched(*options) == searched(*options, bundled="boundary") == "boundary"


def test_what_is_said_is_done():
    assert searched("--search", "boundary") == "boundary"
    assert searched("--search", "guided", "--nbest", "5") == "guided"
    assert searched("--search", "boundary", bundled="cube") == "boundary"
    assert searched(bundled="cube") == searched("--nbest", "5", bundled="cube") == "cube"
