"""`extract`: the Hiero baseline's rule table."""

from __future__ import annotations

import argparse

from scfg_sampler.baseline.settings import COUNTING, LOOSE, HieroSettings
from scfg_sampler.commands import add_corpus, add_labels, corpus_files
from scfg_sampler.core import console
from scfg_sampler.core.elsewhere import add_elsewhere, check_elsewhere, elsewhere
from scfg_sampler.core.interruption import repeatable
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "extract",
        help="write the rule table of the Hiero baseline",
        description="Extract every Hiero rule of word-aligned text (Chiang 2007), with features.",
        epilog="example:\n  scfg-sampler extract --source train.de --target train.en --alignment train.align "
        "--output hiero.gz",
    )
    add_labels(add_corpus(parser))
    parser.add_argument("--output", metavar="TABLE", required=True, help="rule table; compressed if .gz")
    _add_settings(parser, HieroSettings())
    parser.add_argument(
        "--lexical", metavar="PREFIX", help="also write lexical tables, PREFIX.f2e and PREFIX.e2f"
    )
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="shares worked on at a time")
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        default="4G",
        help="memory for rules, as in 500M or 4G; a table that needs more is made in shares, which are kept "
        "in TABLE.shares until it is written: the same command goes on from there",
    )
    parser.add_argument(
        "--temporary", metavar="DIR", help="where to put files while it works, if not the system's place"
    )
    add_elsewhere(parser, any_shards=True)
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_beginning("--lexical", (".f2e", ".e2f"))
    parser.set_defaults(run=run)


def _add_settings(parser: argparse.ArgumentParser, settings: HieroSettings) -> None:
    parser.add_argument(
        "--max-initial",
        metavar="N",
        type=int,
        default=settings.max_initial,
        help="source words of a phrase",
    )
    parser.add_argument(
        "--max-initial-target",
        metavar="N",
        type=int,
        default=settings.max_initial_target,
        help="target words of a phrase",
    )
    parser.add_argument(
        "--loose",
        nargs="?",
        choices=LOOSE,
        const="both",
        default=settings.loose,
        help="phrases may begin and end with unaligned words, on one side or (without a value) on both",
    )
    parser.add_argument(
        "--max-symbols", metavar="N", type=int, default=settings.max_symbols, help="source symbols of a rule"
    )
    parser.add_argument(
        "--max-nonterminals", metavar="N", type=int, default=settings.max_nonterminals, help="0, 1 or 2"
    )
    parser.add_argument(
        "--counting",
        choices=COUNTING,
        default=settings.counting,
        help="1 per occurrence, or 1 per initial phrase pair, shared by its rules",
    )
    parser.add_argument(
        "--no-singletons",
        action="store_true",
        help="leave out rules that occur once and have more than one source word",
    )


def run(options: argparse.Namespace) -> None:
    """Write the table, and say how large it is."""
    import time

    from scfg_sampler.baseline.shares import shares_of
    from scfg_sampler.baseline.table import Resources, write_baseline
    from scfg_sampler.core.limits import require_number
    from scfg_sampler.corpus.parallel_text import read_corpus
    from scfg_sampler.corpus.sanity import require_links, warn_of_odd_pairs
    from scfg_sampler.rules import lexical
    from scfg_sampler.rules.text import signature

    began = time.perf_counter()
    resources = Resources(console.memory_size(options.memory), options.threads, options.temporary)
    settings = HieroSettings(**{name: getattr(options, name) for name in HieroSettings._fields})
    settings.check()
    require_number("threads", options.threads)
    check_elsewhere(options)
    _warn_of_idle(options)
    files = corpus_files(options)
    corpus = read_corpus(files.source, files.target, *files.alignments)
    require_links(corpus, files.source)
    warn_of_odd_pairs(corpus, files)
    tables = lexical.estimate(corpus)
    if options.lexical:
        lexical.write_lexical(tables, corpus.source_vocabulary, corpus.target_vocabulary, options.lexical)
    fields = [*settings.fields(), *files.by_name().items()]
    if options.labels:
        num_rules = _write_labelled(options, corpus, tables, settings, fields)
    else:
        with (
            repeatable(str(shares_of(options.output))),
            elsewhere(options) as executor,
            console.progress("extracting", corpus.num_sentences) as advance,
        ):
            num_rules = write_baseline(
                corpus,
                tables,
                options.output,
                settings,
                resources,
                signature=signature(fields),
                executor=executor,
                advance=advance,
            )
    seconds = time.perf_counter() - began
    console.say(f"{counted(num_rules, 'rule')} written to {options.output} in {seconds:.1f} s")


def _warn_of_idle(options: argparse.Namespace) -> None:
    """Warn of options that say who does the work, and where: one thread does, in memory, with labels."""
    idle = {"threads": 1, "temporary": None, "workers": None, "scheduler": None}
    for name in [name for name, unset in idle.items() if options.labels and getattr(options, name) != unset]:
        console.warn(f"--{name} does nothing with --labels")


def _write_labelled(options: argparse.Namespace, corpus, tables, settings: HieroSettings, fields) -> int:
    """Write the table with labels; the number of rules."""
    from scfg_sampler.baseline.labelled import extract_labelled, score_labelled
    from scfg_sampler.baseline.table import Resources, divide
    from scfg_sampler.corpus.span_labels import read_span_labels
    from scfg_sampler.errors import SettingsError
    from scfg_sampler.rules.table import write_rule_table
    from scfg_sampler.rules.text import signature

    side, form = options.labels_side, options.labels_form
    more = {"longest": settings.longest(side), "alignments": len(corpus_files(options).alignments)}
    labels = read_span_labels(options.labels, corpus, side=side, form=form, **more)
    if len(divide(corpus, settings, Resources(console.memory_size(options.memory))).shares) > 1:
        raise SettingsError(
            f"--memory is {options.memory}; rules with labels are counted in memory, which may take more"
        )
    named = [("labels", options.labels), ("labels-form", form), ("labels-side", side)]
    with console.progress("extracting", corpus.num_sentences) as advance:
        rules = extract_labelled(corpus, labels, settings, advance=advance)
    table = score_labelled(rules, tables, corpus, signature([*fields, *named]))
    write_rule_table(table, options.output)
    return table.num_rules
