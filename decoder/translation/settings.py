"""How every command searches if it is not told otherwise."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SearchDefaults"]


class SearchDefaults(NamedTuple):
    """The settings of a search; see `decoder.translation.decoder.Decoder`.

    beam : derivations a span may try; 0 for exact search
    max_targets : targets tried for a source side; 0 for all
    widen : let a span of n words try n / widen times as many derivations; 0 for all spans alike
    max_span : source words a rule may cover, gaps included
    """

    beam: int = 200
    max_targets: int = 20
    widen: float = 1.5
    max_span: int = 20
