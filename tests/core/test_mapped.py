"""Values in files that processes map: what comes back, and where it comes from."""

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from scfg_sampler.core import mapped
from scfg_sampler.core.mapped import content_of, mapped_file, value_in
from scfg_sampler.errors import InputError


class Pair(NamedTuple):
    words: dict
    arrays: tuple


def value() -> Pair:
    table = np.arange(12.0).reshape(3, 4)
    arrays = np.arange(5, dtype=np.int32), table, table.T, table[:, ::2], np.zeros((0, 2)), np.array(7)
    return Pair({"house": 1, "Müller ": 2}, arrays)


def forget() -> None:
    """As in a process that has not had this value yet."""
    mapped._last.clear()


def test_a_value_comes_back_with_arrays_as_kernels_want_them():
    with mapped_file(value()) as place:
        found = value_in(place)
        assert found.words == value().words
        for array, like in zip(found.arrays, value().arrays, strict=True):
            np.testing.assert_array_equal(array, like)
            assert (array.dtype, array.shape) == (like.dtype, like.shape)
            assert array.flags.writeable
            assert array.flags.aligned
        assert found.arrays[1].flags.c_contiguous
        assert not found.arrays[1].flags.owndata  # Mapped, not copied.
        assert value_in(place) is found


def test_what_is_written_to_it_stays_in_the_process():
    with mapped_file(value()) as place:
        value_in(place).arrays[0][:] = 9
        forget()
        assert value_in(place).arrays[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("lost", [lambda path: path.unlink(), lambda path: path.write_bytes(b"else")])
def test_a_file_that_is_not_there_is_made_up_for_by_its_content(lost):
    with mapped_file(value()) as place:
        content = content_of(place)
        lost(Path(place.path))
        forget()
        assert value_in(place) is None
        found = value_in(place, content)
        assert found.words == value().words
        np.testing.assert_array_equal(found.arrays[1], value().arrays[1])
        assert value_in(place) is found
    forget()


def test_a_file_of_another_value_in_its_place_is_not_read():
    with mapped_file(value()) as place, mapped_file(value()) as other:
        os.replace(other.path, place.path)
        forget()
        assert value_in(place) is None


def test_a_part_of_a_file_is_not_read():
    with mapped_file(value()) as place:
        os.truncate(place.path, os.path.getsize(place.path) - 1)
        forget()
        assert value_in(place) is None


def test_the_file_goes_with_the_block():
    with mapped_file(value()) as place:
        assert os.path.exists(place.path)
    assert not os.path.exists(place.path)


def test_without_a_place_there_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="TMPDIR"), mapped_file(value()):
        pass
