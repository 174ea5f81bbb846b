"""The options that name other processes to do the tasks of a command, and the executor that comes of them."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from scfg_sampler.core.console import warn
from scfg_sampler.core.limits import require_number
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from scfg_sampler.core.executors import Executor

__all__ = ["add_elsewhere", "check_elsewhere", "elsewhere", "warn_of_one_shard", "warn_of_undivided"]


def add_elsewhere(
    group: argparse._ArgumentGroup | argparse.ArgumentParser, *, any_shards: bool = False
) -> None:
    """Add the options that name other processes to do tasks.

    Parameters
    ----------
    group : argparse group or parser
    any_shards : bool
        Add `--shards`, too, to a command whose results no division changes, so that what is right for a
        command that samples can be said to it as well.
    """
    if any_shards:
        group.add_argument(
            "--shards",
            metavar="P",
            type=int,
            help="may be given as to the sampler, but nothing here depends on how the work is divided",
        )
    group.add_argument(
        "--workers", metavar="N", type=int, help="do the work in so many processes, through Dask"
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="do it on the Dask cluster of this scheduler: tcp://HOST:PORT, or the file it has written",
    )


def check_elsewhere(options: argparse.Namespace) -> None:
    """Raise a SettingsError if the options of `add_elsewhere` cannot be; before anything large is read.

    Parameters
    ----------
    options : argparse.Namespace
    """
    if options.workers is not None and options.scheduler is not None:
        raise SettingsError("--workers and --scheduler name two places to do the work; leave one of them out")
    for name in ("workers", "shards"):
        if (number := vars(options).get(name)) is not None:
            require_number(name, number)


def warn_of_one_shard(options: argparse.Namespace, hint: str = "") -> None:
    """Warn if a chain is to be swept elsewhere that is in one shard, which its own process sweeps.

    Parameters
    ----------
    options : argparse.Namespace
    hint : str
        What is said behind that.
    """
    if options.workers is not None or options.scheduler is not None:
        warn(f"there is one shard, which is swept here{hint}")


def warn_of_undivided(options: argparse.Namespace) -> None:
    """Warn of what does nothing for a chain in one shard that goes on: `add_elsewhere`'s, and `--threads`.

    Parameters
    ----------
    options : argparse.Namespace
        Its threads are None where they are as they were.
    """
    warn_of_one_shard(options)
    if options.threads is not None and options.threads > 1:
        warn("--threads does nothing for a chain that is not divided")


def elsewhere(options: argparse.Namespace) -> contextlib.AbstractContextManager[Executor | None]:
    """The executor that the options of `add_elsewhere` ask for; None where they ask for none.

    Parameters
    ----------
    options : argparse.Namespace

    Raises
    ------
    SettingsError
        As `check_elsewhere`; or Dask is not installed, or there is no such scheduler.
    """
    check_elsewhere(options)
    if options.workers is None and options.scheduler is None:
        return contextlib.nullcontext()
    from scfg_sampler.core.cluster import dask_executor

    return dask_executor(options.workers, options.scheduler)
