"""The settings that notebooks pass by name, so that editors can complete them and type checkers check them.

They are the fields and parameters of what is called in the end, where their defaults and meanings stand; a
test compares both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from scfg_sampler.core.files import PathLike

__all__ = ["BaselineSettings", "GrammarOptions", "SampleSettings"]


class SampleSettings(TypedDict, total=False):
    """Fields of `LearnerSettings`, then of `RunSettings`, but for those that `sample` names itself."""

    model: str
    base: str
    tables: str
    discount: float
    strength: float
    mean_length: float
    learned: tuple[str, ...]
    source_vocabulary: int
    target_vocabulary: int
    operator: str
    schedule: str
    sweeps_per_level: int
    max_cut_span: int
    max_length: int
    order: str
    unaligned: str
    max_attached: int
    choose: str
    labels_form: str
    labels_side: str
    types: int
    types_start: str
    density_factor: bool
    divide_by_trees: bool
    type_moves: int
    anneal_start: float
    anneal_end: float
    anneal_sweeps: int
    shards: int

    average_every: int
    average_until: int
    marginals: bool
    checkpoint_every: int
    threads: int
    memory: int


class GrammarOptions(TypedDict, total=False):
    """Fields of `learner.settings.GrammarSettings`."""

    origin: str
    more: Sequence[PathLike]
    rule_filter: str
    max_scope: int
    max_targets: int | None
    prune: str | None
    keep: str | int | None


class BaselineSettings(TypedDict, total=False):
    """Fields of `baseline.settings.HieroSettings`."""

    max_initial: int
    max_symbols: int
    max_nonterminals: int
    counting: str
    no_singletons: bool
    max_initial_target: int
    loose: str
