"""Modified Kneser–Ney estimation against a textbook implementation, by sums, and against KenLM."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.lm.arpa import BEGIN, ArpaModel
from decoder.lm.counts import encode_text
from decoder.lm.estimation import FALLBACK_DISCOUNTS, estimate_lm, estimate_tables
from decoder.lm.model import LmVocabulary, build_lm, score_text
from scfg_sampler.core.arrays.external import Scratch
from scfg_sampler.core.files import read_lines
from scfg_sampler.errors import InputError, SettingsError


class Textbook:
    """Interpolated modified Kneser–Ney with dictionaries, straight from Chen and Goodman (1998)."""

    def __init__(self, lines: list[str], order: int):
        sentences = [["<s>", *line.split(), "</s>"] for line in lines]
        occurrences, before = Counter(), defaultdict(set)
        for words in sentences:
            for n in range(1, order + 1):
                for i in range(len(words) - n + 1):
                    gram = tuple(words[i : i + n])
                    occurrences[gram] += 1
                    if i > 0:
                        before[gram].add(words[i - 1])
        self.count = {
            gram: seen if len(gram) == order or (gram[0] == "<s>" and len(gram) > 1) else len(before[gram])
            for gram, seen in occurrences.items()
        }
        self.count["<unk>",] = self.count["<s>",] = 0
        self.vocabulary = {gram[0] for gram in self.count if len(gram) == 1} - {"<s>"}
        self.discounts = [self.estimate_discounts(n) for n in range(1, order + 1)]
        self.total, self.removed = Counter(), Counter()
        for gram, a in self.count.items():
            self.total[gram[:-1]] += a
            self.removed[gram[:-1]] += self.discount(gram)

    def estimate_discounts(self, n: int) -> list[float]:
        t = Counter(a for gram, a in self.count.items() if len(gram) == n)
        if not (t[1] and t[2] and t[3]):
            return [0.0, *FALLBACK_DISCOUNTS]
        y = t[1] / (t[1] + 2 * t[2])
        amounts = [k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3)]
        return [0.0, *(amounts if all(0 < d <= k for k, d in enumerate(amounts, 1)) else FALLBACK_DISCOUNTS)]

    def discount(self, gram: tuple[str, ...]) -> float:
        return self.discounts[len(gram) - 1][min(self.count[gram], 3)]

    def backoff(self, context: tuple[str, ...]) -> float:
        return self.removed[context] / self.total[context] if self.total[context] else 1.0

    def prob(self, gram: tuple[str, ...]) -> float:
        if not gram:
            return 1 / len(self.vocabulary)
        context = gram[:-1]
        own = 0.0
        if gram in self.count:
            own = (self.count[gram] - self.discount(gram)) / self.total[context]
        return own + self.backoff(context) * self.prob(gram[1:])


def entries(model: ArpaModel):
    """Each n-gram of a model as words, with its probability and back-off, none of them a logarithm."""
    for ngrams, log_probs, backoffs in zip(model.ngrams, model.log_probs, model.backoffs, strict=True):
        for ngram, log_prob, backoff in zip(ngrams, log_probs, backoffs, strict=True):
            yield tuple(model.words[word] for word in ngram), 10**log_prob, 10**backoff


def sums(model: ArpaModel) -> dict[tuple[str, ...], float]:
    """Σ p(w | context) over all words but `<s>`, for every n-gram of the model that can be a context."""
    listed = {gram: (prob, backoff) for gram, prob, backoff in entries(model)}
    total = {(): sum(prob for gram, (prob, _) in listed.items() if len(gram) == 1 and gram != ("<s>",))}
    rest = defaultdict(lambda: [0.0, 0.0])
    for gram, (prob, _) in listed.items():
        if len(gram) > 1:
            rest[gram[:-1]][0] += prob
            rest[gram[:-1]][1] += listed[gram[1:]][0]
    for gram in sorted(listed, key=len):
        if len(gram) < model.order:
            own, lower = rest[gram]
            total[gram] = own + listed[gram][1] * (total[gram[1:]] - lower)
    return total


def zipf_text(rng: np.random.Generator, num_lines: int, num_words: int = 5000) -> list[str]:
    """Lines of words drawn by Zipf's law; half of them begin like an earlier line."""
    weights = 1 / np.arange(1, num_words + 1)
    weights /= weights.sum()
    lines: list[list[str]] = []
    for _ in range(num_lines):
        begin = lines[rng.integers(len(lines))][: rng.integers(0, 9)] if lines and rng.random() < 0.5 else []
        words = rng.choice(num_words, size=rng.integers(0, 8), p=weights)
        lines.append(begin + [f"w{word}" for word in words])
    return [" ".join(line) for line in lines]


