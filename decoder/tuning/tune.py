"""Tuning of weights: pairwise ranking optimisation (PRO, Hopkins and May 2011) or batch MIRA.

A round decodes the development set with the present weights and adds the k best translations of every
sentence to those of the rounds before. PRO: from a sentence's list, `candidates` pairs are drawn uniformly;
those whose BLEU+1, or chrF, differ by less than `threshold` are dropped, and the `kept` pairs with the
largest differences stay. With d the features of the better one minus those of the worse, the new weights
minimise

    Σ over pairs: ln(1 + e^(−w·d)) + l2/2 · |w|²

The new weights of PRO, or of MIRA (`decoder.tuning.mira`), are mixed with the old,
w ← ψ w_new + (1 − ψ) w_old. The paper takes ψ = 0.1 and thirty rounds. Of the passes of MIRA over the
lists, that with the highest BLEU of the lists counts. MIRA sets out from the weights of the round before,
and from those of the best round too where that is another, and what is better on the lists counts: the
hopes of weights that want translations four times too long are too long themselves, so that rounds which
only go on from there may never find back. Nor may they from good weights, once the lists hold such
translations and no gain in BLEU makes up for their scores; so where all passes have lost their way (below
nine tenths of the BLEU they set out from) or none has learnt anything, MIRA goes over the lists again and
reaches for the highest gain (`decoder.tuning.mira`). With `random_starts`, a round optimises again from
weights changed at random, with other pairs (PRO) or another order of the sentences (MIRA), and goes on from
the highest BLEU of the lists.

Translations tuned by PRO are too short (0.91 of the references on the Tanaka corpus): adding one to the
counts of n-grams, but not to the length of the reference, makes short translations look good. By default
the reference counts as one word longer (Nakov, Guzmán and Vogel 2012), which gives 0.96 and 1.4 BLEU more on
the development set; `smooth_brevity=False` is as published.

The fact a newcomer would get wrong: the last weights are not the best. Each round is scored when its weights
decode the development set. With PRO the weights of the round with the highest score are the result. MIRA's
rounds go up and down, and which is the highest is in part luck: the result is the mean of the weights of all
rounds with nearly the highest score (`within`), each with absolute values that add up to the same.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from decoder.scoring.chrf_statistics import BETA
from decoder.translation.decoder import Decoder
from decoder.tuning.decoding import Decoded, decoded, saved_round
from decoder.tuning.metrics import Metric, metric_of
from decoder.tuning.mira import mira
from decoder.tuning.ranking_loss import minimum, pairs
from decoder.tuning.settings import TuneSettings, check_settings, resolved
from scfg_sampler.core import draws
from scfg_sampler.core.archives import read_arrays
from scfg_sampler.core.arrays import sparse
from scfg_sampler.core.arrays.growth import sort_descending
from scfg_sampler.core.arrays.sparse import Rows
from scfg_sampler.core.elementary import products
from scfg_sampler.core.executors import Executor
from scfg_sampler.core.files import atomic_path
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import CheckpointMismatch, InputError, SettingsError

__all__ = ["Round", "best_round", "least_near", "list_score", "mean_weights", "near_best", "optimise", "tune"]

_LOST = 0.9
"""With less than this share of the BLEU of the lists that MIRA set out from, it has lost its way."""

_LEAST_SHARE = 5 / 6
"""Of the highest score, what a round has that is nearly as good: points say little where it is low."""


class Round(NamedTuple):
    """What a round found.

    weights : float64, those it decoded with, in the order of `Decoder.weight_names`
    score : of the development set, BLEU or chrF, in percent
    length_ratio : words of the translations per word of the closest references; characters for chrF
    num_new : translations no earlier round had
    of : the numbers of the rounds whose mean the weights are, if they are one
    """

    number: int
    weights: np.ndarray
    score: float
    length_ratio: float
    num_new: int
    of: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Such as `round 7`, or `rounds 3, 5 and 6`."""
        if not self.of:
            return f"round {self.number}"
        *numbers, last = map(str, self.of)
        return f"rounds {', '.join(numbers)} and {last}"


class _Lists(NamedTuple):
    """The translations of all sentences: those of sentence s are rows start[s] … start[s + 1] − 1.

    features, scores : float64 (K, F), BLEU+1 or chrF as float64 (K,)
    counts : int64 (K, C), those of the metric
    sparse : K rows of features that few rules have, whose weights follow those of the others
    """

    start: np.ndarray
    features: np.ndarray
    scores: np.ndarray
    counts: np.ndarray
    sparse: Rows


