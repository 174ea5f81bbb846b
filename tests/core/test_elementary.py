"""Elementary functions: precise, and alike whatever the machine."""

import decimal
import hashlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from scfg_sampler.core import elementary
from scfg_sampler.core.jit import kernel

# Other variants of exp and log in the C library and in numpy, and of its BLAS; ignored where unknown.
MACHINES = [
    {},
    {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX512F"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3"},
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "SkylakeX"},
    {"OPENBLAS_CORETYPE": "Nehalem"},
]
DIGEST = """
import hashlib, numpy as np
from scfg_sampler.core import elementary
rng = np.random.default_rng(5)
x = rng.uniform(-700, 700, 3000)
y = elementary.exp_each(x)
found = [y, elementary.log_each(y), elementary.powers(rng.random(3000) * 5000, 0.37)]
found.append(elementary.products(rng.normal(size=(50, 37)), rng.normal(size=37)))
print(hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()[:16])
"""
# What these come to on x86-64; the functions are made so that it is the same everywhere.
EXPECTED = "ef5575efef9cc62f"


def units_in_the_last_place(found, arguments, exact) -> float:
    with decimal.localcontext(prec=40):
        pairs = zip(found.tolist(), arguments.tolist(), strict=True)
        return max(
            float(abs(decimal.Decimal(value) - exact(decimal.Decimal(x))) / decimal.Decimal(math.ulp(value)))
            for value, x in pairs
        )


def test_functions_are_precise_to_the_last_place(rng):
    x = np.concatenate([rng.uniform(-745, 709.7, 2000), rng.normal(size=2000), [-745.1, 709.78, 1e-300]])
    assert units_in_the_last_place(elementary.exp_each(x), x, lambda value: value.exp()) < 1
    near = 1 + rng.uniform(-0.02, 0.02, 2000)
    y = np.concatenate([np.exp(rng.uniform(-744, 709, 2000)), near, [5e-324, 2.0]])
    y = y[y != 1]
    assert units_in_the_last_place(elementary.log_each(y), y, lambda value: value.ln()) < 1.3


@kernel
def exps_again(known, values):
    found = np.empty(len(values))
    for i in range(len(values)):
        found[i] = elementary.exp_again(known, values[i])
    return found


def test_exponentials_asked_for_again_are_those_of_the_first_time(rng):
    x = np.concatenate(
        [rng.uniform(-750, 720, 40), np.arange(-20.0, 20.0), [0.0, -0.0, np.inf, -np.inf, np.nan]]
    )
    x = rng.choice(x, 3000)
    assert np.array_equal(exps_again(np.full((16, 2), np.nan), x), elementary.exp_each(x), equal_nan=True)


def test_logarithm_of_one_plus_and_of_gamma(rng):
    near = [*rng.uniform(-1e-9, 1e-9, 50), *rng.uniform(-0.05, 0.05, 300), -0.0078125]
    for x in [*rng.uniform(-0.999, 3, 500), *near, 1e300]:
        assert elementary.log1p_value(x) == pytest.approx(math.log1p(x), rel=5e-16, abs=0)
    gamma = elementary.log_gamma
    for x in [*rng.uniform(1e-9, 30, 500), *np.exp(rng.uniform(-20, 20, 100))]:
        assert abs(gamma(x) - math.lgamma(x)) < 2e-14 * max(1, abs(math.lgamma(x)))
    assert gamma(1.0) == pytest.approx(0, abs=1e-14)
    assert gamma(0.0) == math.inf


def test_powers_are_those_of_real_numbers():
    counts = np.arange(4096.0)
    np.testing.assert_allclose(elementary.powers(counts, 0.37), counts**0.37, rtol=2e-15)
    assert elementary.powers(counts, 0.0).tolist() == [1.0] * 4096
    assert elementary.powers(counts, 1.0).tolist() == counts.tolist()


def test_what_has_no_value_is_as_in_numpy():
    edges = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 710.0, -746.0, 5e-324, 1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(elementary.exp_each(edges), np.exp(edges), rtol=1e-15)
        np.testing.assert_allclose(elementary.log_each(edges), np.log(edges), rtol=1e-15)
    assert elementary.log1p_value(-1.0) == -math.inf
    assert math.isnan(elementary.log1p_value(-2.0))


def test_sums_go_from_left_to_right():
    """Any other order loses another of the small numbers."""
    row = np.array([1.0, 2.0**-53, 2.0**-53, 2.0**-53, -1.0, 2.0**-53])
    total = 0.0
    for value in row.tolist():
        total += value
    assert elementary.products(row[None], np.ones(6)).tolist() == [total]
    assert elementary.dot(row, np.ones(6)) == total


@pytest.mark.parametrize("machine", MACHINES)
def test_values_are_alike_on_every_machine(machine):
    assert digest(machine) == EXPECTED


def test_values_are_alike_interpreted():
    assert digest({"NUMBA_DISABLE_JIT": "1"}) == EXPECTED


def digest(machine: dict[str, str]) -> str:
    environment = {**os.environ, **machine}
    made = subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def test_digests_would_tell_functions_of_numpy_apart(rng):
    x = rng.uniform(-700, 700, 3000)
    ours, theirs = elementary.exp_each(x), np.exp(x)
    assert np.abs(ours / theirs - 1).max() < 1e-15
    assert hashlib.sha256(ours).digest() != hashlib.sha256(theirs).digest()
