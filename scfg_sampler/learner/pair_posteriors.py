"""What the last state of a run says of single pairs: their derivations, and how certain these are.

Given the derivations of all other pairs, those of a few are resampled again and again,

    z_s ~ P(z_s | z_{−s}, corpus)   for each pair s of the few in turn,

and each node of a derivation is counted: the share of these sweeps in which a rule begins at it, and in
which it is the same rule. All levels are sampled, at temperature 1, whatever level and temperature the run
has come to. The fact a newcomer would get wrong: this is what the *rest of the corpus as the chain left it*
says of a pair. `marginals.json` averages over the states of the others too, and takes a chain that counts
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.chains.checkpoint import load_checkpoint
from scfg_sampler.core.chains.run_directory import (
    CHECKPOINT,
    RECORD,
    blaming_changes,
    require_same_files,
    stored_settings,
)
from scfg_sampler.core.files import PathLike
from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.forest.explicit import PhraseForest
from scfg_sampler.learner.chain import LearnerState, pair_kernel
from scfg_sampler.learner.collecting import Collector
from scfg_sampler.learner.derivations import Derivation, Words, derivation, words_of
from scfg_sampler.learner.forest_bank import ForestBank, collector_for
from scfg_sampler.learner.labels import bank_of
from scfg_sampler.learner.run import read_run
from scfg_sampler.learner.settings import LearnerSettings
from scfg_sampler.learner.stored import RunState

__all__ = [
    "LastState",
    "PairPosterior",
    "Place",
    "last_derivation",
    "node_shares",
    "pair_posteriors",
    "read_last_state",
    "tree_shares",
]

Place = tuple[tuple[int, int], tuple[int, int]]
"""A source and a target span."""


class LastState(NamedTuple):
    """Where a chain stands, with the corpus it was made for."""

    bank: ForestBank
    settings: LearnerSettings
    learner: LearnerState
    scratch: Collector
    """Memory to spell derivations in."""
    words: Words
    node_counts: np.ndarray = np.zeros((0, 2), np.int64)
    """As in `forest_bank.collect`; without rows if the run has not counted nodes (`--marginals`)."""
    alignments: int = 1
    """Under how many each pair of the text is a sentence of its own; 1 where a pair chooses among them."""

    def place_in_text(self, sentence: int) -> tuple[int, int] | None:
        """Which pair of the text a sentence is, from 0, and under which alignment, from 1; None if of one."""
        if self.alignments == 1:
            return None
        alignment, pair = divmod(sentence, self.bank.num_sentences // self.alignments)
        return pair, alignment + 1


class PairPosterior(NamedTuple):
    """How often, in `sweeps` states of a pair, a rule began at a place, and which one."""

    rules: dict[Place, Counter[str]]
    sweeps: int

    def share(self, node: Derivation, same_rule: bool = False) -> float:
        """The share of the states in which a rule begins where a node lies; the node's own rule, if asked."""
        found = self.rules.get((node.source, node.target), Counter())
        return (found[node.rule] if same_rule else found.total()) / self.sweeps


def read_last_state(directory: PathLike) -> LastState:
    """The last state of a chain, for looking at it; `run.resume_run` goes on from it.

    Parameters
    ----------
    directory : path
        A run directory of a single chain.

    Raises
    ------
    InputError, CheckpointMismatch
        There is no checkpoint, it is damaged, or the corpus is gone or has changed.
    """
    record = read_run(directory)
    with blaming_changes(directory, record):
        return _read_last_state(directory, record)


