"""Small tableaux, some of them of Lin (2005), and what compiled and interpreted code both do."""

from __future__ import annotations

import numpy as np

from monolingual.ot.gibbs import ot_kernel
from monolingual.ot.gla import GlaSettings, learn
from monolingual.ot.orderings import Orderings, derive_orderings
from monolingual.ot.settings import OtSettings
from monolingual.ot.tableaux import Row, Tableaux, build_tableaux, token_counts


def tableaux(constraints: str, *rows: tuple) -> Tableaux:
    """Tableaux of rows (input, output, frequency, violations as a string of digits)."""
    return build_tableaux(
        "tableaux.tsv",
        constraints.split(),
        [
            Row(line, form, output, float(frequency), tuple(int(digit) for digit in violations))
            for line, (form, output, frequency, violations) in enumerate(rows, start=2)
        ],
    )


TABLE_2 = tableaux(
    "C1 C2 C3 C4 C5",
    ("x1", "y11", 4, "01010"),
    ("x1", "y12", 3, "10000"),
    ("x1", "y13", 0, "01101"),
    ("x1", "y14", 0, "00100"),
    ("x2", "y21", 3, "11000"),
    ("x2", "y22", 0, "00111"),
)
ILOKANO = tableaux(
    "COMPLEX ALIGN IDENT",
    ("bwaja", "bu:.bwa.ja", 0.33, "101"),
    ("bwaja", "bwaj.bwa.ja", 0.33, "200"),
    ("bwaja", "bub.wa.ja", 0.33, "010"),
)
SPANISH = tableaux(
    "A M D B",
    ("uba", "ubita", 10, "0101"),
    ("uba", "ubasita", 0, "1000"),
    ("mar", "marEsito", 5, "0010"),
    ("mar", "marsito", 5, "0001"),
    ("liryo", "liri.ito", 9, "0100"),
    ("liryo", "liryosito", 1, "1000"),
)


def two_constraints(first: int, second: int) -> Tableaux:
    """A wins `first` times, B `second` times."""
    return tableaux("A B", ("x", "a", first, "01"), ("x", "b", second, "10"))


def orderings_of(example: Tableaux) -> Orderings:
    return derive_orderings(example, token_counts(example))


def some_sweeps(seed: int, sweeps: int) -> list[np.ndarray]:
    """States of chains with all kinds of moves, exact probabilities, and learners."""
    found = []
    for example in (ILOKANO, SPANISH):
        for settings in (
            OtSettings(pilot=8, collapsed=4, shifts=-1),
            OtSettings(pilot=0, collapsed=4, priors={0: (1.0, 2.0)}, learn_variances=True),
        ):
            kernel = ot_kernel(orderings_of(example), settings)
            rng = np.random.default_rng(seed)
            state = kernel.init(rng, None)
            for _ in range(sweeps):
                state, _ = kernel.step(rng, state)
            found += [state.mean, state.deviation, state.values]
    for rule in ("symmetric", "calibrated"):
        for is_harmonic in (False, True):
            found.append(learn(SPANISH, GlaSettings(rule, is_harmonic, trials=200), seed=seed))
    return found
