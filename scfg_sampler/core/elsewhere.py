"""The options that name other processes to do the tasks of a command, and the executor that comes of them."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from scfg_sampler.core.limits import require_number
from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from scfg_sampler.core.executors import Executor

__all__ = ["add_elsewhere", "check_elsewhere", "elsewhere"]


def add_elsewhere(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the options that name other processes to do tasks."""
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
    if options.workers is not None:
        require_number("workers", options.workers)


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
    if options.workers is None and options.scheduler is None:
        return contextlib.nullcontext()
    check_elsewhere(options)
    from scfg_sampler.core.cluster import dask_executor

    return dask_executor(options.workers, options.scheduler)
