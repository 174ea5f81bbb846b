"""What is explored: runs, systems, or directories of recipes that hold both."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from decoder.system.recognition import is_system
from decoder.system.system import System, load_system
from decoder.translation.decoder import Decoder
from scfg_sampler.core.chains.run_directory import RECORD, require_unchanged
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import distinct_names
from scfg_sampler.errors import InputError
from scfg_sampler.explore.questions import Question, QuestionError
from scfg_sampler.learner.chains import chain_directories
from scfg_sampler.learner.grammar import write_grammar
from scfg_sampler.learner.pair_posteriors import LastState, read_last_state
from scfg_sampler.learner.run import read_run
from scfg_sampler.learner.settings import GrammarSettings
from scfg_sampler.report.shapes import Shape, shapes
from scfg_sampler.rules.counts import counts_of
from scfg_sampler.rules.table import RuleTable, read_rule_table

__all__ = ["ExploredRun", "ExploredSystem", "Sources", "open_sources"]

_SHAPES = 60
_LARGEST_COUNT = (
    1e200  # The features of a system may be any: what comes of them is still to be added and told.
)
_PARTS = ("sample", "system")
"""What recipes call a run and a system within their directory."""
_AGREEING = ("system-sampled", "system-hiero")
"""What they call two systems that agree, in place of the one."""


class ExploredRun:
    """A run, its last state read; its grammar when it is first asked for."""

    def __init__(self, directory: PathLike, name: str):
        self.directory, self.name = Path(directory), name
        self._record = read_run(directory)
        self.last: LastState = read_last_state(chain_directories(directory)[0])
        if self.last.bank.labels is not None:
            hint = "Use 'scfg-sampler grammar', and the derivations in the directory"
            raise InputError(directory, None, "has rules with labels, which are not shown", hint)
        self.lock = threading.Lock()
        """Held by whoever reads derivations: the bank has room for one at a time."""
        self._table: RuleTable | None = None
        self._writing = threading.Lock()

    @property
    def num_pairs(self) -> int:
        """How many sentence pairs the run has, skipped ones included."""
        return self.last.bank.num_sentences

    @property
    def num_alignments(self) -> int:
        """Under how many alignments each pair of the text is one of its own."""
        return self.last.alignments

    @property
    def table(self) -> RuleTable:
        """Its rules with their features, as `grammar` writes them: expected counts if it has them.

        Raises
        ------
        QuestionError
            It has not counted any yet, or is no longer the run whose pairs are shown.
        """
        with self._writing:
            if self._table is None:
                self._table = self._scored()
            return self._table

    def _scored(self) -> RuleTable:
        self._require_shown()
        counted = chain_directories(self.directory)[0] / "counts"
        origins = [each for each in ("marginal", "average", "last") if (counted / f"{each}.gz").exists()]
        if not origins:
            raise QuestionError(f"the run {self.name} has no counts yet; they are written at its end")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "grammar"
            write_grammar(self.directory, path, GrammarSettings(origin=origins[0], rule_filter="none"))
            self._require_shown()
            return read_rule_table(path)

    def _require_shown(self) -> None:
        """Raise a QuestionError if the directory holds another run than the one read, or a later state."""
        try:
            require_unchanged(self.directory, self._record)
        except InputError:
            changed = f"the run {self.name} is no longer the one whose pairs are shown here"
            raise QuestionError(f"{changed}; it has been written to. Start explore again") from None


class ExploredSystem:
    """A system, and decoders of it with other weights: the last few that were asked for."""

    def __init__(self, directory: PathLike, name: str):
        self.name = name
        self.system: System = load_system(directory)
        self._table: RuleTable | None = None
        self._counting = threading.Lock()
        self._lock = threading.Lock()
        self._decoders: dict[tuple[float, ...], Decoder] = {}

    @property
    def table(self) -> RuleTable:
        """Its rules, with the counts that their features tell, which translating does not need; or 1 each."""
        with self._counting:
            if self._table is None:
                table = self.system.decoder.grammar.sources[0].table
                count = np.minimum(counts_of(table.features, table.feature_names), _LARGEST_COUNT)
                self._table = table._replace(count=count)
            return self._table

    def weights(self) -> dict[str, float]:
        """Its own weights, by the names of the features."""
        decoder = self.system.decoder
        return dict(zip(decoder.feature_names, decoder.weights.tolist(), strict=True))

    def with_weights(self, changed: dict[str, float]) -> System:
        """The system with some weights changed.

        Raises
        ------
        QuestionError
            There is no such feature.
        """
        own = self.weights()
        for name in changed:
            if name not in own:
                raise QuestionError(f"there is no feature {name!r}; there are {', '.join(own)}")
        weights = tuple((own | changed).values())
        if weights == tuple(own.values()):
            return self.system
        with self._lock:
            if weights not in self._decoders:
                while len(self._decoders) >= 3:
                    self._decoders.pop(next(iter(self._decoders)))
                self._decoders[weights] = self.system.decoder.with_weights(np.array(weights))
            decoder = self._decoders[weights]
        return System(decoder, self.system.preparation, self.system.record)


class Sources(NamedTuple):
    """Runs and systems, each in the order given."""

    runs: list[ExploredRun]
    systems: list[ExploredSystem]

    def run(self, question: Question) -> ExploredRun | None:
        """The run that the field `run` names by its number, by default the first; None if there is none."""
        if not self.runs:
            return None
        return self.runs[question.integer("run", 0, len(self.runs) - 1, 0)]

    def system(self, question: Question) -> ExploredSystem:
        """The system that the field `system` names, by default the first."""
        if not self.systems:
            raise QuestionError("there is no system; start explore with a directory that has one")
        return self.systems[question.integer("system", 0, len(self.systems) - 1, 0)]

    def tables(self) -> list[ExploredRun | ExploredSystem]:
        """Whatever has rules: runs, then systems."""
        return [*self.runs, *self.systems]

    def with_rules(self, question: Question) -> ExploredRun | ExploredSystem:
        """What the field `of` names among `tables`, by default the first."""
        found = self.tables()
        return found[question.integer("of", 0, len(found) - 1, 0)]


def open_sources(paths: Sequence[PathLike]) -> Sources:
    """The runs and systems of some directories.

    Parameters
    ----------
    paths : sequence of path
        Run directories, systems, or directories that hold a run called `sample`, a system called `system` or
        two called `system-sampled` and `system-hiero`, or both, as recipes leave them.

    Raises
    ------
    InputError, CheckpointMismatch
        One is none of these, or cannot be used.
    """
    runs: list[ExploredRun] = []
    systems: list[ExploredSystem] = []
    for path, name in zip(paths, distinct_names(paths), strict=True):
        parts = [path, *(Path(path) / part for part in _PARTS)]
        found_runs = [part for part in parts if (Path(part) / RECORD).is_file()]
        found_systems = [(part, name) for part in parts if is_system(part)][:1] or [
            (Path(path) / part, f"{name}/{part}") for part in _AGREEING if is_system(Path(path) / part)
        ]
        if not found_runs and not found_systems:
            hint = "Name what 'sample' or 'scfg-decoder bundle' wrote, or the directory of a recipe"
            raise InputError(path, None, "holds neither a run nor a system", hint)
        runs += [ExploredRun(part, name) for part in found_runs[:1]]
        systems += [ExploredSystem(*found) for found in found_systems]
    return Sources(runs, systems)


def most_used_shapes(explored: ExploredRun | ExploredSystem) -> list[Shape]:
    """The shapes of the rules, the most used first."""
    return shapes(explored.table, _SHAPES)


def described(sources: Sources, version: str) -> dict[str, Any]:
    """What there is, for a page or a program that asks first."""
    return {
        "version": version,
        "runs": [
            {
                "name": each.name,
                "pairs": each.num_pairs,
                "alignments": each.num_alignments,
                "operator": each.last.settings.operator,
                "choose": each.last.settings.choose,
            }
            for each in sources.runs
        ],
        "systems": [
            {
                "name": each.name,
                "languages": each.system.record.get("languages"),
                "takes": "raw text" if each.system.preparation else "words with spaces between",
                "weights": each.weights(),
            }
            for each in sources.systems
        ],
        "tables": [each.name for each in sources.tables()],
    }
