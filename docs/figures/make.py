"""The pictures of the pages under docs/learn, made by the program on the bundled corpus.

    python docs/figures/make.py

writes them beside this file; a test makes them again and compares. The fact a newcomer would get wrong: the
derivations are those of a chain of 40 sweeps over the first 1,000 pairs, not of a hand.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import decoder  # noqa: E402
import scfg_sampler  # noqa: E402
from scfg_sampler.core.fragments.restaurant import (  # noqa: E402
    COUNT_MASK,
    LIVE,
    find_or_insert,
    new_restaurants,
    opening_mass,
    seat,
)
from scfg_sampler.core.pages.charts import compact, ticks  # noqa: E402
from scfg_sampler.core.svg import document, safe  # noqa: E402
from scfg_sampler.learner.drawing import draw_alignment  # noqa: E402

__all__ = ["make"]

PAIR, SMALL_PAIR = 398, 1036
PAIRS, SWEEPS, CUSTOMERS = 1000, 40, 2000
SENTENCE = "anna ne siet tva hunden store pas ."
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 260, 64, 36, 16
_COLOURS = ("#0b5cad", "#b3541e", "#1a7f37")


def make(work: Path) -> dict[str, str]:
    """The pictures by their names.

    Parameters
    ----------
    work : directory
        For the run and for what translating needs.
    """
    data = ROOT / "data" / "novish-en"
    names = ("train.novish.gz", "train.en.gz", "train.novish-en.gold.gz")
    corpus = scfg_sampler.read_corpus(*(data / name for name in names))
    pair, small = corpus[PAIR], corpus[SMALL_PAIR]
    forest, small_forest = pair.forest(), small.forest()
    assert forest is not None
    assert small_forest is not None
    run = scfg_sampler.sample(corpus[:PAIRS], work / "run", iterations=SWEEPS, seed=1)
    tree = run.derivation(PAIR)
    assert tree is not None
    trace = run.trace
    system = decoder.make_system(run.grammar(), decoder.train_lm(data / "train.en.gz"))
    return {
        "learn-alignment.svg": pair.svg(),
        "learn-phrases.svg": draw_alignment(
            pair.source,
            pair.target,
            pair.links,
            "phrases",
            [phrase.source + phrase.target for phrase in forest.phrases],
        ),
        "learn-small-forest.svg": small_forest.svg(),
        "learn-forest.svg": forest.svg(),
        "learn-derivation.svg": tree.svg(),
        "learn-translation.svg": system.derivation(SENTENCE).svg(),
        "learn-joint.svg": curves("log joint", "sweep", [("", trace["sweep"], trace["log_joint"])]),
        "learn-restaurants.svg": curves(
            "dishes",
            "customers",
            [(f"d = {discount:g}", *dishes_by_customers(discount, 5.0)) for discount in (0.0, 0.5, 0.8)],
        ),
    }


def dishes_by_customers(discount: float, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """How many dishes have been ordered after 1, 2, … customers, none of two tables alike."""
    rng = np.random.default_rng(1)
    restaurants = new_restaurants(1, discount=discount, strength=strength, exact=True)
    slots: list[int] = []
    found = []
    for customers in range(CUSTOMERS):
        opens = bool(rng.random() * (customers + strength) < opening_mass(restaurants, 0, 0))
        if opens:
            slots.append(find_or_insert(restaurants, len(slots) + 1, 0, 0.0))
            slot = slots[-1]
        else:
            # Joining a table has the rest of the mass: n − d t of each dish.
            held = restaurants.entries[slots, 1]
            mass = np.cumsum((held & COUNT_MASK) - discount * (held >> 32))
            slot = slots[int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))]
        seat(rng, restaurants, slot, opens)
        found.append(restaurants.totals[LIVE])
    return np.arange(1.0, CUSTOMERS + 1)[::20], np.array(found, float)[::20]


def curves(name: str, below: str, lines: Sequence[tuple[str, np.ndarray, np.ndarray]]) -> str:
    """Some curves with round numbers at the axes, as SVG."""
    left, right = min(float(x[0]) for _, x, _ in lines), max(float(x[-1]) for _, x, _ in lines)
    low, high = min(float(y.min()) for _, _, y in lines), max(float(y.max()) for _, _, y in lines)
    wide, tall = _WIDTH - _LEFT - 70, _HEIGHT - _TOP - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (x - left) / (right - left) * wide, _TOP + (high - y) / (high - low) * tall

    out = []
    for value in ticks(low, high, 5):
        y = place(left, value)[1]
        out.append(f'<line x1="{_LEFT}" x2="{_LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(_label(_LEFT - 6, y + 4, "end", compact(value, step=high - low)))
    for value in ticks(left, right, 6):
        out.append(_label(place(value, low)[0], _HEIGHT - _BOTTOM + 16, "middle", compact(value)))
    out.append(_label(_LEFT + wide, _HEIGHT - 4, "end", below))
    for (label, xs, ys), colour in zip(lines, _COLOURS, strict=False):
        points = [place(*point) for point in zip(xs.tolist(), ys.tolist(), strict=True)]
        spelled = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{spelled}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        out.append(_label(points[-1][0] + 5, points[-1][1] + 4, "start", label))
    return document(_WIDTH, _HEIGHT, name, out)


def _label(x: float, y: float, anchor: str, words: str) -> str:
    style = f"text-anchor:{anchor};font-size:12px"
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{safe(words)}</text>'


def main() -> None:
    """Write the pictures beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        for name, svg in make(Path(folder)).items():
            (HERE / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