class _Optimum(NamedTuple):
    """Weights that were found, their score on the lists, and the weights they were found from."""

    score: float
    weights: np.ndarray
    begin: np.ndarray


def tune(
    decoder: Decoder,
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[Sequence[str]]],
    settings: TuneSettings,
    *,
    where: int | Executor = 1,
    state: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    advance: Callable[[], None] | None = None,
) -> Iterator[Round]:
    """The rounds as they are finished, beginning with the decoder's own weights. Deterministic.

    Stops early when a round finds no new translations or leaves the weights as they are. Last comes the mean
    of several rounds, if `settings.within` wants it and its score is nearly the highest, too.

    Parameters
    ----------
    sources : the words of each sentence
    references : of each sentence, the words of each of its references, at least one
    where : in how many threads sentences are decoded, or by whom; makes no difference to the result
    state : a directory; every finished round is saved there, and rounds found there are not done again
    identity : JSON values that say what data the state belongs to
    advance : called after each sentence that has been decoded

    Raises
    ------
    SettingsError
        A setting is out of range, or two features have one name.
    CheckpointMismatch
        The state belongs to other settings or other data.
    """
    settings = resolved(settings)
    check_settings(settings)
    _require_names(decoder.weight_names)
    assert settings.interpolation is not None
    assert settings.within is not None
    share = settings.interpolation
    metric = metric_of(settings)
    options = settings._replace(rounds=0)._asdict()
    del options["within"]  # Rounds are the same, whatever is made of them.
    if settings.metric == "bleu":
        del options["metric"]  # As before there was a choice.
    if settings.metric == "bleu" or settings.chrf_beta == BETA:
        del options["chrf_beta"]
    if settings.method == "mira":
        options["version"] = 3  # The first set out from the last weights alone, the second never reached.
    header = json.dumps({**(identity or {}), **options, "weights": decoder.weights.tolist()}, sort_keys=True)
    no_statistics = np.zeros((0, metric.num_counts), np.int64)
    no_features = np.zeros((0, len(decoder.feature_names)))
    no_sparse = sparse.no_rows(0, len(decoder.sparse_names))
    lists = none = _Lists(
        np.zeros(len(sources) + 1, np.int64), no_features, np.zeros(0), no_statistics, no_sparse
    )
    weights = best = decoder.weights
    highest = -np.inf
    rounds: list[Round] = []
    with decoded(decoder, sources, references, settings, where) as translations:
        for index in range(settings.rounds + 1):
            path = None if state is None else saved_round(state, index)
            if path is not None and path.exists():
                statistics, new = _load(path, header, none, metric.num_counts)
            else:
                statistics, found = _lists_of(translations(weights), metric, no_sparse, advance)
                new = _unseen(lists, found)
                if path is not None:
                    _save(path, header, statistics, new)
            lists = _joined(lists, new)
            score = metric.of_text(statistics)
            if score >= highest:
                best, highest = weights, score
            rounds.append(Round(index, weights, score, metric.length_ratio(statistics), len(new.scores)))
            yield rounds[-1]
            if len(new.scores) == 0 or index == settings.rounds:
                break
            rng = np.random.default_rng([settings.seed, index])
            begins = [weights] if settings.method == "pro" or best is weights else [weights, best]
            optimum, begin = _best_optimum(rng, lists, settings, begins)
            if optimum is None:
                break
            mixed = share * optimum + (1 - share) * begin
            if _are_the_same(mixed, weights):
                break
            weights = mixed
        near = near_best(rounds, settings.within)
        if len(near) > 1:
            weights = mean_weights(near)
            statistics, found = _lists_of(translations(weights), metric, no_sparse, advance)
            if (score := metric.of_text(statistics)) >= least_near(highest, settings.within):
                ratio, num_new = metric.length_ratio(statistics), len(_unseen(lists, found).scores)
                of = tuple(each.number for each in near)
                yield Round(rounds[-1].number + 1, weights, score, ratio, num_new, of)


def _require_names(names: Sequence[str]) -> None:
    """A SettingsError if two features have one name, by which files keep one weight for both."""
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise SettingsError(
            f"--grammar: a table has the feature {', '.join(twice)}, and so has the decoder itself, so that "
            "their weights could not be told apart; put a prefix before the table's: TABLE,prefix=P"
        )


