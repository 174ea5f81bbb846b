"""Elementary functions that come out alike on every machine, to the last bit.

exp and log of a C library differ between libraries, and within one between processors: where there are fused
multiply–adds, another variant is taken. numpy has variants of its own. A last digit decides a choice of a
sampler once in a long while, and from there on two chains have nothing in common. The functions here consist
of additions, subtractions, multiplications and divisions, which IEEE 754 rounds in one way only, in the order
in which they are written; compiled code keeps that order (`scfg_sampler.core.jit`, but for `reordering`).

exp(x): x = (128 m + j) ln 2 / 128 + r, and exp(x) = 2^m · 2^(j/128) · exp(r), the power from a table and five
terms of exp(r), |r| < 0.0028 (Tang 1989). log(x): x = 2^m z, 1/c with few digits near the middle of one of
128 intervals of z, and log(x) = m ln 2 + log(c) + log(1 + r), r = z/c − 1 (Tang 1990). The tables are made
when this module is imported, in decimal arithmetic, which rounds in one way too. Errors are below 1.3 units
in the last place, and of `log_gamma` below 1e-14 of the larger of its value and 1.

The fact a newcomer would get wrong: the products of numpy (`@`) are not alike everywhere either, as they are
made by the processor's own variant of a BLAS. `dot` adds from left to right.
"""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np

from scfg_sampler.core.jit import ENABLED, compiled, kernel

__all__ = [
    "dot",
    "exp",
    "exp_again",
    "exp_each",
    "exp_value",
    "log",
    "log1p",
    "log1p_value",
    "log_each",
    "log_gamma",
    "log_value",
    "power",
    "powers",
    "products",
]

_STEPS = 128  # Intervals of both tables, a power of two.
_BITS = 7
_FIRST_HALVED = (
    53  # The first interval of z above √2: log(z/2) is taken, so that values next to 1 are precise.
)


def _tables() -> tuple[np.ndarray, ...]:
    """Powers of two by 128ths and logarithms of the middles of 128ths, each as a number and what it lacks."""
    with decimal.localcontext(prec=50):
        ln2 = decimal.Decimal(2).ln()
        powers = [(ln2 * j / _STEPS).exp() for j in range(_STEPS)]
        power = np.array([float(value) for value in powers])
        # Relative: what the exact power is above its rounded value.
        rest = [float(value / decimal.Decimal(near) - 1) for value, near in zip(powers, power, strict=True)]
        inverses = [round(1024 / (1 + (i + 0.5) / _STEPS)) / 1024 for i in range(_STEPS)]
        inverses[0], inverses[-1] = 1.0, 0.5  # Next to 1, and to 2, nothing is added to the series.
        halved = [ln2 if i >= _FIRST_HALVED else 0 for i in range(_STEPS)]
        logs = [-decimal.Decimal(value).ln() - half for value, half in zip(inverses, halved, strict=True)]
        high = np.array([_short(value) for value in logs])
        low = np.array([float(value - decimal.Decimal(near)) for value, near in zip(logs, high, strict=True)])
        first = _short(ln2)
        second = float(ln2 - decimal.Decimal(first))
        step = _short(ln2 / _STEPS)
        below = float(ln2 / _STEPS - decimal.Decimal(step))
    return power, np.array(rest), np.array(inverses), high, low, np.array([first, second, step, below])


def _short(value: decimal.Decimal) -> float:
    """The number to 2⁻⁴⁰, so that sums of such, and products with an exponent, are exact."""
    return float((value * 2**40).to_integral_value()) / 2**40


def _constants(values: np.ndarray) -> Any:
    """A table as kernels read it: plain Python is several times faster with its own numbers than numpy's."""
    return values if ENABLED else values.tolist()


_POWER, _POWER_REST, _INVERSE, _LOG_HIGH, _LOG_LOW, _LN2 = map(_constants, _tables())
_LN2_HIGH, _LN2_LOW, _STEP_HIGH, _STEP_LOW = map(float, _LN2)
_PER_STEP = 1.0 / (_STEP_HIGH + _STEP_LOW)
_LEAST_SCALE = -1021
_SCALE = _constants(np.array([2.0**m for m in range(_LEAST_SCALE, 1024)]))
_HALF_LOG_TWO_PI = 0.9189385332046727
_LARGEST_EXP, _SMALLEST_EXP = 709.782712893384, -745.1332191019412
_TINY = 2.0**-128
_LEAST_NORMAL = 2.0**-1022
_TWO_54 = 2.0**54


@compiled
def exp(x: float) -> float:
    """e^x; ∞ from 709.78 on, 0 below −745.13."""
    if not _SMALLEST_EXP <= x <= _LARGEST_EXP:
        if x > 0.0:
            return math.inf
        return 0.0 if x < 0.0 else x  # Not a number stays so.
    x = float(x)
    steps = math.floor(x * _PER_STEP + 0.5)
    r = (x - steps * _STEP_HIGH) - steps * _STEP_LOW
    k = int(steps)
    j = k & (_STEPS - 1)
    m = k >> _BITS
    rest = r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0))))
    value = _POWER[j] + _POWER[j] * (_POWER_REST[j] + rest)
    if m >= _LEAST_SCALE:
        return value * _SCALE[m - _LEAST_SCALE]
    return value * _SCALE[m + 128 - _LEAST_SCALE] * _TINY  # Rounded once, below the normal numbers.


