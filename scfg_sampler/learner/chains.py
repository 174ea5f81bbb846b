"""Several chains of one learner, and what they say together.

With `--chains N`, a run directory holds the chains as run directories of their own, `chain-1` … `chain-N`,
and beside them `run.json`, the lexical tables, and `counts/` (and `marginals.json`) averaged over all chains.
The first chain is the one that would have run alone with the same seed.

The fact a newcomer would get wrong: how many chains run at a time (`--threads`) changes nothing but the time;
how many shards each is divided into (`--shards`) does.
"""

from __future__ import annotations

import contextlib
import gc
import heapq
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from scfg_sampler.core.chains.checkpoint import sweeps_kept
from scfg_sampler.core.chains.occupied import refuse_loss, refuse_occupied
from scfg_sampler.core.chains.owner import LOCK, owned
from scfg_sampler.core.chains.run_directory import (
    CHECKPOINT,
    RECORD,
    chain_directory,
    chains_begun,
    require_beyond_burn_in,
    require_same_files,
    require_sweeps_left,
    stored_settings,
    write_record,
)
from scfg_sampler.core.executors import Executor
from scfg_sampler.core.executors import threads as threads_of
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.signals import terminable
from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner.labels import refuse_with_labels
from scfg_sampler.learner.pooled_marginals import pool_marginals
from scfg_sampler.learner.run import (
    RESULTS,
    clear_run,
    new_record,
    read_run,
    resume_run,
    start_run,
)
from scfg_sampler.learner.settings import LearnerSettings, RunSettings, check_run_settings, check_settings
from scfg_sampler.rules.mixing import mix_tables
from scfg_sampler.rules.table import read_rule_table, write_rule_table

__all__ = ["chain_directories", "pool_results", "resume_chains", "start_chains", "sweeps_done", "time_of_all"]

Advance = Callable[[int, str], Any]


def chain_directories(directory: PathLike) -> list[Path]:
    """The run directories of single chains: those inside that have begun, or the directory itself.

    Parameters
    ----------
    directory : path
    """
    return chains_begun(directory) or [Path(directory)]


def sweeps_done(directory: PathLike, record: dict) -> list[int]:
    """How many sweeps each chain that has begun has kept in its checkpoint: `resume` goes on from there.

    A chain that is killed does not get to say in `run.json` how far it came. Where no checkpoint can be read,
    this is what `run.json` says.

    Parameters
    ----------
    directory : path
    record : dict
        What `run.json` of the run says.
    """
    if "chains" not in record:
        return [_sweeps_kept(Path(directory), record)]
    return [_sweeps_kept(chain, read_run(chain)) for chain in chains_begun(directory)]


def _sweeps_kept(chain: Path, record: dict) -> int:
    """`sweeps_done` of a single chain."""
    return record["sweeps"] if record["finished"] else sweeps_kept(chain / CHECKPOINT, record["sweeps"])


def start_chains(
    files: CorpusFiles,
    output: PathLike,
    settings: LearnerSettings,
    run: RunSettings,
    *,
    overwrite: bool = False,
    check: bool = False,
    advance: Advance = lambda steps, note: None,
    executor: Executor | None = None,
) -> dict:
    """Sample with as many chains as there are to be; what `run.json` says in the end.

    Parameters
    ----------
    files, output
        As in `run.start_run`.
    settings : LearnerSettings
    run : RunSettings
        With one chain, this is `run.start_run`; of several, `threads` run at a time.
    overwrite, check : bool
    advance : callable
    executor : Executor, optional
        Sweeps the shards of all chains, which then run all at a time. One chain in one shard is swept here.

    Raises
    ------
    InputError
        The corpus cannot be used, or the directory holds a run already.
    SettingsError
        A setting is out of range.
    """
    check_run_settings(run)
    if run.chains == 1:
        more: Any = {"check": check, "advance": advance, "executor": _for_one(executor, settings.shards)}
        return start_run(files, output, settings, run, overwrite=overwrite, **more)
    check_settings(settings)
    if files.labels is not None:
        refuse_with_labels(settings, run.chains)
    if settings.types > 1:
        raise SettingsError(f"--types {settings.types} has no --chains {run.chains}; leave one of them out")
    refuse_occupied(output, overwrite, "scfg-sampler resume", *RESULTS)
    refuse_loss(output, files.by_name().values(), *RESULTS)
    record = new_record(files, settings, run._replace(chains=1, threads=1))
    record |= {"chains": run.chains, "threads": run.threads}
    with owned(output):
        refuse_occupied(output, overwrite, "scfg-sampler resume", *RESULTS)
        clear_run(output)
        return _run_chains(Path(output), record, check, advance, executor)


def _for_one(executor: Executor | None, shards: int) -> Executor | None:
    """Who sweeps a single chain: of one shard, whoever drives it, since nothing is done at a time."""
    return None if executor is not None and executor.is_elsewhere and shards == 1 else executor


def resume_chains(
    output: PathLike,
    iterations: int | None = None,
    *,
    threads: int | None = None,
    check: bool = False,
    advance: Advance = lambda steps, note: None,
    executor: Executor | None = None,
) -> dict:
    """Continue all chains of a run, begin those not begun; what `run.json` says in the end.

    Parameters
    ----------
    output : path
    iterations : int, optional
        As in `run.resume_run`.
    threads : int, optional
        How many chains run at a time, or shards of a single one; by default as many as when the run was
        started.
    check : bool
    advance : callable
    executor : Executor, optional
        As in `start_chains`.

    Raises
    ------
    InputError, CheckpointMismatch
        As in `run.resume_run`.
    SettingsError
        A chain has more sweeps already, or all have as many; or `threads` is out of range.
    """
    record = read_run(output)
    if threads is not None:
        require_number("threads", threads)
    if "chains" not in record:
        executor = _for_one(executor, record["settings"].get("shards", 1))
        own = executor is None and threads is not None
        with threads_of(threads or 1) if own else contextlib.nullcontext(executor) as tasks:
            return resume_run(output, iterations, check=check, advance=advance, executor=tasks)
    with owned(output):
        record = read_run(output)
        if threads is not None:
            record["threads"] = threads
        return _resume_chains(Path(output), record, iterations, check, advance, executor)


