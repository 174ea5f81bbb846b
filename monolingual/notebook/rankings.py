"""Optimality Theory: tableaux, the posterior of a grammar, other learners, predictions."""

from __future__ import annotations

import math
import numbers
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from monolingual.notebook.calls import call, lines_file, of_lines
from monolingual.ot.drawing import draw_ranking
from monolingual.ot.formats import read_tableaux as read_tableaux_file
from monolingual.ot.formats import write_tableaux
from monolingual.ot.grammar import aligned, predict, prediction_record, read_summary
from monolingual.ot.plots import cover_edges
from monolingual.ot.report import ReportInputs, write_report
from monolingual.ot.run import read_draws, read_run
from monolingual.ot.summaries import outranking
from monolingual.ot.tableaux import Tableaux
from scfg_sampler.core.arguments import ArgumentError, of_arguments, require_path, require_type
from scfg_sampler.core.chains.inference_data import inference_data
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.needed import require_not_lost
from scfg_sampler.core.pages.elements import table
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["OtGrammar", "OtOptions", "OtRun", "learn_ot", "open_ot", "read_tableaux", "sample_ot"]


class OtOptions(TypedDict, total=False):
    """Options of `ot sample`, but for those that `sample_ot` names itself."""

    pair_distribution: PathLike
    burn_in: int
    overwrite: bool
    tokens: int
    truncate: float
    noise: float
    prior: Sequence[str]
    learn_variances: bool
    variance_shape: float
    shifts: int
    collapsed: int
    pilot: int
    paper: bool
    checkpoint_every: int
    check: bool


def read_tableaux(tableaux: PathLike | Sequence[str], pairs: PathLike | None = None) -> Tableaux:
    """Tableaux from a file, or from lines between whose columns stand tabs.

    Parameters
    ----------
    tableaux : path, or sequence of str
        A header `input output frequency CONSTRAINT …`, then a line for each candidate; files of OTSoft and
        Praat too.
    pairs : path, optional
        A PairDistribution of Praat.

    Raises
    ------
    InputError
        Names the line that is no candidate.

    >>> import monolingual
    >>> tableaux = monolingual.read_tableaux(
    ...     ["input\\toutput\\tfrequency\\tMax\\t*Coda", "pat\\tpa\\t60\\t1\\t0", "pat\\tpat\\t40\\t0\\t1"]
    ... )
    >>> tableaux.constraints, tableaux.outputs
    (('Max', '*Coda'), ('pa', 'pat'))
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tableaux.tsv"
        with of_lines(("the tableaux", tableaux, place)):
            return read_tableaux_file(lines_file(tableaux, place), pairs)


class OtGrammar:
    """A grammar of Optimality Theory, or a relative of it, in its directory.

    Parameters
    ----------
    directory : path
        Of `ot sample`, `fit`, `gla` or `maxent`.

    >>> import monolingual, tempfile
    >>> lines = ["input\\toutput\\tfrequency\\tMax\\t*Coda"]
    >>> lines += ["pat\\tpa\\t60\\t1\\t0", "pat\\tpat\\t40\\t0\\t1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grammar = monolingual.learn_ot(monolingual.read_tableaux(lines), folder + "/g", "maxent")
    ...     [round(row["predicted"], 3) for row in grammar.predictions()]
    [0.6, 0.4]
    """

    def __init__(self, directory: PathLike):
        require_path("directory", directory)
        self.directory = Path(directory)
        self._grammar, self.summary = read_summary(directory)
        self.tableaux: Tableaux = read_tableaux_file(self.directory / "tableaux.tsv")

    @property
    def model(self) -> str:
        """stochastic-ot, maxent, noisy-hg, …."""
        return self._grammar.model

    @property
    def values(self) -> dict[str, float]:
        """The mean (of a posterior, its median) or weight of each constraint, the highest first."""
        order = np.argsort(-self._grammar.value, kind="stable")
        return {self._grammar.constraints[at]: float(self._grammar.value[at]) for at in order}

    def predictions(
        self, tableaux: Tableaux | PathLike | Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Observed and predicted shares of every candidate, a row each, as pandas takes them.

        Parameters
        ----------
        tableaux : Tableaux, path, or sequence of str, optional
            As `read_tableaux` takes them; by default those that were learnt from.
        """
        if tableaux is None:
            chosen = self.tableaux
        else:
            chosen = tableaux if isinstance(tableaux, Tableaux) else read_tableaux(tableaux)
        probs = predict(aligned(self._grammar, chosen, self.directory), chosen)
        record = prediction_record(chosen, probs)
        return [
            {"input": entry["input"], **{key: value for key, value in each.items() if key != "parses"}}
            for entry in record["inputs"]
            for each in entry["candidates"]
        ]

    def svg(self, min_probability: float = 0.95) -> str:
        """The Hasse diagram of who outranks whom at least that surely; of Stochastic OT only."""
        if self.model != "stochastic-ot":
            found = f"has the model {self.model}, which ranks nothing"
            raise InputError(self.directory, None, found, "Look at its values")
        require_type("min_probability", min_probability, numbers.Real, "a number")
        above = self._outranking()
        with of_arguments():
            edges = cover_edges(above, min_probability)
        order = np.argsort(-self._grammar.value, kind="stable")
        return draw_ranking(self._grammar.constraints, edges, above, order)

    def _outranking(self) -> np.ndarray:
        return outranking(self._grammar.value[None], self._grammar.deviation[None])

    def report(self, output: PathLike, *beside: OtGrammar) -> None:
        """Write the page of `scfg-monolingual ot report`, with the predictions of others beside."""
        for each in beside:
            require_type("another grammar", each, OtGrammar, "an OtGrammar, as open_ot returns it")
        for each in (self, *beside):
            require_not_lost(output, "the grammar", each.directory)
        write_report(ReportInputs(self.directory, [each.directory for each in beside]), output)

    def _repr_html_(self) -> str:
        rows = [(name, f"{value:.3f}") for name, value in self.values.items()]
        return str(table(["constraint", "value"], rows, caption=repr(self)))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} ({self.model}) of {counted(len(self._grammar.constraints), 'constraint')}"
        )


