"""The best trees, drawn sentences and pictures of dependency models."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.cli import main
from monolingual.dmv.drawing import draw_arcs
from monolingual.dmv.initial import random
from monolingual.dmv.layout import Layout
from monolingual.dmv.model import DmvModel, parts, write_model
from monolingual.dmv.nbest import best_heads
from monolingual.dmv.simulation import draw_sentences
from scfg_sampler.errors import SettingsError
from tests.monolingual.dmv.enumeration import is_projective, projective_trees, tree_weights
from tests.statistics import FALSE_ALARM, chi_square_tail


@pytest.mark.parametrize("valences", [1, 2])
def test_best_trees_are_the_first_of_all_sorted(rng, valences):
    layout = Layout(3, valences)
    for length in range(1, 6):
        probs = random(rng, layout)
        tags = rng.integers(0, 3, length).tolist()
        trees = projective_trees(length)
        weights = tree_weights(layout, tags, probs)
        order = np.argsort(-weights)[:12]
        found = best_heads(layout, probs, tags, 12)
        assert_allclose(np.exp([weight for weight, _ in found]), weights[order], rtol=1e-10)
        for weight, heads in found:
            assert_allclose(np.exp(weight), weights[trees.index(tuple(heads))], rtol=1e-10)
        assert len({tuple(heads) for _, heads in found}) == len(found) == min(12, len(trees))


def test_every_tree_is_listed_once(rng):
    layout = Layout(2, 2)
    found = best_heads(layout, random(rng, layout), [0, 1, 1, 0, 1], 10_000)
    assert sorted(tuple(heads) for _, heads in found) == sorted(projective_trees(5))


def test_trees_that_cannot_be_are_left_out(rng):
    layout = Layout(2, 1)
    probs = random(rng, layout)
    parts(layout, probs)[0][:] = 1.0, 0.0  # Only the first tag is a root.
    found = best_heads(layout, probs, [0, 1, 1], 100)
    assert all(heads[0] == 0 for _, heads in found)
    assert len(found) == sum(heads[0] == 0 for heads in projective_trees(3))
    assert best_heads(layout, probs, [], 3) == []
    with pytest.raises(SettingsError, match="--nbest is 0"):
        best_heads(layout, probs, [0], 0)


@pytest.mark.parametrize("valences", [1, 2])
def test_drawn_sentences_have_the_probabilities_of_their_trees(rng, valences):
    """All trees of at most three words, and what is longer, by a chi-square test."""
    layout = Layout(2, valences)
    probs = random(rng, layout)
    parts(layout, probs)[1][..., 0], parts(layout, probs)[1][..., 1] = 0.6, 0.4
    model = DmvModel(("a", "b"), layout, probs)
    known = {}
    for length in (1, 2, 3):
        for tags in np.ndindex(*(2,) * length):
            weights = tree_weights(layout, tags, probs)
            known |= {(tags, heads): w for heads, w in zip(projective_trees(length), weights, strict=True)}
    drawn, dropped = draw_sentences(rng, model, 4000, 3)
    assert dropped > 0
    place = {tree: at for at, tree in enumerate(known)}
    observed = np.bincount([place[tuple(tags), tuple(heads)] for tags, heads in drawn], minlength=len(known))
    expected = np.array(list(known.values())) / sum(known.values()) * len(drawn)
    assert chi_square_tail(observed, expected) > FALSE_ALARM


def test_sentences_are_drawn_by_the_shares_of_weights_that_do_not_sum_to_one():
    """As those of JDAGEEM's variational models; halves, as other factors would round."""
    layout = Layout(2, 2)
    probs = random(np.random.default_rng(1), layout)
    parts(layout, probs)[1][..., 0], parts(layout, probs)[1][..., 1] = 0.75, 0.25
    expected, drawn = (
        draw_sentences(np.random.default_rng(2), DmvModel(("a", "b"), layout, values), 200, 50)
        for values in (probs, probs / 2)
    )
    assert drawn == expected


def test_long_drawn_trees_are_projective(rng):
    layout = Layout(2, 1)
    probs = random(rng, layout)
    parts(layout, probs)[1][..., 0], parts(layout, probs)[1][..., 1] = 0.5, 0.5
    drawn, _ = draw_sentences(rng, DmvModel(("a", "b"), layout, probs), 50, 12)
    assert all(is_projective(heads) for _, heads in drawn)
    assert max(len(tags) for tags, _ in drawn) > 4