texts = st.lists(st.lists(st.sampled_from("abcde"), max_size=7).map(" ".join), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
@given(texts, st.integers(1, 6))
def test_small_texts_give_the_textbook_model(lines, order):
    model, _ = estimate_lm(encode_text(lines), order)
    book = Textbook(lines, order)
    listed = {gram: (prob, backoff) for gram, prob, backoff in entries(model)}
    assert set(listed) == set(book.count)
    for gram, (prob, backoff) in listed.items():
        if gram != ("<s>",):
            assert prob == pytest.approx(book.prob(gram), rel=1e-9)
        if len(gram) < order:
            assert backoff == pytest.approx(book.backoff(gram), rel=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_estimated_discounts_and_probabilities_are_the_textbooks(order, rng, capsys):
    lines = zipf_text(rng, 1500)
    model, discounts = estimate_lm(encode_text(lines), order)
    book = Textbook(lines, order)
    assert capsys.readouterr().err == ""
    for ours, theirs in zip(discounts, book.discounts, strict=True):
        assert ours.reason == ""
        assert ours.amounts == pytest.approx(theirs[1:])
    for gram, prob, backoff in entries(model):
        if gram != ("<s>",):
            assert prob == pytest.approx(book.prob(gram), rel=1e-9)
        if len(gram) < order:
            assert backoff == pytest.approx(book.backoff(gram), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(1, 6), st.booleans(), st.lists(st.integers(0, 3), max_size=5))
def test_probabilities_sum_to_one_in_every_context(lines, order, interpolate, steps):
    prune = [0, *np.cumsum(steps).tolist()][:order]
    model, _ = estimate_lm(encode_text(lines), order, prune=prune, interpolate_unigrams=interpolate)
    for context, total in sums(model).items():
        assert total == pytest.approx(1, abs=1e-9), context


def test_pruning_leaves_out_what_occurs_so_often_or_less(rng):
    lines = zipf_text(rng, 300)
    full, full_discounts = estimate_lm(encode_text(lines), 3)
    pruned, discounts = estimate_lm(encode_text(lines), 3, prune=[0, 1, 2])
    occurrences = Counter()
    for line in lines:
        words = ["<s>", *line.split(), "</s>"]
        for n in (2, 3):
            occurrences.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    kept = {gram for gram, _, _ in entries(pruned)}
    for gram, _, _ in entries(full):
        assert (gram in kept) == (len(gram) == 1 or occurrences[gram] > len(gram) - 1)
    assert discounts == full_discounts


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([(), (0, 1, 2)]))
def test_little_memory_gives_the_same_model(seed, order, prune):
    lines = zipf_text(np.random.default_rng(seed), 120)
    model, discounts = estimate_lm(encode_text(lines), order, prune=prune[:order])
    with Scratch(5000) as scratch:  # A dozen rows at a time.
        text = encode_text(lines, scratch=scratch)
        tables, same = estimate_tables(text, order, scratch, prune=prune[:order])
        assert same == discounts
        assert tables.words == model.words
        for ours, theirs in zip(tables[1:], model[1:], strict=True):
            for table, array in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(table[:], array)


def test_kenlms_figures_on_tanaka_are_met_to_the_last_digit(shared_data, capsys):
    # KenLM's lmplz and query, as ../shared/design/FORMATS.md records them.
    corpus = shared_data / "tanaka-ja-en"
    model, discounts = estimate_lm(encode_text(read_lines(corpus / "train.en.gz")), 3)
    assert [len(ngrams) for ngrams in model.ngrams] == [6637, 62982, 152595]
    assert [f"{amount:.4f}" for amount in discounts[1].amounts] == ["0.7019", "1.1045", "1.4146"]
    assert [f"{amount:.4f}" for amount in discounts[2].amounts] == ["0.7244", "1.1250", "1.4007"]
    scores = score_text(build_lm(model), LmVocabulary(model.words), list(read_lines(corpus / "test.en.gz")))
    assert (scores.num_tokens, scores.num_unknown) == (4498, 28)
    known = scores.log_probs.sum() - scores.unknown_log_probs.sum()
    assert f"{math.exp(-scores.log_probs.sum() / 4498):.3f}" == "24.562"
    assert f"{math.exp(-known / (4498 - 28)):.3f}" == "23.066"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["tanaka-ja-en/train.en.gz", "multi30k-de-en/train.de.gz"])
def test_probabilities_sum_to_one_in_every_context_of_real_text(shared_data, name):
    lines = [line for line, _ in zip(read_lines(shared_data / name), range(5000), strict=False)]
    model, _ = estimate_lm(encode_text(lines), 4)
    totals = np.array(list(sums(model).values()))
    assert np.abs(totals - 1).max() < 1e-9


