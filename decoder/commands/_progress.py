"""How far a command is that writes a line for each line it reads, and what it says at its end."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable
from typing import NamedTuple, TextIO

from scfg_sampler.core.wording import counted

__all__ = ["Done", "progress_of", "say_done"]

_FEWEST_WORDS = 20  # Of a text whose unknown words are remarked on: a line may well have none that is known.


class Done(NamedTuple):
    """How many lines were read, their words, and how many of these are in no rule; and the time it took."""

    lines: int
    words: int
    unknown: int
    seconds: float


def say_done(source: str, done: Done, how: str, hint: str) -> None:
    """Say how much was done, such as "translated"; if most words are in no rule, warn of it with a hint."""
    from scfg_sampler.core.console import say, warn

    lines, words, unknown, seconds = done
    if words >= _FEWEST_WORDS and 2 * unknown > words:
        warn(f"{source}: {unknown} of {words} words are in no rule; {hint}")
    of_words = f" ({unknown:,} of {counted(words, 'word', spec=',')} in no rule)" if words else ""
    rate = f"{seconds:.1f} s, {lines / max(seconds, 1e-9):.1f} a second"
    say(f"{counted(lines, 'line')}{of_words} {how} in {rate}")


def progress_of(
    source: str, output: str, what: str
) -> contextlib.AbstractContextManager[Callable[[float, str], None]]:
    """How many lines are done, of a file; translations that people see, or wait for, show that themselves."""

    from scfg_sampler.core.console import progress

    def is_file(stream: TextIO) -> bool:
        try:
            return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        except (OSError, ValueError):
            return False

    shown = output == "-" and sys.stderr.isatty() and not is_file(sys.stdout)
    if shown or (source == "-" and not is_file(sys.stdin)):
        return contextlib.nullcontext(lambda steps, note: None)
    path = f"/dev/fd/{sys.stdin.fileno()}" if source == "-" else source
    return progress(what, _num_lines(path) if os.path.isfile(path) else None)


def _num_lines(path: str) -> int | None:
    """How many lines a file has; None where it is packed, or is read from somewhere inside."""
    lines, last = 0, b"\n"
    with open(path, "rb", buffering=0) as stream:
        if stream.tell():
            return None
        while block := stream.read(1 << 20):
            if last == b"\n" and not lines and block[:2] == b"\x1f\x8b":
                stream.seek(0)
                return None
            lines, last = lines + block.count(b"\n"), block[-1:]
        stream.seek(0)  # On macOS, standard input opened again shares its place.
    return lines + (last != b"\n")
