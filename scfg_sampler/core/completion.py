"""What shells complete: commands, options, values, and files, for bash, zsh and fish.

`--completion SHELL` of a program prints a script that is made of its parsers, so that it never says anything
else than the help does. The script knows all words beforehand; pressing Tab starts no Python.

The fact a newcomer would get wrong: the script is to be read by the shell that completes,
`eval "$(scfg-sampler --completion bash)"`, and says nothing when it is run.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["SHELLS", "CompletionAction", "script"]

SHELLS = ("bash", "zsh", "fish")


class CompletionAction(argparse.Action):
    """Prints the script of a shell and ends, as `--version` does."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        print(script(parser, values), end="")
        parser.exit(0)


class _Level(NamedTuple):
    """A parser: the commands that lead to it, and what may follow."""

    path: tuple[str, ...]
    commands: dict[str, str]
    """With their help."""
    options: dict[str, str]
    """With their help."""
    choices: dict[str, tuple[str, ...]]
    """Values of those options that have a few."""


def _levels(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[_Level]:
    commands: dict[str, str] = {}
    options: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {each.dest: each.help or "" for each in action._choices_actions}
            commands |= {name: told.get(name, "") for name in action.choices}
            below += action.choices.items()
        for name in action.option_strings:
            if action.help is not argparse.SUPPRESS:
                options[name] = _first_line(action.help)
                if action.choices:
                    choices[name] = tuple(map(str, action.choices))
    yield _Level(path, commands, options, choices)
    for name, each in below:
        yield from _levels(each, (*path, name))


def _first_line(text: str | None) -> str:
    """The beginning of a help text, for a menu."""
    return (text or "").replace("%%", "%").split(";")[0].split("\n")[0]


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script of a shell for a program.

    Parameters
    ----------
    parser : ArgumentParser
        Of the program.
    shell : str
        One of `SHELLS`.
    """
    levels = list(_levels(parser))
    return _fish(parser.prog, levels) if shell == "fish" else _bash(parser.prog, levels, zsh=shell == "zsh")


def _bash(program: str, levels: list[_Level], *, zsh: bool) -> str:
    """A function that finds the level of the words so far; zsh reads it by its own imitation of bash."""
    name = "_" + program.replace("-", "_")
    lines = [f"# Completion of {program}; made by '{program} --completion {'zsh' if zsh else 'bash'}'."]
    if zsh:
        lines.append("autoload -U +X bashcompinit && bashcompinit")
    lines += [
        f"{name}() {{",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
        "    local command='' longer known='' has_commands='' k",
        # To bash, the = of --to=cdec is a word of its own.
        "    if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi",
        "    if [[ $word == = ]]; then word=''; fi",
        "    for ((k = 1; k < COMP_CWORD; k++)); do",
        '        longer="${command:+$command }${COMP_WORDS[k]}"',
        '        case "$longer" in',
        *_cases([(" ".join(each.path), "command=$longer") for each in levels if each.path]),
        "        esac",
        "    done",
        '    case "$command $before" in',
        *_cases(
            (f"{' '.join(each.path)} {option}", f"known={shlex.quote(' '.join(values))} has_commands=1")
            for each in levels
            for option, values in each.choices.items()
        ),
        "        *)",
        '            case "$command" in',
        *_cases(
            (
                " ".join(each.path),
                f"known={shlex.quote(' '.join([*each.commands, *each.options]))}"
                + (" has_commands=1" if each.commands else ""),
            )
            for each in levels
        ),
        "            esac",
        "    esac",
        '    if [[ "$word" != -* && -z "$has_commands" ]]; then',
        "        local IFS=$'\\n'",  # Names may have blanks.
        '        COMPREPLY=($(compgen -f -- "$word"))',
        "    else",
        '        COMPREPLY=($(compgen -W "$known" -- "$word"))',
        "    fi",
        "}",
        f"complete -o filenames -F {name} {program}",
    ]
    return "\n".join(lines) + "\n"


def _cases(cases: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Lines of a `case`: what matches, and what is done then."""
    for text, command in cases:
        yield f"            {shlex.quote(text)}) {command} ;;"


def _fish(program: str, levels: list[_Level]) -> str:
    """A line for every word."""
    lines = [f"# Completion of {program}; made by '{program} --completion fish'."]
    for each in levels:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in each.path)
        if each.commands:
            others = " ".join(each.commands)
            condition = f"not __fish_seen_subcommand_from {others}"
            condition = f"{seen}; and {condition}" if seen else condition
        else:
            condition = seen or "true"
        begin = f"complete -c {program} -n {shlex.quote(condition)}"
        for word, text in each.commands.items():
            lines.append(f"{begin} -f -a {word} -d {shlex.quote(text)}")
        for option, text in each.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = f" -x -a {shlex.quote(' '.join(each.choices[option]))}" if option in each.choices else ""
            lines.append(f"{begin} {kind}{values} -d {shlex.quote(text)}")
    return "\n".join(lines) + "\n"
