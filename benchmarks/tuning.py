"""Which settings of tuning find good weights soon: BLEU of the development set per processor second.

    python benchmarks/tuning.py --grammar hiero.gz --lm lm.arpa --source dev.ja --references dev.en
        [--test-source test.ja --test-references test.en] [--settings pro:200:1.5:100 mira:50:0:100:guided …]

A setting is METHOD:BEAM:WIDEN:NBEST, and :SEARCH if it is not that of `tune`. Each tunes on one thread;
after every number of rounds of `--after`, the best weights so far translate the development set, by the
search of `--beam`, `--widen` and `--search`, which is the same for all: what a narrow search says of its
own translations does not compare. That BLEU is printed beside the processor seconds spent up to there. With
a test set, its BLEU is in the last columns, and with `--mbr K` that of the translation of least risk among
K; nothing is to be chosen by the test set. Grammar and language model are read once, and kernels compiled
before. BLEU is sacrebleu's, tok:none.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decoder.commands import (
    add_search_options,
    features_for,
    load_models,
    make_decoder,
    search_settings,
)
from decoder.scoring.evaluate import evaluate, read_references
from decoder.translation.decoder import Decoder
from decoder.translation.settings import SEARCHES, SearchDefaults
from decoder.translation.weights import initial_weights
from decoder.tuning.settings import METHODS, SEARCH, TuneSettings, resolved
from decoder.tuning.tune import Round, mean_weights, near_best, tune
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import read_lines

DEFAULTS = tuple(
    f"{method}:{search}"
    for method in METHODS
    for search in ("50:0:100", "100:0:100", "100:1.5:100", "200:1.5:100")
)


class Setting(NamedTuple):
    """How to tune: `--method`, `--beam`, `--widen`, `--nbest`, `--search`."""

    method: str
    beam: int
    widen: float
    nbest: int
    search: str


class Text(NamedTuple):
    """Sentences as words; lists of lines, one a reference, with None where there is no further one."""

    sentences: list[list[str]]
    references: list[list[str | None]]

    def reference_words(self) -> list[list[list[str]]]:
        """Of each sentence, the words of each reference."""
        rows = zip(*self.references, strict=True)
        return [[split_words(line) for line in row if line is not None] for row in rows]


def setting(text: str) -> Setting:
    """A setting from METHOD:BEAM:WIDEN:NBEST[:SEARCH]; a ValueError if it is none."""
    method, beam, widen, nbest, *search = text.split(":")
    if method not in METHODS or not set(search) <= set(SEARCHES):
        raise ValueError(text)
    return Setting(method, int(beam), float(widen), int(nbest), *search or (SEARCH.search,))


def read_text(source: str, references: Sequence[str]) -> Text:
    """A text and its references."""
    lines = list(read_lines(source))
    return Text([split_words(line) for line in lines], read_references(references, len(lines), source))


def bleu(decoder: Decoder, text: Text, mbr: int = 0) -> float:
    """Of the best translations, or of those with least risk among so many."""
    lines = []
    for words in text.sentences:
        if not words:
            lines.append("")
            continue
        found = decoder.search(words)
        lines.append((decoder.minimum_risk(found, mbr) if mbr else decoder.best(found)).text)
    return float(evaluate(lines, text.references, metrics=["bleu"])["bleu"]["score"])


def tuned(
    decoder: Decoder, dev: Text, settings: TuneSettings, after: Sequence[int]
) -> Iterator[tuple[int, float, np.ndarray]]:
    """After each of these rounds: its number, processor seconds so far, the weights `tune` would write."""
    within = resolved(settings).within
    assert within is not None
    rounds: list[Round] = []
    began = time.process_time()
    for found in tune(decoder, dev.sentences, dev.reference_words(), settings):
        if found.of:
            break  # What `near_best` and `mean_weights` say, too.
        rounds.append(found)
        if found.number in after:
            yield found.number, time.process_time() - began, mean_weights(near_best(rounds, within))
    if rounds[-1].number not in after:  # It stopped by itself.
        yield rounds[-1].number, time.process_time() - began, mean_weights(near_best(rounds, within))


def main() -> None:
    """Tune with every setting, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_search_options(parser)
    parser.add_argument("--source", required=True, metavar="F")
    parser.add_argument("--references", required=True, nargs="+", metavar="E")
    parser.add_argument("--test-source", metavar="F")
    parser.add_argument("--test-references", nargs="+", metavar="E")
    parser.add_argument("--settings", nargs="+", type=setting, default=[setting(text) for text in DEFAULTS])
    parser.add_argument("--after", type=int, nargs="+", default=[3, 5, 10], metavar="ROUNDS")
    parser.add_argument("--mbr", type=int, default=0, metavar="K")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = {"dev": read_text(options.source, options.references)}
    if options.test_source:
        texts["test"] = read_text(options.test_source, options.test_references)
    grammar, lms = load_models(options)
    names = features_for(options, grammar, len(lms.models))
    initial = make_decoder(options, (grammar, lms), initial_weights(names), search_settings(options), None)
    initial.k_best(initial.search(texts["dev"].sentences[0]), 2)
    reranked = (0, options.mbr) if options.mbr else (0,)
    titles = [f"{name} {'MBR' if mbr else 'BLEU'}" for name in texts for mbr in reranked]
    print("method  search    beam  widen  nbest  rounds  tuning s" + "".join(f"  {t:>9s}" for t in titles))
    for how in options.settings:
        search = SearchDefaults(how.beam, options.max_targets, how.widen, options.max_span, how.search)
        narrow = make_decoder(options, (grammar, lms), initial_weights(names), search, None)
        settings = TuneSettings(
            rounds=max(options.after),
            nbest=how.nbest,
            method=how.method,
            seed=options.seed,
        )
        for number, seconds, weights in tuned(narrow, texts["dev"], settings, options.after):
            decoder = initial.with_weights(weights)
            scores = [bleu(decoder, text, mbr) for text in texts.values() for mbr in reranked]
            print(
                f"{how.method:6s}  {how.search:8s}  {how.beam:4d}  {how.widen:5g}  {how.nbest:5d}"
                f"  {number:6d}  {seconds:8.1f}" + "".join(f"  {score:9.2f}" for score in scores),
                flush=True,
            )


if __name__ == "__main__":
    main()
