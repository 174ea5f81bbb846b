"""Commands killed with SIGKILL at random moments, taken up again, and compared with undisturbed ones.

    python -m tests.kills DIRECTORY COMMAND MOMENTS [SEED]

Commands run in forked children, so that only the first has to compile or load anything. Each is killed, taken
up again as its user would, perhaps killed again while at that, and at last left alone. Then every file must
be as an undisturbed process leaves it, and there must be none besides.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Command(NamedTuple):
    """What is run, and how it is taken up again once a file is there."""

    package: str
    start: str
    there: str = ""
    resume: str = ""


CORPUS = "--source train.f --target train.e --alignment train.a --quiet"
SAMPLE = f"sample {CORPUS} --output run --iterations 30 --burn-in 10 --marginals --checkpoint-every 3"
MODELS = "--grammar table.gz --lm lm.arpa --source train.f --references train.e --threads 1"
COMMANDS = {
    "sample": Command("scfg_sampler", SAMPLE, "run/run.json", "resume run --quiet"),
    "threads": Command("scfg_sampler", f"{SAMPLE} --threads 2", "run/run.json", "resume run --quiet"),
    "chains": Command(
        "scfg_sampler", f"{SAMPLE} --chains 3 --threads 2", "run/run.json", "resume run --quiet"
    ),
    "tsg": Command(
        "monolingual",
        "tsg train trees --iterations 300 --burn-in 30 --marginals --states 5 --checkpoint-every 10 "
        "--unknown none --output run --quiet",
        "run/run.json",
        "tsg resume run --quiet",
    ),
    "tsg-shards": Command(
        "monolingual",
        "tsg train trees --iterations 300 --burn-in 30 --marginals --states 5 --checkpoint-every 10 "
        "--unknown none --shards 3 --threads 2 --output run --quiet",
        "run/run.json",
        "tsg resume run --quiet",
    ),
    "pcfg": Command(
        "monolingual",
        "pcfg sample grammar --sentences sentences --approach sink --prior 1 --iterations 4000 --chains 2 "
        "--checkpoint-every 3 --output run --quiet",
        "run/run.json",
        "pcfg resume run --checkpoint-every 3 --quiet",
    ),
    "ot": Command(
        "monolingual",
        "ot sample tableaux.tsv --iterations 600 --burn-in 50 --chains 2 --checkpoint-every 40 --output run "
        "--quiet",
        "run/run.json",
        "ot resume run --quiet",
    ),
    "dmv": Command(
        "monolingual",
        "dmv train tags.txt --method gibbs --iterations 300 --checkpoint-every 9 --output model --quiet",
        "model.checkpoint.npz",
        "dmv resume model --checkpoint-every 9 --quiet",
    ),
    "tune": Command("decoder", f"tune {MODELS} --rounds 3 --quiet --output w.json"),
    "extract": Command("scfg_sampler", f"extract {CORPUS} --threads 3 --output out.gz"),
    "labels": Command(
        "scfg_sampler", f"extract {CORPUS} --labels train.trees --labels-form trees --output out.gz"
    ),
    "train-lm": Command(
        "decoder", "train-lm train.e --order 3 --memory 1M --temporary tmp --quiet --output out.arpa"
    ),
    "bundle": Command(
        "decoder", "bundle --grammar table.gz --lm lm.arpa --weights weights --output system --quiet"
    ),
}
_TIMES = ("seconds", "cpu_seconds")


def prepare(place: Path) -> None:
    """Write what the commands read."""
    rng = np.random.default_rng(8)
    pairs = []
    for _ in range(60):
        words = rng.integers(0, 12, rng.integers(2, 9))
        links = [(i, i) for i in range(len(words))]
        if len(words) > 3 and rng.random() < 0.5:
            links[0], links[1] = (0, 1), (1, 0)
        order = [target for _, target in links]
        pairs.append((words, words[np.argsort(order)], links))
    texts = {
        "train.f": [" ".join(f"f{w}" for w in source) for source, _, _ in pairs],
        "train.e": [" ".join(f"e{w}" for w in target) for _, target, _ in pairs],
        "train.a": [" ".join(f"{i}-{j}" for i, j in sorted(links)) for _, _, links in pairs],
        "train.trees": [f"(S {' '.join(f'(T{w % 3} e{w})' for w in target)})" for _, target, _ in pairs],
        "trees": ["(S (A a) (B (C b) (A c)))", "(S (A a) (B c))", "(S (B (C b) (A c)) (A a))"] * 9,
        "grammar": ["S -> S S [0.4] | 'a' [0.3] | 'b' [0.3]"],
        "sentences": ["a a b a", "a a", "b a b"] * 4,
        "tableaux.tsv": [
            "input\toutput\tfrequency\tA\tB\tC",
            *("x\ta\t30\t0\t1\t1", "x\tb\t20\t1\t0\t0", "y\ta\t5\t0\t1\t0", "y\tb\t9\t1\t0\t1"),
        ],
        "tags.txt": ["DT NN VB\t2 3 0\tthe dog barks", "NN VB\t2 0\tdogs bark", "UH\t0\tyes"] * 5,
    }
    for name, lines in texts.items():
        (place / name).write_text("".join(line + "\n" for line in lines))
    (place / "tmp").mkdir()
    sampler, decoder = (importlib.import_module(f"{name}.cli").main for name in ("scfg_sampler", "decoder"))
    assert sampler(f"extract {CORPUS} --output table.gz".split()) == 0
    assert decoder(["train-lm", "train.e", "--order", "2", "--quiet", "--output", "lm.arpa"]) == 0
    assert decoder(f"tune {MODELS} --rounds 1 --quiet --output weights".split()) == 0
    shutil.rmtree("weights.state")


def contents(place: Path) -> dict[str, Any]:
    """All files, without what depends on the time."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in place.rglob("*") if path.is_file()):
        name = str(path.relative_to(place))
        if path.name in ("run.json", "summary.json"):
            record = json.loads(path.read_text())
            times = (*_TIMES, "peak_memory_mb", "command")
            found[name] = {key: value for key, value in record.items() if key not in times}
        elif path.name.startswith("trace") and path.suffix == ".tsv":
            rows = [line.split("\t") for line in path.read_text().splitlines()]
            kept = [k for k, column in enumerate(rows[0]) if column not in _TIMES]
            found[name] = [[row[k] for k in kept] for row in rows]
        elif path.name.startswith("checkpoint"):
            with np.load(path) as archive:
                header = json.loads(archive["header"].item())
                arrays = {each: archive[each].tobytes() for each in archive if not each.endswith("seconds")}
            del arrays["header"], header["digest"]
            found[name] = (header, arrays)
        else:
            found[name] = path.read_bytes()
    return found


