"""`scfg-decoder rank`: the best expression of each list, chosen by a ranker."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "rank",
        help="choose among the expressions of a list",
        description=(
            "Writes, for each sentence, the expression of its list that the ranker takes for the best, or\n"
            "an empty line if there is none. With --probabilities, before each, and a tab, how probable it\n"
            "is that it is the right one, if one of the list is; 0 where there is none."
        ),
        epilog="examples:\n  scfg-decoder rank --ranker ranker.json --source test.en test.list > test.mr\n"
        "  scfg-decoder rank --ranker ranker.json --source test.en test.list --probabilities",
    )
    parser.add_argument("list", metavar="LIST", help="a list of translate --expressions … --nbest K")
    parser.add_argument("--ranker", required=True, metavar="R.json", help="a ranker of train-ranker")
    parser.add_argument("--source", required=True, metavar="F", help="the sentences, tokenised")
    parser.add_argument(
        "--probabilities", action="store_true", help="print the probability of each, and a tab, before it"
    )
    parser.add_argument("--output", default="-", metavar="FILE", help="where the expressions go")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Choose, and write."""
    from decoder.expressions.lists import check_features, check_words, read_lists, read_ranker
    from decoder.expressions.ranker import WORD_FEATURES, candidate_scores, probabilities
    from scfg_sampler.core.arrays.vocabulary import split_words
    from scfg_sampler.core.files import atomic_output, read_lines

    ranker = read_ranker(options.ranker)
    sentences = [split_words(line) for line in read_lines(options.source)]
    lists = read_lists(options.list, len(sentences))
    learnt = [name for name, weight in ranker.weights.items() if weight and name not in WORD_FEATURES]
    check_features(options.list, lists, learnt)
    check_words(options.source, sentences, ranker)
    with atomic_output(options.output) as out:
        for words, candidates in zip(sentences, lists, strict=True):
            best: list[str] = []
            probability = 0.0
            if candidates:
                scores = candidate_scores(ranker, words, candidates)
                at = int(scores.argmax())
                best, probability = candidates[at].words, float(probabilities(scores)[at])
            likely = f"{probability:.4f}\t" if options.probabilities else ""
            out.write(likely + " ".join(best) + "\n")
