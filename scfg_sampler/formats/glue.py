"""Glue rules: those of other decoders told from the rules of a table, and files of them written.

Our decoder brings its own for every label; Moses, Joshua and Travatar want them in a file, cdec where there
are labels other than X. A start symbol is glued from left to right out of whatever rules make.
"""

from __future__ import annotations

from collections.abc import Sequence

from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.text import escape_label

__all__ = ["GLUED", "GLUE_RULES", "is_glue", "start_symbol", "write_glue"]

GLUED = ("S", "GOAL")
"""What other decoders call the start symbol that they glue to."""

GLUE_RULES = "glue rules, which the decoder brings"
"""Why they are left out."""

_ENDS = ("<s>", "</s>")
_TEMPLATES = {  # What stands before the rules for each label, these, what comes after them.
    "moses": (
        "<s> [X] ||| <s> [{S}] ||| 1 ||| 0-0 ||| 0 ||| |||\n"
        "[X][{S}] </s> [X] ||| [X][{S}] </s> [{S}] ||| 1 ||| 0-0 1-1 ||| 0 ||| |||\n",
        ["[X][{S}] [X][{L}] [X] ||| [X][{S}] [X][{L}] [{S}] ||| 2.718 ||| 0-0 1-1 ||| 0 ||| |||\n"],
        "",
    ),
    "joshua": (
        "[{S}] ||| <s> ||| <s> ||| 0\n",
        ["[{S}] ||| [{S},1] [{L},2] ||| [{S},1] [{L},2] ||| -1\n"],
        "[{S}] ||| [{S},1] </s> ||| [{S},1] </s> ||| 0\n",
    ),
    # Travatar's columns are parted by a bar with a space on both sides, also before one that is empty.
    "travatar": (
        "",
        [
            "x0:{L} @ {S} ||| x0:{L} @ {S} ||| \n",
            "x0:{L} x1:{S} @ {S} ||| x0:{L} x1:{S} @ {S} ||| glue=1\n",
        ],
        "",
    ),
    "cdec": (
        "",
        [
            "[{S}] ||| [{L},1] ||| [1] |||\n",
            "[{S}] ||| [{S},1] [{L},2] ||| [1] [2] ||| Glue=1\n",
        ],
        "",
    ),
}


def is_glue(source: Sequence[str | int], target: Sequence[str | int], labels: Sequence[str]) -> bool:
    """Whether a rule, given as `Rule` has it, is one by which a decoder glues parts together.

    Of S, whose name grammars of constituents have as well, only what glues X; of GOAL whatever it glues.
    """
    if not labels or labels[0] not in GLUED or tuple(source) != tuple(target) or len(source) > 2:
        return False
    left, *gaps = labels
    glued = [label for label in gaps if label != left]
    words = [symbol for symbol in source if isinstance(symbol, str)]
    if len(glued) > 1 or not all(word in _ENDS for word in words):
        return False
    return left == "GOAL" or all(label == "X" for label in glued)


def start_symbol(file_format: str, labels: Sequence[str] = ("X",)) -> str:
    """What the start symbol is called in a decoder's glue rules: none of the labels of the table.

    labels : of left-hand sides and of gaps
    """
    name = "GOAL" if file_format == "joshua" else "S"
    while name in labels:
        name += "'"
    return name


def write_glue(
    path: PathLike, file_format: str, labels: Sequence[str] = ("X",), start: str | None = None
) -> None:
    """Write the glue rules of a decoder that wants them in a file, for every label.

    labels : of the left-hand sides of the table
    start : the start symbol, for a table with labels; one for X alone, if not given

    Raises
    ------
    SettingsError
        The decoder brings its own.
    """
    own = start is None and tuple(labels) == ("X",)
    start = start or start_symbol(file_format, labels)
    if file_format not in _TEMPLATES or (file_format == "cdec" and own):
        wanting = ", ".join(name for name in _TEMPLATES if name != "cdec")
        raise SettingsError(f"--glue is for {wanting}; cdec and our decoder bring their own glue rules")
    first, going_on, last = _TEMPLATES[file_format]
    with atomic_output(path) as stream:
        stream.write(first.format(S=start))
        stream.writelines(
            each.format(S=start, L=escape_label(label)) for label in labels for each in going_on
        )
        stream.write(last.format(S=start))
