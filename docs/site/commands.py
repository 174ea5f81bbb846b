"""Pages of commands, out of their parsers: the directive `commands` with a program's name.

What a page says is what `--help` says. The fact a newcomer would get wrong: help texts are not parsed; the
parsers themselves are asked, so that an option that is added is on the page.
"""

from __future__ import annotations

import argparse
import importlib
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

__all__ = ["commands_of", "setup"]

PROGRAMS = {
    "scfg-sampler": "scfg_sampler.cli",
    "scfg-decoder": "decoder.cli",
    "scfg-monolingual": "monolingual.cli",
}


def commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The commands below a parser, by their names ("sample", "tsg train"), in the order of its help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                below = list(commands_of(child))
                yield from ([(f"{name} {more}", each) for more, each in below] or [(name, child)])


class Commands(Directive):
    """A section for each command of a program: what it does, its options, its examples."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections."""
        program = self.arguments[0]
        build = importlib.import_module(PROGRAMS[program]).build_parser
        return [_section(program, name, parser) for name, parser in commands_of(build())]


def _section(program: str, name: str, parser: argparse.ArgumentParser) -> nodes.section:
    section = nodes.section(ids=[nodes.make_id(f"{program} {name}")], names=[f"{program} {name}"])
    section += nodes.title("", name)
    for paragraph in (parser.description or "").split("\n\n"):
        section += _text(paragraph)
    usage = _filled(parser.format_usage())
    section += nodes.literal_block(usage, usage, language="text")
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    for title, of_kind in (
        ("Arguments", [action for action in shown if not action.option_strings]),
        ("Options", [action for action in shown if action.option_strings and action.dest != "help"]),
    ):
        if of_kind:
            section += nodes.rubric("", title)
            section += nodes.definition_list("", *(_item(parser, action) for action in of_kind))
    section += _examples(parser.epilog or "")
    return section


def _item(parser: argparse.ArgumentParser, action: argparse.Action) -> nodes.definition_list_item:
    """An option with what it takes, what it does, and its default."""
    formatter = parser._get_formatter()
    call = formatter._format_action_invocation(action)
    term = nodes.term("", "", nodes.literal("", call))
    if action.required and action.option_strings:
        term += nodes.Text(" (required)")
    told = formatter._expand_help(action) if action.help else ""
    return nodes.definition_list_item("", term, nodes.definition("", _text(told)))


def _filled(usage: str) -> str:
    """A usage in lines that fit a page, whatever the terminal that the site is made in."""
    words = re.findall(r"\[[^][]*(?:\[[^][]*\][^][]*)*\]|\S+", usage.removeprefix("usage: "))
    whole = [word.replace(" ", "\u00a0") for word in map(" ".join, map(str.split, words))]
    lines = textwrap.wrap(
        " ".join(whole), 84, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
    return "\n".join(lines).replace("\u00a0", " ")


def _text(words: str) -> nodes.paragraph:
    return nodes.paragraph("", " ".join(words.split()))


def _examples(epilog: str) -> list[nodes.Node]:
    """What stands below the options: indented lines are commands, others say what they do."""
    found: list[nodes.Node] = []
    code: list[str] = []
    for line in [*epilog.splitlines(), "end"]:
        if line[:1] == " ":
            code.append(line[2:] if line.startswith("  ") else line.strip())
            continue
        if code:
            text = "\n".join(code)
            found.append(nodes.literal_block(text, text, language="bash"))
            code = []
        if line and line != "end":
            found.append(nodes.rubric("", line.rstrip(":").capitalize()) if line in _HEADS else _text(line))
    return found


_HEADS = ("example:", "examples:")


def setup(app: Any) -> dict[str, bool]:
    """Offer the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