def best_round(rounds: Sequence[Round]) -> Round:
    """The round whose weights are the result: the mean of several, or that with the highest score.

    Of equals it is the first.
    """
    return rounds[-1] if rounds[-1].of else max(rounds, key=lambda each: each.score)


def near_best(rounds: Sequence[Round], within: float) -> list[Round]:
    """The rounds with nearly the highest score; with 0 points, or a score of 0, the best alone."""
    best = best_round(rounds)
    if within == 0 or best.score == 0:
        return [best]
    return [each for each in rounds if each.score >= least_near(best.score, within)]


def least_near(highest: float, within: float) -> float:
    """The lowest score that is nearly the highest: within so many points of it, and within a sixth of it."""
    return max(highest - within, highest * _LEAST_SHARE)


def mean_weights(rounds: Sequence[Round]) -> np.ndarray:
    """The mean of their weights, float64 (F,), as if absolute values added up to the best round's in each."""
    norms = [float(np.abs(each.weights).sum()) for each in rounds]
    norm = float(np.abs(best_round(rounds).weights).sum())
    scaled = [each.weights * (norm / (own or 1.0)) for each, own in zip(rounds, norms, strict=True)]
    return np.mean(scaled, axis=0)


def optimise(differences: np.ndarray, l2: float, start: np.ndarray) -> np.ndarray:
    """The weights that rank best: the minimum over w of Σ ln(1 + exp(−w·d)) + l2/2 |w|².

    differences : float64 (P, F), features of the better minus those of the worse of each pair
    """
    return _optimise(sparse.sparse_rows(differences), l2, start)


def _optimise(differences: Rows, l2: float, start: np.ndarray) -> np.ndarray:
    return minimum(differences, pairs(differences), float(l2), np.ascontiguousarray(start, np.float64))


def list_score(lists: _Lists, weights: np.ndarray, metric: Metric) -> float:
    """The score of the translations that the weights put first, the earlier of equals, in percent."""
    num_columns = lists.features.shape[1]
    scores = products(lists.features, weights[:num_columns])
    if lists.sparse.width:
        scores += sparse.row_products(lists.sparse, weights[num_columns:])
    ends = zip(lists.start[:-1].tolist(), lists.start[1:].tolist(), strict=True)
    first = [begin + int(np.argmax(scores[begin:end])) for begin, end in ends if end > begin]
    return metric.of_text(lists.counts[first].sum(axis=0))


def _best_optimum(
    rng: np.random.Generator, lists: _Lists, settings: TuneSettings, begins: Sequence[np.ndarray]
) -> tuple[np.ndarray | None, np.ndarray]:
    """New weights, the best of all starts by the score of the lists, and with which of `begins`.

    Of equals the earlier; None if nothing can be learnt.
    """
    metric = metric_of(settings)

    def scored(begin: np.ndarray, start: np.ndarray, reach: bool = False) -> list[_Optimum]:
        optima = _optima(rng, lists, settings, start, reach)
        return [_Optimum(list_score(lists, weights, metric), weights, begin) for weights in optima]

    found = []
    for begin, attempt in itertools.product(begins, range(1 + settings.random_starts)):
        start = begin
        if attempt > 0:
            start = begin + rng.normal(size=len(begin)) * max(0.1, float(np.abs(begin).mean()))
        found += scored(begin, start)
    if settings.method == "mira":
        before = max(list_score(lists, begin, metric) for begin in begins)
        best = max(found, key=lambda each: each.score)
        if best.score < _LOST * before or _are_the_same(best.weights, best.begin):
            for begin in begins:
                found += scored(begin, begin, reach=True)
    if not found:
        return None, begins[0]
    _, optimum, begin = max(found, key=lambda each: each.score)
    return optimum, begin


def _are_the_same(weights: np.ndarray, others: np.ndarray) -> bool:
    """Whether nothing has been learnt."""
    return bool(np.abs(weights - others).max() < 1e-6 * np.abs(others).max())


