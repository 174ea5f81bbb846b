"""Commands whose disk is full at some size, or whose standard output is: one line, status 2, nothing lost.

    python -m tests.full_disks DIRECTORY COMMAND SIZES [SEED] [--mount]
    python -m tests.full_disks DIRECTORY stdout

A command runs with little room, must refuse in one line, and leave an older file of the name as it was; then,
with room again, it is taken up as its user would and must end as an undisturbed one does. Little room is a
limit on the size of a file (RLIMIT_FSIZE), which anybody may set; with --mount, which only root may, it is a
small disk with so much space left. With `stdout`, all commands that print get /dev/full to print on.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.kills import COMMANDS, CORPUS, Command, contents, prepare

_OLD = b"what was there before\n"
_TABLE = "--source train.f --quiet"


def _file(package: str, start: str) -> Command:
    return Command(package, start)


FILES = {
    "grammar": _file("scfg_sampler", "grammar sampled --quiet --output out.gz"),
    "filter": _file("scfg_sampler", f"filter table.gz {_TABLE} --output out"),
    "prune": _file("scfg_sampler", "prune table.gz --keep 50% --quiet --output out"),
    "convert": _file("scfg_sampler", "convert table.gz --to moses --quiet --output out"),
    "classes": _file("scfg_sampler", "classes train.e --quiet --output out"),
    "symmetrise": _file("scfg_sampler", "symmetrise --forward train.a --reverse train.a --output out"),
    "forest": _file("scfg_sampler", f"forest {CORPUS.replace('--quiet', '')} --sentence 3 --output out"),
    "curves": _file("scfg_sampler", "curves a=sampled --output out.svg"),
    "plug": _file(
        "scfg_sampler", "plug table.gz --to moses --lm lm.arpa --weights weights --output plugged --quiet"
    ),
    "compile-lm": _file("decoder", "compile-lm lm.arpa --output out"),
    "compile-grammar": _file("decoder", "compile-grammar table.gz --quiet --output out"),
    "dmv-parse": _file("monolingual", "dmv parse tags.model tags.txt --output out --quiet"),
    "pcfg-simulate": _file("monolingual", "pcfg simulate grammar --samples 400 --output out --quiet"),
    "pcfg-train": _file("monolingual", "pcfg train grammar --sentences sentences --output out --quiet"),
    "pcfg-parse": _file("monolingual", "pcfg parse grammar --sentences sentences --output out"),
    "ot-fit": _file("monolingual", "ot fit tableaux.tsv --output fitted --quiet"),
    "ot-gla": _file("monolingual", "ot gla tableaux.tsv --seeds 3 --output fitted --quiet"),
    "ot-maxent": _file("monolingual", "ot maxent tableaux.tsv --output fitted --quiet"),
    "ot-convert": _file("monolingual", "ot convert tableaux.tsv --to praat --output out"),
}
WRITERS = {**{name: command for name, command in COMMANDS.items() if name != "threads"}, **FILES}
PRINTERS = {
    "extract": ("scfg_sampler", f"extract {CORPUS} --output -", None),
    "extract-shares": ("scfg_sampler", f"extract {CORPUS} --threads 2 --output -", None),
    "grammar": ("scfg_sampler", "grammar sampled --quiet --output -", None),
    "filter": ("scfg_sampler", f"filter table.gz {_TABLE} --output -", None),
    "prune": ("scfg_sampler", "prune table.gz --keep 50% --quiet --output -", None),
    "convert": ("scfg_sampler", "convert table.gz --to joshua --quiet --output -", None),
    "diagnose": ("scfg_sampler", "diagnose sampled", None),
    "classes": ("scfg_sampler", "classes train.e --quiet --output -", None),
    "symmetrise": ("scfg_sampler", "symmetrise --forward train.a --reverse train.a", None),
    "forest": ("scfg_sampler", f"forest {CORPUS.replace('--quiet', '')} --sentence 3", None),
    "plug": ("scfg_sampler", FILES["plug"].start, None),
    "train-lm": ("decoder", "train-lm train.e --order 2 --quiet --output -", None),
    "query-lm": ("decoder", "query-lm lm.arpa", "train.e"),
    "translate": (
        "decoder",
        "translate --grammar table.gz --lm lm.arpa --weights weights --quiet",
        "train.f",
    ),
    "evaluate": ("decoder", "evaluate --hypothesis train.e --references train.e", None),
    "pcfg-check": ("monolingual", "pcfg check grammar", None),
    "pcfg-parse": ("monolingual", "pcfg parse grammar --sentences sentences", None),
    "pcfg-simulate": ("monolingual", "pcfg simulate grammar --samples 9 --quiet", None),
    "tsg-statistics": ("monolingual", "tsg statistics trees.run", None),
    "tsg-parse": ("monolingual", "tsg parse trees.run --quiet", "words"),
    "tsg-score": ("monolingual", "tsg score trees trees", None),
    "ot-orderings": ("monolingual", "ot orderings tableaux.tsv", None),
    "ot-rank": ("monolingual", "ot rank tableaux.tsv", None),
    "ot-convert": ("monolingual", "ot convert tableaux.tsv --to praat --output -", None),
    "ot-predict": ("monolingual", "ot predict fitted.ot tableaux.tsv", None),
    "ot-compare": ("monolingual", "ot compare tableaux.tsv fitted.ot", None),
    "dmv-parse": ("monolingual", "dmv parse tags.model tags.txt --output - --quiet", None),
    "dmv-evaluate": ("monolingual", "dmv evaluate tags.model tags.txt", None),
    "dmv-train": ("monolingual", "dmv train tags.txt --method em --rounds 3 --output - --quiet", None),
    "help": ("scfg_sampler", "--help", None),
    "version": ("decoder", "--version", None),
}
_MORE = (
    ("scfg_sampler", f"sample {CORPUS} --iterations 30 --burn-in 4 --output sampled"),
    (
        "monolingual",
        "tsg train trees --iterations 9 --burn-in 2 --unknown none --output trees.run --quiet",
    ),
    ("monolingual", "dmv train tags.txt --method em --rounds 3 --output tags.model --quiet"),
    ("monolingual", "ot maxent tableaux.tsv --output fitted.ot --quiet"),
)


def prepare_more(place: Path) -> None:
    """Write what the commands read, results of others among it."""
    prepare(place)
    (place / "words").write_text("a c\nb\n")
    for package, start in _MORE:
        with open(os.devnull, "w") as nowhere:
            child = _child(package, start, stdout=nowhere.fileno())
        assert child == (0, []), (start, child)


def _child(
    package: str, command: str, *, limit: int | None = None, stdin: str | None = None, stdout: int = 2
) -> tuple[int, list[str]]:
    """The status of a command in a forked child, and the lines it says beside warnings."""
    main = importlib.import_module(f"{package}.cli").main
    # The limit holds for what is in memory too, but not for a pipe, which has room for messages.
    said, saying = os.pipe() if limit is not None else 2 * (os.memfd_create("said"),)
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.dup2(saying, 2)
            os.dup2(stdout if stdout != 2 else saying, 1)
            sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")  # noqa: SIM115
            sys.stderr = io.TextIOWrapper(open(2, "wb", 0, closefd=False), write_through=True)  # noqa: SIM115
            if stdin is not None:
                sys.stdin = open(stdin, encoding="utf-8")  # noqa: SIM115
            if limit is not None:
                resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
                )
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            status = main(command.split())
            sys.stdout.flush()
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if limit is None:
        os.lseek(said, 0, os.SEEK_SET)
    else:
        os.close(saying)
    with open(said, encoding="utf-8") as stream:
        lines = [line for line in stream.read().splitlines() if not line.startswith("warning: ")]
    return status, lines


class Room:
    """The room there is for what a command writes."""

    def __init__(self, place: Path, mounted: bool):
        self._place, self._mounted = place, mounted

    def with_little(self, size: int, run: Callable[..., tuple[int, list[str]]]) -> tuple[int, list[str]]:
        """What a command says with so many bytes left, or allowed in a file."""
        if not self._mounted:
            return run(limit=size)
        found = os.statvfs(self._place)
        filler = self._place / "filler"
        with open(filler, "wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, max(1, found.f_bavail * found.f_frsize - size))
        try:
            return run()
        finally:
            filler.unlink()


def fill(place: Path, name: str, sizes: int, seed: int = 1, mounted: bool = False) -> dict:
    """Run a command with little room, so many times; what came of it."""
    command = WRITERS[name]
    prepare_more(place)
    inputs = {path.name for path in place.iterdir()}

    def clear() -> None:
        for path in place.iterdir():
            if path.name not in inputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    status, said = _child(command.package, command.start)
    assert status == 0, said
    whole = contents(place)
    new = {path.name for path in place.iterdir()} - inputs
    outputs = [place / each for each in ("out", "out.gz", "out.svg") if each in new]
    found = [path for each in new for path in [place / each, *(place / each).rglob("*")]]
    written = [path.stat().st_size for path in found if path.is_file()]
    most = sum(written) if mounted else max(written)
    room, rng = Room(place, mounted), np.random.default_rng(seed)
    counts = {"refused": 0, "went on": 0}
    for _ in range(sizes):
        clear()
        for path in outputs:
            path.write_bytes(_OLD)
        size = int(rng.integers(0, most))

        def run(limit: int | None = None) -> tuple[int, list[str]]:
            return _child(command.package, command.start, limit=limit)

        status, said = room.with_little(size, run)
        here = f"{name} with {size} bytes: status {status}, {said}"
        if status == 0:
            counts["went on"] += 1
            continue
        counts["refused"] += 1
        if status != 2 or len(said) != 1 or "cannot be" not in said[0]:
            raise SystemExit(here)
        for path in outputs:
            if path.read_bytes() != _OLD:
                raise SystemExit(f"{here}; {path.name} is not what it was")
        is_begun = command.there and (place / command.there).exists()
        again = command.resume if is_begun else command.start
        status, said = _child(command.package, again)
        if status != 0:
            raise SystemExit(f"{here}; then {again}: status {status}, {said}")
        found = contents(place)
        for each in sorted(found.keys() | whole.keys()):
            if found.get(each) != whole.get(each):
                raise SystemExit(f"{here}; then {each} is not as it should be")
    return {"command": name, "most": most, **counts}


def print_to_full(place: Path) -> dict:
    """Run all commands that print with /dev/full as standard output; how many there are."""
    prepare_more(place)
    wrong = []
    for name, (package, command, stdin) in PRINTERS.items():
        full = os.open("/dev/full", os.O_WRONLY)
        status, said = _child(package, command, stdin=stdin, stdout=full)
        os.close(full)
        if status != 2 or len(said) != 1 or "cannot be written (No space left on device)" not in said[0]:
            wrong.append(f"{name} to /dev/full: status {status}, {said}")
    if wrong:
        raise SystemExit("\n".join(wrong))
    return {"printers": len(PRINTERS)}


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(prog="python -m tests.full_disks")
    parser.add_argument("place", type=Path)
    parser.add_argument("command", choices=[*WRITERS, "stdout"])
    parser.add_argument("sizes", type=int, nargs="?", default=20)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--mount", action="store_true")
    options = parser.parse_args()
    place = options.place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    if options.mount:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], check=True)
    os.chdir(place)
    try:
        if options.command == "stdout":
            found = print_to_full(place)
        else:
            found = fill(place, options.command, options.sizes, options.seed, options.mount)
    finally:
        os.chdir("/")
        if options.mount:
            subprocess.run(["umount", str(place)], check=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