def _read_last_state(directory: PathLike, record: dict) -> LastState:
    """`read_last_state` of a run with such a record."""
    named = record["corpus"]["files"]
    require_same_files(directory, named, record["corpus"]["sha256"])
    files = CorpusFiles.from_names(named)
    place = Path(directory) / RECORD, record["versions"]["scfg-sampler"]
    settings = stored_settings(LearnerSettings, record["settings"], *place)
    bank = bank_of(files, settings)
    path = Path(directory) / CHECKPOINT
    stored = load_checkpoint(path, RunState, corpus=record["corpus"]["sha256"])
    learner = stored.state.learner
    if learner.trees.shape != bank.tree_start[-1:]:
        raise InputError(path, None, "does not fit the corpus", "Restore the file, or start the run again")
    counts = stored.state.marginals
    alignments = 1 if bank.choice else len(files.alignments)
    if len(counts) not in (0, bank.node_start[-1]):
        raise InputError(path, None, "does not fit the corpus", "Restore the file, or start the run again")
    return LastState(bank, settings, learner, collector_for(bank), words_of(bank), counts, alignments)


def node_shares(last: LastState, sentence: int, forest: PhraseForest) -> list[tuple[float, float]] | None:
    """In which share of the sweeps that a run counted each phrase was in the tree, and a rule began there.

    Parameters
    ----------
    last : LastState
    sentence : int
        From 0.
    forest : PhraseForest
        Of this sentence.

    Returns
    -------
    list of (share, share), in the order of the forest's phrases; None if the run has not counted nodes.
    """
    bank = last.bank
    if sentence in bank.skipped:
        return None
    seen = last.node_counts[slice(*bank.node_start[sentence : sentence + 2].tolist())]
    if len(seen) == 0:
        return None
    found = seen[forest.sampler_ids]
    sweeps = int(found[-1, 0])  # The whole pair is in every tree.
    if sweeps == 0:
        return None
    return [(in_tree / sweeps, cut / sweeps) for in_tree, cut in found.tolist()]


def tree_shares(directory: PathLike, last: LastState, sentence: int, forest: PhraseForest) -> list[float]:
    """In which share of the sweeps that a run counted each phrase was in the tree.

    Parameters
    ----------
    directory : path
        The run, for the message.
    last : LastState
        Of it.
    sentence, forest
        As for `node_shares`.

    Raises
    ------
    InputError
        The run has not counted phrases, or not those of this pair.
    """
    found = node_shares(last, sentence, forest)
    if found is None:
        reason = last.bank.skipped.get(sentence)
        what = f"has skipped sentence {sentence} ({reason})" if reason else "has not counted phrases"
        hint = "Choose another" if reason else "Sample with --marginals, beyond the burn-in"
        raise InputError(directory, None, what, hint)
    return [in_tree for in_tree, _ in found]


def last_derivation(last: LastState, sentence: int) -> Derivation | None:
    """The derivation of a pair; None if it was skipped.

    Parameters
    ----------
    last : LastState
    sentence : int
        From 0.
    """
    return derivation(last.bank, last.learner.trees, sentence, last.scratch, last.words)


def pair_posteriors(
    rng: np.random.Generator, last: LastState, sentences: Sequence[int], sweeps: int
) -> dict[int, PairPosterior]:
    """How certain the derivations of some pairs are, given those of all others.

    Parameters
    ----------
    rng : numpy.random.Generator
    last : LastState
        Its derivations and restaurants are changed: read it again for anything else.
    sentences : sequence of int
        Pairs that are not skipped, from 0.
    sweeps : int
        States of each pair that are counted, at least 1.

    Raises
    ------
    SettingsError
        There are no sweeps.
    """
    if sweeps < 1:
        raise SettingsError(f"--states is {sweeps}; it must be at least 1")
    settings = last.settings._replace(shards=1, learned=(), schedule="full", anneal_end=1.0, anneal_sweeps=0)
    step = pair_kernel(last.bank, settings, sentences).step
    found: dict[int, dict[Place, Counter[str]]] = {sentence: {} for sentence in sentences}
    state = last.learner
    for _ in range(sweeps):
        state, _ = step(rng, state)
        for sentence, rules in found.items():
            stack = [derivation(last.bank, state.trees, sentence, last.scratch, last.words)]
            while stack:
                node = stack.pop()
                assert node is not None, f"pair {sentence} was skipped"
                rules.setdefault((node.source, node.target), Counter())[node.rule] += 1
                stack.extend(node.parts)
    return {sentence: PairPosterior(rules, sweeps) for sentence, rules in found.items()}
