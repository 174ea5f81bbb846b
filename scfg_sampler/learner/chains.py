"""Several chains of one learner, and what they say together.

With `--chains N`, a run directory holds the chains as run directories of their own, `chain-1` … `chain-N`,
and beside them `run.json`, the lexical tables, and `counts/` (and `marginals.json`) averaged over all chains.
The first chain is the one that would have run alone with the same seed.

The fact a newcomer would get wrong: chains are independent, so several at a time (`--threads`) change nothing
but the time; the shards of a single chain are not.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scfg_sampler.core.chains.run_directory import RECORD, refuse_occupied, write_json
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner.run import RunSettings, read_run, resume_run, start_run
from scfg_sampler.learner.settings import LearnerSettings
from scfg_sampler.rules.mixing import mix_tables
from scfg_sampler.rules.table import read_rule_table, write_rule_table

__all__ = ["chain_directories", "resume_chains", "start_chains"]

Advance = Callable[[int, str], Any]


def chain_directories(directory: PathLike) -> list[Path]:
    """The run directories of single chains: those inside, or the directory itself.

    Parameters
    ----------
    directory : path
    """
    inside = sorted(Path(directory).glob("chain-*/run.json"), key=lambda path: (len(str(path)), path))
    return [path.parent for path in inside] or [Path(directory)]


def start_chains(
    files: CorpusFiles,
    output: PathLike,
    settings: LearnerSettings,
    run: RunSettings,
    *,
    chains: int,
    overwrite: bool = False,
    check: bool = False,
    advance: Advance = lambda steps, note: None,
) -> dict:
    """Sample with several chains; what `run.json` says in the end.

    Parameters
    ----------
    files, output
        As in `run.start_run`.
    settings : LearnerSettings
        `threads` is how many chains run at a time.
    run : RunSettings
    chains : int
        With 1, this is `run.start_run`.
    overwrite, check : bool
    advance : callable

    Raises
    ------
    InputError
        The corpus cannot be used, or the directory holds a run already.
    SettingsError
        A setting is out of range.
    """
    if chains < 1:
        raise SettingsError(f"--chains is {chains}; it must be at least 1")
    options: dict[str, Any] = {"overwrite": overwrite, "check": check}
    directory = Path(output)
    refuse_occupied(output, overwrite, "scfg-sampler resume")
    if overwrite:
        for old in directory.glob("chain-*"):
            shutil.rmtree(old)
    if chains == 1:
        return start_run(files, output, settings, run, advance=advance, **options)
    single = settings._replace(threads=1)

    def job(chain: int) -> Callable[[Advance], dict]:
        place = directory / f"chain-{chain + 1}"
        return lambda advance: start_run(files, place, single, run, stream=chain, advance=advance, **options)

    _side_by_side([job(chain) for chain in range(chains)], settings.threads, advance)
    return _pool(directory)


def resume_chains(
    output: PathLike,
    iterations: int | None = None,
    *,
    check: bool = False,
    advance: Advance = lambda steps, note: None,
) -> dict:
    """Continue all chains of a run; what `run.json` says in the end.

    Parameters
    ----------
    output : path
    iterations : int, optional
        As in `run.resume_run`.
    check : bool
    advance : callable
    """
    directories = chain_directories(output)
    if directories == [Path(output)]:
        return resume_run(output, iterations, check=check, advance=advance)
    unfinished = []
    for directory in directories:
        record = read_run(directory)
        if not record["finished"] or record["sweeps"] < (iterations or record["run"]["iterations"]):
            unfinished.append(directory)
    if not unfinished:
        sweeps = read_run(directories[0])["sweeps"]
        raise SettingsError(
            f"{output} has {sweeps} sweeps already; give --iterations more than that to go on"
        )

    def job(directory: Path) -> Callable[[Advance], dict]:
        return lambda advance: resume_run(directory, iterations, check=check, advance=advance)

    _side_by_side([job(each) for each in unfinished], 1, advance)
    return _pool(Path(output))


def _side_by_side(jobs: Sequence[Callable[[Advance], dict]], threads: int, advance: Advance) -> None:
    """Run the jobs, so many at a time; an interrupt stops all of them at their next sweep."""
    stop = threading.Event()

    def advance_or_stop(steps: int, note: str) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        advance(steps, note)

    with ThreadPoolExecutor(min(threads, len(jobs))) as pool:
        futures = [pool.submit(job, advance_or_stop) for job in jobs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _pool(directory: Path) -> dict:
    """Write what the chains say together; the record."""
    chains = chain_directories(directory)
    records = [read_run(chain) for chain in chains]
    for counts in sorted((chains[0] / "counts").glob("*.gz")):
        tables = [read_rule_table(chain / "counts" / counts.name) for chain in chains]
        made = f"{tables[0].signature}|chains:{len(tables)}"
        pooled = mix_tables(tables, [1.0 / len(tables)] * len(tables), made)
        write_rule_table(pooled, directory / "counts" / counts.name)
    for name in ("lex.f2e", "lex.e2f"):
        shutil.copyfile(chains[0] / name, directory / name)
    if (chains[0] / "marginals.json").exists():
        _pool_marginals([chain / "marginals.json" for chain in chains], directory / "marginals.json")
    record = {
        **records[0],
        "chains": len(chains),
        "finished": all(each["finished"] for each in records),
        "seconds": round(max(each["seconds"] for each in records), 3),
        "cpu_seconds": round(max(each["cpu_seconds"] for each in records), 3),
        "peak_memory_mb": max(each["peak_memory_mb"] for each in records),
    }
    write_json(record, directory / RECORD)
    return record


def _pool_marginals(paths: list[Path], output: Path) -> None:
    """The mean of marginals."""
    all_marginals = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    pooled = all_marginals[0]
    for sentences in zip(*(each["sentences"] for each in all_marginals), strict=True):
        for nodes in zip(*(each["nodes"] for each in sentences), strict=True):
            for name in ("in_tree", "cut"):
                nodes[0][name] = sum(node[name] for node in nodes) / len(nodes)
    counts: dict[str, float] = {}
    for each in all_marginals:
        for rule, count in each["rules"]:
            counts[rule] = counts.get(rule, 0.0) + count / len(all_marginals)
    pooled["rules"] = [list(item) for item in sorted(counts.items())]
    pooled["sweeps"] = sum(each["sweeps"] for each in all_marginals)
    with atomic_output(output) as stream:
        json.dump(pooled, stream, ensure_ascii=False)
        stream.write("\n")
