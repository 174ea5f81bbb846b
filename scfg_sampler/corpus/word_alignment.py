"""Word alignments of parallel text, made by eflomal (Östling and Tiedemann 2016) and symmetrised by us.

eflomal samples the alignment of each direction under an HMM with fertilities, in several chains, and links
each word where it was linked most. Case does not count. The fact a newcomer would get wrong: it takes its
seed from the system, so two runs on the same text differ in some links; keep the files, and give them to
what is to be compared. What is learnt of several such draws together translated better than what is learnt
of one where BLEU was tuned for, and worse where chrF was (docs/experiments/translation.md).

A text that is too large for eflomal's memory is aligned in parts: the first part alone, the others with what
its alignment says of words, jumps and fertilities as priors. Part k of K, from 0, has sentence pairs k,
k + K, k + 2 K, …, so that the first is like the others.

eflomal splits lines at any white space, U+00A0 and U+2028 among it, and so would number other words than we
do. So it is given a number for every word, never the words themselves. It is run as the program
`eflomal-align`, and no part of it is imported, so its licence (GPL) is not that of what imports us.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike, atomic_output, naming, read_lines
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.signals import signals_held
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.parallel_text import read_text, require_equal_lines
from scfg_sampler.corpus.symmetrise import METHODS, symmetrise_files
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "MOST_WORDS",
    "AlignmentReport",
    "align_texts",
    "prefixes",
    "read_both",
    "require_prefix",
    "suffix",
    "write_together",
]

MOST_WORDS = 1023  # eflomal leaves longer sentences without links.


class AlignmentReport(NamedTuple):
    """What came of aligning: sentence pairs, links of all files, pairs too long, or aligned coarsely."""

    sentences: int
    links: int
    too_long: int
    coarse: int = 0


def suffix(method: str) -> str:
    """How the name of the symmetrised file ends.

    >>> suffix("grow-diag-final-and"), suffix("intersect")
    ('gdfa', 'intersect')
    """
    return "gdfa" if method == "grow-diag-final-and" else method


def prefixes(prefix: PathLike, draws: int) -> list[str]:
    """What the names of the files of each draw begin with.

    >>> prefixes("train.de-en", 3)
    ['train.de-en', 'train.de-en.2', 'train.de-en.3']
    """
    return [str(prefix), *(f"{prefix}.{draw}" for draw in range(2, draws + 1))]


def align_texts(
    source: PathLike,
    target: PathLike,
    prefix: PathLike,
    *,
    method: str = "grow-diag-final-and",
    parts: int = 1,
    draws: int = 1,
    advance: Callable[..., object] = lambda draws: None,
) -> AlignmentReport:
    """Align two texts; what came of it. Writes `PREFIX.fwd`, `PREFIX.rev` and, symmetrised, `PREFIX.gdfa`.

    Parameters
    ----------
    source, target : path
        Tokenised text; line k of both belongs together.
    prefix : path
    method : str
        One of `symmetrise.METHODS`; all but the default name the third file after themselves.
    parts : int
        In how many parts eflomal is given the text, one after the other; at most one for each pair.
    draws : int
        How often the text is aligned, each time from the beginning; the files of draw k, from 2, are called
        `PREFIX.k.fwd` and so on, and are written before the next draw begins.
    advance : callable, optional
        Told of every draw, by 1.

    Raises
    ------
    SettingsError
        eflomal is not installed, there is no such method, there are too many parts, or none, or no draws.
    InputError
        A file cannot be read, the texts differ in their number of lines or are empty, eflomal failed, or the
        files of the prefix cannot be written, which is said before aligning.
    """
    if method not in METHODS:
        raise SettingsError(f"--symmetrise is {method!r}, but must be one of {', '.join(METHODS)}")
    require_number("parts", parts)
    require_number("draws", draws)
    programs = [_find_program(name) for name in ("eflomal-align", "eflomal-makepriors")[: min(parts, 2)]]
    texts = read_both(source, target)
    sentences = len(texts[0][1]) - 1
    longest = np.maximum(*(np.diff(start) for _, start, _ in texts))
    if parts > max(1, sentences):
        raise SettingsError(f"--parts is {parts}, but {source} has {counted(sentences, 'sentence pair')}")
    require_prefix(prefix)
    links = 0
    with temporary_directory("scfg-align-") as folder:
        numbered = [str(Path(folder) / name) for name in ("f", "e")]
        for text, path in zip(texts, numbered, strict=True):
            _deal(_numbered(*text), path, parts)
        for name in prefixes(prefix, draws):
            own = tempfile.mkdtemp(dir=folder)  # eflomal writes over no file.
            made = _align(programs, own, numbered, parts, source)
            both = list(symmetrise_files(*made, method))
            if len(both) != sentences:
                found = f"eflomal aligned {len(both)} of {counted(sentences, 'sentence pair')}"
                raise InputError(source, None, found, "Please report this, with the text")
            directions = (read_lines(path) for path in made)
            endings = ("fwd", "rev", suffix(method))
            write_together(dict(zip(endings, (*directions, iter(both)), strict=True)), name)
            links += sum(line.count("-") for line in both)
            advance(1)
    return AlignmentReport(sentences, links, int(np.sum(longest > MOST_WORDS)))


def read_both(source: PathLike, target: PathLike) -> list[tuple[Vocabulary, np.ndarray, np.ndarray]]:
    """What `read_text` makes of both sides, which must have as many lines, and words.

    Raises
    ------
    InputError
        They have not.
    """
    texts = [read_text(path) for path in (source, target)]
    require_equal_lines(source, len(texts[0][1]) - 1, target, len(texts[1][1]) - 1)
    if not any(len(words) for _, _, words in texts):
        raise InputError(source, None, "has no words", "Give tokenised text, one sentence a line")
    return texts


def require_prefix(prefix: PathLike) -> None:
    """Refuse, before the hours that aligning may take, a prefix of files that cannot be written."""
    folder, name = os.path.split(os.fspath(prefix))
    if name in ("", ".", ".."):
        hint = f"Add what they begin with, as in {Path(folder, name, 'train.de-en')}"
        raise InputError(prefix, None, "is a directory, and not what names of files begin with", hint)
    there = Path(folder)
    while not there.exists():  # What fails on the way leaves no directory either.
        there = there.parent
    with naming(there):
        tempfile.TemporaryFile(dir=there).close()


def _align(
    programs: list[str], folder: str, numbered: list[str], parts: int, source: PathLike
) -> tuple[str, str]:
    """Have eflomal align texts that were dealt in parts, in a folder; the files of both directions."""
    made = (str(Path(folder) / "fwd"), str(Path(folder) / "rev"))
    priors: list[str] = []
    for part in range(parts):
        files = [f"{path}.{part}" for path in (*numbered, *made)]
        options = [word for option in zip(("-s", "-t", "-f", "-r"), files, strict=True) for word in option]
        _run([programs[0], *options, *priors], source)
        if parts > 1 and part == 0:
            priors = ["-p", str(Path(folder) / "priors")]
            _run([programs[1], *options, *priors], source)
    for path in made:
        _write(_collected(path, parts), path)
    return made


def _find_program(name: str) -> str:
    """Where a program of eflomal's is: on the path, or where this Python keeps its programs."""
    beside = str(Path(sys.executable).parent)
    program = shutil.which(name) or shutil.which(name, path=beside)
    if program is None:
        raise SettingsError(
            "align needs the word aligner eflomal, which is not installed: pip install 'scfg-sampler[align]' "
            "(which takes a C compiler and headers of Python: gcc and python3-dev on Debian and Ubuntu)"
        )
    return program


