"""A corpus divided into shards, and who works on them: what sweeping and counting share.

The fact a newcomer would get wrong: what is computed depends on the shards, never on who works on them. Even
a single shard may be in the hands of others: those of processes that each sweep one of several chains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scfg_sampler.core.executors import Executor, InProcess
from scfg_sampler.core.fragments.shards import shard_ranges
from scfg_sampler.learner.forest_bank import ForestBank
from scfg_sampler.learner.settings import LearnerSettings
from scfg_sampler.learner.shards import shard_of
from scfg_sampler.learner.words import word_weights

__all__ = ["Division", "divided"]


class Division(NamedTuple):
    """The P shards of a corpus."""

    executor: Executor
    """Does what there is to do with them."""
    ranges: list[tuple[int, int]]
    """The first sentence of each, and the one after its last."""
    shards: list[Any]
    """What stands for each `Shard` in the arguments of tasks; none where this thread alone does."""


def divided(bank: ForestBank, settings: LearnerSettings, executor: Executor | None = None) -> Division:
    """A corpus in as many shards as the settings say.

    Parameters
    ----------
    bank : ForestBank
    settings : LearnerSettings
    executor : Executor, optional
        By default this thread.
    """
    executor = executor or InProcess()
    ranges = shard_ranges(bank.tree_start, settings.shards)
    if settings.shards == 1 and not executor.is_elsewhere:
        return Division(executor, ranges, [])
    arrays = bank.walk.corpus
    if weights := word_weights(bank.corpus, settings):
        arrays = arrays._replace(source_weights=weights[0], target_weights=weights[1])
    shards = [executor.share(shard_of(bank, arrays, settings.max_cut_span, each)) for each in ranges]
    return Division(executor, ranges, shards)
