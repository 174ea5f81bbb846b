"""Checkpoints with plausible but wrong arrays under a right digest: the format by itself.

Run as a program, it changes every array of a checkpoint in many ways, resumes from each, and prints how many
were refused and how many went on. Whatever else ends the process is a fault.

    python -m tests.core.chains.checkpoint_faults PACKAGE DIRECTORY CHECKPOINT TIMES RESUME…
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]


def read(path: Path) -> tuple[dict, Arrays]:
    with np.load(path) as archive:
        arrays = dict(archive)
    return json.loads(arrays.pop("header").item()), arrays


def write(path: Path, header: dict, arrays: Arrays) -> None:
    """Write a checkpoint whose digest is right."""
    header = {name: value for name, value in header.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"\n{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode() + array.tobytes())
    text = json.dumps({**header, "digest": digest.hexdigest()}, sort_keys=True)
    with open(path, "wb") as stream:
        np.savez(stream, header=np.array(text), **arrays)


def changes(array: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Plausible and less plausible others of an array; all of them once, without end where drawn."""
    with np.errstate(over="ignore"):
        yield "float16", array.astype(np.float16) if array.dtype.kind in "iuf" else array
    if array.ndim == 0:
        for value in (-1, 0, 1, 10**9):
            yield str(value), np.asarray(value).astype(array.dtype)
        return
    yield "short", array[: len(array) // 2]
    yield "long", np.concatenate([array, array])
    yield "empty", array[:0]
    if array.size == 0:
        return
    info = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
    for value in (0, 1, info.max, info.min, -1 if info.min < 0 else 7):
        yield f"all {value}", np.full_like(array, value)
    while True:
        other = np.ascontiguousarray(array).copy()
        kind = int(rng.integers(4))
        places = rng.integers(array.size, size=3)
        if kind == 0:
            other.reshape(-1)[places] = rng.permutation(array.reshape(-1))[:1]
        elif kind == 1:
            other.reshape(-1)[places[0]] = rng.choice(np.array([info.max, info.min, 0, 2, 77], array.dtype))
        elif kind == 2:
            rng.shuffle(other)
        else:
            bits = other.reshape(-1).view(np.uint8)
            bits[rng.integers(len(bits))] ^= 1 << int(rng.integers(8))
        yield f"drawn {kind}", other


def main(package: str, directory: Path, checkpoint: str, times: int, resume: list[str]) -> None:
    command = importlib.import_module(f"{package}.cli").main
    saved = directory.with_name(directory.name + ".saved")
    shutil.copytree(directory, saved)
    header, arrays = read(directory / checkpoint)
    rng = np.random.default_rng(3)
    counts = {"refused": 0, "went on": 0}
    for name in arrays:
        for _, (label, other) in zip(range(times), changes(arrays[name], rng), strict=False):
            (saved.parent / "last").write_text(f"{name}: {label}")
            shutil.rmtree(directory)
            shutil.copytree(saved, directory)
            write(directory / checkpoint, header, {**arrays, name: other})
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                status = command(resume)
            lines = [line for line in said.getvalue().splitlines() if not line.startswith("warning: ")]
            if status == 2 and len(lines) == 1 and Path(checkpoint).name in lines[0]:
                counts["refused"] += 1
            elif status == 0:
                counts["went on"] += 1
            else:
                raise SystemExit(f"{name}, {label}: status {status}, {lines}")
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5:])
