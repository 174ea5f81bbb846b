"""Names in sentences: whole phrases that stand for constants, replaced by the kinds of these.

    which rivers run through new york   →   which rivers run through <cityid@2|stateid@1>

The kind of a name is the first symbol of its expression, or of all its expressions if there are several; a
bare constant has a kind, too, which is left out where the name has another. The longest name that begins at a
word is taken.

The fact a newcomer would get wrong: a word of a name is no name. There is a *mississippi river*, and yet
other rivers in a question are what the question is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from decoder.expressions.tree import is_constant

__all__ = ["is_kind", "kinds_of_names", "with_kinds"]

_CONSTANT = "constant"


def kinds_of_names(phrases: Iterable[Sequence[str]], trees: Iterable[Sequence[str]]) -> dict[str, str]:
    """The kind of each phrase, words joined by blanks, given the linear forms of what phrases stand for."""
    found: dict[str, set[str]] = {}
    for words, tree in zip(phrases, trees, strict=True):
        if words and tree:
            found.setdefault(" ".join(words), set()).add(_CONSTANT if is_constant(tree[0]) else tree[0])
    return {name: "|".join(sorted(kinds - {_CONSTANT} or kinds)) for name, kinds in found.items()}


def with_kinds(words: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The words of a sentence, `<kind>` instead of each name."""
    longest = max((name.count(" ") + 1 for name in names), default=0)
    found: list[str] = []
    at = 0
    while at < len(words):
        for end in range(min(at + longest, len(words)), at, -1):
            kind = names.get(" ".join(words[at:end]))
            if kind is not None:
                found.append(f"<{kind}>")
                at = end
                break
        else:
            found.append(words[at])
            at += 1
    return found


def is_kind(word: str) -> bool:
    """Whether a word is a kind, as `with_kinds` writes them."""
    return word.startswith("<") and word.endswith(">")
