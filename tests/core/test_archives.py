"""Arrays are written as numpy writes them."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from scfg_sampler.core import archives


@pytest.mark.parametrize("piece", [1, 5, 1 << 20])
def test_arrays_are_written_as_numpy_writes_them(monkeypatch, rng, piece):
    monkeypatch.setattr(archives, "_PIECE", piece)
    arrays = {
        "numbers": rng.integers(0, 9, (3, 4)),
        "columns": np.asfortranarray(rng.random((3, 2)).astype(np.float32)),
        "parts": np.arange(9, dtype=np.uint16)[::2],
        "none": np.zeros((0, 2), bool),
        "text": np.array("a ß"),
        "number": np.asarray(1.5),
        "file": np.array(["a", ""]),
    }
    streams = io.BytesIO(), io.BytesIO()
    archives.write_arrays(streams[0], arrays)
    with zipfile.ZipFile(streams[1], "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"))
    found, expected = (zipfile.ZipFile(stream) for stream in streams)
    assert found.namelist() == expected.namelist()
    for name in expected.namelist():
        assert found.read(name) == expected.read(name)
    streams[0].seek(0)
    with np.load(streams[0], allow_pickle=False) as loaded:
        for name, array in arrays.items():
            assert loaded[name].dtype == array.dtype
            assert np.array_equal(loaded[name], array)
