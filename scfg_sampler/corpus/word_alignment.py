"""Word alignments of parallel text, made by eflomal (Östling and Tiedemann 2016) and symmetrised by us.

eflomal samples the alignment of each direction under an HMM with fertilities, in several chains, and links
each word where it was linked most. Case does not count. The fact a newcomer would get wrong: it takes its
seed from the system, so two runs on the same text differ in some links; keep the files, and give them to
what is to be compared.

eflomal splits lines at any white space, U+00A0 and U+2028 among it, and so would number other words than we
do. So it is given a number for every word, never the words themselves. It is run as the program
`eflomal-align`, and no part of it is imported, so its licence (GPL) is not that of what imports us.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.corpus.parallel_text import read_text, require_equal_lines
from scfg_sampler.corpus.symmetrise import METHODS, symmetrise_files
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["AlignmentReport", "align_texts", "suffix"]

_LONGEST = 1023  # eflomal leaves longer sentences without links.


class AlignmentReport(NamedTuple):
    """What came of aligning: sentence pairs, links of the symmetrised file, pairs too long for eflomal."""

    sentences: int
    links: int
    too_long: int


def suffix(method: str) -> str:
    """How the name of the symmetrised file ends.

    >>> suffix("grow-diag-final-and"), suffix("intersect")
    ('gdfa', 'intersect')
    """
    return "gdfa" if method == "grow-diag-final-and" else method


def align_texts(
    source: PathLike, target: PathLike, prefix: PathLike, *, method: str = "grow-diag-final-and"
) -> AlignmentReport:
    """Align two texts; what came of it. Writes `PREFIX.fwd`, `PREFIX.rev` and, symmetrised, `PREFIX.gdfa`.

    Parameters
    ----------
    source, target : path
        Tokenised text; line k of both belongs together.
    prefix : path
    method : str
        One of `symmetrise.METHODS`; all but the default name the third file after themselves.

    Raises
    ------
    SettingsError
        eflomal is not installed, or there is no such method.
    InputError
        A file cannot be read, the texts differ in their number of lines or are empty, or eflomal failed.
    """
    if method not in METHODS:
        raise SettingsError(f"--symmetrise is {method!r}, but must be one of {', '.join(METHODS)}")
    program = _find_program()
    texts = [read_text(path) for path in (source, target)]
    sentences = len(texts[0][1]) - 1
    require_equal_lines(source, sentences, target, len(texts[1][1]) - 1)
    if not any(len(words) for _, _, words in texts):
        raise InputError(source, None, "has no words", "Give tokenised text, one sentence a line")
    longest = np.maximum(*(np.diff(start) for _, start, _ in texts))
    with temporary_directory("scfg-align-") as folder:
        numbered, made = (
            [str(Path(folder) / name) for name in names] for names in (("f", "e"), ("fwd", "rev"))
        )
        for text, path in zip(texts, numbered, strict=True):
            _write(_numbered(*text), path)
        options = zip(("-s", "-t", "-f", "-r"), (*numbered, *made), strict=True)
        _run([program, *(word for option in options for word in option)], source)
        both = list(symmetrise_files(made[0], made[1], method))
        if len(both) != sentences:
            found = f"eflomal aligned {len(both)} of {sentences} sentence pairs"
            raise InputError(source, None, found, "Please report this, with the text")
        for path, direction in zip(made, ("fwd", "rev"), strict=True):
            _write(read_lines(path), f"{prefix}.{direction}")
    _write(iter(both), f"{prefix}.{suffix(method)}")
    links = sum(line.count("-") for line in both)
    return AlignmentReport(sentences, links, int(np.sum(longest > _LONGEST)))


def _find_program() -> str:
    """Where eflomal's program is: on the path, or where this Python keeps its programs."""
    beside = str(Path(sys.executable).parent)
    program = shutil.which("eflomal-align") or shutil.which("eflomal-align", path=beside)
    if program is None:
        raise SettingsError(
            "align needs the word aligner eflomal, which is not installed: pip install 'scfg-sampler[align]'"
        )
    return program


def _run(command: list[str], source: PathLike) -> None:
    """Run eflomal; what it says is shown only if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise SettingsError(f"{command[0]} cannot be run ({error.strerror}): install eflomal again") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
        hint = "Is there enough memory and space for temporary files?"
        raise InputError(source, None, f"eflomal failed on it ({said})", hint)


def _numbered(vocabulary: Vocabulary, start: np.ndarray, words: np.ndarray) -> Iterator[str]:
    """The lines of a text with a number for each word, the same whatever its case."""
    folded = Vocabulary()
    numbers = folded.add_all(word.lower() for word in vocabulary.words)
    for begin, end in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        yield " ".join(str(numbers[word]) for word in words[begin:end].tolist())


def _write(lines: Iterator[str], path: str) -> None:
    with atomic_output(path) as stream:
        stream.writelines(line + "\n" for line in lines)
