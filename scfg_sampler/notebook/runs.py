"""Runs: sampling a corpus into a directory, and what is to be seen there afterwards."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from scfg_sampler.core.arguments import (
    ArgumentError,
    of_arguments,
    require_path,
    require_switch,
    require_type,
    require_whole,
    settings_of,
)
from scfg_sampler.core.chains.diagnostics import Diagnosis
from scfg_sampler.core.chains.inference_data import inference_data
from scfg_sampler.core.chains.occupied import refuse_files, refuse_occupied, restored_if_refused
from scfg_sampler.core.chains.run_directory import require_same_files, require_unchanged
from scfg_sampler.core.console import progress, warn
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD
from scfg_sampler.core.needed import require_not_lost
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.errors import InputError, ScfgError
from scfg_sampler.forest.explicit import ForestBuilder
from scfg_sampler.learner.chains import chain_directories, start_chains
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.diagnosis import diagnose_runs, read_traces
from scfg_sampler.learner.grammar import tables_added, write_grammar
from scfg_sampler.learner.pair_posteriors import LastState, last_derivation, read_last_state, tree_shares
from scfg_sampler.learner.run import RESULTS, read_run
from scfg_sampler.learner.settings import (
    GrammarSettings,
    LearnerSettings,
    RunSettings,
    default_burn_in,
    default_shards,
    default_strength,
)
from scfg_sampler.notebook.pairs import IDLE_LABELS, Corpus, Forest, Tree, read_corpus
from scfg_sampler.notebook.rules import Rules
from scfg_sampler.notebook.settings import GrammarOptions, SampleSettings
from scfg_sampler.notebook.shown import check_names
from scfg_sampler.rules.table import read_rule_table

__all__ = ["Run", "open_run", "sample"]

_QUANTITIES = ("log_joint", "rules", "types", "tables", "discount", "strength", "mean_length")


class Run:
    """A chain that has sampled, in its directory.

    Parameters
    ----------
    directory : path

    >>> import scfg_sampler, tempfile
    >>> corpus = scfg_sampler.make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")] * 9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = scfg_sampler.sample(corpus, folder + "/run", iterations=20)
    ...     len(run.trace["log_joint"]), run.diagnosis()["log_joint"].chains
    (20, 1)
    """

    def __init__(self, directory: PathLike):
        require_path("directory", directory)
        self.directory = Path(directory)
        self.record: dict = read_run(directory)

    @property
    def trace(self) -> dict[str, np.ndarray]:
        """What each sweep did, a column an array: log_joint, rules, edges_changed, …; of the first chain."""
        return self.traces[0]

    @property
    def traces(self) -> list[dict[str, np.ndarray]]:
        """The trace of every chain."""
        return read_traces([self.directory])

    def diagnosis(self, burn_in: int | None = None) -> dict[str, Diagnosis]:
        """Split R̂ and effective sample size of what the chains traced; a single one is compared with itself.

        Parameters
        ----------
        burn_in : int, optional
            Sweeps left out; by default those of the run.

        Raises
        ------
        ChainTooShort
            Too few sweeps are left to judge.
        ArgumentError
            `burn_in` is negative.
        """
        with of_arguments():
            return diagnose_runs(
                [self.directory], None if burn_in is None else require_whole("burn_in", burn_in)
            )

    def to_arviz(self) -> Any:
        """The traces as ArviZ takes them: a DataTree with the groups `posterior` and `sample_stats`.

        Variables have the dimensions chain and draw, a draw for each sweep after burn-in; chains are cut to
        the shortest. `posterior` holds what the posterior is about (log_joint, rules, types, tables, and the
        hyperparameters where they are learned), `sample_stats` what moves did and how long they took.

        Raises
        ------
        ScfgError
            arviz-base is not installed.
        """
        traces, burn_in = self.traces, self.record["run"]["burn_in"]
        sweeps = min(len(trace["sweep"]) for trace in traces)
        groups: dict[str, dict[str, np.ndarray]] = {"posterior": {}, "sample_stats": {}}
        for name in traces[0]:
            if name != "sweep" and all(name in trace for trace in traces):
                group = "posterior" if name in _QUANTITIES else "sample_stats"
                groups[group][name] = np.array([trace[name][burn_in:sweeps] for trace in traces])
        about = {"settings": json.dumps(self.record["settings"]), "seed": self.record["run"]["seed"]}
        return inference_data(groups, about)

    @property
    def corpus(self) -> Corpus:
        """The corpus, read again where it was.

        Raises
        ------
        CheckpointMismatch
            A file is not what it was when the run began.
        InputError
            The directory holds another run by now.
        """
        require_unchanged(self.directory, self.record)
        return self._corpus

    @functools.cached_property
    def _corpus(self) -> Corpus:
        names = self.record["corpus"]["files"]
        require_same_files(self.directory, names, self.record["corpus"]["sha256"])
        files = CorpusFiles.from_names(names)
        return read_corpus(files.source, files.target, *files.alignments, labels=files.labels)

    def derivation(self, number: int) -> Tree | None:
        """The derivation of a sentence pair in the last state of the first chain; None if it was skipped.

        Raises
        ------
        ArgumentError
            The run has no pair of that number.
        InputError
            The file of derivations has none for it, or the directory holds another run, or state, by now.
        """
        require_unchanged(self.directory, self.record)
        number, path = self._pair_number(number), self._chain / "derivations.jsonl.gz"
        text = next(itertools.islice(read_lines(path), number, None), None)
        if text is None:
            hint = "Restore the file, or sample again"
            raise InputError(path, None, f"is damaged: it ends before pair {number}", hint)
        try:
            found = json.loads(text)["derivation"]
            derived = None if found is None else _derivation(found)
        except RecursionError:  # Deeper than Python reads JSON; the state holds it, too.
            derived = last_derivation(self._last, number)
        except WRONG_RECORD:
            hint = "Restore the file, or sample again"
            raise InputError(path, number + 1, "is damaged: it is no derivation", hint) from None
        return None if derived is None else Tree(self.corpus[number], derived)

    def forest(self, number: int) -> Forest | None:
        """The forest of a pair, shaded by how often the first chain had each phrase; None if it was skipped.

        Raises
        ------
        InputError
            The run has not counted phrases: sample with `marginals=True`; or the directory holds another one.
        ArgumentError
            The run has no pair of that number.
        """
        require_unchanged(self.directory, self.record)
        number, last = self._pair_number(number), self._last
        if number in last.bank.skipped:
            return None
        forest = ForestBuilder(last.bank.corpus, last.bank.choice, last.bank.max_length).build(number)
        assert forest is not None
        with of_arguments():
            shares = tree_shares(self.directory, last, number, forest)
        return Forest(self.corpus[number], forest, shares)

    def grammar(self, output: PathLike | None = None, **options: Unpack[GrammarOptions]) -> Rules:
        """The rules of the run with their features, written to a file too if one is named.

        Parameters
        ----------
        output : path, optional
        options
            Those of `scfg_sampler.learner.settings.GrammarSettings`: origin, rule_filter, max_scope,
            max_targets, prune, keep, more.

        Raises
        ------
        ArgumentError
            There is no such setting, it is out of range or none for rules with labels, or `output` is a file
            that the run needs.
        InputError
            The directory holds another run, or state, by now.
        """
        require_unchanged(self.directory, self.record)
        if output is not None:
            with of_arguments():
                settings = settings_of(GrammarSettings, options)
                require_not_lost(output, "the run", self.directory)
                for table in tables_added(settings):
                    require_not_lost(output, "more", table)
                write_grammar(self.directory, output, settings)
            return Rules(read_rule_table(output, labels=True))
        with tempfile.TemporaryDirectory() as folder:
            return self.grammar(Path(folder) / "grammar", **options)

    def _pair_number(self, number: object) -> int:
        """A number as an int; a TypeError or an ArgumentError if the run has no sentence pair of it."""
        found, pairs = require_whole("number", number), self.record["corpus"]["sentences"]
        if not 0 <= found < pairs:
            raise ArgumentError(f"number is {found}; the run has sentence pairs 0 to {pairs - 1}")
        return found

    def __repr__(self) -> str:
        joint = self.trace["log_joint"]
        value = f", log joint {joint[-1]:.0f}" if len(joint) else ""
        return f"Run of {counted(self.record['sweeps'], 'sweep')} in {self.directory}{value}"

    @functools.cached_property
    def _last(self) -> LastState:
        return read_last_state(self._chain)

    @property
    def _chain(self) -> Path:
        return chain_directories(self.directory)[0]


def open_run(directory: PathLike) -> Run:
    """The run of a directory that `sample`, here or on the command line, has written.

    Raises
    ------
    InputError
        It is no run directory.

    >>> import scfg_sampler, tempfile
    >>> corpus = scfg_sampler.make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = scfg_sampler.sample(corpus, folder + "/run", iterations=2)
    ...     len(scfg_sampler.open_run(folder + "/run").trace["sweep"])
    2
    """
    return Run(directory)


def sample(
    corpus: Corpus,
    directory: PathLike,
    *,
    iterations: int = RunSettings().iterations,
    burn_in: int | None = None,
    seed: int = RunSettings().seed,
    chains: int = 1,
    overwrite: bool = False,
    **settings: Unpack[SampleSettings],
) -> Run:
    """Learn rules from a corpus, into a run directory.

    Parameters
    ----------
    corpus : Corpus
        One that was not read from files is written into the directory first.
    directory : path
    iterations : int
        Sweeps over the corpus.
    burn_in : int, optional
        Sweeps before counts are kept; a third by default.
    seed : int
    chains : int
        Independent chains.
    overwrite : bool
        Whether an older run in the directory may be replaced.
    settings
        Those of `scfg_sampler.learner.settings.LearnerSettings` (model, base, shards, …) and of
        `scfg_sampler.learner.settings.RunSettings` (marginals, threads, …). As many
        shards as threads by default, but where there are several chains.

    Raises
    ------
    InputError
        The directory holds a run already, or the corpus cannot be used.
    TypeError
        An argument is of another type.
    ArgumentError
        There is no such setting, or it is out of range. A directory that was made for the run is removed.

    >>> import scfg_sampler, tempfile
    >>> pairs = [("ne dort pas", "not sleep", "0-0 1-1 2-0"), ("ne mange pas", "not eat", "0-0 1-1 2-0")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = scfg_sampler.sample(scfg_sampler.make_corpus(pairs), folder + "/run", iterations=30, seed=2)
    ...     [rule.source for rule in run.grammar().find(target="not").best(1)]
    [('ne', -1, 'pas')]
    """
    require_type("corpus", corpus, Corpus, "a Corpus, as read_corpus and make_corpus return it")
    for name, value in (("iterations", iterations), ("seed", seed), ("chains", chains)):
        require_whole(name, value)
    if burn_in is not None:
        require_whole("burn_in", burn_in)
    require_path("directory", directory)
    require_switch("overwrite", overwrite)
    with of_arguments(), _removed_if_refused(Path(directory)):
        return _sample(corpus, directory, iterations, burn_in, seed, chains, overwrite, settings)


@contextlib.contextmanager
def _removed_if_refused(directory: Path) -> Iterator[None]:
    """A directory that was not there before is not there afterwards if nothing was begun in it."""
    existed = directory.exists()
    try:
        yield
    except (ScfgError, TypeError):
        if not existed and not any(directory.rglob("checkpoint.npz")):
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _sample(
    corpus: Corpus,
    directory: PathLike,
    iterations: int,
    burn_in: int | None,
    seed: int,
    chains: int,
    overwrite: bool,
    settings: SampleSettings,
) -> Run:
    """`sample`, of arguments of the right types."""
    check_names(settings, (*LearnerSettings._fields, *RunSettings._fields))
    of_learner, of_run = (
        {name: value for name, value in settings.items() if name in kind._fields}
        for kind in (LearnerSettings, RunSettings)
    )
    named = {"iterations": iterations, "seed": seed, "chains": chains}
    learner, run = settings_of(LearnerSettings, of_learner), settings_of(RunSettings, {**named, **of_run})
    if "strength" not in settings:
        learner = learner._replace(strength=default_strength(learner.model))
    if "tables" not in settings and learner.types > 1:
        learner = learner._replace(tables="exact")
    if "shards" not in settings:
        learner = learner._replace(shards=default_shards(run.threads, run.chains, learner.types))
    if "burn_in" not in of_run:
        default = default_burn_in(run.iterations, learner.anneal_sweeps)
        run = run._replace(burn_in=default if burn_in is None else int(burn_in))
    refuse_occupied(directory, overwrite, "scfg-sampler resume", *RESULTS)
    texts = [f"corpus/{name}" for name in ("source", "target", "alignment", "labels")]
    if corpus.files is None:
        refuse_files(directory, overwrite, *texts)
    with (
        contextlib.nullcontext() if corpus.files else restored_if_refused(directory, *texts),
        progress("sampling", run.iterations * run.chains) as advance,
    ):
        corpus.require_unchanged()
        files = corpus.files or corpus.write_all(Path(directory) / "corpus")
        if {"labels_form", "labels_side"} & settings.keys() and not files.labels:
            warn(IDLE_LABELS)
        start_chains(files, directory, learner, run, overwrite=overwrite, advance=advance)
    return Run(directory)


def _derivation(record: dict) -> Derivation:
    parts = [_derivation(part) for part in record["parts"]]
    return Derivation(tuple(record["source"]), tuple(record["target"]), record["rule"], parts)
