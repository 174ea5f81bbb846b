"""Words given expressions: EM against matrices, and probabilities that add up to one."""

import numpy as np
import pytest

from decoder.expressions.word_model import pairs_of, symbols_of, train_word_model, word_log_probs

SOURCES = [text.split() for text in ("which rivers", "which large rivers in texas", "large large states", "")]
TOKENS = [text.split() for text in ("a r", "a l r t", "a l l s", "a")]


def em(rounds: int = 40, added: float = 0.005) -> tuple[np.ndarray, list[str], list[str]]:
    """t as a matrix of tokens and words, the last word unknown, from counts in matrices."""
    words = sorted({word for each in SOURCES for word in each})
    tokens = ["", *sorted({token for each in TOKENS for token in each})]
    of_words = np.array([[each.count(word) for word in words] for each in SOURCES], float)
    of_tokens = np.array([[["", *each].count(token) for token in tokens] for each in TOKENS], float)
    together = of_tokens.T @ of_words > 0
    table = together / together.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        counts = np.zeros_like(table)
        for word_row, token_row in zip(of_words, of_tokens, strict=True):
            weighed = token_row[:, None] * table
            counts += weighed / np.maximum(weighed.sum(axis=0), 1e-300) * word_row
        smoothed = np.where(together, counts + added, added)
        smoothed = np.column_stack((smoothed, np.full(len(tokens), added)))
        table = smoothed[:, :-1] / (counts.sum(axis=1) + added * (len(words) + 1))[:, None] * together
        unknown = added / (counts.sum(axis=1) + added * (len(words) + 1))
    return np.column_stack((np.where(together, table, unknown[:, None]), unknown)), tokens, words


def test_table_is_that_of_matrices():
    found = train_word_model(SOURCES, TOKENS)
    expected, tokens, words = em()
    assert found.keys() == set(tokens)
    for row, token in zip(expected, tokens, strict=True):
        for probability, word in zip(row, [*words, ""], strict=True):
            assert found[token].get(word, found[token][""]) == pytest.approx(probability, rel=1e-9), (
                token,
                word,
            )
        assert sum(row) == pytest.approx(1.0), "over all words and one unknown"


def test_probability_is_a_product_of_means():
    model = {"": {"x": 0.5, "": 0.1}, "a": {"y": 0.25, "": 0.05}}
    found = word_log_probs(model, ["x", "y", "z"], [["a"], [], ["a", "new"]])
    means = [[(0.5 + 0.05) / 2, (0.1 + 0.25) / 2, (0.1 + 0.05) / 2], [0.5, 0.1, 0.1]]
    means.append([(0.55 + 1e-6) / 3, (0.35 + 1e-6) / 3, (0.15 + 1e-6) / 3])
    assert found == pytest.approx(np.log(means).sum(axis=1))
    assert word_log_probs(model, [], [["a"]]).tolist() == [0.0]


def test_tokens_of_a_tree():
    tree = ["f@2", "g@1", "'x'@0", "h@1", "'y'@0"]
    assert symbols_of(tree) == ["f@2", "g@1", "''", "h@1", "''"]
    assert pairs_of(tree)[5:] == ["^.0>f@2", "f@2.0>g@1", "g@1.0>''", "f@2.1>h@1", "h@1.0>''"]


def test_what_a_question_says_is_missed():
    pairs = [("rivers", "a@1 r@0"), ("states", "a@1 s@0"), ("largest state", "a@1 l@1 s@0")]
    pairs += [("largest river", "a@1 l@1 r@0"), ("state", "a@1 s@0")]
    sources, trees = ([text.split() for text in side] for side in zip(*pairs, strict=True))
    model = train_word_model(sources, [symbols_of(tree) for tree in trees])
    without, right = word_log_probs(model, ["largest", "rivers"], [["a@1", "r@0"], ["a@1", "l@1", "r@0"]])
    assert right > without
