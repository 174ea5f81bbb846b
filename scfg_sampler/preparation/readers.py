"""Parallel text as people have it: two files, a table with tabs, a translation memory; any of them gzipped.

Each reader yields `Pair`s in the order of the file, raw: nothing is normalised here. Lines end with a line
feed; the carriage return of a Windows line end is taken off when text is normalised.

The fact a newcomer would get wrong: one line too many on one side shifts all pairs below it, and no length
tells where. `place_apart` guesses the line from what translations have in common.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from scfg_sampler.core.files import PathLike, open_bytes, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.preparation.apart import place_apart

__all__ = ["Pair", "check_columns", "read_pairs", "read_tmx", "read_tsv"]

_EXPORT = "Export the memory again, or copy the file again"
_AS_UTF8 = "Save it as UTF-8, or UTF-16"
_QUOTED = re.compile('"((?:[^"]|"")*)"')
_NESTED_CODES = ("bpt", "ept", "it", "ph", "ut")  # What they hold is formatting, not text.


class Pair(NamedTuple):
    """A sentence and its translation, raw, and the line (of a TMX, the unit) they come from, from 1."""

    source: str
    target: str
    line: int


def read_pairs(source: PathLike, target: PathLike) -> list[Pair]:
    """The pairs of two files whose lines belong together.

    Raises
    ------
    InputError
        A file cannot be read or is not UTF-8; or one has more lines, with a guess where they go apart.
    """
    sides = [list(read_lines(path)) for path in (source, target)]
    lengths = [len(side) for side in sides]
    if lengths[0] != lengths[1]:
        short = int(lengths[1] < lengths[0])
        paths = (source, target)
        found = f"has {counted(lengths[short], 'line')}, but {paths[1 - short]} has {lengths[1 - short]}"
        line = place_apart(*sides)
        hint = f"They seem to go apart near line {line}" if line else "Line k of both must belong together"
        raise InputError(paths[short], None, found, hint)
    both = zip(sides[0], sides[1], strict=True)
    return [Pair(one, other, line) for line, (one, other) in enumerate(both, start=1)]


def read_tsv(path: PathLike, columns: tuple[int, int] | tuple[str, str]) -> Iterator[Pair]:
    """The pairs in two columns of a file whose columns stand between tabs.

    A column that is quoted as spreadsheets do it, with `""` for each quotation mark in it, is taken out of
    its quotes. One without such pairs stays as it is: nothing tells whether its quotes are of the text.

    Parameters
    ----------
    path : path
    columns : pair of int, or of str
        Their numbers, from 1; or what the first line calls them, which then is no pair.

    Raises
    ------
    InputError
        A line has too few columns, or the first line has no such names; or as for `read_lines`.
    """
    lines = enumerate(read_lines(path), start=1)
    heading = next(lines, (1, ""))[1] if isinstance(columns[0], str) else ""
    places = [each if isinstance(each, int) else _place(path, heading, each) for each in columns]
    needed = max(places)
    for line, text in lines:
        if not text.strip():
            yield Pair("", "", line)
            continue
        fields = text.split("\t")
        if len(fields) < needed:
            found = f"has {len(fields)} {'column' if len(fields) == 1 else 'columns'}"
            raise InputError(
                path, line, f"{found}, but --columns names column {needed}", "Columns stand between tabs"
            )
        source, target = (_unquoted(fields[place - 1]) for place in places)
        yield Pair(source, target, line)


def _place(path: PathLike, heading: str, name: str) -> int:
    """The number of the column that the first line calls so, whatever its case."""
    there = [_unquoted(field.strip()) for field in heading.split("\t")]
    same = [at for at, each in enumerate(there, start=1) if each.casefold() == name.casefold()]
    if len(same) != 1:
        found = f"has {'no column' if not same else 'several columns'} called {name!r}"
        raise InputError(
            path, 1, found, f"It has {', '.join(filter(None, there)) or 'none'}; or give numbers"
        )
    return same[0]


def _unquoted(field: str) -> str:
    """A column without the quotes of a spreadsheet, which doubles those of the text."""
    match = _QUOTED.fullmatch(field.strip())
    return match[1].replace('""', '"') if match and '""' in match[1] else field


def read_tmx(path: PathLike, languages: tuple[str, str]) -> Iterator[Pair]:
    """The pairs of a translation memory; a side that a unit lacks is "".

    Parameters
    ----------
    path : TMX, read as a stream
    languages : their codes; `en` also takes `en-US`, of several variants the first

    Raises
    ------
    InputError
        The file is not well-formed, with the line; it has no units; or no unit has a language, and which it
        has.
    """
    seen: dict[str, int] = {}
    found = [0, 0]
    units = 0
    parents: list[ElementTree.Element] = []
    with open_bytes(path) as stream:
        try:
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if event == "start":
                    parents.append(element)
                    continue
                parents.pop()
                if _name(element) != "tu":
                    continue
                units += 1
                sides = _variants(element, languages, seen)
                found = [n + (side is not None) for n, side in zip(found, sides, strict=True)]
                yield Pair(sides[0] or "", sides[1] or "", units)
                # What has been read is not needed again; units within a unit have it around them still.
                within = any(_name(parent) == "tu" for parent in parents)
                (parents[-1] if parents and not within else element).clear()
        except ElementTree.ParseError as error:
            raise InputError(path, error.position[0], f"not well-formed XML ({error})", _EXPORT) from None
        except (EOFError, zlib.error, gzip.BadGzipFile, ValueError, LookupError) as error:
            hint = _AS_UTF8 if "multi-byte" in str(error) else _EXPORT
            raise InputError(path, None, f"cannot be read as XML ({error})", hint) from None
    if not units:
        raise InputError(path, None, "has no translation units", "Expected a TMX file with <tu> elements")
    for language, number in zip(languages, found, strict=True):
        if not number:
            there = [*sorted(filter(None, seen)), *([f"{seen['']} without xml:lang"] if "" in seen else [])]
            hint = f"It has {', '.join(there) or 'no <tuv>'}; name two of them with --languages"
            raise InputError(path, None, f"has no unit in the language {language!r}", hint)


def _variants(
    unit: ElementTree.Element, languages: tuple[str, str], seen: dict[str, int]
) -> list[str | None]:
    """The text of a unit in both languages."""
    sides: list[str | None] = [None, None]
    for variant in unit:
        if _name(variant) != "tuv":
            continue
        attributes = {key.rpartition("}")[2]: value for key, value in variant.attrib.items()}
        language = attributes.get("lang", "")
        seen[language] = seen.get(language, 0) + 1
        for side, wanted in enumerate(languages):
            if sides[side] is None and _is_variant(language, wanted):
                segment = next((child for child in variant if _name(child) == "seg"), None)
                sides[side] = "" if segment is None else _text(segment)
    return sides


def _is_variant(language: str, wanted: str) -> bool:
    """Whether a language is the wanted one, or a variant of it: en-US is one of en."""
    parts, short = (re.split("[-_]", code.lower()) for code in (language, wanted))
    return parts[: len(short)] == short


def _text(element: ElementTree.Element) -> str:
    """The text of a segment without the codes in it, which may lie within each other without end."""
    parts: list[str] = []
    waiting: list[ElementTree.Element | str] = [element]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            parts.append(each)
            continue
        parts.append(each.text or "")
        for child in reversed(each):
            waiting.append(child.tail or "")
            if _name(child) not in _NESTED_CODES:
                waiting.append(child)
    return "".join(parts)


def _name(element: ElementTree.Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def check_columns(text: str) -> tuple[int, int] | tuple[str, str]:
    """The two numbers in --columns I,J, or names.

    >>> check_columns("2,1"), check_columns("fra,fon")
    ((2, 1), ('fra', 'fon'))

    Raises
    ------
    SettingsError
        They are neither two different whole numbers from 1, nor two different names.
    """
    parts = text.split(",")
    if len(parts) == 2 and all(re.fullmatch("[0-9]{1,6}", part) for part in parts):
        numbers = int(parts[0]), int(parts[1])
        if min(numbers) >= 1 and numbers[0] != numbers[1]:
            return numbers
    elif len(parts) == 2 and all(re.search(r"[^\W\d]", part) for part in parts):
        names = parts[0].strip(), parts[1].strip()
        if names[0].casefold() != names[1].casefold():
            return names
    found = f"--columns is {text!r}, but must be two column numbers, such as 1,2"
    raise SettingsError(f"{found}, or two names that the first line has, such as fra,fon")
