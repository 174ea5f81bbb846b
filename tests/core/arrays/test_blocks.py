"""Files read in blocks of whole lines."""

from __future__ import annotations

import gzip

import pytest

from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.errors import InputError

LINES = [
    b"\n",
    b"one\n",
    b"a line of twenty one\n",
    b"\n",
    b"two\n",
    b"a line that is longer than a block\n",
] * 3


@pytest.mark.parametrize("end", [b"", b"no line end"])
@pytest.mark.parametrize("size", [1, 7, 22, 1000])
def test_blocks_are_whole_lines_and_together_the_file(tmp_path, size, end):
    content = b"".join(LINES) + end
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content))
    for name in ("plain", "packed.gz"):
        blocks = list(read_blocks(tmp_path / name, size))
        assert b"".join(blocks) == content
        assert all(block.endswith(b"\n") for block in blocks[:-1])
        assert size >= 1000 or len(blocks) > 5


def test_damage_is_named_with_the_line_it_begins_at(tmp_path, rng):
    """Or earlier by no more than what Python unpacks ahead."""
    content = b"".join(b"%016x\n" % number for number in rng.integers(2**62, size=40_000).tolist())
    (tmp_path / "t.gz").write_bytes(gzip.compress(content) + b"neither gzip nor the end")
    for size in (10, 1000):
        with pytest.raises(InputError, match="the gzip data is damaged or ends too early") as found:
            list(read_blocks(tmp_path / "t.gz", size))
        assert 20_000 < found.value.line <= 40_001