def _optima(
    rng: np.random.Generator, lists: _Lists, settings: TuneSettings, start: np.ndarray, reach: bool
) -> list[np.ndarray]:
    """What is found from a start: the weights after each pass of MIRA, or PRO's, if it has pairs."""
    if settings.method == "mira":
        visits = rng.permuted(np.tile(np.arange(len(lists.start) - 1), (settings.passes, 1)), axis=1)
        features = lists.features, lists.sparse
        return list(mira(visits, lists.start, *features, lists.counts, start, settings.largest_step, reach))
    limits = settings.candidates, settings.kept, settings.threshold
    pairs, rows = _sample_pairs(rng, lists.start, lists.features, lists.scores, *limits)
    if not len(pairs):
        return []
    differences = sparse.sparse_rows(pairs)
    if lists.sparse.width:
        differences = sparse.side_by_side(differences, sparse.differences(lists.sparse, rows))
    return [_optimise(differences, settings.l2, start)]


# ---- Lists ----------------------------------------------------------------------------------------


def _lists_of(
    translations: Iterator[Decoded], metric: Metric, no_sparse: Rows, advance: Callable[[], None] | None
) -> tuple[np.ndarray, _Lists]:
    """The counts of the best translations, summed; and the translations of every sentence."""
    total = np.zeros(metric.num_counts, np.int64)
    lengths, all_features, all_scores, all_statistics = [0], [], [], []
    all_sparse = [no_sparse]
    for statistics, features, few in translations:
        total += statistics[0]
        lengths.append(len(statistics))
        all_features.append(features)
        all_statistics.append(statistics)
        all_scores.append(metric.scores(statistics))
        all_sparse.append(few)
        if advance is not None:
            advance()
    start = np.cumsum(lengths).astype(np.int64)
    features, scores = np.concatenate(all_features), np.concatenate(all_scores)
    return total, _Lists(start, features, scores, np.concatenate(all_statistics), sparse.joined(all_sparse))


def _unseen(lists: _Lists, found: _Lists) -> _Lists:
    """The rows of `found` that are not in `lists`, each once."""
    keep = []
    lengths = [0]
    numbers: dict[bytes, int] = {}  # Of distinct rows of sparse features.
    few = [_row_numbers(part.sparse, numbers) for part in (lists, found)]
    for s in range(len(found.start) - 1):
        parts = [
            np.column_stack((part.scores[rows], *few_numbers[:, rows], part.features[rows]))
            for part, few_numbers in zip((lists, found), few, strict=True)
            for rows in [slice(part.start[s], part.start[s + 1])]
        ]
        both = np.ascontiguousarray(np.concatenate(parts)) + 0.0  # No negative zeros.
        _, first = np.unique(both.view(f"V{both.itemsize * both.shape[1]}").ravel(), return_index=True)
        new = np.sort(first[first >= len(parts[0])]) - len(parts[0])
        keep.append(new + found.start[s])
        lengths.append(len(new))
    rows = np.concatenate(keep) if keep else np.zeros(0, np.int64)
    start = np.cumsum(lengths).astype(np.int64)
    few_rows = sparse.take(found.sparse, rows)
    return _Lists(start, found.features[rows], found.scores[rows], found.counts[rows], few_rows)


def _row_numbers(rows: Rows, numbers: dict[bytes, int]) -> np.ndarray:
    """A number for each row, the same for the same rows; float64 (1, K); none, (0, K), without columns."""
    if rows.width == 0:
        return np.zeros((0, len(rows.start) - 1))
    ends = itertools.pairwise(rows.start.tolist())
    keys = (rows.column[a:b].tobytes() + rows.values[a:b].tobytes() for a, b in ends)
    return np.array([[numbers.setdefault(key, len(numbers)) for key in keys]], np.float64)


def _joined(lists: _Lists, new: _Lists) -> _Lists:
    """The rows of both, sentence by sentence."""
    parts = (lists, new)
    sentences = [np.repeat(np.arange(len(part.start) - 1), np.diff(part.start)) for part in parts]
    order = np.argsort(np.concatenate(sentences), kind="stable")
    features, scores, counts = (
        np.concatenate(column)[order] for column in zip(lists[1:4], new[1:4], strict=True)
    )
    few = sparse.take(sparse.joined([lists.sparse, new.sparse]), order)
    return _Lists(lists.start + new.start, features, scores, counts, few)


