"""Models from elsewhere: few digits, no comment in the first line, files of JDAGEEM."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.dmv.initial import random
from monolingual.dmv.layout import ADJACENCIES, Layout, parameter_families
from monolingual.dmv.model import DmvModel, is_model, parts, read_model, write_model
from scfg_sampler.errors import InputError

TAGS = ("DT", "NN", "VB")


def model_of(rng, valences=1):
    return DmvModel(TAGS, Layout(3, valences), random(rng, Layout(3, valences)))


def written_by_jdageem(model, change=1.0):
    """The lines that JDAGEEM would write, from its source: arrows lead from heads to dependents."""
    root, stop, child = parts(model.layout, model.probs * change)
    lines = [f"root {tag} : {math.log(root[t])}" for t, tag in enumerate(TAGS)]
    for h, head in enumerate(TAGS):
        for m, tag in enumerate(TAGS):
            lines.append(f"leftattach {tag} <- {head} : {math.log(child[h, 0, 0, m])}")
            lines.append(f"rightattach {head} -> {tag} : {math.log(child[h, 1, 0, m])}")
        for d, side in enumerate(("left", "right")):
            for v, has in enumerate(("nochild", "haschild")):
                for kind, name in enumerate(("stop", "continue")):
                    lines.append(f"{side}{name} {head} {has} : {math.log(stop[h, d, v, kind])}")
    return "\n".join(["// a comment", *lines[::-1]]) + "\n"


def test_models_of_jdageem_are_read(tmp_path, rng):
    model = model_of(rng)
    (tmp_path / "m.gra").write_text(written_by_jdageem(model))
    assert is_model(tmp_path / "m.gra")
    found = read_model(tmp_path / "m.gra")
    assert found.tags == TAGS
    assert_allclose(found.probs, model.probs, rtol=1e-12)


def test_weights_that_do_not_sum_to_1_are_kept(tmp_path, rng):
    """Variational weights, of which some multinomials have lost more than others."""
    model = model_of(rng)
    lost = rng.uniform(0.3, 1.0, len(model.probs))
    (tmp_path / "m.J").write_text(written_by_jdageem(model, lost))
    assert_allclose(read_model(tmp_path / "m.J").probs, model.probs * lost, rtol=1e-12)


@pytest.mark.parametrize("valences", [1, 2])
@pytest.mark.parametrize("digits", ["6g", ".4f"])
def test_few_digits_sum_to_1_as_nearly_as_they_can(valences, digits, tmp_path, rng):
    model = model_of(rng, valences)
    write_model(tmp_path / "m.txt", model)
    rows = [line.split() for line in (tmp_path / "m.txt").read_text().splitlines()[1:]]
    short = "\n".join(" ".join([*row[:-1], format(float(row[-1]), digits)]) for row in rows)
    (tmp_path / "short.txt").write_text(short + "\n")
    assert is_model(tmp_path / "short.txt")  # Without the comment of the first line.
    found = read_model(tmp_path / "short.txt")
    assert_allclose(found.probs, model.probs, atol=2e-4)
    sums = np.add.reduceat(found.probs, parameter_families(found.layout).start[:-1])
    assert_allclose(sums, 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "is_right"), [("0.333", True), ("0.3330000", False), ("0.332", False), ("0.3", False)]
)
def test_sums_may_be_off_by_what_was_rounded_and_no_more(change, is_right, tmp_path):
    """.333 + .333 + .333 lacks .001 as three digits may; seven digits may not, nor is .002 ever forgiven."""
    (tmp_path / "m.txt").write_text(f"root DT 0.333\nroot NN 0.333\nroot VB {change}\n")
    if change == "0.3330000":
        (tmp_path / "m.txt").write_text("root DT 0.3330000\nroot NN 0.3330000\nroot VB 0.3330000\n")
    if is_right:
        assert_allclose(read_model(tmp_path / "m.txt").probs[:3], 1 / 3)
    else:
        with pytest.raises(InputError, match="the probabilities of root sum to"):
            read_model(tmp_path / "m.txt")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("\n# mine\nroot NN 1\n", True),
        ("child NN left VB 0.5\n", True),
        ("rightstop NN haschild : -0.5\n", True),
        ("# scfg-monolingual dmv: 2 tags\n", True),
        ("DT NN\t2 0\tthe dog\n", False),
        ("# sent_id = 1\n1\ta\ta\tDET\tDT\t_\t0\troot\t_\t_\n", False),
        ("", False),
    ],
)
def test_models_are_known_by_their_first_parameter(text, is_one, tmp_path):
    (tmp_path / "x").write_text(text)
    assert is_model(tmp_path / "x") is is_one


@pytest.mark.parametrize(
    "line",
    [
        "leftattach NN -> VB : -1",
        "root NN -1",
        "leftstop NN further : -1",
        "root NN : x",
        "root NN : 1e9",
        "x",
    ],
)
def test_what_is_no_weight_is_named(line, tmp_path):
    (tmp_path / "m.gra").write_text(f"root VB : -0.5\n{line}\n")
    with pytest.raises(InputError, match="is no weight of a model of JDAGEEM") as error:
        read_model(tmp_path / "m.gra")
    assert ":2:" in str(error.value)


def test_adjacencies_are_what_the_documents_say():
    assert ADJACENCIES == ("adjacent", "further")
