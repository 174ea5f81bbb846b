"""Our decoder beside cdec and Moses: speed at equal model scores, memory, and the wait for a first sentence.

    python benchmarks/beside_decoders.py --grammar test.gz --lm lm.arpa --weights w.json --input test.ja \\
        --cdec FILE --moses FILE --build-binary FILE --output DIR [--label TEXT]

The table should be filtered to the input and to a number of targets: nothing here limits them. `plug` makes
the directories that the others run; the language model in them is turned into KenLM's binary form by its
`build_binary`, if that is given. A decoder whose program is not given is left out.

Every row is a process of its own that translates all sentences on one thread, and another that translates
only the first. Speed is that of the other sentences, in sentences per second of processor time: what loading
and the first sentence take is subtracted. Rows take turns, and of N times the least counts. Scores are means
of what a decoder says of its best derivations, less the constant by which it differs from ours; the last
table holds the scores of equal translations against each other, to show that they are comparable. Then, for
every row of another decoder, how many times as many sentences our searches translate at its mean score,
between two beams by the logarithm of the speed; beams to 1,600 are added until it lies between two.

Modules of the decoder are imported only after all measuring: the peak memory of a process is never said to be
less than that of the process which starts it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
OURS = [sys.executable, "-m", "decoder"]
SAMPLER = [sys.executable, "-m", "scfg_sampler"]
SEARCHES = ("boundary", "guided", "cube")
COMPARED = ("boundary", "guided")
NARROWEST, WIDEST = 1, 1600

CDEC = "-c cdec.ini --quiet -k 1 --cubepruning_pop_limit {limit}"
MOSES = "-f moses.ini -v 0 -threads 1 -output-hypo-score -cube-pruning-pop-limit {limit}"
PEERS = {
    "cdec": ("cdec", CDEC),
    "cdec-fast": ("cdec", f"{CDEC} -I fast_cube_pruning"),
    "cdec-fast-2": ("cdec", f"{CDEC} -I fast_cube_pruning_2"),
    "moses": ("moses", MOSES),
    "moses-limits": ("moses", f"{MOSES} -stack 200 -beam-threshold 0.00001"),
}
"""Ways to run another decoder: whose program, and its arguments; other limits are as `plug` writes them."""


class Row(NamedTuple):
    """A decoder with a limit: how it is started, in which directory, with which constant in its scores."""

    name: str
    limit: int
    command: list[str]
    folder: Path
    text: Path
    constant: float


class Process(NamedTuple):
    """What a process took: processor seconds, those before its first output, seconds by the clock, memory."""

    cpu: float
    first_cpu: float
    first_clock: float
    megabytes: float
    lines: list[str]


class Measured(NamedTuple):
    """What a row took, the least of several times, and the scores and translations of the sentences."""

    row: Row
    all_cpu: float
    one_cpu: float
    speed: float
    first_cpu: float
    first_clock: float
    megabytes: float
    scores: list[float]
    texts: list[str]

    @property
    def score(self) -> float:
        """The mean model score."""
        return sum(self.scores) / len(self.scores)


# ---- Processes ------------------------------------------------------------------------------------


def cpu_so_far(process: int) -> float:
    """Processor time that a process has taken, its threads included."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command: Sequence[str], text: Path | str = os.devnull, folder: Path | None = None) -> Process:
    """A program that succeeds, from its start to its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open(text, "rb") as source, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=source, stdout=subprocess.PIPE, stderr=errors
        )
        assert child.stdout is not None
        told = os.read(child.stdout.fileno(), 1 << 16)
        first_clock, first_cpu = time.perf_counter() - began, cpu_so_far(child.pid)
        told += child.stdout.read()
        child.stdout.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            sys.exit(f"{shlex.join(command)}\n{errors.read().decode(errors='replace')[-2000:]}")
    cpu = usage.ru_utime + usage.ru_stime
    return Process(cpu, first_cpu, first_clock, usage.ru_maxrss / 1024, told.decode().splitlines())


def scored(line: str) -> tuple[float, str]:
    """Score and translation in a line of a list of translations, or in a line of Moses' output."""
    fields = line.split(" ||| ")
    if len(fields) > 2:
        return float(fields[-1]), fields[1].strip()
    score, _, words = line.partition(" ")
    return float(score), words.strip()


def measure(rows: Iterable[Row], one: Path, times: int) -> list[Measured]:
    """What each row takes, one after the other and in turns."""
    rows = list(rows)
    alone: dict[int, list[Process]] = {k: [] for k in range(len(rows))}
    whole: dict[int, list[Process]] = {k: [] for k in range(len(rows))}
    for _ in range(times):
        for k, row in enumerate(rows):
            alone[k].append(run(row.command, one.with_suffix(row.text.suffix), row.folder))
            whole[k].append(run(row.command, row.text, row.folder))
    return [measured(row, alone[k], whole[k]) for k, row in enumerate(rows)]


