"""What scripts give to objects of notebooks, and what these refuse."""

from __future__ import annotations

import pytest

import decoder
from scfg_sampler.errors import InputError


@pytest.mark.parametrize(
    ("translations", "references", "said"),
    [
        (
            ["a b"],
            ["a b", "c"],
            "^references: has 2 lines for 1 translation. Give a line for each translation$",
        ),
        (["a b", "c"], ["a b"], "^references: has 1 line for 2 translations"),
        (["a b"], [["a b"], ["c", "d"]], "^set 2 of references: has 2 lines for 1 translation"),
    ],
)
def test_translations_have_as_many_lines_as_their_references(translations, references, said):
    with pytest.raises(InputError, match=said):
        decoder.evaluate(translations, references)
