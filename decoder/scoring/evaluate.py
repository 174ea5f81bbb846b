"""BLEU, chrF, TER and exact match through sacrebleu, and the paired bootstrap.

Texts are tokenised already, so BLEU tokenises nothing unless told to (`tok:none` in the signature). Scores
are in percent; for TER, lower is better.

Weights tuned with another seed translate differently, so that a difference between two outputs may be luck of
the tuner. `compare_tunings` compares the means of several outputs of each system, and resamples both,
sentences and outputs (after Clark, Dyer, Lavie and Smith 2011, who permute instead).

The fact a newcomer would get wrong: an empty line in the second reference file, or a later one, means that
the sentence has no further reference. Only in the first file is an empty line a translation.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from decoder.scoring import TOKENIZERS
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "ALL_METRICS",
    "METRICS",
    "Comparison",
    "compare",
    "compare_tunings",
    "corpus_bleu",
    "evaluate",
    "read_references",
    "read_same_length",
    "tokenizer",
]

METRICS = ("bleu", "chrf", "ter")
ALL_METRICS = (*METRICS, "exact")
_ROUNDED = 1e-9  # What adding and dividing may change of a mean score, in percent.
_MOST_DRAWN = 250_000_000  # Numbers of sentences that a bootstrap holds: two gigabytes.


class Comparison(NamedTuple):
    """A system against another.

    difference : score of the system minus score of the other, in percent
    p_value : of that difference. That of `compare` is by sacrebleu's paired bootstrap resampling: of the
        resampled differences, taken without sign and less their mean, the share above it; close to a
        one-sided test. 1 if no sample tells the two apart
    """

    difference: float
    p_value: float


def read_same_length(path: PathLike, lines: int, other: PathLike) -> list[str]:
    """The lines of a text that must have as many as another.

    Raises
    ------
    InputError
        It has not.
    """
    text = list(read_lines(path))
    if len(text) != lines:
        found = f"has {counted(len(text), 'line')}, but {other} has {lines}"
        raise InputError(path, None, found, "Line k of each file belongs together; are they of one split?")
    return text


def read_references(paths: Sequence[PathLike], lines: int, other: PathLike) -> list[list[str | None]]:
    """One list per file, as sacrebleu wants them; None where a sentence has no further reference.

    Raises
    ------
    InputError
        A file does not have as many lines as `other`, which has `lines`.
    """
    texts: list[list[str | None]] = []
    for path in paths:
        text = read_same_length(path, lines, other)
        texts.append([line if line.strip() else None for line in text] if texts else list(text))
    return texts


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str | None]],
    *,
    tokenize: str = "none",
    metrics: Sequence[str] = METRICS,
    samples: int | None = None,
    seed: int = 12345,
) -> dict[str, dict[str, Any]]:
    """sacrebleu's own dictionary (name, score, signature, …) of each metric.

    With `samples`, `confidence_mean` and `confidence_var` too: of the scores of so many bootstrap samples the
    mean, and half the length of the interval that holds 95 % of them.

    Raises
    ------
    SettingsError
        The tokenizer or a metric is unknown, or there is nothing to evaluate.
    """
    _check(hypotheses)
    more = {}
    if samples is not None:
        _check_bootstrap(samples, len(hypotheses), seed)
        more["n_bootstrap"] = samples
    scores = {}
    for name, metric in _metrics(metrics, tokenize).items():
        with _sacrebleu_seed(seed):
            score = _with_plain_scores(metric).corpus_score(hypotheses, references, **more)
        scores[name] = json.loads(score.format(signature=str(metric.get_signature()), is_json=True))
        if samples is not None and "confidence_mean" not in scores[name]:
            # sacrebleu takes a mean of 0 for none; as no score is below 0, all samples have that.
            scores[name] |= {"confidence_mean": 0.0, "confidence_var": 0.0, "confidence": "μ = 0.00 ± 0.00"}
    return scores


def compare(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[Sequence[str | None]],
    *,
    tokenize: str = "none",
    metrics: Sequence[str] = METRICS,
    samples: int = 1000,
    seed: int = 12345,
) -> dict[str, Comparison]:
    """The system's difference to another and its p-value, for each metric, by sacrebleu's paired bootstrap.

    Raises
    ------
    SettingsError
        As for `evaluate`; or there are fewer than 2 samples.
    """
    from sacrebleu.significance import PairedTest

    _check(hypotheses)
    _check_bootstrap(samples, len(hypotheses), seed)
    systems = [("against", against), ("hypothesis", hypotheses)]
    with _sacrebleu_seed(seed):
        texts: Any = references
        test = PairedTest(systems, _metrics(metrics, tokenize), texts, "bs", n_samples=samples)
        _, scores = test()
    columns: list[Any] = [column for name, column in scores.items() if name != "System"]
    found = {}
    for name, (other, system) in zip(metrics, columns, strict=True):
        difference, p_value = system.score - other.score, system.p_value
        # sacrebleu counts samples that are above their mean. None is where all are 0, as of equal outputs.
        if difference == 0.0 and p_value * (samples + 1) < 1.5:
            p_value = 1.0
        found[name] = Comparison(difference, p_value)
    return found


def compare_tunings(
    hypotheses: Sequence[Sequence[str]],
    against: Sequence[Sequence[str]],
    references: Sequence[Sequence[str | None]],
    *,
    tokenize: str = "none",
    metrics: Sequence[str] = METRICS,
    samples: int = 1000,
    seed: int = 12345,
) -> dict[str, Comparison]:
    """The difference of two systems' mean scores and its two-sided p-value by a bootstrap, for each metric.

    A sample draws as many sentences as there are, the same for all outputs, and as many outputs of each
    system as it has, all with replacement. With D the difference found and D_b those of the B samples,

        p = (1 + number of b with |D_b − D| ≥ |D|) / (B + 1).

    With one output each this is a paired bootstrap over sentences. Two or three outputs say little about
    how much tuning varies: their variance is taken too small, by half or a third.

    Parameters
    ----------
    hypotheses, against : sequences of outputs of the system and of the other, at least one each
    references : as for `evaluate`

    Raises
    ------
    SettingsError
        As for `compare`.
    """
    _check(hypotheses[0])
    _check_bootstrap(samples, len(hypotheses[0]), seed)
    found: dict[str, Comparison] = {}
    for name, metric in _metrics(metrics, tokenize).items():
        statistics = np.array(
            [metric._extract_corpus_statistics(text, references) for text in (*hypotheses, *against)],
            np.float64,
        )

        def scores(sums: np.ndarray, metric: Any = metric) -> np.ndarray:
            return np.array([metric._compute_score_from_stats(row.tolist()).score for row in sums])

        ours = np.arange(len(statistics)) < len(hypotheses)
        actual = scores(statistics.sum(axis=1))
        difference = float(actual[ours].mean() - actual[~ours].mean())
        if abs(difference) < _ROUNDED:  # Rounded means of equal scores; no sample may be compared with that.
            difference = 0.0
        rng = np.random.default_rng(seed)
        extreme = 0
        for _ in range(samples):
            times = np.bincount(rng.integers(statistics.shape[1], size=statistics.shape[1]))
            drawn = scores(times @ statistics[:, : len(times)])
            means = [rng.choice(part, len(part)).mean() for part in (drawn[ours], drawn[~ours])]
            # Scores that are shares, as of exact match, often differ by just as much.
            extreme += bool(abs(means[0] - means[1] - difference) >= abs(difference) - _ROUNDED)
        found[name] = Comparison(difference, float((1 + extreme) / (samples + 1)))
    return found


def corpus_bleu(statistics: Iterable[int]) -> float:
    """BLEU in percent from summed statistics: length, reference length, n-grams that match, n-grams."""
    from sacrebleu.metrics.bleu import BLEU

    length, reference_length, *counts = (int(value) for value in statistics)
    order = len(counts) // 2
    return BLEU.compute_bleu(
        counts[:order], counts[order:], length, reference_length, smooth_method="exp", max_ngram_order=order
    ).score


def _check(hypotheses: Sequence[str]) -> None:
    if not hypotheses:
        raise SettingsError("--hypothesis: the file has no lines, so there is nothing to evaluate")


def _check_bootstrap(samples: int, sentences: int, seed: int) -> None:
    if samples < 2:
        raise SettingsError(f"--samples is {samples}; a bootstrap needs at least 2")
    most = _MOST_DRAWN // max(sentences, 1)
    if samples > most:
        found = counted(sentences, "sentence")
        raise SettingsError(f"--samples is {samples}; of {found} at most {most} are held in memory")
    if not 0 <= seed < 2**32:
        raise SettingsError(f"--seed is {seed}; it must be from 0 to {2**32 - 1}")


def tokenizer(name: str) -> Callable[[str], str]:
    """What parts words by blanks, one of `TOKENIZERS`; a SettingsError if MeCab is needed and missing."""
    return _metrics(["bleu"], name)["bleu"].tokenizer


def _metrics(names: Sequence[str], tokenize: str) -> dict[str, Any]:
    from sacrebleu.metrics import BLEU, CHRF, TER

    if tokenize not in TOKENIZERS:
        raise SettingsError(f"--tokenize is '{tokenize}'; choose from {', '.join(TOKENIZERS)}")
    unknown = [name for name in names if name not in ALL_METRICS]
    if unknown:
        raise SettingsError(f"--metrics: '{unknown[0]}' is none of {', '.join(ALL_METRICS)}")
    if tokenize != "none" and "bleu" not in names:
        told = f"--tokenize {tokenize} is for BLEU, which is not among --metrics {' '.join(names)}"
        raise SettingsError(f"{told}; leave it out, or add bleu")
    makers: dict[str, Any] = {
        "bleu": lambda: BLEU(tokenize=tokenize, force=True),
        "chrf": CHRF,
        "ter": TER,
        "exact": _exact_match,
    }
    try:
        return {name: makers[name]() for name in names}
    except (RuntimeError, ImportError):
        extra = tokenize.partition("-")[0]
        raise SettingsError(
            f"--tokenize {tokenize} needs MeCab: pip install 'sacrebleu[{extra}]', or use --tokenize char"
        ) from None


def _exact_match() -> Any:
    """The share of lines with words that are one of their references: a metric as sacrebleu has them."""
    from sacrebleu.metrics.base import Metric, Score

    class ExactMatch(Metric):
        def _preprocess_segment(self, sent: str) -> str:
            return " ".join(split_words(sent))

        def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
            return {"references": set(refs)}

        def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict) -> list[int]:
            return [int(hypothesis != "" and hypothesis in ref_kwargs["references"]), 1]

        def _compute_score_from_stats(self, stats: list) -> Score:
            right, lines = stats
            return Score("exact", 100.0 * right / lines)

        def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
            return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    return ExactMatch()


def _with_plain_scores(metric: Any) -> Any:
    """The metric, whose scores are all Python's numbers.

    sacrebleu's bootstrap counts in NumPy's, but where a sample has nothing to count, as of lines all empty,
    its score is Python's 0, and the mean of both kinds is refused.
    """
    from_counts = metric._compute_score_from_stats

    def plain(counts: Any) -> Any:
        score = from_counts(counts)
        score.score = float(score.score)
        return score

    metric._compute_score_from_stats = plain
    return metric


@contextlib.contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """sacrebleu takes its seed from the environment."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
