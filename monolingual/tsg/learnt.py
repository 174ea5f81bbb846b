"""What a run of `tsg train` leaves, read: its record, and its grammar to parse with.

The fact a newcomer would get wrong: `grammar.tsg.gz` is one state of the chain, not a mean over sweeps. What
is parsed with is the mean over the last states, made from `samples/`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from monolingual.tsg.fragments import CountedFragment, StoredFragments, mean_fragments, read_fragments
from monolingual.tsg.grammar import production_key
from monolingual.tsg.preparation import Preparation
from monolingual.tsg.settings import RunSettings, TsgSettings, states_kept
from scfg_sampler.core.chains import run_directory
from scfg_sampler.core.chains.run_directory import RECORD, require_each, require_numbers, stored_settings
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "GRAMMAR",
    "KNOWN",
    "PARAMETERS",
    "PCFG",
    "LearntGrammar",
    "predictive_counts",
    "read_grammar",
    "read_record",
    "require_consistent",
]

GRAMMAR, PCFG, KNOWN, PARAMETERS = "grammar.tsg.gz", "pcfg.tsg.gz", "known.txt.gz", "parameters.tsv"
"""Files of a run directory: see `run`."""


class LearntGrammar(NamedTuple):
    """What a run leaves to parse with.

    Attributes
    ----------
    fragments, productions : sequence of CountedFragment
        Elementary trees, and all productions of the treebank.
    preparation : Preparation
    concentration, stop : dict from label to float
        α and 1 − β.
    settings : TsgSettings
    roots : dict from label to int
        How many trees of the treebank have it at the root.
    """

    fragments: StoredFragments
    productions: Sequence[CountedFragment]
    preparation: Preparation
    concentration: dict[str, float]
    stop: dict[str, float]
    settings: TsgSettings
    roots: dict[str, int]


def predictive_counts(learnt: LearntGrammar) -> tuple[list[CountedFragment], dict[str, float]]:
    """Counts and concentrations with which a Dirichlet process predicts what the Pitman–Yor process does.

    With n customers at t tables, N and T of its root label, an elementary tree e comes next with probability
    [n − d t + (α + d T) P₀(e)] / (N + α) (Teh 2006): so n − d t stands for n, and α + d T for α.

    Parameters
    ----------
    learnt : LearntGrammar
        Without tables, as earlier versions wrote it, n and α are as they are.
    """
    d, fragments = learnt.settings.discount, learnt.fragments
    concentration = dict(learnt.concentration)
    counted = []
    for (tree, count), tables in zip(fragments, fragments.tables, strict=True):
        counted.append(CountedFragment(tree, count - d * tables))
        concentration[tree.label] += d * tables
    return counted, concentration


def read_record(directory: PathLike) -> dict[str, Any]:
    """What `run.json` says, with `settings`, `run` and `preparation` as the NamedTuples they were.

    Raises
    ------
    InputError
        It is not a run directory of `tsg train`.
    """

    def restored(record: dict[str, Any]) -> dict[str, Any]:
        settings = record["settings"]
        place, version = Path(directory) / RECORD, record["versions"]["scfg-sampler"]
        # First what other models do not have: what they have is not of another version.
        require_each(int, *(record[name] for name in ("sweeps", "sentences", "nodes", "productions")))
        record["settings"] = stored_settings(TsgSettings, settings, place, version)
        record["run"] = stored_settings(RunSettings, record["run"], place, version)
        require_each(str, *record["corpus"].values())
        require_numbers(record["cpu_seconds"])
        # Directories of earlier versions do not say it.
        record.setdefault("finished", record["sweeps"] >= record["run"].iterations)
        require_each(bool, record["finished"])
        preparation = stored_settings(Preparation, record["preparation"], place, version)
        record["preparation"] = preparation._replace(known=frozenset(read_lines(Path(directory) / KNOWN)))
        return record

    return run_directory.read_record(directory, "tsg train", restored)


def read_grammar(directory: PathLike, samples: int | None = 0) -> LearntGrammar:
    """The grammar of a run.

    Parameters
    ----------
    directory : path
    samples : int or None
        Take the mean of the counts of so many of the latest `samples/`; 0: the final state alone. None: of
        all that the run has kept.

    Raises
    ------
    InputError
        It is not a run directory, or the run has never finished; or it is prolonged and has not finished
        again, and samples are wanted, some of which are of it as it was.
    SettingsError
        There are not so many samples.
    """
    place, record = Path(directory), read_record(directory)
    if not (place / GRAMMAR).exists():
        raise InputError(directory, None, "has no grammar yet", "Finish it with 'tsg resume'")
    if samples is None:
        samples = min(states_kept(record["run"])[0], len(list(place.glob("samples/*.tsg.gz"))))
    if samples == 0:
        fragments = read_fragments(place / GRAMMAR)
    elif not record["finished"]:
        hint = "Finish it with 'tsg resume', or take the last state before with --average 0"
        found = "is not finished, and has states of before it was prolonged beside later ones"
        raise InputError(directory, None, found, hint)
    else:
        paths = sorted(place.glob("samples/*.tsg.gz"))[-samples:]
        if len(paths) < samples:
            raise SettingsError(f"--average is {samples}; {directory} has {len(paths)} --states")
        fragments = mean_fragments(paths)
    concentration, stop = _parameters(place / PARAMETERS)
    productions = read_fragments(place / PCFG)
    try:
        described = record["preparation"], record["settings"], record["roots"]
    except KeyError as missing:
        hint = "Make the run again"
        raise InputError(place / "run.json", None, f"does not say its {missing.args[0]}", hint) from None
    require_consistent(place, fragments, productions, concentration, stop)
    return LearntGrammar(fragments, productions, described[0], concentration, stop, *described[1:])


def _parameters(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """The concentration and the stop probability of each label."""
    concentration, stop = {}, {}
    for number, line in enumerate(read_lines(path), start=1):
        if number == 1:
            continue
        try:
            label, alpha, stopping = line.split("\t")
            concentration[label], stop[label] = real_number(alpha), real_number(stopping)
        except ValueError:
            found = "not a label, its concentration and its stop probability"
            raise InputError(path, number, found, "Expected three columns between tabs") from None
        if not (0.0 < concentration[label] < math.inf and 0.0 <= stop[label] <= 1.0):
            found = f"concentration {alpha}, stop probability {stopping}"
            raise InputError(path, number, found, "Expected a number above 0 and one from 0 to 1")
    return concentration, stop


def require_consistent(
    place: Path,
    fragments: Sequence[CountedFragment],
    productions: Sequence[CountedFragment],
    concentration: Mapping[str, float],
    stop: Mapping[str, float],
) -> None:
    """Raise InputError unless all labels have parameters and fragments are made of the productions."""
    known = set()
    for path, trees in ((place / PCFG, productions), (place / GRAMMAR, fragments)):
        if not trees:
            raise InputError(path, None, "has no trees", "Make the run again")
        for tree, _ in trees:
            pending = [tree]
            while pending:
                node = pending.pop()
                if node.label not in concentration or node.label not in stop:
                    hint = f"{PARAMETERS} has a line for each; make the run again"
                    raise InputError(path, None, f"the label {node.label!r} has no parameters", hint)
                if not node.children:
                    continue
                kind = production_key(node)
                if path.name == PCFG:
                    known.add(kind)
                elif kind not in known:
                    found = f"the production {' '.join((kind[0], '->', *kind[1:]))} is not in {PCFG}"
                    raise InputError(path, None, found, "Make the run again")
                pending.extend(child for child in node.children if not isinstance(child, str))
