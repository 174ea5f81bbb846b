"""Rules are written into blocks of any size: what does not fit is left for the next one."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.rules import table as table_module
from scfg_sampler.rules.columns import MOST_COLUMNS
from scfg_sampler.rules.table import read_rule_table, write_rule_table

LONG = "L" * 300
TABLES = {
    "links": [
        f"[X] ||| {' '.join('a' * 20)} ||| {' '.join('b' * 20)} ||| F=0.5 ||| "
        + " ".join(f"{k // 20}-{k % 20}" for k in range(400))
    ],
    "words": ["[X] ||| a [X,1] ||| [X,1] c ||| F=1", f"[X] ||| {LONG} [X,1] ||| [X,1] {2 * LONG} ||| F=2"],
    "columns": [f"[X] ||| a ||| c ||| F=1 {LONG}=-1.234567e-30"],
    "labels": [
        "[X] ||| a ||| c ||| F=1",
        f"[{LONG}] ||| a [B{LONG},1] b [C{LONG},2] ||| [C{LONG},2] c [B{LONG},1] ||| F=1",
    ],
    "sparse features": [
        f"[X] ||| a{k} ||| c ||| F=1 " + " ".join(f"{'AB'[n]}{k:03}{n * LONG}=0.25" for n in (k % 2,))
        for k in range(2 * MOST_COLUMNS)
    ],
}


@pytest.mark.parametrize("name", TABLES)
def test_no_block_is_written_beyond_its_end(tmp_path, monkeypatch, name):
    """Blocks of all sizes near that of the first rules, with something behind them that has to stay."""
    (tmp_path / "t").write_text("# made\n" + "".join(line + "\n" for line in TABLES[name]))
    found = read_rule_table(tmp_path / "t", labels=True)
    assert (found.sparse is not None) == (name == "sparse features")
    written = set()

    def watched(rows, arrays, sparse, texts, labels, buffer):
        done, used = real(rows, arrays, sparse, texts, labels, buffer)
        whole = buffer[:used].tobytes()
        ends = np.cumsum([0, *map(len, whole.splitlines(keepends=True))]).tolist()
        assert done == len(rows) == len(ends) - 1
        sizes = {max(end + more, 0) for end in ends[:3] for more in range(-1500, 1500, 10)}
        for size in (*sorted(sizes), 1 << 17):
            room = np.full(size + len(whole) + 900, 255, np.uint8)
            done, used = real(rows, arrays, sparse, texts, labels, room[:size])
            assert used == ends[done] <= size
            assert room[:used].tobytes() == whole[:used]
            assert (room[size:] == 255).all()
            written.add(done)
        return real(rows, arrays, sparse, texts, labels, buffer)

    real = table_module.format_rules
    monkeypatch.setattr(table_module, "format_rules", watched)
    write_rule_table(found, tmp_path / "again")
    assert 0 == min(written) < max(written)
