"""Whether `explore` stands up to being asked for a long time: errors, and memory minute by minute.

    python benchmarks/explorer.py RUN_OR_SYSTEM... [--minutes 30] [--clients 4] [--pause 0.5]

Starts the server on any free port of this machine, and lets clients ask it everything it answers, one
question after the other, with random pairs, words, rules and weights. Prints for every minute how many
questions were answered, how long the slowest took, and the server's memory. Ends with status 1 if any
answer was an error, or if memory grew: the median of the last third of the minutes is more than 2 % above
that of the second third. (The first is left out: caches fill, and kernels are loaded when they are first
needed.)
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

GROWTH = 1.02


class Clients:
    """What the clients share: where they ask, and what came of it."""

    def __init__(self, address: str, pause: float, stop: float):
        self.address, self.pause, self.stop = address, pause, stop
        self.answered, self.slowest = 0, 0.0
        self.errors: list[str] = []
        self.about = self.ask("/about", None)

    def ask(self, path: str, question: Any) -> Any:
        """The answer to a question; `about` has none."""
        body = None if question is None else json.dumps(question).encode()
        request = urllib.request.Request(f"{self.address}{path}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as response:
            return json.load(response)

    def run(self, seed: int) -> None:
        """Ask until it is time."""
        rng = random.Random(seed)
        while time.monotonic() < self.stop:
            began = time.monotonic()
            path, question = "", None
            try:
                for path, question in questions(rng, self):
                    self.ask(path, question)
                    self.answered += 1
                    self.slowest = max(self.slowest, time.monotonic() - began)
                    began = time.monotonic()
            except urllib.error.HTTPError as error:
                self.errors.append(f"{path} {question}: {error.code} {error.read().decode()}")
            except (OSError, ValueError) as error:
                self.errors.append(f"{path} {question}: {error!r}")
            time.sleep(rng.uniform(0, 2 * self.pause))


def questions(rng: random.Random, clients: Clients) -> Any:
    """A few questions that belong together, with paths; those about a pair begin with it."""
    about = clients.about
    if about["runs"] and rng.random() < 0.6:
        run = rng.randrange(len(about["runs"]))
        pair = {"run": run, "number": rng.randrange(about["runs"][run]["pairs"])}
        answer = clients.ask("/pair", pair)
        yield "/pair", pair
        if answer["phrases"]:
            yield "/forest", pair | {"phrase": rng.randrange(len(answer["phrases"]))}
        if answer["skipped"] is None:
            yield "/steps", pair | {"sweeps": rng.randint(1, 5), "seed": rng.randrange(1000)}
        yield "/pairs", {"run": run, "words": rng.choice(answer["source"])}
        own = " ".join(rng.sample(answer["source"], len(answer["source"])))
        words = {"source": own, "target": " ".join(answer["target"]), "alignment": "0-0"}
        yield "/pair", {"run": run, **words}
    if about["systems"]:
        system = rng.randrange(len(about["systems"]))
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 25)))
        names = list(about["systems"][system]["weights"])
        weights = {rng.choice(names): rng.uniform(-1, 1)}
        yield "/translate", {"system": system, "text": text, "nbest": 10, "details": True}
        yield "/translate", {"system": system, "text": text, "weights": weights}
    if about["runs"]:
        found = clients.ask("/grammar", {"source": rng.choice(WORDS)})
        yield "/shapes", {}
        if found["rules"]:
            yield "/rule", {"rule": rng.choice(found["rules"])["rule"]}


WORDS: list[str] = []


def memory_of(process: int) -> float:
    """Megabytes that a process holds in memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def main() -> int:
    """Start, ask, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", metavar="RUN_OR_SYSTEM")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between questions, on average")
    args = parser.parse_args()
    command = [sys.executable, "-m", "scfg_sampler", "explore", *args.paths, "--port", "0", "--quiet"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip().rstrip("/")
        stop = time.monotonic() + 60 * args.minutes
        clients = Clients(address, args.pause, stop)
        listed = clients.ask("/pairs", {"run": 0})["pairs"] if clients.about["runs"] else []
        WORDS.extend(sorted({word for pair in listed for word in pair["source"].split()} or {"a", "b"}))
        threads = [threading.Thread(target=clients.run, args=(seed,)) for seed in range(args.clients)]
        for thread in threads:
            thread.start()
        memory = watch(clients, server.pid, stop)
        for thread in threads:
            thread.join()
    finally:
        server.terminate()
        server.wait(20)
    return verdict(clients, memory)


def watch(clients: Clients, process: int, stop: float) -> list[float]:
    """The server's memory at the end of each minute, which is printed."""
    print("minute  answered  errors  slowest s  memory MB", flush=True)
    memory: list[float] = []
    while time.monotonic() < stop:
        time.sleep(max(0.0, min(60.0, stop - time.monotonic())))
        memory.append(memory_of(process))
        row = f"{len(memory):6}  {clients.answered:8}  {len(clients.errors):6}  {clients.slowest:9.2f}"
        print(f"{row}  {memory[-1]:9.1f}", flush=True)
        clients.slowest = 0.0
    return memory


def verdict(clients: Clients, memory: list[float]) -> int:
    """The exit status, with what it rests on."""
    for error in clients.errors[:10]:
        print(error)
    third = len(memory) // 3
    if not third:
        return 1 if clients.errors else 0
    middle, last = statistics.median(memory[third : 2 * third]), statistics.median(memory[-third:])
    print(f"{clients.answered} answers, {len(clients.errors)} errors; {middle:.1f} MB, then {last:.1f} MB")
    return 1 if clients.errors or last > GROWTH * middle else 0


if __name__ == "__main__":
    sys.exit(main())