@compiled
def exp_again(known: np.ndarray, x: float) -> float:
    """`exp`, looked up where it has been asked for before.

    known : float64 (K, 2), K a power of two: arguments and results, NaN at first; changed.
    """
    at = np.float64(x).view(np.int64) & (known.shape[0] - 1)
    if known[at, 0] != x:
        known[at, 0] = x
        known[at, 1] = exp(x)
    return known[at, 1]


if ENABLED:

    @compiled
    def _parts(x):
        """x = 2^m z, normal: z in [1, 2), its first 27 binary digits, m, and ⌊128 (z − 1)⌋."""
        bits = np.float64(x).view(np.int64)
        digits = (bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000
        upper = np.int64(digits & ~0x3FFFFFF).view(np.float64)
        return np.int64(digits).view(np.float64), upper, (bits >> 52) - 1023, (bits >> 45) & (_STEPS - 1)

else:

    def _parts(x):
        """x = 2^m z, normal: z in [1, 2), its first 27 binary digits, m, and ⌊128 (z − 1)⌋."""
        half, m = math.frexp(x)
        z = 2.0 * half
        return z, math.floor(z * 2.0**26) * 2.0**-26, m - 1, int((z - 1.0) * _STEPS)


@compiled
def log(x: float) -> float:
    """The natural logarithm; −∞ of 0, not a number of negative numbers."""
    extra = 0
    if not _LEAST_NORMAL <= x < math.inf:
        if x == 0.0:
            return -math.inf
        if not 0.0 < x < math.inf:
            return x if x > 0.0 else math.nan
        x *= _TWO_54
        extra = -54
    x = float(x)
    z, upper, m, i = _parts(x)
    # z / c − 1 without a rounding but the last: the inverse has ten binary digits.
    r = (upper * _INVERSE[i] - 1.0) + (z - upper) * _INVERSE[i]
    m += extra + (i >= _FIRST_HALVED)
    return (m * _LN2_HIGH + _LOG_HIGH[i]) + (_log_near_one(r) + (_LOG_LOW[i] + m * _LN2_LOW))


@compiled
def _log_near_one(r):
    """log(1 + r) for |r| ≤ 1/128."""
    t = r * r
    tail = (0.2 - r * (1.0 / 6.0)) + t * ((1.0 / 7.0 - r * 0.125) + t * (1.0 / 9.0))
    return r - t * (0.5 - r * (1.0 / 3.0 - r * (0.25 - r * tail)))


@compiled
def log1p(x: float) -> float:
    """log(1 + x), precise where x is small; −∞ of −1, not a number below."""
    x = float(x)
    if -0.0078125 <= x <= 0.0078125:
        return _log_near_one(x)
    whole = 1.0 + x
    if not 0.0 < whole < math.inf:
        return log(whole)
    # What rounding 1 + x took away, as a share of it.
    lost = x - (whole - 1.0) if x < 1.0 else 1.0 - (whole - x)
    return log(whole) + lost / whole


@compiled
def power(base: float, exponent: float) -> float:
    """base^exponent for a positive base, and 0 for 0 with a positive exponent.

    To some units in the last place, for results within 2^±64; 1 for an exponent of 0.
    """
    if exponent == 0.0:
        return 1.0
    if exponent == 1.0:
        return base
    return exp(exponent * log(base)) if base > 0.0 else 0.0


@compiled
def log_gamma(x: float) -> float:
    """log Γ(x) for x > 0, ∞ for 0; by Stirling's series from 10 on, and Γ(x + 1) = x Γ(x) below."""
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    t = 1.0 / (x * x)
    series = 1.0 / 360.0 - t * (
        1.0 / 1260.0 - t * (1.0 / 1680.0 - t * (1.0 / 1188.0 - t * (691.0 / 360360.0)))
    )
    series = (1.0 / 12.0 - t * (series - t * t * t * t * t * (1.0 / 156.0))) / x
    return ((x - 0.5) * log(x) - x) + (_HALF_LOG_TWO_PI + series) - log(product)


@kernel
def exp_value(x: float) -> float:
    """`exp` for callers in Python."""
    return exp(x)


@kernel
def log_value(x: float) -> float:
    """`log` for callers in Python."""
    return log(x)


@kernel
def log1p_value(x: float) -> float:
    """`log1p` for callers in Python."""
    return log1p(x)


@kernel
def powers(bases: np.ndarray, exponent: float) -> np.ndarray:
    """`power` of every number of a float64 array of one dimension."""
    found = np.empty(len(bases))
    for i in range(len(bases)):
        found[i] = power(bases[i], exponent)
    return found


@kernel
def exp_each(values: np.ndarray) -> np.ndarray:
    """`exp` of every number of a float64 array of one dimension."""
    found = np.empty(len(values))
    for i in range(len(values)):
        found[i] = exp(values[i])
    return found


@kernel
def log_each(values: np.ndarray) -> np.ndarray:
    """`log` of every number of a float64 array of one dimension."""
    found = np.empty(len(values))
    for i in range(len(values)):
        found[i] = log(values[i])
    return found


@kernel
def products(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """matrix · vector, each row's sum from left to right, in double precision.

    matrix, vector : float (N, F), float64 (F,)
    """
    found = np.zeros(matrix.shape[0])
    for row in range(matrix.shape[0]):
        total = 0.0
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * vector[column]
        found[row] = total
    return found


@kernel
def dot(one: np.ndarray, other: np.ndarray) -> float:
    """Σ one[i] · other[i] from left to right."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total