def forked(main: Callable, arguments: list[str], seconds: float) -> int | None:
    """The status of a command in a child; None if it was killed after so many seconds."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os._exit(main(arguments))
        os._exit(70)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def main(place: Path, name: str, moments: int, seed: int = 1) -> None:
    place.mkdir(parents=True, exist_ok=True)
    os.chdir(place)
    prepare(place)
    command = COMMANDS[name]
    run = importlib.import_module(f"{command.package}.cli").main
    inputs = {path.name for path in place.iterdir()}
    assert run(command.start.split()) == 0
    whole = contents(place)
    rng = np.random.default_rng(seed)

    def clear() -> None:
        for path in place.iterdir():
            if path.name not in inputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    clear()
    began = time.monotonic()
    assert forked(run, command.start.split(), 600) == 0
    length = time.monotonic() - began
    kills = 0
    for moment in range(moments):
        for _ in range(10):  # Until it was killed at all: the first was slow, if the machine was busy then.
            clear()
            killed, fastest = _killed_and_taken_up(run, command, rng, length, f"{name}, moment {moment}")
            length = min(length, fastest)
            found = contents(place)
            for each in sorted(found.keys() | whole.keys()):
                if found.get(each) != whole.get(each):
                    raise SystemExit(f"{name}, moment {moment}: {each} is not as it should be")
            kills += killed
            if killed:
                break
    print(json.dumps({"command": name, "moments": moments, "kills": kills, "seconds": round(length, 2)}))


def _killed_and_taken_up(
    run: Callable, command: Command, rng: np.random.Generator, length: float, where: str
) -> tuple[int, float]:
    """How often a command was killed until it was done, and how long it took if never, else infinity."""
    arguments, kills = command.start.split(), 0
    for attempt in range(50):
        seconds = float(rng.uniform(0, length)) if attempt < 1 + rng.integers(3) else 600.0
        began = time.monotonic()
        status = forked(run, arguments, seconds)
        # One that was done when it was killed is refused; what it left is compared with the rest.
        if status == 0 or (status == 2 and kills):
            return kills, math.inf if kills else time.monotonic() - began
        if status is not None:
            raise SystemExit(f"{where}, attempt {attempt}: status {status} of {arguments}")
        kills += 1
        is_begun = command.there and Path(command.there).exists()
        arguments = (command.resume if is_begun else command.start).split()
    return kills, math.inf


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]), *map(int, sys.argv[4:]))
