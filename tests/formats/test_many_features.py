"""Tables with many names of features: quick to read up to a limit, and refused at once beyond it."""

import time

import pytest

from scfg_sampler.errors import RuleTableError
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.table import MOST_FEATURES, read_rule_table


def table(path, names: int, rules: int):
    """Rules of which each has a name that none before it has, until all names are there."""
    lines = (f"[X] ||| a{k} ||| b ||| LogCount=1 S{k % names}={k}\n" for k in range(rules))
    path.write_text("# made\n" + "".join(lines))
    return path


def test_sparse_names_up_to_the_limit_are_read(tmp_path):
    path = table(tmp_path / "table", MOST_FEATURES - 1, 3000)
    read_rule_table(path)  # Compiles.
    began = time.process_time()
    found = read_rule_table(path)
    assert time.process_time() - began < 3
    assert len(found.feature_names) == found.features.shape[1] == MOST_FEATURES
    for row in (0, 254, 255, 2999):
        column = found.feature_names.index(f"S{row % (MOST_FEATURES - 1)}")
        assert found.features[row, column] == row
        assert (found.features[row] != 0).sum() == 1 + (row > 0)


@pytest.mark.parametrize("file_format", ["native", "cdec"])
def test_more_are_refused_in_the_line_that_has_one_too_many(tmp_path, file_format):
    path = table(tmp_path / "table", 4000, 4000)
    with pytest.raises(RuleTableError, match=r"table:25[78]: .*256.*sparse features do not fit"):
        read_table(path, file_format)
