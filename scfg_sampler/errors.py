"""Everything the project raises on purpose.

::

    ScfgError                     the user can mend it; a command ends with status 2
    ├── InputError                a file says something it should not (path, line, found, hint)
    │   ├── AlignmentError        … a word alignment
    │   ├── TreeError             … a bracketed tree or a dependency tree
    │   ├── ArpaError             … a language model
    │   └── RuleTableError        … a rule table
    ├── SettingsError             an option is out of range, or two options contradict each other
    ├── ClusterError              processes that do tasks are lost, or of another version
    ├── CheckpointMismatch        a run directory belongs to other settings or another corpus
    └── ChainTooShort             too few sweeps to judge convergence (carries the estimate)

Libraries raise these; only command lines catch them (`scfg_sampler.core.console.run`), print one line
and exit with status 2. Any other exception is a bug and shows its traceback.
"""

from __future__ import annotations

__all__ = [
    "AlignmentError",
    "ArpaError",
    "ChainTooShort",
    "CheckpointMismatch",
    "ClusterError",
    "InputError",
    "RuleTableError",
    "ScfgError",
    "SettingsError",
    "TreeError",
]


class ScfgError(Exception):
    """The root of all errors a user can mend."""


class ClusterError(ScfgError):
    """Processes that were to do tasks are lost, or are not what they should be."""


class InputError(ScfgError):
    """A file holds something that cannot be used.

    Parameters
    ----------
    path : str or None
        The file, as the user named it; "-" is standard input. None when there is no file.
    line : int or None
        The line, counted from 1; None when the whole file is meant.
    found : str
        What was found and what is wrong with it.
    hint : str
        What was expected, or what to do. May be empty.

    >>> str(InputError("train.align", 412, "link 17-3 is outside the sentence", "Swap the files?"))
    'train.align:412: link 17-3 is outside the sentence. Swap the files?'
    """

    def __init__(self, path: object, line: int | None, found: str, hint: str = ""):
        self.path = None if path is None else str(path)
        self.line = line
        self.found = found
        self.hint = hint
        name = self.path or "''"  # Or the message would begin with a colon.
        place = "" if self.path is None else f"{name}: " if line is None else f"{name}:{line}: "
        super().__init__(f"{place}{found}{'. ' + hint if hint else ''}")

    def __reduce__(self):
        return type(self), (self.path, self.line, self.found, self.hint)


class AlignmentError(InputError):
    """A word alignment that does not fit its sentence pair."""


class TreeError(InputError):
    """A tree that cannot be read."""


class ArpaError(InputError):
    """A language model that cannot be read."""


class RuleTableError(InputError):
    """A rule table that cannot be read."""


class SettingsError(ScfgError):
    """An option has a value it cannot have; the message names the option, the value and the range."""


class CheckpointMismatch(ScfgError):
    """A checkpoint was made with other settings or another corpus; the message lists the differences."""


class ChainTooShort(ScfgError):
    """A chain is too short for the diagnostic asked of it.

    Parameters
    ----------
    message : str
        What was asked and how many sweeps it needs.
    estimate : float
        The value all the same, for those who know what they do.
    """

    def __init__(self, message: str, estimate: float):
        self.estimate = estimate
        super().__init__(message)

    def __reduce__(self):
        return type(self), (*self.args, self.estimate)
