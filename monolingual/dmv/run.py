"""Training that can be stopped: the checkpoint beside the model, until the model is written.

`dmv train --output MODEL` keeps `MODEL.checkpoint.npz` while it runs: where training is, the options it was
started with, and digests of what it reads. `dmv resume MODEL` goes on from there. When training is done it
is removed, and MODEL is all that is left.

The fact a newcomer would get wrong: digests are those of the sentences that are learnt from, not of files, so
that the same sentences from standard input will do.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from monolingual.dmv.initial import names_model
from monolingual.dmv.training import Job, Round, Task, Training, stored_type, training_kernel
from monolingual.dmv.treebank import Sentence
from scfg_sampler.core import console
from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.chains.checkpoint import read_checkpoint_header, sweeps_kept
from scfg_sampler.core.chains.driver import ChainPlan, Place, begin, begin_or_restore, drive
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.stored_options import require_options
from scfg_sampler.core.files import PathLike, file_digest
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["checkpoint_of", "drive_training", "forget", "read_options"]

_FREE = ("run", "command", "model", "output", "overwrite", "quiet", "checkpoint_every")
"""Options that do not say what is learnt."""

_ENDLESS = 2**62

_COLUMNS = (
    ("job", lambda sweep: _job_of(sweep)),
    ("round", lambda sweep: sweep.info.in_leg),
    ("log_joint", lambda sweep: sweep.info.log_joint),
    ("heldout", lambda sweep: math.nan if sweep.info.heldout is None else sweep.info.heldout),
)
"""Of --trace. Rounds are counted in each leg, from 1; a job is a start with a prior, from 0."""


def _job_of(sweep: Sweep) -> int:
    """The job that a round belongs to; the state is that of the next one if it was the last."""
    ended = sweep.info.ended
    return sweep.state.notes.job if ended is None else ended.number


def checkpoint_of(output: PathLike) -> Path | None:
    """The checkpoint of a model; None where that is written to standard output."""
    return None if str(output) == "-" else Path(f"{output}.checkpoint.npz")


def read_options(output: PathLike, parser: argparse.ArgumentParser) -> dict[str, Any]:
    """The options that stopped training was started with.

    Parameters
    ----------
    output : path
        The model it was to write.
    parser : ArgumentParser
        Of `dmv train`.

    Raises
    ------
    InputError
        No checkpoint lies beside it, or an option has a value of another kind.
    CheckpointMismatch
        It is of a version with other options.
    """
    checkpoint = checkpoint_of(output)
    if checkpoint is None or not checkpoint.exists():
        found = "has no training to go on with"
        if checkpoint is not None:
            found += f" ({checkpoint.name} is not there)"
        raise InputError(output, None, found, "Name a model whose training was stopped")
    stored = read_checkpoint_header(checkpoint)
    options = stored["settings"].get("options")
    if not isinstance(options, dict):
        raise InputError(checkpoint, None, "is not that of 'dmv train'", "Train again")
    options.setdefault("trace", None)  # Of versions without.
    options.setdefault("iterations", None)
    require_options(parser, options, _FREE, checkpoint, stored["version"])
    return options


def rounds_done(options: argparse.Namespace) -> int:
    """How many rounds a checkpoint has from which `drive_training` goes on with such options."""
    checkpoint = checkpoint_of(options.output)
    return 0 if checkpoint is None or _begins_again(options) else sweeps_kept(checkpoint, 0)


def forget(output: PathLike) -> None:
    """Remove the checkpoint of a model, if there is one."""
    checkpoint = checkpoint_of(output)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)


def drive_training(
    task: Task,
    options: argparse.Namespace,
    sentences: Sequence[Sequence[Sentence]],
    advance: Callable[..., Any],
) -> Job:
    """The best job, all rounds that are left being made; `forget` the checkpoint when it is written.

    Parameters
    ----------
    task : Task
    options : Namespace
        Of `dmv train`.
    sentences : pair of lists of Sentence
        Those learnt from, and those held out.
    advance : callable
        Told of every round: 1 and a few words.

    Raises
    ------
    CheckpointMismatch
        The sentences, or a file, are not those that training was begun with.
    KeyboardInterrupt, Terminated
        The checkpoint holds the last whole round.
    """
    if options.checkpoint_every is not None and options.checkpoint_every < 0:
        raise SettingsError(f"--checkpoint-every is {options.checkpoint_every}; it must be at least 0")
    with _place_of(options.output) as checkpoint:
        plan = ChainPlan(
            training_kernel(task),
            checkpoint,
            stored_type(options.method),
            {"options": _plain(options)},
            corpus=_digests(options, sentences),
            pack=lambda state: stored_type(options.method)(*state),
            trace=Path(options.trace) if options.trace else None,
            columns=_COLUMNS,
            unpack=lambda stored: Training(*stored),
            checkpoint_every=options.checkpoint_every,
        )
        place = _first_place(plan, options)
        try:
            state = drive(
                plan,
                place,
                sweeps=_ENDLESS,
                watch=lambda sweep: _tell(task, options, sweep, advance),
                is_done=lambda state: state.notes.is_finished,
            )
        except SettingsError:
            checkpoint.unlink()  # It would fail again.
            raise
    notes = state.notes
    return Job(notes.best_job, notes.best, notes.best_score)


def _begins_again(options: argparse.Namespace) -> bool:
    """Whether a checkpoint is not gone on with; `dmv resume` has no such option."""
    return getattr(options, "overwrite", False)


def _first_place(plan: ChainPlan, options: argparse.Namespace) -> Place:
    """Where training goes on, or begins; a checkpoint that may be overwritten stays until it does."""
    if _begins_again(options):
        rng = np.random.default_rng(options.seed)
        return begin(plan, rng, plan.kernel.init(rng, None))
    return begin_or_restore(plan, lambda: np.random.default_rng(options.seed))


def _tell(task: Task, options: argparse.Namespace, sweep: Sweep, advance: Callable[..., Any]) -> None:
    """Move the progress bar, and say what a job came to if there are several."""
    found: Round = sweep.info
    advance(1, f"{found.log_joint:.1f}")
    if found.ended is None:
        return
    advance(options.rounds - len(found.ended.outcome.trace), "")
    if len(task.starts) * len(task.settings) == 1:
        return
    start, which = divmod(found.ended.number, len(task.settings))
    words = f"start {start + 1}, " if len(task.starts) > 1 else ""
    words += f"prior {task.settings[which].prior:g}, " if len(task.settings) > 1 else ""
    words += "held-out " if task.heldout else ""
    console.say(f"{words}log likelihood {found.ended.score:.3f}")


@contextlib.contextmanager
def _place_of(output: PathLike) -> Iterator[Path]:
    checkpoint = checkpoint_of(output)
    if checkpoint is not None:
        with owned(checkpoint.parent, f"{checkpoint.name}.lock", output):
            yield checkpoint
        return
    with temporary_directory("scfg-dmv-") as folder:
        yield folder / "checkpoint.npz"


def _files(options: argparse.Namespace) -> dict[str, str]:
    """The options that name files, besides the treebanks."""
    named = {
        "init": options.init if names_model(options.init) else None,
        "covariance": options.covariance if options.covariance not in ("identity", "families") else None,
    }
    return {name: path for name, path in named.items() if path is not None}


def _plain(options: argparse.Namespace) -> dict[str, Any]:
    """What of the options `dmv resume` needs, files by absolute names."""
    given = {name: value for name, value in sorted(vars(options).items()) if name not in _FREE}
    paths = {name: given[name] for name in ("data", "heldout", "covariances", "trace") if given[name]}
    for name, path in {**paths, **_files(options)}.items():
        if path != "-":
            given[name] = str(Path(path).resolve())
    return given


def _digests(options: argparse.Namespace, sentences: Sequence[Sequence[Sentence]]) -> dict[str, str]:
    digests = {name: file_digest(path) for name, path in _files(options).items()}
    for name, some in zip(("data", "heldout"), sentences, strict=True):
        text = "\n".join("\t".join(sentence.tags) for sentence in some)
        digests[name] = hashlib.sha256(text.encode()).hexdigest()
    return digests