class OtRun(OtGrammar):
    """The posterior of a grammar, from `sample_ot` or `scfg-monolingual ot sample`.

    Parameters
    ----------
    directory : path

    >>> import monolingual, tempfile
    >>> lines = ["input\\toutput\\tfrequency\\tMax\\t*Coda"]
    >>> lines += ["pat\\tpa\\t60\\t1\\t0", "pat\\tpat\\t40\\t0\\t1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = monolingual.sample_ot(monolingual.read_tableaux(lines), folder + "/run", iterations=400)
    ...     sorted(run.intervals), len(run.draws.mean)
    (['*Coda', 'Max'], 4)
    """

    def __init__(self, directory: PathLike):
        super().__init__(directory)
        self.record: dict[str, Any] = read_run(directory)
        self.draws = read_draws(directory)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Where 95 % of the draws of each constraint's mean lie."""
        return {name: (low, high) for name, (low, high) in self.summary["interval"].items()}

    def _outranking(self) -> np.ndarray:
        return outranking(np.concatenate(self.draws.mean), np.concatenate(self.draws.deviation))

    def to_arviz(self) -> Any:
        """The draws as ArviZ takes them: `mean` and `deviation`, by constraint, and `log_joint`.

        Raises
        ------
        ScfgError
            arviz-base is not installed.
        """
        shortest = min(len(joint) for joint in self.draws.log_joint)
        mean = np.array([chain[:shortest] for chain in self.draws.mean])
        deviation = np.array([chain[:shortest] for chain in self.draws.deviation])
        joint = np.array([chain[:shortest] for chain in self.draws.log_joint])
        groups = {"posterior": {"mean": mean, "deviation": deviation}, "sample_stats": {"log_joint": joint}}
        names = self._grammar.constraints
        return inference_data(groups, {"directory": str(self.directory)}, {"mean": names, "deviation": names})


