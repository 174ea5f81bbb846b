"""The distance of translations, against a recursion over what may be done to them."""

from __future__ import annotations

import functools

from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.report.translations import distance, name_and_path

texts = st.lists(st.sampled_from("abc"), max_size=6)


@given(texts, texts)
def test_distance_is_the_least_number_of_edits(one, other):
    @functools.cache
    def least(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        replaced = least(i + 1, j + 1) + (one[i] != other[j])
        return min(replaced, least(i + 1, j) + 1, least(i, j + 1) + 1)

    assert distance(one, other) == least(0, 0)


def test_files_are_called_by_their_names():
    assert name_and_path("a=b=c") == ("a", "b=c")
    assert name_and_path("dir=x/out.txt") == ("dir", "x/out.txt")
    assert name_and_path("runs/a=b/out.test.txt") == ("out", "runs/a=b/out.test.txt")