def measured(row: Row, alone: Sequence[Process], whole: Sequence[Process]) -> Measured:
    """The least of several times; our scores, which cost time to print, in a run of their own."""
    lines = whole[0].lines
    if row.command[: len(OURS)] == OURS:
        lines = run([*row.command, "--nbest", "1"], row.text).lines
    found = [scored(line) for line in lines]
    all_cpu, one_cpu = (min(process.cpu for process in each) for each in (whole, alone))
    first = min(whole, key=lambda process: process.first_cpu)
    return Measured(
        row,
        all_cpu,
        one_cpu,
        (len(found) - 1) / max(all_cpu - one_cpu, 1e-3),
        first.first_cpu,
        min(process.first_clock for process in whole),
        max(process.megabytes for process in whole),
        [score - row.constant for score, _ in found],
        [text for _, text in found],
    )


# ---- What is run ----------------------------------------------------------------------------------


class Files(NamedTuple):
    """What our decoder reads, and where everything else is made."""

    grammar: Path
    lm: Path
    weights: Path
    output: Path

    def ours(self, search: str, beam: int, *, compiled: bool = True) -> Row:
        """Our decoder with a search and a beam."""
        grammar, lm = (
            (self.output / "grammar.bin", self.output / "lm.bin") if compiled else (self.grammar, self.lm)
        )
        command = f"translate --threads 1 --quiet --search {search} --beam {beam} --max-targets 0"
        models = ["--grammar", str(grammar), "--lm", str(lm), "--weights", str(self.weights)]
        name = search if compiled else f"{search}, text"
        text = self.output / "all.ours"
        return Row(name, beam, [*OURS, *command.split(), *models], self.output, text, 0.0)

    def peer(self, name: str, program: Path, limit: int) -> Row:
        """Another decoder with a pop limit."""
        decoder, arguments = PEERS[name]
        folder = self.output / decoder
        constant = json.loads((folder / "plug.json").read_text())["constant"]
        command = [str(program), *arguments.format(limit=limit).split()]
        return Row(name, limit, command, folder, self.output / f"all.{decoder}", constant)


def replace(folder: Path, pattern: str, text: str) -> None:
    """Change what matches in the configuration of a directory."""
    for name in ("cdec.ini", "moses.ini"):
        if (path := folder / name).exists():
            path.write_text(re.sub(pattern, text, path.read_text()))


def plug(files: Files, decoder: str, build_binary: Path | None) -> None:
    """The directory that another decoder runs, and the input spelled for it."""
    folder = files.output / decoder
    models = ["--lm", str(files.lm), "--weights", str(files.weights)]
    run([*SAMPLER, "plug", str(files.grammar), "--to", decoder, *models, "--output", str(folder)])
    if build_binary:
        run([str(build_binary), "probing", str(folder / "lm.arpa"), str(folder / "lm.bin")])
        replace(folder, r"\blm\.arpa\b", "lm.bin")
    for name in ("all", "one"):
        text, spelled = files.output / f"{name}.ours", files.output / f"{name}.{decoder}"
        run([*SAMPLER, "convert", "--to", decoder, "--text", str(text), str(spelled)])


def prepare(files: Files, sentences: Sequence[str]) -> None:
    """The input, our compiled files, and kernels that are compiled for all searches."""
    files.output.mkdir(parents=True, exist_ok=True)
    (files.output / "all.ours").write_text("".join(f"{line}\n" for line in sentences))
    (files.output / "one.ours").write_text(f"{sentences[0]}\n")
    compiled = {"grammar": (files.grammar, "grammar.bin"), "lm": (files.lm, "lm.bin")}
    for name, (source, target) in compiled.items():
        process = run([*OURS, f"compile-{name}", str(source), "--output", str(files.output / target)])
        print(f"compile-{name}: {process.cpu:.2f} s")
    for search in SEARCHES:
        for more in ([], ["--nbest", "1"]):
            run([*files.ours(search, 10).command, *more], files.output / "one.ours")
            run([*files.ours(search, 10, compiled=False).command, *more], files.output / "one.ours")


