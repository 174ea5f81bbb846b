"""How many of something can be asked for: of chains, shards, threads, processes, starting points.

The fact a newcomer would get wrong: none of them costs anything until it is there, so that billions look
harmless in a record of a run, and take all memory or all processes of a machine when they are made.
"""

from __future__ import annotations

from scfg_sampler.errors import SettingsError

__all__ = ["MOST", "require_number", "require_seed"]

MOST = 1 << 16


def require_number(option: str, number: int) -> None:
    """Raise a SettingsError unless there can be so many.

    Parameters
    ----------
    option : str
        The name of the option, without dashes.
    number : int

    >>> require_number("chains", 4)
    >>> require_number("chains", 10**12)
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.SettingsError: --chains is 1000000000000; it must be from 1 to 65536
    """
    if not 1 <= number <= MOST:
        raise SettingsError(f"--{option} is {number}; it must be from 1 to {MOST}")


def require_seed(seed: int) -> None:
    """Raise a SettingsError if a seed is negative, as none can be.

    >>> require_seed(-1)
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.SettingsError: --seed is -1; it must be at least 0
    """
    if seed < 0:
        raise SettingsError(f"--seed is {seed}; it must be at least 0")