def sample_ot(
    tableaux: Tableaux | PathLike | Sequence[str],
    directory: PathLike,
    *,
    iterations: int = 2000,
    chains: int = 4,
    seed: int = 1,
    **settings: Unpack[OtOptions],
) -> OtRun:
    """Sample the posterior of a Stochastic OT grammar, into a run directory.

    Parameters
    ----------
    tableaux : Tableaux, path, or sequence of str
        As `read_tableaux` takes them.
    directory : path
    iterations : int
        Sweeps of each chain.
    chains, seed : int
    settings
        Options of `scfg-monolingual ot sample`: burn_in, noise, prior, tokens, overwrite, ….

    Raises
    ------
    InputError
        The directory holds a run already, or nothing can be learnt from the tableaux.
    ArgumentError
        There is no such setting, or it is out of range.

    >>> import monolingual, tempfile
    >>> lines = ["input\\toutput\\tfrequency\\tMax\\t*Coda"]
    >>> lines += ["pat\\tpa\\t60\\t1\\t0", "pat\\tpat\\t40\\t0\\t1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = monolingual.sample_ot(lines, folder + "/run", iterations=1000)
    ...     list(run.values)  # Codas are avoided more often than not.
    ['*Coda', 'Max']
    """
    named = {"iterations": iterations, "chains": chains, "seed": seed}
    _learn("sample", tableaux, {**named, **settings}, directory)
    return OtRun(directory)


def learn_ot(
    tableaux: Tableaux | PathLike | Sequence[str], directory: PathLike, how: str = "fit", **settings: Any
) -> OtGrammar:
    """A single grammar from tableaux, into a directory.

    Parameters
    ----------
    tableaux : Tableaux, path, or sequence of str
    directory : path
    how : str
        fit (maximum likelihood of Stochastic OT), gla or maxent.
    settings
        Options of that command of `scfg-monolingual ot`.

    Raises
    ------
    InputError
        The directory holds a grammar already.
    ArgumentError
        There is no such learner or setting.

    >>> import monolingual, tempfile
    >>> lines = ["input\\toutput\\tfrequency\\tMax\\t*Coda"]
    >>> lines += ["pat\\tpa\\t60\\t1\\t0", "pat\\tpat\\t40\\t0\\t1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grammar = monolingual.learn_ot(lines, folder + "/fit")
    ...     grammar.model, [round(row["predicted"], 2) for row in grammar.predictions()]
    ('stochastic-ot', [0.6, 0.4])
    """
    if how not in ("fit", "gla", "maxent"):
        raise ArgumentError(f"how is {how!r}; choose fit, gla or maxent")
    _learn(how, tableaux, settings, directory)
    return OtGrammar(directory)


def _learn(
    command: str,
    tableaux: Tableaux | PathLike | Sequence[str],
    options: dict[str, Any],
    directory: PathLike,
) -> None:
    require_path("directory", directory)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tableaux.tsv"
        if isinstance(tableaux, Tableaux):
            write_tableaux(tableaux, place)
        path = place if isinstance(tableaux, Tableaux) else lines_file(tableaux, place)
        with of_lines(("the tableaux", tableaux, place)):
            call("ot", command, [path], options, directory)


def open_ot(directory: PathLike) -> OtGrammar:
    """The grammar in a directory that `sample_ot` or `learn_ot`, or their commands, have written.

    Of a posterior, an `OtRun`.

    Raises
    ------
    InputError
        There is none.

    >>> import monolingual, tempfile
    >>> lines = ["input\\toutput\\tfrequency\\tMax\\t*Coda"]
    >>> lines += ["pat\\tpa\\t60\\t1\\t0", "pat\\tpat\\t40\\t0\\t1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = monolingual.learn_ot(lines, folder + "/fit")
    ...     monolingual.open_ot(folder + "/fit")
    OtGrammar (stochastic-ot) of 2 constraints
    """
    _, summary = read_summary(directory)
    is_posterior = "median" in summary and not math.isnan(summary.get("draws", math.nan))
    return OtRun(directory) if is_posterior else OtGrammar(directory)
