"""Parts of a sentence whose translation is given, in the markup of Moses.

    das <n translation="old house">alte haus</n> .

The words of a marked part count as one, which is translated as told and in no other way: rules see a gap
there, never its words, and the words around it are translated with what is given as their neighbours. Between
tags words stand between spaces; a tag parts words too. `&lt;`, `&gt;`, `&amp;`, `&quot;` and `&apos;` are
`<`, `>`, `&`, `"` and `'`, in text and translations; any other `<` begins a tag.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["MarkedSentence", "read_marked"]

_TAG = re.compile(r"<[^<>]*>?")
_VALUE = r"""(?:"([^"<>]*)"|'([^'<>]*)')"""
_OPENING = re.compile(rf"<([A-Za-z_][\w.:-]*)[ \t]+translation[ \t]*=[ \t]*{_VALUE}[ \t]*>")
_CLOSING = re.compile(r"</([A-Za-z_][\w.:-]*)[ \t]*>")
_ENTITY = re.compile("&(lt|gt|amp|quot|apos);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_WORD = re.compile("[^ \t]+")
_FORM = 'A marked part looks like <n translation="the house">das haus</n>'


class MarkedSentence(NamedTuple):
    """A sentence with its marked parts.

    words : the words outside of marked parts, and for each part all its words with spaces between them
    copies : for each of them what it becomes if it is copied: the word, or the words of the translation
    fixed : the positions of the marked parts
    """

    words: list[str]
    copies: list[str | tuple[str, ...]]
    fixed: list[int]


def read_marked(line: str, path: PathLike, number: int) -> MarkedSentence:
    """The words of a line with markup; without any, those that stand between spaces.

    Parameters
    ----------
    line : str
    path, number : the file and the line of it, from 1, for error messages

    Raises
    ------
    InputError
        A tag is malformed, has no partner or is within another, or no words are between two.
    """

    def refuse(found: str) -> InputError:
        return InputError(path, number, found, _FORM)

    line = line.removesuffix("\r")  # Of a line end; elsewhere it is a letter.
    found = MarkedSentence([], [], [])
    opened: tuple[str, tuple[str, ...]] | None = None  # The tag that is open, and its translation.
    at = 0
    for tag in [*_TAG.finditer(line), None]:
        words = _words(line[at : len(line) if tag is None else tag.start()])
        if opened is None:
            found.words.extend(words)
            found.copies.extend(words)
        if tag is None:
            break
        at = tag.end()
        if match := _OPENING.fullmatch(tag[0]):
            if opened is not None:
                raise refuse(f"<{match[1]}> begins within <{opened[0]}>")
            text = match[2] if match[2] is not None else match[3]
            if "||" in text:
                raise refuse(f"<{match[1]}> has several translations")
            opened = match[1], tuple(_words(text))
        elif match := _CLOSING.fullmatch(tag[0]):
            if opened is None or opened[0] != match[1]:
                began = "did not begin" if opened is None else f"began as <{opened[0]}>"
                raise refuse(f"</{match[1]}> ends what {began}")
            if not words:
                raise refuse(f"<{match[1]}> has no words")
            found.fixed.append(len(found.words))
            found.words.append(" ".join(words))
            found.copies.append(opened[1])
            opened = None
        else:
            shown = tag[0] if len(tag[0]) <= 40 else tag[0][:40] + "…"
            raise refuse(f"{shown!r} is no tag")
    if opened is not None:
        raise refuse(f"<{opened[0]}> does not end")
    return found


def _words(text: str) -> list[str]:
    return [_ENTITY.sub(lambda match: _ENTITIES[match[1]], word) for word in _WORD.findall(text)]
