"""Probabilistic context-free grammars: what is to be said of one, and the posterior of its probabilities."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from monolingual.notebook.calls import call, given_as_lines, lines_file, of_lines
from monolingual.notebook.trees import ShownTree
from monolingual.pcfg.commands.check import report as check_record
from monolingual.pcfg.grammar import WeightedGrammar, rule_name
from monolingual.pcfg.grammar_text import can_hold, format_rules, probabilities, read_grammar
from monolingual.pcfg.report import write_report
from monolingual.pcfg.run import RESULTS
from scfg_sampler.core.archives import read_arrays
from scfg_sampler.core.arguments import (
    of_arguments,
    require_count,
    require_lines,
    require_path,
    require_switch,
)
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.core.chains.inference_data import inference_data
from scfg_sampler.core.chains.occupied import refuse_files, refuse_occupied, restored_if_refused
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.json_text import parse_json
from scfg_sampler.core.needed import require_not_lost
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, ScfgError

__all__ = ["Pcfg", "PcfgOptions", "PcfgRun", "open_pcfg", "read_pcfg", "sample_pcfg"]


class PcfgOptions(TypedDict, total=False):
    """Options of `pcfg sample`, but for those that `sample_pcfg` names itself."""

    burn_in: int
    chains: int
    overwrite: bool
    normalise: bool
    skip_unparsable: bool
    prior: float | str
    approach: str
    sampler: str
    thin: int
    start: str
    proposal: str
    reweight: bool
    gold: PathLike
    bracket_labels: str
    score_every: int
    threads: int
    checkpoint_every: int
    check: bool


class Pcfg:
    """A grammar with the probabilities of its rules.

    Parameters
    ----------
    grammar : WeightedGrammar
        Pseudo-counts of its rules, as Johnson's format has them, are the prior of `sample_pcfg`.
    probs : float64, shape (R,)

    >>> import monolingual
    >>> grammar = monolingual.read_pcfg(["S -> S S [0.6] | 'a' [0.4]"])
    >>> found = grammar.check()
    >>> found["tight"], round(found["partition"]["S"], 6)
    (False, 0.666667)
    """

    def __init__(self, grammar: WeightedGrammar, probs: np.ndarray):
        self.grammar, self.probs, self.pseudo_counts = grammar.grammar, probs, grammar.pseudo_counts

    @property
    def rules(self) -> dict[str, float]:
        """The probability of every rule, spelled like those of a `PcfgRun`: as in NLTK's format, or alike.

        That format need not hold every name of a grammar in Johnson's: `S -> A->B` is spelled so here.
        """
        spelled = [rule_name(self.grammar, rule) for rule in range(len(self.probs))]
        return dict(zip(spelled, self.probs.tolist(), strict=True))

    def check(self) -> dict[str, Any]:
        """Is it tight, is it linear; partition function, spectral radius: as `pcfg check --json` prints."""
        return check_record(self.grammar, self.probs)

    def simulate(self, number: int, seed: int = 1) -> list[ShownTree]:
        """Finite trees drawn from the grammar; `value` is not a number."""
        require_count("number", number)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "trees"
            call("pcfg", "simulate", [self._write(folder)], {"samples": number, "seed": seed, "output": out})
            return [ShownTree(line, float("nan")) for line in read_lines(out)]

    def parse(self, sentences: PathLike | Sequence[str]) -> list[ShownTree | None]:
        """The best tree of each sentence with its log probability; None where there is none, or no word.

        Parameters
        ----------
        sentences : path, or sequence of str
            Words between spaces.
        """
        if not isinstance(sentences, (str, os.PathLike)):
            sentences = require_lines("a text", sentences)
            if not any(line.strip() for line in sentences):
                return [None] * len(sentences)
        with tempfile.TemporaryDirectory() as folder:
            place, out = Path(folder) / "sentences", Path(folder) / "trees"
            told = {"sentences": lines_file(sentences, place), "output": out, "probabilities": True}
            with of_lines(("the sentences", sentences, place)):
                call("pcfg", "parse", [self._write(folder)], told)
            found: list[ShownTree | None] = []
            for line in read_lines(out):
                log_prob, _, tree = line.split("\t") if line else ("", "", "")
                found.append(ShownTree(tree, float(log_prob)) if tree else None)
            return found

    def _write(self, folder: str) -> Path:
        path = Path(folder) / "grammar"
        path.write_text("".join(f"{line}\n" for line in self._lines()), "utf-8")
        return path

    def _lines(self) -> list[str]:
        """The grammar's text: in Johnson's format if there are pseudo-counts, or names NLTK's cannot hold."""
        is_plain = self.pseudo_counts is None and can_hold(self.grammar, "nltk")
        style = "nltk" if is_plain else "johnson"
        return list(format_rules(self.grammar, self.probs, style=style, pseudo_counts=self.pseudo_counts))

    def __repr__(self) -> str:
        return (
            f"Pcfg of {counted(len(self.probs), 'rule')} and "
            f"{counted(len(self.grammar.nonterminals), 'nonterminal')}"
        )