def _resume_chains(
    output: Path,
    record: dict,
    iterations: int | None,
    check: bool,
    advance: Advance,
    executor: Executor | None,
) -> dict:
    """`resume_chains` of a directory of several chains that this process owns."""
    place, version = output / RECORD, record["versions"]["scfg-sampler"]
    run = stored_settings(RunSettings, record["run"], place, version)
    if iterations is not None:
        require_beyond_burn_in(iterations, run.burn_in)
        record["run"]["iterations"] = iterations
        check_run_settings(run._replace(iterations=iterations))
    require_same_files(output, record["corpus"]["files"], record["corpus"]["sha256"])
    done = sweeps_done(output, record)
    longest, are_alike = max(done, default=0), len(set(done)) < 2  # One of them may have been gone on with.
    place = output if are_alike else chains_begun(output)[done.index(longest)]
    is_finished = record["finished"] and are_alike
    require_sweeps_left(place, longest, record["run"]["iterations"], is_finished=is_finished)
    return _run_chains(output, record, check, advance, executor)


def _run_chains(
    directory: Path, record: dict, check: bool, advance: Advance, executor: Executor | None
) -> dict:
    """Run all sweeps that are left of all chains and pool them; what `run.json` says in the end.

    Before any chain begins or goes on, `run.json` says how many there are and how long they are to be: the
    directories that a killed process leaves do not.
    """
    record["finished"] = False
    write_record(record, directory)
    iterations = record["run"]["iterations"]
    unfinished = []
    for stream in range(record["chains"]):
        place = chain_directory(directory, stream + 1)
        if (place / RECORD).exists():
            chain = read_run(place)
            if chain["finished"] and chain["sweeps"] >= iterations:
                if (place / LOCK).exists():  # Killed after its last word: the lock goes with this.
                    with owned(place):
                        continue
                continue
        unfinished.append((place, stream))

    def job(place: Path, stream: int) -> Callable[[Advance], dict]:
        def run(advance: Advance) -> dict:
            if not (place / RECORD).exists():
                single = {name: value for name, value in record.items() if name not in ("chains", "threads")}
                write_record({**single, "stream": stream}, place)
            found = resume_run(place, iterations, check=check, advance=advance, executor=executor)
            gc.collect()  # A chain refers to itself, and would keep its arrays until some later collection.
            return found

        return run

    waiting = executor is not None and executor.is_elsewhere  # So do threads that have others do the work.
    at_a_time = record["chains"] if waiting else record.get("threads", 1)
    _side_by_side([job(*each) for each in unfinished], at_a_time, advance)
    return _pool(directory, record, at_a_time)


def _side_by_side(jobs: Sequence[Callable[[Advance], dict]], threads: int, advance: Advance) -> None:
    """Run the jobs, so many at a time; an interrupt or an error stops all of them at their next sweep."""
    if not jobs:
        return
    stop = threading.Event()

    def advance_or_stop(steps: int, note: str) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        advance(steps, note)

    with terminable(), ThreadPoolExecutor(min(threads, len(jobs))) as pool:
        futures = [pool.submit(job, advance_or_stop) for job in jobs]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _pool(directory: Path, record: dict, at_a_time: int) -> dict:
    """Write what the chains say together, so many of which ran at a time; the record."""
    pool_results(directory, record["chains"], directory)
    records = [read_run(chain_directory(directory, chain + 1)) for chain in range(record["chains"])]
    seconds = [each["seconds"] for each in records]
    pooled_record = {
        **records[0],
        "chains": record["chains"],
        "threads": record.get("threads", 1),
        "seconds": round(time_of_all(seconds, at_a_time), 3),
        "cpu_seconds": round(sum(each["cpu_seconds"] for each in records), 3),
        "peak_memory_mb": max(each["peak_memory_mb"] for each in records),
    }
    write_record(pooled_record, directory)
    return pooled_record


def time_of_all(seconds: Sequence[float], at_a_time: int) -> float:
    """How long chains take that begin in their order, each as soon as fewer than so many are under way.

    Parameters
    ----------
    seconds : sequence of float
        Of each chain.
    at_a_time : int

    >>> time_of_all([6.0, 8.0, 4.0], 2)
    10.0
    """
    ends = [0.0] * max(1, min(at_a_time, len(seconds)))
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def pool_results(directory: PathLike, number: int, output: PathLike) -> None:
    """Write what the chains of a run say together, their counts and marginals, into a directory.

    Parameters
    ----------
    directory : path
        The run's.
    number : int
        Of its chains, all of which are finished.
    output : path
        Where the results go; for a run, its own directory.
    """
    chains, place = [chain_directory(directory, chain + 1) for chain in range(number)], Path(output)
    for counts in sorted((chains[0] / "counts").glob("*.gz")):
        tables = [read_rule_table(chain / "counts" / counts.name) for chain in chains]
        made = f"{tables[0].signature}|chains:{len(tables)}"
        pooled = mix_tables(tables, [1.0 / len(tables)] * len(tables), made)
        write_rule_table(pooled, place / "counts" / counts.name)
    for name in ("lex.f2e", "lex.e2f"):
        shutil.copyfile(chains[0] / name, place / name)
    if (chains[0] / "marginals.json").exists():
        pool_marginals([chain / "marginals.json" for chain in chains], place / "marginals.json")
