"""Language-model queries as plain Python do what the compiled ones are tested to do."""

import numpy as np
import pytest

from decoder.lm import model as lms
from tests.decoder.lm.test_model import naive_sentence, naive_tables, random_model, sentence_score, state_of


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_interpreted_scores_and_states_are_those_of_the_definition(order):
    rng = np.random.default_rng(order)
    model = random_model(order, order, density=0.35 if order < 5 else 0.15)
    lm, tables = lms.build_lm(model), naive_tables(model)
    for _ in range(20):
        words = rng.choice([0, 3, 4, 5], size=rng.integers(0, 9)).tolist()
        assert sentence_score(lm, words, rng) == pytest.approx(naive_sentence(tables, order, words), abs=1e-9)
        assert state_of(lm, words, rng)[0].tolist() == state_of(lm, words)[0].tolist()


def test_no_arithmetic_of_hash_keys_overflows():
    with np.errstate(over="raise"):
        lms.build_lm(random_model(7, 4))
