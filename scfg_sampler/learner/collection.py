"""What a run counts of the states of its chain: a sink.

`marginal` counts the rules of the states after every sweep from the burn-in on, `average` those of the states
*before* sweeps 0, 10, 20, … as the paper does, the initial state among them. `nodes` counts over the same
sweeps as `marginal` how often each node of a forest is in the tree, and how often it is cut.

Rules that are more than memory is to hold wait on disk, see `gathering`.

The fact a newcomer would get wrong: collecting is no part of a step. A chain moves in the same way whatever
is counted of it.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.learner.chain import LearnerState
from scfg_sampler.learner.division import Division
from scfg_sampler.learner.forest_bank import ForestBank, node_counts
from scfg_sampler.learner.gathering import Gatherer, Shelf
from scfg_sampler.learner.settings import RunSettings

__all__ = ["Collection"]


class Collection:
    """A sink that counts rules and nodes.

    Parameters
    ----------
    bank : ForestBank
    run : RunSettings
    shelf : Shelf
        Where rules wait that are more than memory is to hold.
    division : Division, optional
        Who counts, see `Gatherer`.

    Attributes
    ----------
    marginal, average : Gatherer
    nodes : int64 (M, 2)
        As in `forest_bank.collect`; without rows if the run does not ask for marginals.
    """

    def __init__(self, bank: ForestBank, run: RunSettings, shelf: Shelf, division: Division | None = None):
        self._run, self._shelf = run, shelf
        self.marginal = Gatherer(bank, shelf, "marginal", run.memory, division)
        self.average = Gatherer(bank, shelf, "average", run.memory, division)
        self.nodes = node_counts(bank) if run.marginals else np.zeros((0, 2), np.int64)
        self._saved: tuple[str, ...] = ()

    def __call__(self, sweep: Sweep) -> None:
        if sweep.index >= self._run.burn_in:
            self.marginal.add(sweep.state.trees, self.nodes)
        self.add_to_average(sweep.state)

    def add_to_average(self, state: LearnerState) -> None:
        """Add the state before sweep number `state.sweep` to the average, where the paper does.

        Parameters
        ----------
        state : LearnerState
        """
        every, until = self._run.average_every, self._run.average_until
        if every > 0 and state.sweep % every == 0 and state.sweep <= until:
            self.average.add(state.trees)

    def forget_others(self, *, saving: bool) -> None:
        """Remove what is on disk and has not been counted, but for what the last checkpoint names.

        Parameters
        ----------
        saving : bool
            Whether a checkpoint is about to be written; else one of what has been counted is there.
        """
        counted = (*self.marginal.gathered().runs, *self.average.gathered().runs)
        self._shelf.keep_only((*counted, *self._saved) if saving else counted)
        self._saved = counted
