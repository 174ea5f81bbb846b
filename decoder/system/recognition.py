"""What a path is: a system, a parser, or a compiled file, told without reading it.

The fact a newcomer would get wrong: whoever asks may have none of them, as `scfg-sampler verify` of a run,
and must not wait until all that translates is loaded.
"""

from __future__ import annotations

from pathlib import Path

from decoder.grammar.file import is_grammar_file
from decoder.lm.table import is_lm_file
from decoder.system.inventory import GRAMMAR, USES
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["is_compiled", "is_parser", "is_system", "require_record"]


def is_compiled(path: PathLike) -> bool:
    """Whether a file is a compiled grammar or language model."""
    return is_grammar_file(path) or is_lm_file(path)


def is_system(path: PathLike) -> bool:
    """Whether a directory is a system."""
    return _is_kind(path, "system")


def is_parser(path: PathLike) -> bool:
    """Whether a directory is a parser."""
    return _is_kind(path, "parser")


def _is_kind(path: PathLike, kind: str) -> bool:
    return (Path(path) / f"{kind}.json").is_file()


def require_record(directory: PathLike) -> None:
    """An InputError if a directory has the models of a system or a parser, but the record of neither."""
    if is_grammar_file(Path(directory) / GRAMMAR):
        found = f"has {GRAMMAR}, but neither {' nor '.join(f'{kind}.json' for kind in USES)}"
        raise InputError(directory, None, found, "Copy the whole directory again, or bundle it again")
