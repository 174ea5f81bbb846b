"""The targets of every source side in their order, in a file that is mapped into memory.

The order depends on the weights and the language model, which a system holds, so it need not be found again
each time the system is loaded; for a million rules that would take seconds.

The fact a newcomer would get wrong: it also depends on how many targets are kept. A system that is told of
another number ranks anew.
"""

from __future__ import annotations

from decoder.grammar.soundness import ranking_problem
from decoder.grammar.trie import Grammar, RankedRules
from decoder.lm.table import LanguageModel
from scfg_sampler.core.arrays.array_file import Layout, has_magic, read_array_file, write_array_file
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import RuleTableError

__all__ = ["read_ranking", "require_sound", "write_ranking"]

_MAGIC = b"scfg-ranking 3\n"
_AGAIN = "Bundle the system again"
_LAYOUT = Layout(
    {"max_targets": int},
    [],
    {
        "start": ("i8", 1),
        "rule": ("i4", 1),
        "score": ("f8", 1),
        "target_start": ("i8", 1),
        "target": ("i4", 2),
        "prefix_length": ("i4", 1),
        "prefix_log_prob": ("f8", 2),
        "prefix_state": ("i4", 3),
    },
)


def write_ranking(rules: RankedRules, max_targets: int, path: PathLike) -> None:
    """Write what `rank_rules` found for `read_ranking` to map into memory."""
    write_array_file(path, _MAGIC, {"max_targets": max_targets}, {}, rules._asdict())


def read_ranking(path: PathLike, max_targets: int) -> RankedRules | None:
    """What `write_ranking` wrote; None if it is of another version or another number of targets.

    Raises
    ------
    RuleTableError
        The file is cut or damaged.
    """
    if not has_magic(path, _MAGIC):
        return None
    file = read_array_file(path, _MAGIC, _LAYOUT, RuleTableError, _AGAIN)
    if file.values["max_targets"] != max_targets:
        return None
    return RankedRules(**file.arrays)


def require_sound(
    rules: RankedRules, grammar: Grammar, lms: tuple[LanguageModel, ...], path: PathLike
) -> None:
    """Raise a RuleTableError if a ranking that was read from `path` is not one of this grammar's rules."""
    if problem := ranking_problem(rules, grammar, lms):
        raise RuleTableError(path, None, f"is no ranking of the rules of this system: {problem}", _AGAIN)
