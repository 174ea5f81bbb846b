"""Mapped files taken apart and put together again, with a checksum that is right: the format by itself.

Run as a program, it changes every array and every number of the header of a file in many ways and reads and
uses each; it prints how many were refused and used. Whatever ends the process otherwise is a fault. With a
fourth argument only arrays are changed whose names begin with it.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from decoder.grammar.file import read_grammar_file, with_settings
from decoder.lm.model import load_lm
from decoder.system.system import load_system
from decoder.translation.decoder import Decoder
from scfg_sampler.errors import InputError

SENTENCES = ["u v w", "u u u u", "w v u v w", "v", "zz u"]


def taken_apart(data: bytes) -> tuple[bytes, dict[str, Any], bytearray]:
    """The first line, the header, and what follows it up to the end."""
    magic, _, line = data.split(b"\n", 3)[:3]
    begin = len(magic) + 10 + len(line) + 1
    return magic + b"\n", json.loads(line), bytearray(data[begin + -begin % 64 :])


def put_together(magic: bytes, header: dict[str, Any], body: bytes) -> bytes:
    line = json.dumps(header).encode() + b"\n"
    rest = line + bytes(-(len(magic) + 9 + len(line)) % 64) + bytes(body)
    return magic + f"{zlib.crc32(magic + rest):08x}\n".encode() + rest


def changed_arrays(
    data: bytes, rng: np.random.Generator, times: int, beginning: str = ""
) -> Iterator[tuple[str, bytes]]:
    """What was changed, and the file: single numbers made extreme or another's, rows exchanged, and more."""
    magic, header, body = taken_apart(data)
    for name, (at, length, dtype, _) in header["arrays"].items():
        kind = np.dtype(dtype)
        if length == 0 or not name.startswith(beginning):
            continue
        size = length // kind.itemsize
        if kind.kind == "f":
            extremes = [np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0]
        else:
            info = np.iinfo(kind)
            extremes = [info.min, info.max, -1, -2, 0, 1, size, size + 1, 1 << 30, info.max // 2]
        for k in range(times):
            changed = body.copy()
            values = np.frombuffer(changed, kind, size, at)
            place = rng.integers(size)
            if k % 3 == 0:
                values[place] = extremes[(k // 3) % len(extremes)]
            elif k % 3 == 1:
                values[place] = values[rng.integers(size)]
            else:
                rng.shuffle(values)
            yield f"{name} {k}", put_together(magic, header, changed)
        for extreme in extremes:
            changed = body.copy()
            np.frombuffer(changed, kind, size, at)[:] = extreme
            yield f"{name} all {extreme}", put_together(magic, header, changed)


def changed_headers(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What was changed, and the file: each value, place, length and size of the header another one."""
    magic, header, body = taken_apart(data)
    others = (-1, 0, 1, 2, 3, 7, 64, 10**9, 2**62, 2**70, 0.5, None, "x", [], {}, True)

    def places(node: Any) -> Iterator[tuple[Any, Any]]:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            if isinstance(node[key], (dict, list)):
                yield from places(node[key])

    for node, key in list(places(header)):
        original = node[key]
        for other in others:
            if other != original or type(other) is not type(original):
                node[key] = other
                yield f"{key} = {other}", put_together(magic, header, body)
        node[key] = original


def use_grammar(folder: Path) -> None:
    lm, vocabulary = load_lm(folder / "lm.bin")
    grammar = with_settings(read_grammar_file(folder / "grammar.bin"), "", 20)
    names = (*grammar.feature_names, "LanguageModel", "Glue", "PassThrough")
    decoder = Decoder(grammar, lm, vocabulary, dict.fromkeys(names, 0.5), beam=50)
    for sentence in SENTENCES:
        decoder.translations(decoder.search(sentence.split()), 20)


def use_system(folder: Path) -> None:
    system = load_system(folder)
    for sentence in SENTENCES:
        system.translate_line(sentence)


USES: dict[str, Callable[[Path], None]] = {
    "lm.bin": use_grammar,
    "grammar.bin": use_grammar,
    "ranking.bin": use_system,
}


def main(folder: Path, name: str, times: int, beginning: str = "") -> None:
    path = folder / name
    whole = path.read_bytes()
    counts = {"refused": 0, "used": 0}
    rng = np.random.default_rng(5)
    headers = () if beginning else changed_headers(whole)
    for label, data in [*changed_arrays(whole, rng, times, beginning), *headers]:
        (folder / "last").write_text(label)
        path.write_bytes(data)
        if name == "ranking.bin":
            record = json.loads((folder / "system.json").read_text())
            record["files"].pop(name, None)
            record["files"][name] = {"bytes": len(data), "sha256": sha256(data)}
            (folder / "system.json").write_text(json.dumps(record))
        try:
            USES[name](folder)
            counts["used"] += 1
        except InputError as error:
            if name not in str(error) or "\n" in str(error):
                raise
            counts["refused"] += 1
    print(json.dumps(counts))


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