def read_pcfg(grammar: PathLike | Sequence[str], *, normalise: bool = False, encoding: str = "utf-8") -> Pcfg:
    """A grammar from a file, or from lines such as `S -> S S [0.4]`.

    Parameters
    ----------
    grammar : path, or sequence of str
        In NLTK's format or Johnson's. Without weights, the rules of a nonterminal are equally probable.
    normalise : bool
        Divide weights by their sums.
    encoding : str
        Of a file, as Python names it.

    Raises
    ------
    InputError
        Names the line that is not a rule, or the nonterminal whose weights do not sum to 1.

    >>> import monolingual
    >>> monolingual.read_pcfg(["S -> 'a' S [0.25]", "S -> 'a' [0.75]"]).rules
    {"S -> 'a' S": 0.25, "S -> 'a'": 0.75}
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "grammar"
        path = lines_file(grammar, place)
        in_file = isinstance(grammar, str | os.PathLike)
        with of_arguments(), of_lines(("the grammar", grammar, place)):
            weighted = read_grammar(path, encoding=encoding if in_file else "utf-8")
            return Pcfg(weighted, probabilities(path, weighted, normalised=normalise))


class PcfgRun:
    """A run of `sample_pcfg` or `scfg-monolingual pcfg sample`, in its directory.

    Parameters
    ----------
    directory : path

    >>> import monolingual, tempfile
    >>> grammar = monolingual.read_pcfg(["S -> S S | 'a'"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = monolingual.sample_pcfg(grammar, folder + "/run", sentences=["a a a"], iterations=50)
    ...     run.probabilities.shape, [tree.brackets for tree in run.trees(1)] != []
    ((50, 2), True)
    """

    def __init__(self, directory: PathLike):
        require_path("directory", directory)
        self.directory = Path(directory)
        hint = "Name one that 'pcfg sample' has finished"
        kinds = {"rules": ("U", 1), "probabilities": ("f", 2), "chain": ("i", 1), "log_joint": ("f", 1)}
        try:
            self.summary: dict[str, Any] = parse_json((self.directory / "summary.json").read_text("utf-8"))
            self.summary.keys()
        except (OSError, ValueError, AttributeError):
            raise InputError(directory, None, "is not a run directory with draws", hint) from None
        arrays = read_arrays(self.directory / "samples.npz", kinds, "holds no draws", hint)
        self.rules: tuple[str, ...] = tuple(arrays["rules"].tolist())
        self.probabilities: np.ndarray = arrays["probabilities"]
        self._chain, self._log_joint = arrays["chain"], arrays["log_joint"]

    @property
    def traces(self) -> list[dict[str, np.ndarray]]:
        """The trace of every chain, a row for each block of sweeps."""
        paths = sorted(self.directory.glob("trace.*.tsv"), key=lambda path: (len(path.name), path.name))
        return [read_trace(path) for path in paths]

    def trees(self, number: int | None = None) -> list[ShownTree]:
        """The trees drawn most, with their shares of the draws of their sentences; none for runs of trees."""
        if number is not None:
            require_count("number", number)
        shares = self.summary.get("tree_frequencies", {})
        ordered = sorted(shares, key=lambda tree: -shares[tree])[:number]
        return [ShownTree(tree, shares[tree]) for tree in ordered]

    def to_arviz(self) -> Any:
        """The draws as ArviZ takes them: `probability`, by rule, and `log_joint`.

        Raises
        ------
        ScfgError
            arviz-base is not installed.
        """
        chains = [self._chain == number for number in np.unique(self._chain)]
        shortest = min(int(rows.sum()) for rows in chains)
        probs = np.array([self.probabilities[rows][:shortest] for rows in chains])
        joint = np.array([self._log_joint[rows][:shortest] for rows in chains])
        groups = {"posterior": {"probability": probs}, "sample_stats": {"log_joint": joint}}
        return inference_data(groups, {"directory": str(self.directory)}, {"probability": self.rules})

    def report(self, output: PathLike) -> None:
        """Write the page of `scfg-monolingual pcfg report`."""
        require_not_lost(output, "the run", self.directory)
        write_report(self.directory, output)

    def __repr__(self) -> str:
        return (
            f"PcfgRun of {counted(len(self.probabilities), 'draw')} of "
            f"{counted(len(self.rules), 'rule')} in {self.directory}"
        )


def sample_pcfg(
    grammar: Pcfg | PathLike | Sequence[str],
    directory: PathLike,
    *,
    trees: PathLike | Sequence[str] | None = None,
    sentences: PathLike | Sequence[str] | None = None,
    iterations: int = 1000,
    seed: int = 1,
    **settings: Unpack[PcfgOptions],
) -> PcfgRun:
    """Sample rule probabilities given trees, sentences or both, into a run directory.

    What was not in files is written into the directory first, so that the run can be resumed.

    Parameters
    ----------
    grammar : Pcfg, path, or sequence of str
        One that is not in UTF-8 is read by `read_pcfg`.
    directory : path
    trees, sentences : path, or sequence of str, optional
        A tree in brackets, or words between spaces, each.
    iterations : int
        Sweeps of each chain.
    seed : int
    settings
        Options of `scfg-monolingual pcfg sample`: approach, prior, burn_in, chains, reweight, overwrite, ….

    Raises
    ------
    InputError
        The directory holds a run already, or a text cannot be used.
    ArgumentError
        There is no such setting, or it is out of range. A directory that was made for the run is removed.

    >>> import monolingual, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = monolingual.sample_pcfg(
    ...         ["S -> S S", "S -> 'a'"], folder + "/run", trees=["(S a)"] * 3, iterations=2000, seed=2
    ...     )
    ...     round(float(run.probabilities[:, 1].mean()), 1)  # Beta(4, 1) has the mean 0.8.
    0.8
    """
    require_path("directory", directory)
    place = Path(directory)
    overwrite = settings.get("overwrite")
    may_replace = overwrite is not None and require_switch("overwrite", overwrite)
    refuse_occupied(place, may_replace, "open_pcfg", *RESULTS)
    if isinstance(grammar, Pcfg):
        grammar = grammar._lines()
    texts = {"trees": trees, "sentences": sentences}
    named = {"iterations": iterations, "seed": seed}
    written = [(f"the {name}", text, place / name) for name, text in texts.items()]
    lines = given_as_lines({"grammar.txt": grammar, **texts})
    refuse_files(place, may_replace, *lines)
    with (
        of_lines(("the grammar", grammar, place / "grammar.txt"), *written),
        _removed_if_refused(place, {"grammar.txt", *texts}),
        restored_if_refused(place, *lines),
    ):
        path = lines_file(grammar, place / "grammar.txt")
        given = {name: lines_file(text, place / name) for name, text in texts.items() if text is not None}
        call("pcfg", "sample", [path], {**given, **named, **settings}, place)
    return PcfgRun(directory)


@contextlib.contextmanager
def _removed_if_refused(directory: Path, names: Set[str]) -> Iterator[None]:
    """A directory that was not there before is not there afterwards if it got no more than these files."""
    existed = directory.exists()
    try:
        yield
    except (ScfgError, TypeError):
        if not existed and directory.is_dir() and {each.name for each in directory.iterdir()} <= names:
            shutil.rmtree(directory)
        raise


def open_pcfg(directory: PathLike) -> PcfgRun:
    """The run of a directory that `sample_pcfg`, or `scfg-monolingual pcfg sample`, has written.

    Raises
    ------
    InputError
        It is no such directory, or has no draws yet.

    >>> import monolingual
    >>> monolingual.open_pcfg("nowhere")
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.InputError: nowhere: is not a run directory with draws. Name one that 'pcfg sample' \
has finished
    """
    return PcfgRun(directory)
