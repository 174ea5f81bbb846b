"""What kernels are told of the widths of arrays is what those who make them do."""

from __future__ import annotations

import pytest

from scfg_sampler.core.fragments.restaurant import grown, new_restaurants
from scfg_sampler.core.fragments.shards import restored
from scfg_sampler.core.fragments.tree import new_workspace
from scfg_sampler.core.jit import columns
from scfg_sampler.forest.implicit import new_sentence_forest


def tracked():
    return new_restaurants(3, discount=0.5, strength=1.0, exact=True)


@pytest.mark.parametrize(
    "made",
    [
        new_workspace(4, 5, 6, 7),
        new_restaurants(3, discount=0.5, strength=1.0, exact=False),
        tracked(),
        grown(tracked(), 10_000),
        restored(tracked()),
        new_sentence_forest(4, 5, 0),
        new_sentence_forest(4, 5, 0, 3, 10),
    ],
    ids=lambda made: type(made).__name__,
)
def test_arrays_have_the_columns_that_kernels_know_of(made):
    known = {name: columns(type(made), name) for name in made._fields}
    told = {name: width for name, width in known.items() if width is not None}
    assert told
    for name, width in told.items():
        array = getattr(made, name)
        assert array.shape[1:] == (width,), name
        assert array.flags.c_contiguous, name