@kernel
def _sample_pairs(rng, start, features, scores, candidates, kept, threshold):
    """Of the pairs that are used: the better's features minus the worse's, float64 (P, F); int64 (P, 2)."""
    num_sentences = len(start) - 1
    kept = min(kept, candidates)
    pairs = np.empty((num_sentences * kept, features.shape[1]))
    rows = np.empty((num_sentences * kept, 2), np.int64)
    better, worse = np.empty(candidates, np.int64), np.empty(candidates, np.int64)
    gaps, order = np.empty(candidates), np.empty(candidates, np.int64)
    num_pairs = 0
    for s in range(num_sentences):
        size = start[s + 1] - start[s]
        if size < 2:
            continue
        found = 0
        for _ in range(candidates):
            one = start[s] + draws.uniform_index(rng, size)
            other = start[s] + draws.uniform_index(rng, size)
            if scores[one] < scores[other]:
                one, other = other, one
            gap = scores[one] - scores[other]
            if gap > 0.0 and gap >= threshold:
                better[found], worse[found], gaps[found] = one, other, gap
                found += 1
        for i in range(found):
            order[i] = i
        sort_descending(order, gaps, 0, found)
        for i in range(min(found, kept)):
            for column in range(features.shape[1]):
                value = features[better[order[i]], column] - features[worse[order[i]], column]
                pairs[num_pairs, column] = value
            rows[num_pairs, 0], rows[num_pairs, 1] = better[order[i]], worse[order[i]]
            num_pairs += 1
    return pairs[:num_pairs].copy(), rows[:num_pairs].copy()


# ---- State ----------------------------------------------------------------------------------------


def _save(path: Path, header: str, statistics: np.ndarray, new: _Lists) -> None:
    lists = new._asdict()
    few = lists.pop("sparse")
    if few.width:  # Otherwise rounds are as before there were sparse features.
        lists |= {f"sparse_{name}": array for name, array in zip(Rows._fields[:3], few, strict=False)}
    arrays = {"header": np.array(header), "statistics": statistics, **lists}
    with atomic_path(path) as temporary, open(temporary, "wb") as out:
        np.savez(out, digest=np.array(_digest(arrays)), **arrays)


def _load(path: Path, header: str, none: _Lists, num_counts: int) -> tuple[np.ndarray, _Lists]:
    """A saved round; `none` are lists without translations of as many sentences and features."""
    kinds = {"digest": ("U", 0), "header": ("U", 0), "statistics": ("i", 1)}
    kinds |= {"start": ("i", 1), "features": ("f", 2), "scores": ("f", 1), "counts": ("i", 2)}
    if none.sparse.width:
        kinds |= {"sparse_start": ("i", 1), "sparse_column": ("i", 1), "sparse_values": ("f", 1)}
    arrays = read_arrays(path, kinds, "not a saved round", "Remove it")
    digest = str(arrays.pop("digest"))
    if digest != _digest(arrays):
        raise InputError(path, None, "a saved round that does not match its digest", "Remove it")
    try:
        found = dict(json.loads(str(arrays.pop("header"))))
    except (ValueError, TypeError, RecursionError):
        raise InputError(path, None, "not a saved round", "Remove it") from None
    expected = json.loads(header)
    if found != expected:
        names = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
        names -= {"version"} if "method" in names else set()  # Which is of the method.
        raise CheckpointMismatch(
            f"{path.parent}: tuning was begun with other {', '.join(sorted(names))}. "
            "Remove the directory or give --overwrite to begin anew"
        )
    statistics, few = arrays.pop("statistics"), sparse.no_rows(len(arrays["scores"]))
    if width := none.sparse.width:
        few = Rows(arrays["sparse_start"], arrays["sparse_column"], arrays["sparse_values"], width)
    lists = _Lists(arrays["start"], arrays["features"], arrays["scores"], arrays["counts"], few)
    start, rows = lists.start, len(lists.scores)
    if not (
        (start.shape, len(statistics)) == (none.start.shape, num_counts)
        and start[0] == 0
        and start[-1] == rows
        and (np.diff(start) >= 0).all()
        and lists.features.shape == (rows, none.features.shape[1])
        and lists.counts.shape == (rows, num_counts)
        and all(array.dtype == like.dtype for array, like in zip(lists[:4], none[:4], strict=True))
        and np.isfinite(lists.features).all()
        and np.isfinite(lists.scores).all()
        and sparse.is_sound(few, rows)
    ):
        raise InputError(path, None, "not a saved round of these sentences and features", "Remove it")
    return statistics, lists


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()
