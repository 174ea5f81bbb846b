"""Options of a command that a file holds, for going on with what it began.

The fact a newcomer would get wrong: a file name that is a number is no error to `open`, which then reads,
writes and closes whatever the process has open under that number.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Mapping
from typing import Any

from scfg_sampler.core.chains.run_directory import require_names, wrong_setting
from scfg_sampler.core.files import PathLike

__all__ = ["require_options"]


def require_options(
    parser: argparse.ArgumentParser,
    stored: Mapping[str, Any],
    free: Collection[str],
    place: PathLike,
    version: object,
) -> None:
    """Raise unless options that a file holds are those of a command, with values it could have been given.

    Parameters
    ----------
    parser : ArgumentParser
        Of the command.
    stored : mapping
        Values by the names under which the command's function knows its options and arguments.
    free : collection of str
        Options that the file need not hold.
    place : path
        Where they were found, for the message.
    version : str
        Of the program that wrote them.

    Raises
    ------
    CheckpointMismatch
        There are options that this version does not have, or some that it has are missing.
    InputError
        One has a value of another kind.
    """
    options = {action.dest: action for action in parser._actions}
    require_names(stored, options.keys() - {"help", *free}, place, version)
    for name, value in stored.items():
        if not _can_be(options[name], value):
            raise wrong_setting(place, name, value)


def _can_be(action: argparse.Action, value: object) -> bool:
    """Whether a command line gives an option this value."""
    if action.nargs == 0:
        return isinstance(value, bool)
    if type(value) is type(action.default) and value == action.default:
        return value is not None or not action.required
    if action.nargs is not None and action.nargs != "?":
        return isinstance(value, list) and all(_is_one(action, each) for each in value)
    return _is_one(action, value)


def _is_one(action: argparse.Action, value: object) -> bool:
    """Whether it is what one argument of the option is read as."""
    if action.choices is not None:
        return isinstance(value, (str, int)) and value in action.choices
    if action.type is None:
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    if action.type is int:
        return isinstance(value, int)
    return isinstance(value, str) or math.isfinite(value)