@pytest.mark.parametrize(
    ("lines", "reason"),
    [(["a"], "no 1-gram has adjusted count 2"), ([""], "no 1-gram has adjusted count 2")],
)
def test_tiny_texts_fall_back_to_fixed_discounts_and_say_so(lines, reason, capsys):
    _, discounts = estimate_lm(encode_text(lines), 2)
    assert discounts[0].amounts == FALLBACK_DISCOUNTS
    assert reason in capsys.readouterr().err


def test_discounts_out_of_range_fall_back(capsys):
    # t₁ = 1, t₂ = 9, t₃ = 9: D(2) = 2 − 3 · 1/19 · 1 is fine, D(1) = 1 − 2 · 9/19 is fine; with t₃ = 400
    # D(2) = 2 − 3/19 · 400/9 is negative.
    lines = ["x"] + [f"t{i}" for i in range(9) for _ in range(2)] + [f"h{i}" for i in range(400)] * 3
    _, discounts = estimate_lm(encode_text(lines), 1)
    assert discounts[0].counts[:3] == (1, 9, 400)
    assert discounts[0].amounts == FALLBACK_DISCOUNTS
    assert "the discount for adjusted count 2 would be -5.018" in capsys.readouterr().err


def test_no_word_of_the_text_loses_all_its_probability(capsys):
    # "a" follows three words, and nothing four: D(3) = 3 − 4 · Y · 0 / 1 would leave nothing of its count,
    # and there is nothing else where unigrams are not interpolated.
    lines = ["a b c a b", "a a"]
    model, discounts = estimate_lm(encode_text(lines), 2, interpolate_unigrams=False)
    log_probs = dict(zip(model.words, model.log_probs[0].tolist(), strict=True))
    assert min(log_prob for word, log_prob in log_probs.items() if word != "<s>") > -2
    assert discounts[0].amounts == FALLBACK_DISCOUNTS
    assert "the discount for adjusted count 3 would be 3, as in small" in capsys.readouterr().err
    _, discounts = estimate_lm(encode_text(lines), 2)
    assert discounts[0].amounts[2] == 3.0


def test_reserved_words_of_the_text_become_unknown():
    text = encode_text(["a <s> b", "</s> <unk>", "a"])
    assert text.num_reserved == 3
    assert text.words == ["<unk>", "<s>", "</s>", "a", "b"]
    assert text.tokens.tolist() == [1, 3, 0, 4, 2, 1, 0, 0, 2, 1, 3, 2]
    model, _ = estimate_lm(text, 2)
    for context, total in sums(model).items():
        assert total == pytest.approx(1), context
    assert not (model.ngrams[1][:, 1] == BEGIN).any()


def test_only_spaces_tabs_and_returns_separate_words():
    assert encode_text(["a\u3000b\u00a0c  d\te\r"]).words[3:] == ["a\u3000b\u00a0c", "d", "e"]


def test_text_without_lines_is_refused():
    with pytest.raises(InputError, match=r"none\.txt: there is no text"):
        encode_text([], "none.txt")


@pytest.mark.parametrize(
    ("order", "prune", "message"),
    [
        (0, [], "--order is 0; it must be from 1 to 6"),
        (7, [], "--order is 7"),
        (3, [1], "the first must be 0"),
        (3, [0, 2, 1], "none smaller than the one before"),
        (2, [0, 0, 1], "3 thresholds for a model of order 2"),
    ],
)
def test_settings_out_of_range_are_refused(order, prune, message):
    with pytest.raises(SettingsError, match=message):
        estimate_lm(encode_text(["a b"]), order, prune=prune)


# What kenlm 0.3.0 said of the model below, which is estimated from some of these lines.
_KENLM_SCORES = {
    "in 1982 my horse hung up the car that i find .": -10.764345169067383,
    "the pig read the play .": -5.918764591217041,
    "the pilot never hangs up it .": -13.963217735290527,
    "six deer are strong .": -10.091609954833984,
    "we closed his black bottles and now marta can help me quietly .": -35.50652313232422,
    "does an eagle sell your sharp hat ?": -22.397563934326172,
    "": -4.59030818939209,
    "the frobnicated cat": -11.740961074829102,
    "cat cat cat the the": -17.82231903076172,
}
_KENLM_TOTAL = -37984.26966738701


def test_sentences_score_as_by_kenlm(root):
    lines = list(read_lines(root / "data" / "novish-en" / "train.en.gz"))
    model, _ = estimate_lm(encode_text(lines[:1500]), 4)
    scores = score_text(build_lm(model), LmVocabulary(model.words), [*_KENLM_SCORES, *lines])
    log10 = scores.log_probs / math.log(10)
    assert log10[: len(_KENLM_SCORES)] == pytest.approx(list(_KENLM_SCORES.values()), abs=1e-4)
    assert log10[len(_KENLM_SCORES) :].sum() == pytest.approx(_KENLM_TOTAL, abs=0.01)
