"""What is done of an extraction, on disk until the table is written: runs, and the rules of shares.

A table that is made in shares keeps in `TABLE.shares` what it has found in parts of the corpus, a run each
(see `rules.runs`), then the rules of each share. If the process is killed, the same command takes up what is
there; the runs go when all shares are there, the directory when the table is written. Each file says of what
it is: the corpus, the settings, the version, and which sentences or which rules. What is of something else,
or damaged, is made anew, since that costs time only.

The fact a newcomer would get wrong: runs and shares depend on the memory and the threads that may be used, so
with others of these nothing is taken up.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler import __version__
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.core.arrays.array_file import (
    Layout,
    first_problem,
    is_within,
    read_array_file,
    write_array_file,
)
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.errors import InputError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.runs import Records, Run, open_run, write_run

__all__ = ["KeptShares", "Share", "kept_shares", "shares_of"]

_MAGIC = b"scfg-sampler share 1\n"
_LAYOUT = Layout(
    {"identity": str},
    (),
    {
        "source_start": ("i8", 1),
        "source": ("i4", 1),
        "target_start": ("i8", 1),
        "target": ("i4", 1),
        "alignment_start": ("i8", 1),
        "alignment": ("i4", 2),
        "count": ("f8", 1),
    },
)


class Share(NamedTuple):
    """The rules whose source sides have keys from `low` to `high` − 1: all with a source side, or none."""

    low: int
    high: int


class KeptShares:
    """Files of runs and of the rules of shares; `kept_shares` makes it.

    Parameters
    ----------
    directory : path
    corpus : ParallelCorpus
    settings : HieroSettings
    """

    def __init__(self, directory: Path, corpus: ParallelCorpus, settings: HieroSettings):
        self._directory = directory
        self._sizes = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
        digest = hashlib.sha256()
        for name in ("source_start", "source", "target_start", "target", "link_start", "links"):
            array = getattr(corpus, name)
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        for vocabulary in (corpus.source_vocabulary, corpus.target_vocabulary):
            digest.update("\n".join(vocabulary).encode("utf-8", "surrogatepass"))
        self._identity = {
            "corpus": digest.hexdigest(),
            "settings": settings._asdict(),
            "version": __version__,
        }

    def read(self, number: int, share: Share) -> RuleCounts | None:
        """The rules of a share, mapped; None if they have to be extracted.

        Parameters
        ----------
        number : int
            Of the share, from 0.
        share : Share
        """
        path = self._path(number)
        if not path.exists():
            return None
        try:
            found = read_array_file(path, _MAGIC, _LAYOUT, InputError, "")
        except (InputError, OSError):
            return None
        counts = RuleCounts(**found.arrays)
        if (
            found.values["identity"] != self._identity_of(**share._asdict())
            or _problem(counts, self._sizes) is not None
        ):
            return None
        return counts

    def write(self, number: int, share: Share, counts: RuleCounts) -> None:
        """Keep the rules of a share.

        Parameters
        ----------
        number : int
        share : Share
        counts : RuleCounts

        Raises
        ------
        InputError
            There is no room for them.
        """
        values = {"identity": self._identity_of(**share._asdict())}
        write_array_file(self._path(number), _MAGIC, values, {}, counts._asdict())

    def read_run(self, number: int, sentences: tuple[int, int]) -> Run | None:
        """The run of some sentences; None if it has to be made.

        Parameters
        ----------
        number : int
            Of the run, from 0.
        sentences : pair of int
            The first one, and the one after the last.
        """
        return open_run(self._run_path(number), self._identity_of(sentences=sentences), self._sizes)

    def write_run(self, number: int, sentences: tuple[int, int], records: Records) -> None:
        """Keep the run of some sentences.

        Parameters
        ----------
        number : int
        sentences : pair of int
        records : Records

        Raises
        ------
        InputError
            There is no room for it.
        """
        write_run(self._run_path(number), self._identity_of(sentences=sentences), records)

    def forget_runs(self) -> None:
        """Remove all runs."""
        for path in self._directory.glob("run-*"):
            path.unlink()

    def _path(self, number: int) -> Path:
        return self._directory / f"share-{number + 1}"

    def _run_path(self, number: int) -> Path:
        return self._directory / f"run-{number + 1}"

    def _identity_of(self, **part: object) -> str:
        return json.dumps({**self._identity, **part}, sort_keys=True)


def shares_of(path: PathLike) -> Path:
    """Where the shares of a table are kept until it is written."""
    return Path(f"{path}.shares")


@contextlib.contextmanager
def kept_shares(
    path: PathLike, corpus: ParallelCorpus, settings: HieroSettings, temporary: str | None = None
) -> Iterator[KeptShares]:
    """Within the block, the shares of a table; they go if it ends without an exception.

    Parameters
    ----------
    path : path
        The table. What is no file, as standard output, has no place beside it: then nothing is left to go on
        from.
    corpus : ParallelCorpus
    settings : HieroSettings
    temporary : path, optional
        Where files are put in that case.

    Raises
    ------
    InputError
        Another process is making the same table, or there is no place for the directory.
    """
    if str(path) == "-" or (Path(path).exists() and not Path(path).is_file()):
        with temporary_directory("scfg-shares-", temporary) as folder:
            yield KeptShares(folder, corpus, settings)
        return
    directory = shares_of(path)
    try:
        with owned(directory, subject=path):
            yield KeptShares(directory, corpus, settings)
            shutil.rmtree(directory)
    except BaseException:
        with contextlib.suppress(OSError):
            directory.rmdir()  # unless something is kept
        raise


def _problem(counts: RuleCounts, sizes: tuple[int, int]) -> str | None:
    """What of a share is no rules over words of so many kinds; None if all is.

    A checksum tells of damage; this keeps kernels within their arrays, whatever the checksum says.
    """
    number = len(counts.count)

    def conditions() -> Iterator[tuple[object, str]]:
        sides = (counts.source_start, counts.source), (counts.target_start, counts.target)
        for start, values in (*sides, (counts.alignment_start, counts.alignment)):
            yield len(start) == number + 1, "starts"
            yield start[0] == 0 and start[-1] == len(values) and (np.diff(start) >= 0).all(), "starts"
        for (_, symbols), size in zip(sides, sizes, strict=True):
            yield is_within(symbols, -2, size - 1), "symbols"
        yield counts.alignment.shape[1] == 2, "links"
        rule = np.repeat(np.arange(number), np.diff(counts.alignment_start))
        for side, (start, symbols) in enumerate(sides):
            place = counts.alignment[:, side]
            yield ((place >= 0) & (place < np.diff(start)[rule])).all(), "links"
            yield (symbols[start[rule] + place] >= 0).all(), "links"
        yield (np.isfinite(counts.count) & (counts.count > 0)).all(), "counts"

    return first_problem(conditions())
