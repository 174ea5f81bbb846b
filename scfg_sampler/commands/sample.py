"""`sample`: learn rules from word-aligned text, into a run directory."""

from __future__ import annotations

import argparse
from typing import Any

from scfg_sampler.commands import add_corpus, add_labels, corpus_files
from scfg_sampler.core import console
from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere, warn_of_one_shard
from scfg_sampler.core.interruption import resumable
from scfg_sampler.core.numerals import real_number, whole_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner.settings import (
    BASES,
    CHOICES,
    LEARNABLE,
    MODELS,
    OPERATORS,
    ORDERS,
    PAPER,
    PAPER_ITERATIONS,
    SCHEDULES,
    TABLES,
    TYPE_STARTS,
    UNALIGNED,
    LearnerSettings,
    RunSettings,
    default_burn_in,
    default_shards,
    default_strength,
    temperature,
)

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sample",
        help="learn translation rules from word-aligned text",
        description="Learn translation rules from word-aligned text: sample derivations of its phrase "
        "decomposition forests, and count the rules they use.",
        epilog="example:\n  scfg-sampler sample --source train.de --target train.en --alignment train.align "
        "--output run \\\n    --iterations 60 --burn-in 20\n  scfg-sampler grammar run --output grammar.gz",
    )
    settings = LearnerSettings()
    corpus = add_corpus(parser)
    corpus.add_argument(
        "--max-length",
        metavar="N",
        type=int,
        default=settings.max_length,
        help="skip pairs with more words on a side",
    )
    add_labels(corpus)
    parser.add_argument("--output", metavar="RUN", required=True, help="run directory")
    parser.add_argument("--overwrite", action="store_true", help="replace an older run in that directory")
    _add_model(parser.add_argument_group("model"), settings)
    _add_chain(parser.add_argument_group("chain"), settings)
    _add_kept(parser.add_argument_group("what is kept"), RunSettings())
    parser.add_argument("--check", action="store_true", help="recount everything after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.also("--order", "--visit-order")
    parser.writes_within(
        "--output",
        r"(?:run\.json|checkpoint\.npz|trace\.tsv|lex\.(?:f2e|e2f)|derivations\.jsonl\.gz|marginals\.json"
        r"|(?:chain-[0-9]+|collected|counts)/.*)",
    )
    parser.set_defaults(run=run)


def _add_model(model: argparse._ArgumentGroup, settings: LearnerSettings) -> None:
    model.add_argument("--model", choices=MODELS, default=settings.model, help="rule model")
    model.add_argument("--base", choices=BASES, default=settings.base, help="base distribution")
    # None where not given: with types seating is tracked.
    model.add_argument(
        "--tables",
        choices=TABLES,
        help=f"seating tracked, or t = n^d (default: {settings.tables}; exact with --types)",
    )
    model.add_argument(
        "--types",
        metavar="K",
        type=int,
        default=settings.types,
        help="learn K types of nonterminals, X1 to XK; a rule backs off to the same rule without types",
    )
    model.add_argument(
        "--types-start",
        choices=TYPE_STARTS,
        default=settings.types_start,
        help="types of the first state, drawn at random or all the same",
    )
    # None where not given: those are learned with --learn-hyperparameters.
    model.add_argument(
        "--discount", metavar="D", type=float, help=f"Pitman-Yor discount (default: {settings.discount:g})"
    )
    others = [
        f"; {default_strength(name):g} with --model {name}" for name in MODELS if name != settings.model
    ]
    model.add_argument(
        "--strength",
        metavar="A",
        type=float,
        help=f"strength (default: {settings.strength:g}{''.join(others)})",
    )
    model.add_argument(
        "--mean-length",
        metavar="L",
        type=float,
        help=f"mean of the length prior (default: {settings.mean_length:g})",
    )
    for side in ("source", "target"):
        model.add_argument(
            f"--{side}-vocabulary",
            metavar="N",
            type=int,
            default=getattr(settings, f"{side}_vocabulary"),
            help="size in the base of dirichlet; 0: counted",
        )
    model.add_argument(
        "--learn-hyperparameters",
        action="store_true",
        help="sample --discount, --strength and --mean-length along, but for those given",
    )
    model.add_argument(
        "--divide-by-trees",
        action="store_true",
        help="give a rule with m internal trees 1/m of its probability in each derivation",
    )


def _add_chain(chain: argparse._ArgumentGroup, settings: LearnerSettings) -> None:
    run = RunSettings()
    chain.add_argument(
        "--iterations",
        metavar="N",
        type=int,
        help=f"sweeps over the corpus (default: {run.iterations}; {PAPER_ITERATIONS} with --paper)",
    )
    chain.add_argument("--seed", metavar="N", type=int, default=run.seed, help="seed of all randomness")
    chain.add_argument(
        "--schedule",
        choices=SCHEDULES,
        help=f"which nodes a sweep samples (default: {settings.schedule})",
    )
    chain.add_argument(
        "--sweeps-per-level",
        metavar="K",
        type=int,
        default=settings.sweeps_per_level,
        help="of the stratified schedule",
    )
    chain.add_argument(
        "--max-cut-span",
        metavar="W",
        type=int,
        default=settings.max_cut_span,
        help="nodes over more words are cut; 0: no limit",
    )
    chain.add_argument(
        "--visit-order", dest="order", choices=ORDERS, default=settings.order, help="order of the nodes"
    )
    _add_forests(chain, settings)
    chain.add_argument(
        "--no-density-factor",
        dest="density_factor",
        action="store_false",
        help="leave out the correction for bushy forests",
    )
    _add_moves(chain, settings)
    chain.add_argument("--chains", metavar="N", type=int, default=run.chains, help="independent chains")
    chain.add_argument(
        "--shards",
        metavar="P",
        type=int,
        help="parts of the corpus, each swept against the counts that the others left in the last sweep; "
        "1 is exact (default: as many as threads, 1 with --chains)",
    )
    chain.add_argument(
        "--threads",
        metavar="N",
        type=int,
        default=run.threads,
        help="shards worked on at a time, or chains; with equal --shards results are the same",
    )
    add_elsewhere(chain)
    chain.add_argument("--paper", action="store_true", help="all settings as in Chung et al. (2014)")


def _add_forests(chain: argparse._ArgumentGroup, settings: LearnerSettings) -> None:
    chain.add_argument(
        "--unaligned",
        choices=UNALIGNED,
        default=settings.unaligned,
        help="the rule of an unaligned word: that of the lowest node around it, or any that could hold it",
    )
    chain.add_argument(
        "--max-attached",
        metavar="K",
        type=int,
        default=settings.max_attached,
        help="most free words that a rule takes in at each end of either side",
    )
    chain.add_argument(
        "--choose",
        choices=CHOICES,
        default=settings.choose,
        help="of several alignments, the chain chooses one for each sentence, or for each phrase; none: each "
        "pair counts once under every one",
    )


def _add_moves(chain: argparse._ArgumentGroup, settings: LearnerSettings) -> None:
    chain.add_argument(
        "--operator",
        choices=OPERATORS,
        default=settings.operator,
        help="node by node, or whole trees proposed and accepted or not",
    )
    chain.add_argument(
        "--type-moves",
        metavar="K",
        type=int,
        default=settings.type_moves,
        help="after every K sweeps, resample all cuts of a type together; 0: never",
    )
    chain.add_argument(
        "--anneal",
        metavar="START:END:SWEEPS",
        help="temperature, falling from START to END over so many sweeps",
    )


def _add_kept(kept: argparse._ArgumentGroup, run: RunSettings) -> None:
    kept.add_argument(
        "--burn-in", metavar="B", type=int, help="sweeps before counts are kept (default: a third)"
    )
    for name in ("every", "until"):
        default = getattr(run, f"average_{name}")
        kept.add_argument(
            f"--average-{name}", metavar="N", type=int, default=default, help="of --from average"
        )
    kept.add_argument("--marginals", action="store_true", help="also write marginals.json")
    kept.add_argument(
        "--checkpoint-every",
        metavar="K",
        type=int,
        default=run.checkpoint_every,
        help="sweeps; 0: at the end",
    )
    kept.add_argument(
        "--memory",
        metavar="SIZE",
        default=f"{run.memory >> 30}G",
        help="for the rules that are counted, as in 500M or 4G; more of them wait in the run directory",
    )


def run(options: argparse.Namespace) -> None:
    """Sample, and say what came of it."""
    from scfg_sampler.learner.chains import start_chains

    settings = _settings(options)
    _warn_of_idle(options, settings)
    if options.iterations is None:
        options.iterations = PAPER_ITERATIONS if options.paper else RunSettings().iterations
    burn_in = options.burn_in
    if burn_in is None:
        burn_in = default_burn_in(options.iterations, settings.anneal_sweeps)
    elif burn_in < options.iterations and temperature(settings, burn_in) != settings.anneal_end:
        sweeps = counted(settings.anneal_sweeps, "sweep")
        console.warn(
            f"--anneal takes {sweeps} and --burn-in is {burn_in}, so that sweeps at other temperatures count"
        )
    given = {name: getattr(options, name) for name in RunSettings._fields}
    given["memory"] = console.memory_size(options.memory)
    if settings.shards == 1 and options.chains == 1:
        undivided = "; --shards P divides the corpus for others"
        warn_of_one_shard(options, ", as always with --types" if settings.types > 1 else undivided)
    total = options.iterations * max(1, options.chains)
    with (
        resumable("scfg-sampler resume", options.output),
        elsewhere(options) as executor,
        console.progress("sampling", total) as advance,
    ):
        record = start_chains(
            corpus_files(options)._replace(labels=options.labels),
            options.output,
            settings,
            RunSettings(**{**given, "burn_in": burn_in}),
            overwrite=options.overwrite,
            check=options.check,
            advance=advance,
            executor=executor,
        )
    report(record, options.output)


def _settings(options: argparse.Namespace) -> LearnerSettings:
    """What the options say of the chain, where they are silent as --model and --paper have it."""
    learned = [name for name in LEARNABLE if getattr(options, name) is None]
    if options.model == "dirichlet":
        learned = [name for name in learned if name == "strength"]
    found: dict[str, Any] = {
        "shards": default_shards(options.threads, options.chains, options.types),
        "strength": default_strength(options.model),
        **({"tables": "exact"} if options.types > 1 else {}),
        **(PAPER if options.paper else {}),
        "learned": tuple(learned) if options.learn_hyperparameters else (),
        **_temperatures(options.anneal),
    }
    for name in LearnerSettings._fields:
        if getattr(options, name, None) is not None:
            found[name] = getattr(options, name)
    return LearnerSettings(**found)


def _warn_of_idle(options: argparse.Namespace, settings: LearnerSettings) -> None:
    """Warn of what was given, but does nothing beside the other settings."""
    proposes = settings.operator == "rejection"
    for names, is_idle, why in (
        (("base", "discount", "mean_length"), settings.model == "dirichlet", "with --model dirichlet"),
        (
            ("source_vocabulary", "target_vocabulary"),
            settings.model != "dirichlet",
            "without --model dirichlet",
        ),
        (
            ("sweeps_per_level",),
            settings.schedule == "full" and not proposes,
            "without --schedule stratified",
        ),
        (("schedule", "sweeps_per_level", "order", "density_factor"), proposes, "with --operator rejection"),
        (("max_attached",), settings.unaligned == "lowest", "without --unaligned free"),
        (("types_start",), settings.types == 1, "without --types"),
    ):
        for name in names:
            if getattr(options, name) is None:  # What --paper has set, nobody has given.
                continue
            if is_idle and getattr(settings, name) != LearnerSettings._field_defaults[name]:
                console.warn(f"{_OPTIONS.get(name, '--' + name.replace('_', '-'))} does nothing {why}")
    if options.learn_hyperparameters and not settings.learned:
        given = [f"--{name.replace('_', '-')}" for name in LEARNABLE if getattr(options, name) is not None]
        console.warn(f"--learn-hyperparameters does nothing with {', '.join(given)}")
    if settings.anneal_start != settings.anneal_end and settings.anneal_sweeps == 0:
        console.warn(f"--anneal {options.anneal} has no sweeps, so that all are at {settings.anneal_end:g}")
    if settings.shards == 1 and options.threads > max(1, options.chains):
        undivided = "for a chain that is not divided; --shards P divides the corpus"
        console.warn(f"--threads does nothing {'with --types' if settings.types > 1 else undivided}")


_OPTIONS = {"order": "--visit-order", "density_factor": "--no-density-factor"}
"""Those that are not called as what they set."""


def _temperatures(text: str | None) -> dict[str, float]:
    """The settings that START:END:SWEEPS stands for."""
    if text is None:
        return {}
    try:
        start, end, sweeps = text.split(":")
        temperatures = {"anneal_start": real_number(start), "anneal_end": real_number(end)}
        return {**temperatures, "anneal_sweeps": whole_number(sweeps)}
    except ValueError:
        raise SettingsError(f"--anneal is {text}; it must be START:END:SWEEPS, as in 3:1:50") from None


def _pairs(record: dict, alignments: int) -> str:
    """The sentence pairs that were sampled, and what was made of several alignments."""
    sentences, skipped, choose = (
        record["corpus"]["sentences"],
        len(record["skipped"]),
        record["settings"]["choose"],
    )
    if alignments > 1 and choose == "none":
        return f"{counted(sentences // alignments, 'sentence pair')}, each under {alignments} alignments,"
    chosen = f" (one of {alignments} alignments chosen for each {choose})" if alignments > 1 else ""
    return counted(sentences - skipped, "sentence pair") + chosen


def report(record: dict, output: str) -> None:
    """Say what a run came to."""
    from scfg_sampler.corpus.parallel_text import CorpusFiles

    skipped = len(record["skipped"])
    alignments = len(CorpusFiles.from_names(record["corpus"]["files"]).alignments)
    console.say(
        (f"{counted(record['chains'], 'chain')} of " if "chains" in record else "")
        + f"{counted(record['sweeps'], 'sweep')} over "
        f"{_pairs(record, alignments)} in {record['seconds']:.1f} s, {record['peak_memory_mb']:.0f} MB"
        + (f"; {skipped} skipped (see run.json)" if skipped else "")
    )
    console.say(f"run directory: {output}")
