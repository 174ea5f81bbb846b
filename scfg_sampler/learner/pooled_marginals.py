"""The marginals of several chains, pooled node by node, without holding any file whole.

The fact a newcomer would get wrong: a `marginals.json` is one line, whose objects take many times its
room. So the files are read together, value by value, as `derivations.write_marginals` writes them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from scfg_sampler.core.files import atomic_output
from scfg_sampler.core.json_text import WRONG_RECORD
from scfg_sampler.errors import InputError

__all__ = ["pool_marginals"]

_PIECE = 1 << 16  # Characters read at a time; no value but a rule is longer than a few dozen.
_DECODER = json.JSONDecoder()


class _Values:
    """The values of a file of marginals, one after the other."""

    def __init__(self, path: Path, stream: IO[str]):
        self._path, self._stream = path, stream
        self._text, self._at = "", 0

    def take(self, expected: str) -> bool:
        """Go past some text if it follows."""
        self._look_ahead(len(expected))
        if not self._text.startswith(expected, self._at):
            return False
        self._at += len(expected)
        return True

    def require(self, expected: str) -> None:
        """Go past some text, which must follow."""
        if not self.take(expected):
            self.refuse()

    def refuse(self) -> NoReturn:
        """Say that the file cannot be read."""
        raise InputError(self._path, None, "is damaged, or another chain's", "Sample again")

    def value(self) -> Any:
        """The value that follows."""
        wanted = _PIECE
        while True:
            self._look_ahead(wanted)
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                end = len(self._text)
            # A number that ends with the text may go on; nothing else ends a file but its last line end.
            if end < len(self._text):
                self._at = end
                return found
            if len(self._text) - self._at < wanted:
                self.refuse()
            wanted *= 2

    def each(self) -> Iterator[None]:
        """Go past the beginnings of the members of a list, and its end."""
        if self.take("]"):
            return
        while True:
            yield
            if self.take("]"):
                return
            self.require(", ")

    def _look_ahead(self, length: int) -> None:
        """Read on until so many characters follow, or the file ends."""
        while len(self._text) - self._at < length:
            piece = self._stream.read(max(_PIECE, length))
            if not piece:
                return
            self._text, self._at = self._text[self._at :] + piece, 0


def pool_marginals(paths: Sequence[Path], output: Path) -> None:
    """Write the mean of marginals of the same forests, over all sweeps of all files.

    Raises
    ------
    InputError
        A file is not one that `write_marginals` has written, or of other forests than the first.
    """
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open(path, encoding="utf-8")) for path in paths]
        chains = [_Values(path, stream) for path, stream in zip(paths, opened, strict=True)]
        out = stack.enter_context(atomic_output(output))
        try:
            _pool(chains, out)
        except WRONG_RECORD:
            raise InputError(paths[0], None, "is damaged, or another chain's", "Sample again") from None


def _pool(chains: Sequence[_Values], out: IO[str]) -> None:
    sweeps = 0
    for chain in chains:
        chain.require('{"sweeps": ')
        sweeps += chain.value()
        chain.require(', "sentences": [')
    out.write(f'{{"sweeps": {sweeps}, "sentences": [')
    for number, _ in enumerate(_together(chains)):
        for chain in chains:
            chain.require('{"nodes": [')
        out.write(", " * (number > 0) + '{"nodes": [')
        for place, _ in enumerate(_together(chains)):
            nodes = [chain.value() for chain in chains]
            for name in ("in_tree", "cut"):
                nodes[0][name] = sum(node[name] for node in nodes) / len(nodes)
            out.write(", " * (place > 0) + json.dumps(nodes[0]))
        for chain in chains:
            chain.require("}")
        out.write("]}")
    out.write('], "rules": [')
    for place, rule in enumerate(sorted(_mean_counts(chains).items())):
        out.write(", " * (place > 0) + json.dumps(rule, ensure_ascii=False))
    out.write("]}\n")


def _together(chains: Sequence[_Values]) -> Iterator[None]:
    """Go through lists, all of the same length."""
    lists = [chain.each() for chain in chains]
    while True:
        going_on = [next(each, False) is None for each in lists]
        if not any(going_on):
            return
        if not all(going_on):
            chains[going_on.index(False)].refuse()
        yield


def _mean_counts(chains: Sequence[_Values]) -> dict[str, float]:
    """The mean count of each rule, which a chain may lack."""
    counts: dict[str, float] = {}
    for chain in chains:
        chain.require(', "rules": [')
        for _ in chain.each():
            rule, count = chain.value()
            counts[rule] = counts.get(rule, 0.0) + count / len(chains)
        chain.require("}")
    return counts