def _run(command: list[str], source: PathLike) -> None:
    """Run eflomal; what it says is shown only if it fails. It ends with us, whatever it has started."""
    child = None
    try:
        with signals_held():  # Else one could come when the program runs and `child` is not known yet.
            child = _started(command)
        told, complaints = child.communicate()
    except BaseException:
        # `eflomal-align` is a script, and what it runs would go on alone.
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        raise
    if child.returncode:
        said = (complaints.strip() or told.strip() or f"status {child.returncode}").splitlines()[-1]
        hint = "Is there enough memory and space for temporary files?"
        raise InputError(source, None, f"eflomal failed on it ({said})", hint)


def _started(command: list[str]) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, errors="replace", process_group=0
        )
    except OSError as error:
        raise SettingsError(f"{command[0]} cannot be run ({error.strerror}): install eflomal again") from None


def _numbered(vocabulary: Vocabulary, start: np.ndarray, words: np.ndarray) -> Iterator[str]:
    """The lines of a text with a number for each word, the same whatever its case."""
    folded = Vocabulary()
    numbers = folded.add_all(word.lower() for word in vocabulary.words)
    for begin, end in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        yield " ".join(str(numbers[word]) for word in words[begin:end].tolist())


def _deal(lines: Iterator[str], path: str, parts: int) -> None:
    """Write lines to `PATH.0`, `PATH.1`, …, one to each in turn."""
    with contextlib.ExitStack() as stack:
        streams = [
            stack.enter_context(open(f"{path}.{part}", "w", encoding="utf-8")) for part in range(parts)
        ]
        for number, line in enumerate(lines):
            streams[number % parts].write(line + "\n")


def _collected(path: str, parts: int) -> Iterator[str]:
    """The lines that were dealt, in their order; of what was lost at the end of a part, nothing more."""
    dealt = [read_lines(f"{path}.{part}") for part in range(parts)]
    for lines in itertools.cycle(dealt):
        line = next(lines, None)
        if line is None:
            return
        yield line


def write_together(files: dict[str, Iterator[str]], prefix: str) -> None:
    """Write the files of a draw by what their names end in: all, or none, as two draws differ."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(atomic_output(f"{prefix}.{ending}")) for ending in files]
        for stream, lines in zip(streams, files.values(), strict=True):
            stream.writelines(line + "\n" for line in lines)
        with signals_held():
            stack.close()


def _write(lines: Iterator[str], path: str) -> None:
    with atomic_output(path) as stream:
        stream.writelines(line + "\n" for line in lines)
