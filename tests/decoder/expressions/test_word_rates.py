"""Words that tokens bring: EM against loops over dense tables, and what it costs to bring too many."""

import numpy as np
import pytest

from decoder.expressions.word_model import symbols_of, train_word_model, word_log_probs
from decoder.expressions.word_rates import rate_log_probs, train_rate_model

SOURCES = [text.split() for text in ("which rivers", "which large rivers in texas", "large large states", "")]
TOKENS = [text.split() for text in ("a r", "a l r t", "a l l s", "a")]
WORDS = sorted({word for each in SOURCES for word in each})


def em(rounds: int = 20) -> tuple[dict[str, list[float]], dict[str, float]]:
    """θ of every token and word, the last word unknown, and λ, word by word and token by token."""
    sentences = [["", *each] for each in TOKENS]
    befores = [[f"{before} " for before in ("", *words)][: len(words)] for words in SOURCES]
    everything = sorted({token for each in (*sentences, *befores) for token in each})
    there = {token: sum(each.count(token) for each in (*sentences, *befores)) for token in everything}
    usual = sum(map(len, SOURCES)) / sum(map(len, sentences))
    theta = {(token, word): 1.0 for token in everything for word in WORDS}
    for _ in range(rounds):
        brought = dict.fromkeys(theta, 0.0)
        for words, each, before in zip(SOURCES, sentences, befores, strict=True):
            for at, word in enumerate(words):
                beside = [*each, before[at]]
                whole = sum(theta[token, word] for token in beside)
                for token in beside:
                    brought[token, word] += theta[token, word] / whole
        rate = {}
        for token in everything:
            total = sum(brought[token, word] for word in WORDS)
            prior, mean = (1.0, 0.3) if token.endswith(" ") else (0.3, usual)
            rate[token] = (total + prior * mean) / (there[token] + prior)
            for word in WORDS:
                share = (brought[token, word] + 0.005) / (total + 0.005 * (len(WORDS) + 1))
                theta[token, word] = rate[token] * share
    unknown = {token: rate[token] - sum(theta[token, word] for word in WORDS) for token in everything}
    return {token: [*(theta[token, word] for word in WORDS), unknown[token]] for token in everything}, rate


def test_rates_are_those_of_loops():
    found = train_rate_model(SOURCES, TOKENS)
    thetas, rates = em()
    assert found.keys() == {*thetas, "  "}
    for token, row in thetas.items():
        assert found[token][" "] == pytest.approx(rates[token], rel=1e-9), token
        for theta, word in zip(row, [*WORDS, ""], strict=True):
            assert found[token].get(word, found[token][""]) == pytest.approx(theta, rel=1e-9), (token, word)
    assert found["  "] == {"": 1e-6, " ": pytest.approx(10 / 15)}


def test_probability_is_a_product_of_sums_less_what_should_have_been_brought():
    model = {
        "": {"x": 0.5, "": 0.1, " ": 0.7},
        "a": {"y": 0.25, "": 0.05, " ": 2.0},
        " ": {"x": 0.3, "": 0.01, " ": 0.4},
        "x ": {"y": 0.2, "": 0.02, " ": 0.3},
        "  ": {"": 1e-6, " ": 0.6},
    }
    found = rate_log_probs(model, ["x", "y", "z"], [["a"], [], ["a", "new", "a"]])
    sums = [[0.5 + 0.05 + 0.3, 0.1 + 0.25 + 0.2, 0.1 + 0.05], [0.8, 0.3, 0.1]]
    sums.append([0.8 + 2 * 0.05 + 1e-6, 0.3 + 2 * 0.25 + 1e-6, 0.1 + 2 * 0.05 + 1e-6])
    assert found == pytest.approx(np.log(sums).sum(axis=1) - [2.7, 0.7, 5.3])
    assert rate_log_probs(model, [], [["a"]]).tolist() == [-2.7]


def test_what_is_said_once_is_no_reason_for_two():
    pairs = [("rivers bordering texas", "a@1 r@1 b@1 t@0"), ("states bordering texas", "a@1 s@1 b@1 t@0")]
    pairs += [("states bordering states bordering texas", "a@1 s@1 b@1 s@1 b@1 t@0"), ("rivers", "a@1 r@0")]
    sources, trees = ([text.split() for text in side] for side in zip(*pairs, strict=True))
    symbols = [symbols_of(tree) for tree in trees]
    once, twice = pairs[1][1].split(), pairs[2][1].split()
    model = train_rate_model(sources, symbols)
    assert np.diff(rate_log_probs(model, pairs[1][0].split(), [once, twice])) < -0.4
    assert np.diff(rate_log_probs(model, pairs[2][0].split(), [once, twice])) > 0.6
    model = train_word_model(sources, symbols)
    assert np.diff(word_log_probs(model, pairs[1][0].split(), [once, twice])) > 0, "model 1 does not mind"


@pytest.mark.parametrize(("sources", "tokens"), [([], []), ([[]], [["a"]])])
def test_nothing_to_learn_of_is_a_model(sources, tokens):
    model = train_rate_model(sources, tokens)
    assert np.isfinite(rate_log_probs(model, ["x"], [["a"], []])).all()
