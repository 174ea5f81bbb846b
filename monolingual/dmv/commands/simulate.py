"""`dmv simulate`: sentences and trees drawn from a model."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "simulate",
        help="sentences drawn from a model, with their trees",
        description="Draw tag sequences with their trees from a model, in three columns: tags, heads (from "
        "1, 0 for the root), and the tags again as words. What is longer than --max-length is drawn anew.",
        epilog="example:\n  scfg-monolingual dmv simulate model.txt --samples 1000 --output drawn.txt",
    )
    parser.add_argument("model", metavar="MODEL", help="written by dmv train")
    parser.add_argument("--samples", dest="sentences", metavar="N", type=int, default=10, help="how many")
    parser.add_argument(
        "--max-length", dest="longest", metavar="N", type=int, default=1000, help="words of a sentence"
    )
    parser.add_argument("--output", metavar="FILE", default="-", help="where to")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Draw and write."""
    import numpy as np

    from monolingual.dmv.model import read_model
    from monolingual.dmv.simulation import draw_sentences
    from scfg_sampler.core.files import atomic_output
    from scfg_sampler.core.limits import require_seed

    require_seed(options.seed)
    model = read_model(options.model)
    rng = np.random.default_rng(options.seed)
    sentences, dropped = draw_sentences(rng, model, options.sentences, options.longest)
    with atomic_output(options.output) as stream:
        for tags, heads in sentences:
            names = " ".join(model.tags[tag] for tag in tags)
            stream.write(f"{names}\t{' '.join(map(str, heads))}\t{names}\n")
    if dropped:
        console.warn(
            f"sentences of more than {counted(options.longest, 'word')} that were drawn anew: {dropped}"
        )