def until_covered(
    files: Files, search: str, ours: list[Measured], peers: Sequence[Measured], times: int
) -> list[Measured]:
    """Our rows of a search, and beams besides, until the peers' scores lie between two of them."""
    one = files.output / "one"
    found = sorted((each for each in ours if each.row.name == search), key=lambda each: each.row.limit)
    low, high = (choose((peer.score for peer in peers), default=found[0].score) for choose in (min, max))
    while min(each.score for each in found) > low and found[0].row.limit > NARROWEST:
        beam = max(found[0].row.limit // 2, NARROWEST)
        found[:0] = measure([files.ours(search, beam)], one, times)
    while max(each.score for each in found) < high and found[-1].row.limit < WIDEST:
        found += measure([files.ours(search, 2 * found[-1].row.limit)], one, times)
    return found


# ---- What is printed ------------------------------------------------------------------------------


def print_rows(rows: Iterable[Measured]) -> None:
    """A line for each row."""
    print(
        "seconds of processor time for all sentences and for the first; until the first was out, and by the"
    )
    print("clock, of the process for all; megabytes at the most")
    print("decoder            limit      all  first  sentences/s  mean score    out  clock  memory")
    for each in rows:
        print(
            f"{each.row.name:18} {each.row.limit:5d} {each.all_cpu:8.2f} {each.one_cpu:6.2f}"
            f"  {each.speed:11.1f}  {each.score:10.4f} {each.first_cpu:6.2f} {each.first_clock:6.2f}"
            f"  {each.megabytes:6.0f}",
            flush=True,
        )


def print_times(peers: Iterable[Measured], ours: dict[str, list[Measured]]) -> None:
    """For each row of another decoder, how many times as fast each search of ours is at its score."""
    from benchmarks.decoding import Row as Point
    from benchmarks.decoding import speed_at

    print("how many times as many sentences a second ours translates at the score of a row above; the beam")
    print("whose score is no less, and how many times as much memory it takes")
    print("decoder            limit  search       times   beam  memory")
    for peer in peers:
        for search, rows in ours.items():
            points = [Point(each.row.limit, each.speed, 0.0, each.score) for each in rows]
            times = speed_at(peer.score, points) / peer.speed
            lowest, highest = min(each.score for each in rows), max(each.score for each in rows)
            note = "at least" if peer.score < lowest else "out of reach" if peer.score > highest else ""
            enough = [each for each in rows if each.score >= peer.score] or rows[-1:]
            beam = min(enough, key=lambda each: each.row.limit)
            memory = beam.megabytes / peer.megabytes
            print(
                f"{peer.row.name:18} {peer.row.limit:5d}  {search:9} {times:8.1f}  {beam.row.limit:5d}"
                f"  {memory:6.2f}  {note}".rstrip()
            )


def print_agreement(peers: Iterable[Measured], ours: Iterable[Measured]) -> None:
    """How far scores of equal translations are apart, which may have been derived otherwise."""
    best = max(ours, key=lambda each: each.score)
    print(
        f"translations of {len(best.scores)} that are equal to those of {best.row.name} {best.row.limit}; how"
    )
    print("many are derived otherwise, with scores more than .002 apart; how far the other scores are apart")
    print("decoder            limit  equal  otherwise     apart")
    for peer in peers:
        pairs = zip(best.scores, peer.scores, best.texts, peer.texts, strict=True)
        apart = [abs(score - other) for score, other, text, theirs in pairs if text == theirs]
        same = [difference for difference in apart if difference <= 0.002]
        print(
            f"{peer.row.name:18} {peer.row.limit:5d}  {len(apart):5d}  {len(apart) - len(same):9d}"
            f"  {max(same, default=0.0):.6f}"
        )


# ---- The whole ------------------------------------------------------------------------------------


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grammar", type=Path, required=True, metavar="TABLE")
    parser.add_argument("--lm", type=Path, required=True, metavar="LM.arpa")
    parser.add_argument("--weights", type=Path, required=True, metavar="W.json")
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="tokenised sentences")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="for what it makes")
    parser.add_argument("--cdec", type=Path, metavar="FILE", help="cdec's program")
    parser.add_argument("--moses", type=Path, metavar="FILE", help="Moses' program")
    parser.add_argument("--build-binary", type=Path, metavar="FILE", help="KenLM's program")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=["cdec", "moses"], metavar="NAME")
    parser.add_argument("--pop-limits", type=int, nargs="+", default=[30, 100, 200, 500], metavar="N")
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 10, 25, 50, 100, 200, 400], metavar="N")
    parser.add_argument("--sentences", type=int, metavar="N", help="only the first N")
    parser.add_argument("--times", type=int, default=2, metavar="N", help="how often each is measured")
    parser.add_argument("--label", action="append", default=[], help="versions and the like, to be printed")
    return parser.parse_args()


def main() -> None:
    """Prepare, measure, print."""
    args = parsed()
    files = Files(*(path.resolve() for path in (args.grammar, args.lm, args.weights, args.output)))
    print(*args.label, f"load {os.getloadavg()}", sep="\n", flush=True)
    lines = args.input.read_text().split("\n")
    sentences = [line for line in lines if line.strip()][: args.sentences]
    prepare(files, sentences)
    programs = {"cdec": args.cdec, "moses": args.moses}
    names = [name for name in args.peers if programs[PEERS[name][0]]]
    for decoder in dict.fromkeys(PEERS[name][0] for name in names):
        plug(files, decoder, args.build_binary)
    ours = [files.ours(search, beam) for beam in sorted(args.beams) for search in SEARCHES]
    ours.append(files.ours(SEARCHES[0], 200, compiled=False))
    theirs = [
        files.peer(name, programs[PEERS[name][0]].resolve(), limit)
        for name in names
        for limit in args.pop_limits
    ]
    rows = measure([*ours, *theirs], files.output / "one", args.times)
    mine, peers = rows[: len(ours)], rows[len(ours) :]
    print_rows([*mine, *peers])
    curves = {search: until_covered(files, search, mine, peers, args.times) for search in COMPARED}
    if added := [row for curve in curves.values() for row in curve if row not in mine]:
        print_rows(added)
    print_times(peers, curves)
    print_agreement(peers, [row for curve in curves.values() for row in curve])
    print(f"load {os.getloadavg()}")


if __name__ == "__main__":
    main()
