"""Language-model queries and chart states against the definition of a back-off model."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.lm import model as lms
from decoder.lm.arpa import BEGIN, END, UNKNOWN, ArpaModel
from decoder.lm.table import _ngram_keys
from scfg_sampler.errors import ArpaError

NUM_WORDS = 6
LN10 = math.log(10)


def naive_log_prob(tables: dict, word: int, context: tuple[int, ...]) -> float:
    """log p(word | context) by the recursion that defines a back-off model, natural logarithm."""
    if (*context, word) in tables:
        return tables[(*context, word)][0]
    if not context:
        raise KeyError(word)
    backoff = tables.get(context, (0.0, 0.0))[1]
    return backoff + naive_log_prob(tables, word, context[1:])


def naive_tables(model: ArpaModel) -> dict:
    tables = {}
    for ngrams, log_probs, backoffs in zip(model.ngrams, model.log_probs, model.backoffs, strict=True):
        for ngram, log_prob, backoff in zip(ngrams.tolist(), log_probs, backoffs, strict=True):
            values = (float(np.float32(np.float32(x) * LN10)) for x in (log_prob, backoff))
            tables[tuple(ngram)] = tuple(values)
    return tables


def naive_sentence(tables: dict, order: int, words: list[int]) -> float:
    history = [BEGIN]
    total = 0.0
    for word in [*words, END]:
        total += naive_log_prob(tables, word, tuple(history[max(0, len(history) - order + 1) :]))
        history.append(word)
    return total


def random_model(seed: int, order: int, *, closed: bool = True, density: float = 0.35) -> ArpaModel:
    """A random model: closed as estimators make them, or with prefixes and suffixes left out at random.

    Back-offs are zero for half of the n-grams, and may be non-zero where nothing longer follows.
    """
    rng = np.random.default_rng(seed)
    levels = [np.arange(NUM_WORDS)[:, None]]
    for n in range(2, order + 1):
        grams = np.array(list(itertools.product(range(NUM_WORDS), repeat=n)))
        grams = grams[(grams[:, 1:] != BEGIN).all(axis=1) & (grams[:, :-1] != END).all(axis=1)]
        if closed:
            shorter = set(map(tuple, levels[-1].tolist()))
            keep = [tuple(g[:-1]) in shorter and tuple(g[1:]) in shorter for g in grams.tolist()]
            grams = grams[np.array(keep, dtype=bool)] if len(grams) else grams
        levels.append(grams[rng.random(len(grams)) < density])
    log_probs = [-rng.random(len(level)) * 3 for level in levels]
    backoffs = [
        np.where(rng.random(len(level)) < 0.5, 0.0, -rng.random(len(level)))
        if n < order
        else np.zeros(len(level))
        for n, level in enumerate(levels, start=1)
    ]
    words = ["<unk>", "<s>", "</s>", *"abcdefgh"[: NUM_WORDS - 3]]
    return ArpaModel(
        words, tuple(level.astype(np.int32) for level in levels), tuple(log_probs), tuple(backoffs)
    )


def new_state(lm: lms.LanguageModel) -> np.ndarray:
    return np.full(lms.state_width(lm.order), 77, dtype=np.int32)


def state_of(lm, words, rng=None) -> tuple[np.ndarray, float]:
    """The state and the score of some words: word by word, or split at random places, recursively."""
    state = new_state(lm)
    lms.begin(lm, state)
    total = 0.0
    if rng is None:
        for word in words:
            total += lms.add_word(lm, state, word)
        return state, total
    position = 0
    while position < len(words):
        size = int(rng.integers(0, len(words) - position + 1))
        if size <= 1 or size == len(words):
            total += lms.add_word(lm, state, words[position])
            position += 1
            continue
        part, score = state_of(lm, words[position : position + size], rng)
        total += score + lms.add_state(lm, state, part)
        position += size
    return state, total


def sentence_score(lm, words, rng) -> float:
    state = new_state(lm)
    lms.begin_sentence(lm, state)
    part, total = state_of(lm, words, rng)
    total += lms.add_state(lm, state, part)
    return total + lms.finish_sentence(lm, state)


word_lists = st.lists(st.sampled_from([UNKNOWN, 3, 4, 5]), max_size=9)
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=150, deadline=None)
@given(seeds, st.integers(1, 5), st.booleans(), word_lists)
def test_any_bracketing_scores_a_sentence_as_the_definition_does(seed, order, closed, words):
    model = random_model(seed % 50, order, closed=closed, density=0.35 if order < 5 else 0.15)
    lm = lms.build_lm(model)
    rng = np.random.default_rng(seed)
    state = new_state(lm)
    lms.begin_sentence(lm, state)
    total = sum(lms.add_word(lm, state, word) for word in words) + lms.finish_sentence(lm, state)
    # The n-grams that an open model omits are rounded to float32 once more than in the naive sum.
    tolerance = 1e-9 if closed else 1e-5
    assert total == pytest.approx(naive_sentence(naive_tables(model), order, words), abs=tolerance)
    for _ in range(4):
        assert sentence_score(lm, words, rng) == pytest.approx(total, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(seeds, st.integers(1, 5), st.booleans(), word_lists)
def test_a_state_depends_on_the_words_alone(seed, order, closed, words):
    lm = lms.build_lm(random_model(seed % 50, order, closed=closed, density=0.35 if order < 5 else 0.15))
    rng = np.random.default_rng(seed)
    expected, expected_score = state_of(lm, words)
    for _ in range(4):
        state, score = state_of(lm, words, rng)
        assert state.tolist() == expected.tolist()
        assert score == pytest.approx(expected_score, abs=1e-9)


def futures(tables: dict, order: int, words: tuple[int, ...], around: list) -> list[float]:
    """What some words add to the score between a beginning and an end, relative to what they are alone."""
    values = []
    for before, after in around:
        history = [BEGIN, *before]
        total = 0.0
        for word in (*words, *after, END):
            total += naive_log_prob(tables, word, tuple(history[max(0, len(history) - order + 1) :]))
            history.append(word)
        values.append(total)
    return values


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("order", [2, 3])
def test_states_are_equal_exactly_if_nothing_around_tells_them_apart(order, seed):
    model = random_model(seed, order, density=0.3)
    is_context = [
        np.isin(_ngram_keys(grams), _ngram_keys(np.ascontiguousarray(longer[:, :-1])))
        for grams, longer in zip(model.ngrams, model.ngrams[1:], strict=False)
    ]
    backoffs = [np.where(c, b - 0.1, 0.0) for c, b in zip(is_context, model.backoffs, strict=False)]
    model = model._replace(backoffs=(*backoffs, model.backoffs[-1]))
    lm, tables = lms.build_lm(model), naive_tables(model)
    letters = (UNKNOWN, 3, 4, 5)
    sides = [side for n in range(order) for side in itertools.product(letters, repeat=n)]
    around = list(itertools.product(sides, sides))
    groups: dict[tuple, list] = {}
    for n in range(1, 4):
        for words in itertools.product(letters, repeat=n):
            state, score = state_of(lm, words)
            values = np.array(futures(tables, order, words, around)) - score
            groups.setdefault(tuple(state.tolist()), []).append(values)
    for values in groups.values():
        assert np.ptp(values, axis=0).max() < 1e-9
    for (one, values), (two, others) in itertools.combinations(groups.items(), 2):
        # A word may be open on its left though no n-gram that it ends is a context; see the module.
        only_openness_differs = one[1:] == two[1:] and (one[0] ^ two[0]) == 1 << 8
        assert only_openness_differs or np.abs(values[0] - others[0]).max() > 1e-6


def test_unequal_lengths_share_a_state_when_the_model_has_forgotten_the_rest():
    lm = lms.build_lm(random_model(1, 1))
    assert state_of(lm, [3, 4])[0].tolist() == state_of(lm, [5])[0].tolist()


def test_the_left_side_is_closed_once_the_right_has_forgotten_it():
    """Nothing goes on after "a b", so that what stands before it concerns "a b" alone, never a later word."""
    a, b = 3, 4
    ngrams = (
        np.arange(5)[:, None],
        np.array([[UNKNOWN, a], [a, b]]),
        np.array([[UNKNOWN, a, b]]),
        np.zeros((0, 4)),
    )
    sizes = [len(level) for level in ngrams]
    model = ArpaModel(
        ["<unk>", "<s>", "</s>", "a", "b"],
        tuple(level.astype(np.int32) for level in ngrams),
        tuple(np.full(size, -1.0) for size in sizes),
        tuple(np.zeros(size) for size in sizes),
    )
    lm = lms.build_lm(model)
    is_closed = {text: bool(state_of(lm, list(text))[0][0] & 1 << 8) for text in ((a,), (a, b), (a, b, a))}
    assert is_closed == {(a,): False, (a, b): True, (a, b, a): True}


def test_the_state_of_no_words_changes_nothing(rng):
    lm = lms.build_lm(random_model(3, 3))
    empty = state_of(lm, [])[0]
    state, _ = state_of(lm, [3, 4, 5])
    before = state.copy()
    assert lms.add_state(lm, state, empty) == 0.0
    assert state.tolist() == before.tolist()
    assert lms.add_state(lm, empty, state) == 0.0
    assert empty.tolist() == before.tolist()


def test_a_table_takes_at_most_24_bytes_an_ngram():
    model = random_model(5, 5)
    lm = lms.build_lm(model)
    num_ngrams = sum(len(table) for table in model.ngrams)
    assert lm.keys.nbytes <= 24 * num_ngrams + 16


def test_an_ngram_listed_twice_is_refused():
    model = random_model(2, 2)
    twice = np.concatenate([model.ngrams[1], model.ngrams[1][:1]])
    values = np.append(model.log_probs[1], -1.0)
    model = model._replace(
        ngrams=(model.ngrams[0], twice),
        log_probs=(model.log_probs[0], values),
        backoffs=(model.backoffs[0], np.zeros(len(twice))),
    )
    first = " ".join(model.words[word] for word in twice[0])
    with pytest.raises(ArpaError, match=rf"x\.arpa: the 2-gram '{first}' is listed twice"):
        lms.build_lm(model, "x.arpa")


def test_reserved_words_of_a_text_are_unknown():
    vocabulary = lms.LmVocabulary(["<unk>", "<s>", "</s>", "a"])
    assert [vocabulary.id(word) for word in ("a", "b", "<s>", "</s>", "<unk>")] == [3, 0, 0, 0, 0]
    assert "a" in vocabulary
    assert "<s>" not in vocabulary
    assert len(vocabulary) == 4


def test_scores_of_a_text_count_its_tokens_and_unknown_words():
    model = random_model(4, 3)
    tables = naive_tables(model)
    vocabulary = lms.LmVocabulary(model.words)
    scores = lms.score_text(lms.build_lm(model), vocabulary, ["a zzz b", "", "<s>"])
    assert (scores.num_tokens, scores.num_unknown, scores.num_reserved) == (7, 2, 1)
    expected = [naive_sentence(tables, 3, words) for words in ([3, 0, 4], [], [0])]
    assert scores.log_probs == pytest.approx(expected, abs=1e-9)
    unknown = [naive_log_prob(tables, 0, (BEGIN, 3)), 0.0, naive_log_prob(tables, 0, (BEGIN,))]
    assert scores.unknown_log_probs == pytest.approx(unknown, abs=1e-9)
