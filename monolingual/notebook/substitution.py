"""Tree substitution grammars: training, what was learnt, parsing."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from monolingual.notebook.calls import call, lines_file, of_lines
from monolingual.notebook.trees import ShownTree
from monolingual.tsg.fragments import format_fragment
from monolingual.tsg.learnt import read_grammar, read_record
from monolingual.tsg.report import write_report
from scfg_sampler.core.arguments import require_count, require_path, require_type
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.diagnostics import Diagnosis, diagnose_traces
from scfg_sampler.core.chains.inference_data import inference_data
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.needed import require_not_lost
from scfg_sampler.core.reports.document import require_runs
from scfg_sampler.core.wording import counted

__all__ = ["TsgOptions", "TsgRun", "open_tsg", "train_tsg"]


class TsgOptions(TypedDict, total=False):
    """Options of `tsg train`, but for those that `train_tsg` names itself."""

    method: str
    nbest_lists: PathLike
    forests: PathLike
    brackets: PathLike
    sentences: PathLike
    pack: str
    labels: Sequence[str]
    tag_set: Sequence[str]
    root: str
    max_length: int
    binarise: str
    horizontal: int
    vertical: int
    heads: PathLike
    unknown: str
    rare: int
    keep_annotation: bool
    base: str
    concentration: float | str
    stop: float | str
    discount: float
    anneal: str
    moves: Sequence[str]
    type_every: int
    visit_order: str
    start: str
    shards: int
    threads: int
    workers: int
    scheduler: str
    marginals: bool
    states: int
    thin: int
    checkpoint_every: int
    check: bool


class TsgRun:
    """A run of `train_tsg` or `scfg-monolingual tsg train`, in its directory.

    Parameters
    ----------
    directory : path

    >>> import monolingual, tempfile
    >>> trees = ["(S (NP dogs) (VP bark))", "(S (NP dogs) (VP sleep))"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = monolingual.train_tsg(trees, folder + "/run", iterations=20, unknown="none")
    ...     len(run.trace["log_joint"]), run.parse(["dogs sleep"])[0].brackets
    (20, '(S (NP dogs) (VP sleep))')
    """

    def __init__(self, directory: PathLike):
        require_path("directory", directory)
        self.directory = Path(directory)
        self.record: dict[str, Any] = read_record(directory)

    @property
    def trace(self) -> dict[str, np.ndarray]:
        """What each sweep did, a column an array: log_joint, types, cuts_changed, …."""
        return read_trace(self.directory / "trace.tsv")

    def trees(self, number: int | None = None, *, label: str | None = None) -> list[ShownTree]:
        """The elementary trees of the last state, those used most first; `value` is how often.

        Parameters
        ----------
        number : int, optional
            So many.
        label : str, optional
            Of their roots.

        Raises
        ------
        ArgumentError
            The number is less than 1.
        """
        if number is not None:
            require_count("number", number)
        found = [each for each in read_grammar(self.directory).fragments if label in (None, each[0].label)]
        ordered = sorted(found, key=lambda each: -each[1])[:number]
        return [ShownTree(format_fragment(tree), count) for tree, count in ordered]

    def parse(
        self, sentences: PathLike | Sequence[str], *, method: str = "mer", samples: int = 100, seed: int = 1
    ) -> list[ShownTree]:
        """The best tree of each sentence; `value` is not a number.

        Parameters
        ----------
        sentences : path, or sequence of str
            Words between spaces. A bracket in one is -LRB- or -RRB- in the trees.
        method : str
            mpd, mpp or mer, as in `scfg-monolingual tsg parse`.
        samples, seed : int
            Of the derivations that mpp and mer draw.
        """
        with tempfile.TemporaryDirectory() as folder:
            place, out = Path(folder) / "sentences", Path(folder) / "trees"
            text = lines_file(sentences, place)
            told = {"method": method, "samples": samples, "seed": seed, "input": text, "output": out}
            with of_lines(("the sentences", sentences, place)):
                call("tsg", "parse", [self.directory], told)
            return [ShownTree(line, float("nan")) for line in read_lines(out)]

    def diagnosis(self, *others: TsgRun) -> dict[str, Diagnosis]:
        """Split R̂ and effective sample size of what was traced, of this and other chains after burn-in."""
        _require_runs(others)
        runs = (self, *others)
        require_runs([run.directory for run in runs])
        burn_in = max(run.record["run"].burn_in for run in runs)
        return diagnose_traces([run.trace for run in runs], burn_in=burn_in)

    def to_arviz(self, *others: TsgRun) -> Any:
        """The traces of this run, and of others as further chains, as ArviZ takes them.

        Raises
        ------
        ScfgError
            arviz-base is not installed.
        """
        _require_runs(others)
        runs = (self, *others)
        require_runs([run.directory for run in runs])
        burn_in = max(run.record["run"].burn_in for run in runs)
        traces = [run.trace for run in runs]
        sweeps = min(len(trace["sweep"]) for trace in traces)
        groups: dict[str, dict[str, np.ndarray]] = {"posterior": {}, "sample_stats": {}}
        for name in [name for name in traces[0] if name != "sweep"]:
            group = "posterior" if name in _QUANTITIES else "sample_stats"
            groups[group][name] = np.array([trace[name][burn_in:sweeps] for trace in traces])
        return inference_data(groups, {"directories": [str(run.directory) for run in runs]})

    def report(self, output: PathLike, *others: TsgRun) -> None:
        """Write the page of `scfg-monolingual tsg report` about this run, and others as further chains."""
        _require_runs(others)
        for run in (self, *others):
            require_not_lost(output, "the run", run.directory)
        write_report([self.directory, *(run.directory for run in others)], output)

    def __repr__(self) -> str:
        return f"TsgRun of {counted(self.record['sweeps'], 'sweep')} in {self.directory}"


def _require_runs(others: tuple[TsgRun, ...]) -> None:
    for other in others:
        require_type("another run", other, TsgRun, "a TsgRun, as open_tsg returns it")


_QUANTITIES = ("log_joint", "fragments", "types", "strength", "stop")


def train_tsg(
    trees: PathLike | Sequence[str] | None,
    directory: PathLike,
    *,
    iterations: int = 1000,
    burn_in: int | None = None,
    seed: int = 1,
    overwrite: bool = False,
    **settings: Unpack[TsgOptions],
) -> TsgRun:
    """Learn a tree substitution grammar from bracketed trees, into a run directory.

    Parameters
    ----------
    trees : path, or sequence of str, optional
        A treebank, or trees in brackets. None where `nbest_lists`, `forests`, `brackets` or `sentences` are
        given.
    directory : path
    iterations, burn_in : int
        Sweeps, and how many of them count for nothing; half of them by default.
    seed : int
    overwrite : bool
        Whether an older run in the directory may be replaced.
    settings
        Options of `scfg-monolingual tsg train`: base, concentration, moves, marginals, ….

    Raises
    ------
    TreeError
        The trees cannot be read.
    InputError
        The directory holds a run already.
    ArgumentError
        There is no such setting, or it is out of range.

    >>> import monolingual, tempfile
    >>> trees = ["(S (NP dogs) (VP bark))", "(S (NP dogs) (VP sleep))"] * 5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = monolingual.train_tsg(trees, folder + "/run", iterations=30, unknown="none")
    ...     sum(tree.value for tree in run.trees(label="S"))
    10.0
    """
    require_path("directory", directory)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "trees.mrg"
        path = [] if trees is None else [lines_file(trees, place)]
        named = {"iterations": iterations, "burn_in": burn_in, "seed": seed, "overwrite": overwrite}
        with of_lines(("the trees", trees, place)):
            call("tsg", "train", path, {**named, **settings}, directory)
    return TsgRun(directory)


def open_tsg(directory: PathLike) -> TsgRun:
    """The run of a directory that `train_tsg`, or `scfg-monolingual tsg train`, has written.

    Raises
    ------
    InputError
        It is no such directory.

    >>> import monolingual
    >>> monolingual.open_tsg("nowhere")
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.InputError: nowhere: is not a run directory (No such file or directory: run.json). \
Name a directory that 'tsg train' has written
    """
    return TsgRun(directory)
