"""`grammar`: a rule table with features out of a run directory."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted
from scfg_sampler.learner.settings import FILTERS, ORIGINS, GrammarSettings

__all__ = ["add_parser", "add_pruning", "run"]


def add_pruning(parser: argparse.ArgumentParser) -> None:
    """Add the options that prune."""
    parser.add_argument(
        "--prune",
        metavar="HOW",
        help="redundancy[:T]: drop rules that two others make, nearly as probable (within e^T; default 1); "
        "entropy[:T]: rules whose loss costs the corpus less than T nats (default 1); count:N: rules "
        "seen less; significance[:P]: rules that chance explains (default: P = 1/N)",
    )
    parser.add_argument(
        "--keep",
        metavar="SIZE",
        help="then keep so many rules (N), such a share (P%%), or as many as have such a share of all uses "
        "(uses:P%%): the best of each source word by itself, so that none becomes unknown, then by loss "
        "after entropy, surprise after significance and by count otherwise",
    )


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "grammar",
        help="write the rule table of a run",
        description="Write the rules that a run has sampled, with features, as a rule table.",
        epilog="example:\n  scfg-sampler grammar run --output grammar.gz\n"
        "  scfg-sampler grammar run --output small.gz --prune redundancy\n"
        "  scfg-sampler grammar run --output mixed.gz --add hiero.gz:0.1",
    )
    settings = GrammarSettings()
    parser.add_argument("directory", metavar="RUN", help="run directory")
    parser.add_argument("--output", metavar="TABLE", required=True, help="rule table; compressed if .gz")
    parser.add_argument(
        "--from",
        dest="origin",
        choices=ORIGINS,
        default=settings.origin,
        help="counts of the last state, of the states the paper averages, or expected over all kept sweeps",
    )
    parser.add_argument(
        "--add",
        dest="more",
        metavar="TABLE[:W]",
        action="append",
        default=[],
        help="add the counts of another table W times (default: once): of 'extract', of 'grammar', or "
        "counts/*.gz of another run; may be given several times",
    )
    parser.add_argument(
        "--filter",
        dest="rule_filter",
        choices=FILTERS,
        default=settings.rule_filter,
        help="which rules are kept",
    )
    parser.add_argument(
        "--max-scope", metavar="N", type=int, default=settings.max_scope, help="of --filter scope"
    )
    parser.add_argument(
        "--max-targets", metavar="N", type=int, help="the N most frequent targets per source side"
    )
    add_pruning(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.reads("more", lambda text: [text, text.rpartition(":")[0] or text])
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the table, and say how large it is."""
    from scfg_sampler.learner.grammar import write_grammar

    settings = GrammarSettings(**{name: getattr(options, name) for name in GrammarSettings._fields})
    if settings.rule_filter != "scope" and settings.max_scope != GrammarSettings().max_scope:
        console.warn("--max-scope does nothing without --filter scope")
    rules, kept = write_grammar(options.directory, options.output, settings)
    console.say(f"{kept} of {counted(rules, 'rule')} written to {options.output}")
