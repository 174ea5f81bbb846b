"""Settings as rows of a table: what the code's NamedTuples hold, and what the options that set them say.

The fact a newcomer would get wrong: defaults are those of the NamedTuples, which functions take and run
records hold; where a command has another default, its help says so.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
from typing import Any, NamedTuple

__all__ = ["Row", "rows_of"]


class Row(NamedTuple):
    """A setting.

    Attributes
    ----------
    name : str
    option : str
        That sets it; empty if there is none.
    default : str
    choices : str
        Its values, if they are few.
    text : str
        What it does.
    """

    name: str
    option: str
    default: str
    choices: str
    text: str


def rows_of(place: str, command: str = "") -> list[Row]:
    """The settings of a NamedTuple, in its order.

    Parameters
    ----------
    place : str
        The class, as `decoder.translation.settings.SearchDefaults`.
    command : str
        Whose options set them, as `decoder translate` or `monolingual tsg train`: a package first.

    >>> rows_of("decoder.translation.settings.SearchDefaults")[0].text
    'derivations a span may try; 0 for exact search'
    """
    module, _, name = place.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    own = _described(kind)
    options = _options(command) if command else {}
    rows = []
    for field in kind._fields:
        action = options.get(field)
        told = own.get(field) or ("" if action is None else _expanded(action))
        choices = ", ".join(map(str, action.choices)) if action is not None and action.choices else ""
        option = "" if action is None else action.option_strings[0]
        default = _shown(kind._field_defaults[field]) if field in kind._field_defaults else "required"
        rows.append(Row(field, option, default, choices, " ".join(told.split())))
    return rows


def _options(command: str) -> dict[str, argparse.Action]:
    """The options of a command by the settings they set."""
    package, *names = command.split()
    parser: Any = importlib.import_module(f"{package}.cli").build_parser()
    for name in names:
        commands = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
        parser = commands.choices[name]
    actions = [each for each in parser._actions if each.option_strings and each.help != argparse.SUPPRESS]
    return {each.dest: each for each in actions}


def _expanded(action: argparse.Action) -> str:
    return re.sub(r" ?\(default: [^)]*\)", "", (action.help or "").replace("%%", "%"))


def _described(kind: type) -> dict[str, str]:
    """What a class says of its fields: strings below them, or lines `name : text` of its docstring."""
    found: dict[str, str] = {}
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            found[field.target.id] = str(below.value.value)  # type: ignore[attr-defined]
    lines = (inspect.getdoc(kind) or "").splitlines()
    is_numpydoc = "Attributes" in lines
    for at, line in enumerate(lines):
        head = re.match(r"([a-z]\w*(?:, [a-z]\w*)*) :\s*(.*)", line)
        if head is None:
            continue
        below = []
        for more in lines[at + 1 :]:
            if not more.startswith("    "):
                break
            below.append(more.strip())
        text = " ".join(below) if is_numpydoc else " ".join([head[2], *below])
        for name in head[1].split(", "):
            found.setdefault(name, text)
    return {name: text for name, text in found.items() if text}


def _shown(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list, dict)):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"
