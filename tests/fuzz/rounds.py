"""Rounds of damaged files for readers, each in a process of its own, and what they leave to the next.

An input that makes a new step in the project's code is kept, and changed further. What a reader had is in a
directory of its name: `corpus/`, `record.json`, and `trying`, the input it has just been given, which says
what a process died of.

The fact a newcomer would get wrong: minutes are the processor's, lest they mean less on a busy machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import time
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import mutated
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.steps import Steps
from tests.fuzz.trial import fault

__all__ = ["REGRESSIONS", "new_record", "play", "record_of"]

REGRESSIONS = Path(__file__).parent / "regressions"
_LARGEST = 200_000  # Bytes of an input: changes that double a part make changed inputs grow.
_SLOW = 1.0  # Seconds of an input that is not worth changing further.
_MEMORY = 8 << 30  # Bytes of a process, lest a fault take those of the machine.


def new_record() -> dict[str, Any]:
    """What is known of a reader that has had no round."""
    return {"minutes": 0.0, "rounds": 0, "inputs": 0, "steps": 0, "faults": {}}


def record_of(keep: Path, name: str) -> dict[str, Any]:
    """What is known of a reader: minutes, rounds, inputs, steps reached, the file for each place at fault."""
    path = keep / name / "record.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else new_record()


def play(name: str, minutes: float, seed: int, keep: Path, regressions: Path = REGRESSIONS) -> None:
    """Give a reader damaged files for so long, in a child, and record what came of it.

    Faults are told of, and the smallest input of each place in the code is kept among the regressions. That a
    child dies is a fault of the input it had.
    """
    READERS[name].warm()  # Here, lest every child make, compile and load it all again.
    place = keep / name
    (place / "corpus").mkdir(parents=True, exist_ok=True)
    (place / "trying").unlink(missing_ok=True)
    began = _processor_of_children()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
            _fuzz(name, minutes, seed, keep, regressions)
            status = 0
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT) or not (place / "trying").exists():
        raise SystemExit(f"{name}: ended from outside, or before its first input")
    if status != 0:
        found = Found(name, record_of(keep, name), place, regressions)
        died = "status " if status > 0 else "signal "
        found.record["rounds"] += 1
        found.record["minutes"] += (_processor_of_children() - began) / 60
        found.tell(f"the process died with {died}{abs(status)}", (place / "trying").read_bytes())
        found.write()


def _processor_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Found:
    """What rounds of a reader have found: faults, one for each place in the code; inputs that go new ways."""

    def __init__(self, name: str, record: dict[str, Any], place: Path, regressions: Path):
        self.name, self.record, self.place = name, record, place
        self._regressions = regressions / name
        self._steps = Steps()
        self._reader = Reader(self._steps.of(READERS[name].read), ())

    def give(self, content: bytes) -> bool:
        """Give the reader an input; is it one to change further?"""
        before, began = len(self._steps.made), time.process_time()
        (self.place / "trying").write_bytes(content)
        self.record["inputs"] += 1
        wrong = fault(self._reader, content)
        self.record["steps"] = len(self._steps.made)
        if wrong is not None:
            self.tell(wrong, content)
            return False
        return len(self._steps.made) > before and time.process_time() - began < _SLOW

    def tell(self, wrong: str, content: bytes) -> None:
        """Tell of a fault, if its place is new, and keep the input, if it is the smallest."""
        place = wrong.split(" (", 1)[0]
        digest = hashlib.sha256(content).hexdigest()[:12]
        before = self.record["faults"].get(place)
        if before is None:
            print(f"{self.name}: {wrong} [{digest}]", flush=True)
        else:
            kept = self._regressions / before
            if kept.exists() and len(content) >= kept.stat().st_size:
                return
            kept.unlink(missing_ok=True)
        self.record["faults"][place] = digest
        self._regressions.mkdir(parents=True, exist_ok=True)
        (self._regressions / digest).write_bytes(content)
        self.write()  # Another input may end the process.

    def write(self) -> None:
        """Write the record, whole or not at all."""
        path = self.place / "record.json"
        path.with_suffix(".new").write_text(json.dumps(self.record, indent=1), encoding="utf-8")
        path.with_suffix(".new").replace(path)


def _fuzz(name: str, minutes: float, seed: int, keep: Path, regressions: Path) -> None:
    """One round: what has been kept is given first, then what is made of it."""
    found = Found(name, record_of(keep, name), keep / name, regressions)
    rng = random.Random(f"{seed} {name} {found.record['rounds']}")
    pool = list(READERS[name].seeds)
    corpus = found.place / "corpus"
    before, began = found.record["minutes"], time.process_time()
    kept = [path.read_bytes() for path in sorted(corpus.iterdir())]
    for content in (*pool, *kept):
        found.give(content)
    pool += kept
    while time.process_time() - began < 60 * minutes:
        content = mutated(rng, tuple(pool))[:_LARGEST]
        if found.give(content):
            pool.append(content)
            (corpus / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)
    found.record["rounds"] += 1
    found.record["minutes"] = before + (time.process_time() - began) / 60
    found.write()
