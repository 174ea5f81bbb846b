"""Whether compiled files and systems are what was written: every digest and checksum, every index."""

from __future__ import annotations

from decoder.grammar.file import read_grammar_file
from decoder.lm.table import is_lm_file, read_lm_file
from decoder.system.bundle import KIND, read_system_record
from decoder.system.inventory import check_digests
from decoder.system.system import load_system
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted

__all__ = ["verify_compiled", "verify_system"]


def verify_compiled(path: PathLike) -> list[str]:
    """What was found to be right of a compiled file, in words.

    Raises
    ------
    InputError
        It is damaged, or holds what kernels cannot index with.
    """
    if is_lm_file(path):
        return [f"{path}: a model of order {read_lm_file(path)[0].order}"]
    return [f"{path}: {counted(len(read_grammar_file(path).grammar.rules), 'rule')}"]


def verify_system(directory: PathLike) -> list[str]:
    """What was found to be right of a system, in words: also digests that loading leaves out.

    Raises
    ------
    InputError
        A part is missing, damaged, or does not fit the others.
    """
    record = read_system_record(directory)
    check_digests(directory, record, KIND)
    load_system(directory)
    return [f"{directory}: {len(record['files'])} files, their digests, and the ranking of the rules"]
