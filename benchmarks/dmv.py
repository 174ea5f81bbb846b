"""How fast dependency models are learnt and parse.

    python benchmarks/dmv.py --train train.len10.tagdep.gz --test test.conllu.gz

Prints processor time of one thread, kernels compiled before: an E-step over the training sentences of at
most ten tags, a round of EM and of those that learn priors (the median of some), and Viterbi and
minimum-Bayes-risk parses of all test sentences. Without files, 5,386 random sentences of at most ten words,
and 2,000 of at most seventy.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from monolingual.dmv.chart import expected_counts
from monolingual.dmv.estimation import dmv_expectations, estimator
from monolingual.dmv.initial import harmonic
from monolingual.dmv.layout import Layout, build_corpus, num_parameters, parameter_families
from monolingual.dmv.model import DmvModel
from monolingual.dmv.parsing import number_tags, parse
from monolingual.dmv.settings import Settings
from monolingual.dmv.tag_families import expert_covariances, family_experts
from monolingual.dmv.treebank import Sentence, read_treebank
from monolingual.priors.covariances import identity_covariances


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", metavar="FILE", help="sentences to learn from")
    parser.add_argument("--test", metavar="FILE", help="sentences to parse")
    parser.add_argument("--rounds", type=int, default=10, help="of each learner")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tags, train, test = sentences(args)
    layout = Layout(len(tags), 1)
    distinct = build_corpus(layout, train)
    every = build_corpus(layout, train, distinct=False)
    print(
        f"{len(train)} sentences, {len(distinct.multiplicity)} of them distinct; {layout.num_tags} tags, "
        f"{num_parameters(layout)} parameters; {len(test)} sentences to parse"
    )
    probs = harmonic(layout, distinct)
    shown("E-step, every sentence", lambda: expected_counts(layout, every, probs))
    expectations = dmv_expectations(layout, distinct)
    shown("E-step, distinct ones", lambda: expectations(probs))
    covariance = identity_covariances(parameter_families(layout))
    times = {}
    experts = family_experts(layout, tags, {}, ["one"])
    shared = expert_covariances(layout, experts, covariance)
    for name, settings in (
        ("em", Settings("em")),
        ("vb-em-dirichlet", Settings("vb-em-dirichlet")),
        ("vb-em-logistic-normal", Settings("vb-em-logistic-normal", covariance=covariance)),
        ("… of shared experts", Settings("vb-em-logistic-normal", covariance=shared, experts=experts)),
    ):
        kernel, _ = estimator(layout, distinct, settings)
        state = kernel.init(None, probs)  # type: ignore[arg-type]
        state, _ = kernel.step(None, state)  # type: ignore[arg-type]
        rounds = []
        for _ in range(args.rounds):
            began = time.process_time()
            state, _ = kernel.step(None, state)  # type: ignore[arg-type]
            rounds.append(time.process_time() - began)
        times[name] = statistics.median(rounds)
        ratio = times[name] / times["em"]
        print(f"round of {name:<29}{times[name]:9.4f} CPU s {ratio:8.1f} times EM")
    model = DmvModel(tags, layout, probs)
    for decoder in ("viterbi", "mbr"):
        shown(f"parsing, {decoder}", lambda decoder=decoder: parse(model, test, decoder))


def shown(name: str, job) -> None:
    """Print the processor time of a job, done once before."""
    job()
    began = time.process_time()
    job()
    print(f"{name:<38}{time.process_time() - began:9.4f} CPU s")


def sentences(args) -> tuple[tuple[str, ...], list[list[int]], list[Sentence]]:
    """The tags, the sentences to learn from as numbers of tags, and those to parse."""
    if not (args.train and args.test):
        rng = np.random.default_rng(args.seed)
        train, test = (
            [rng.integers(40, size=length).tolist() for length in rng.integers(1, most + 1, size=size)]
            for most, size in ((10, 5386), (70, 2000))
        )
        tags = tuple(f"t{tag}" for tag in range(40))
        return tags, train, [Sentence(tuple(tags[tag] for tag in row), (), (), ()) for row in test]
    short = [s for s in read_treebank(args.train) if 0 < len(s.tags) <= 10]
    tags = tuple(sorted({tag for sentence in short for tag in sentence.tags}))
    return tags, number_tags(tags, short), [s for s in read_treebank(args.test) if s.tags]


if __name__ == "__main__":
    main()
