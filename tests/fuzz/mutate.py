"""Damaged contents of files: bytes, numbers, tokens, lines and whole parts changed at random."""

from __future__ import annotations

import gzip
import random
import re

__all__ = ["mutated"]

_TOKENS = [
    *(b"", b" ", b"\t", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"|||", b"=", b"#"),
    *(b"(", b")", b"[X]", b"[X,1]", b"[X,0]", b"[X,1000]", b"[]", b"0-0", b"99999999999-0", b'"', b"{", b"}"),
    *(b"true", b"null", b"[]", b"{}", b"\\data\\", b"\\end\\", b"ngram 1=99999999999", b"---", b"_", b"-"),
    *(b"1_0", b"<", b"&#0;"),
]
_NUMBERS = [
    *(b"0", b"-0", b"1", b"-1", b"2", b"1e300", b"-1e300", b"1e308", b"1e-320", b"3.4e38", b"nan", b"inf"),
    *(b"-inf", b"65536", b"2147483648", b"9223372036854775808", b"1" * 400, b"9" * 5000, b"0.1e", b"+"),
    "٣".encode(),
]
_OPENINGS = [b"[", b"(", b"{", b"<", b"(A ", b"a(", b'{"a":', b"[1,", b'"', b"\\"]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def mutated(rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """A seed with one to six changes; now and then compressed, or compressed and then changed."""
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        rng.choice(_CHANGES)(rng, content, seeds)
    if rng.random() < 0.03:
        packed = bytearray(gzip.compress(bytes(content)))
        if rng.random() < 0.5:
            _flip(rng, packed, seeds)
        return bytes(packed)
    return bytes(content)


def _place(rng: random.Random, content: bytearray) -> tuple[int, int]:
    begin = rng.randrange(len(content) + 1)
    return begin, min(len(content), begin + rng.choice((1, 2, 4, 16, 100)))


def _flip(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _delete(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    begin, end = _place(rng, content)
    del content[begin:end]


def _double(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    begin, end = _place(rng, content)
    content[begin:begin] = bytes(content[begin:end]) * rng.choice((1, 1, 2, 50))


def _insert(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    begin, _ = _place(rng, content)
    content[begin:begin] = rng.choice(_TOKENS)


def _renumber(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    found = list(_NUMBER.finditer(bytes(content)))
    if found:
        match = rng.choice(found)
        content[match.start() : match.end()] = rng.choice(_NUMBERS)


def _cut(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    del content[rng.randrange(len(content) + 1) :]


def _exchange_lines(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    lines = bytes(content).split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.5:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines[one] = lines[other]
    content[:] = b"\n".join(lines)


def _exchange_fields(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    fields = re.split(rb"([ \t\n,:=])", bytes(content))
    one, other = (2 * rng.randrange((len(fields) + 1) // 2) for _ in range(2))
    fields[one] = fields[other] if rng.random() < 0.7 else rng.choice(_TOKENS + _NUMBERS)
    content[:] = b"".join(fields)


def _nest(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    begin, _ = _place(rng, content)
    content[begin:begin] = rng.choice(_OPENINGS) * rng.choice((300, 20_000))


def _splice(rng: random.Random, content: bytearray, seeds: tuple[bytes, ...]) -> None:
    other = rng.choice(seeds)
    content[rng.randrange(len(content) + 1) :] = other[rng.randrange(len(other) + 1) :]


_CHANGES = (
    *(_flip, _delete, _double, _insert, _insert, _renumber, _renumber, _cut),
    *(_exchange_lines, _exchange_fields, _exchange_fields, _splice, _nest),
)
