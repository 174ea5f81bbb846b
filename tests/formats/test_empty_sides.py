"""Rules that only insert or delete words are refused in every format."""

from __future__ import annotations

import pytest

from scfg_sampler.errors import RuleTableError
from scfg_sampler.formats.conversion import read_table

EMPTY_SIDES = [
    ("native", "[X] ||| {} ||| {} ||| F=1"),
    ("cdec", "[X] ||| {} ||| {} ||| F=1"),
    ("moses", "{} [X] ||| {} [X] ||| 1 1 1 1 ||| ||| 1 1 1"),
    ("joshua", "[X] ||| {} ||| {} ||| 1 2"),
    ("travatar", "{} @ X ||| {} @ X ||| p=1"),
]


@pytest.mark.parametrize(("file_format", "line"), EMPTY_SIDES)
@pytest.mark.parametrize(("source", "target", "side"), [("", "b", "source"), ("b", "", "target")])
def test_rules_that_insert_or_delete_are_refused(tmp_path, file_format, line, source, target, side):
    words = [f'"{word}"' if word and file_format == "travatar" else word for word in (source, target)]
    (tmp_path / "t").write_text(f"\n{line.format(*words)}\n")
    what_to_do = "A rule has symbols on both sides; take those out that only insert or delete words"
    with pytest.raises(RuleTableError, match=f"t:2: the {side} side is empty. {what_to_do}"):
        read_table(tmp_path / "t", file_format)
