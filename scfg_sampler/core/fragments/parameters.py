"""Which discounts and strengths restaurants can have; asked before anything is compiled, read or written."""

from __future__ import annotations

from scfg_sampler.errors import SettingsError

__all__ = ["LARGEST_STRENGTH", "require_parameters"]

LARGEST_STRENGTH = 1e15
"""Above it customers make no difference to α + n, and its products leave the range of numbers."""


def require_parameters(discount: float, strength: float) -> None:
    """Raise SettingsError unless there are restaurants with these parameters.

    Parameters
    ----------
    discount : float
        d, in [0, 1).
    strength : float
        α, above 0, at most `LARGEST_STRENGTH`.

    >>> require_parameters(0.5, 5.0)
    >>> require_parameters(1.0, 5.0)
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.SettingsError: --discount is 1; it must be at least 0 and below 1
    """
    if not 0.0 <= discount < 1.0:
        raise SettingsError(f"--discount is {discount:g}; it must be at least 0 and below 1")
    if not 0.0 < strength <= LARGEST_STRENGTH:
        limits = f"above 0 and {LARGEST_STRENGTH:g} at most"
        raise SettingsError(f"--strength is {strength:g}; it must be {limits}")