def test_nearest_dependents_are_drawn_first(rng):
    """To the left, the nearest dependent is a b and all further ones are an a."""
    layout = Layout(2, 2)
    probs = random(rng, layout)
    _, stop, child = parts(layout, probs)
    stop[..., 0], stop[..., 1] = 0.6, 0.4
    child[:, 0, 0], child[:, 0, 1] = (0.0, 1.0), (1.0, 0.0)
    drawn, _ = draw_sentences(rng, DmvModel(("a", "b"), layout, probs), 60, 20)
    seen = 0
    for tags, heads in drawn:
        for head in range(1, len(tags) + 1):
            left = [tags[m] for m in range(head - 1) if heads[m] == head]
            seen += len(left) > 1
            assert left == [0] * (len(left) - 1) + [1] * bool(left)
    assert seen > 5


def test_models_that_hardly_end_are_refused(rng):
    layout = Layout(1, 1)
    probs = np.ones(11)
    parts(layout, probs)[1][..., 0] = 0.0
    with pytest.raises(SettingsError, match="1000 sentences in a row had more than 5 words"):
        draw_sentences(rng, DmvModel(("a",), layout, probs), 1, 5)
    with pytest.raises(SettingsError, match="must be at least 1"):
        draw_sentences(rng, DmvModel(("a",), layout, probs), 0, 5)


def test_arcs_are_drawn_one_above_the_other():
    picture = draw_arcs(["a", "b<", "c"], [3, 1, 0], name="s", posteriors=np.eye(3, 4)[:, ::-1])
    root = ET.fromstring(picture)
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["s", "c → a: 1.000", "a → b<: 0.000", "the root → c: 0.000"]
    curves = [e.attrib["d"] for e in root.iter("{http://www.w3.org/2000/svg}path")]
    heights = [float(d.split("C")[1].split(" ")[0].split(",")[1]) for d in curves if "C" in d]
    assert heights[0] < heights[1]  # The arc over the other is higher up.


@pytest.fixture
def files(tmp_path, rng):
    layout = Layout(2, 1)
    write_model(tmp_path / "m", DmvModel(("N", "V"), layout, random(rng, layout)))
    (tmp_path / "t").write_text("N V\t2 0\tdogs bark\nV\t0\tgo\n")
    return tmp_path


def test_nbest_pictures_and_drawn_sentences_are_written(files, capsys):
    model, data = str(files / "m"), str(files / "t")
    more = ["--nbest", "5", "--picture", str(files / "p.svg"), "--sentence", "1"]
    assert main(["dmv", "parse", model, data, *more]) == 0
    lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert sorted(line[1] for line in lines if line[0] == "0") == ["0 1", "2 0"]
    assert [line[1] for line in lines if line[0] == "1"] == ["0"]
    assert "dogs/N" in (files / "p.svg").read_text()
    assert main(["dmv", "parse", model, data, "--picture", str(files / "p.svg"), "--sentence", "3"]) == 2
    assert "--sentence is 3; there are 2" in capsys.readouterr().err
    assert main(["dmv", "parse", model, data, "--sentence", "2"]) == 2
    assert "--sentence says which one --picture draws; give that" in capsys.readouterr().err
    drawing = ["dmv", "simulate", model, "--samples", "3", "--max-length", "50"]
    assert main([*drawing, "--output", str(files / "drawn")]) == 0
    assert main(["dmv", "evaluate", model, str(files / "drawn"), "--quiet"]) == 0
    capsys.readouterr()
    assert main([*drawing, "--seed", "-1"]) == 2
    assert "--seed is -1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("\nV\t0\tgo\n\n \nV\t0\tstay\n\n", ["1", "4"]),
        ("1\tgo\t_\tV\tV\t_\t0\t_\t_\t_\n\n\n1\tstay\t_\tV\tV\t_\t0\t_\t_\t_\n", ["0", "1"]),
    ],
    ids=["three columns", "ten columns"],
)
def test_lists_have_the_numbers_of_lines_that_are_sentences(files, capsys, text, numbers):
    """As those of `tsg parse` and `scfg-decoder translate` do; in ten columns no line is a sentence."""
    (files / "spaced").write_text(text)
    assert main(["dmv", "parse", str(files / "m"), str(files / "spaced"), "--nbest", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" |||")[0] for line in lines] == numbers


def test_training_begins_with_dirichlet_draws(files, capsys):
    arguments = [
        "dmv",
        "train",
        str(files / "t"),
        "--output",
        str(files / "o"),
        "--rounds",
        "1",
        "--overwrite",
    ]
    assert main([*arguments, "--start", "dirichlet:0.2", "--restarts", "2", "--quiet"]) == 0
    assert main([*arguments, "--start", "dirichlet:x"]) == 2
    assert "the concentration must be above 0 and 1e+06 at most" in capsys.readouterr().err


def test_small_concentrations_make_few_choices_likely(rng):
    layout = Layout(30, 1)
    largest = [parts(layout, random(rng, layout, a))[2].max(axis=-1).mean() for a in (0.02, 1.0, 50.0)]
    assert largest[0] > 0.6 > 0.25 > largest[1] > 0.07 > largest[2]
