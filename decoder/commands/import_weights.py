"""`scfg-decoder import-weights`: weights of other decoders."""

from __future__ import annotations

import argparse

from scfg_sampler.formats import DECODERS

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "import-weights",
        help="take over the weights of another decoder",
        description=(
            "Reads cdec's weights, moses.ini, joshua.config or travatar.ini, and writes weights by our\n"
            "names of features, with signs and logarithms turned, so that a table tuned there and read\n"
            "here gives translations the same scores, up to a constant that is printed."
        ),
        epilog="example:\n  scfg-decoder import-weights joshua.config --from joshua --output weights.json",
    )
    parser.add_argument("weights", metavar="FILE", help="weights, or a configuration with weights in it")
    parser.add_argument(
        "--from",
        dest="decoder",
        required=True,
        choices=DECODERS,
        help="the decoder whose file it is",
    )
    parser.add_argument("--output", required=True, metavar="W.json", help="where the weights go")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, turn and write the weights."""
    from decoder.translation.imported_weights import import_weights
    from decoder.translation.weights import write_weights
    from scfg_sampler.core.console import say, warn

    found = import_weights(options.weights, options.decoder)
    for warning in found.warnings:
        warn(f"{options.weights}: {warning}")
    write_weights(found.weights, options.output)
    if found.constant:
        say(f"scores of {options.decoder} are those of translate {found.constant:+.6f}, for its <s> and </s>")
