"""`tsg train`: a grammar from bracketed trees, into a run directory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from monolingual.tsg.markov import BINARISE
from monolingual.tsg.preparation import Preparation
from monolingual.tsg.settings import (
    BASES,
    METHODS,
    ORDERS,
    PACKINGS,
    STARTS,
    RunSettings,
    Sources,
    TsgSettings,
    default_anneal,
    default_burn_in,
    default_horizontal,
    temperature,
)
from scfg_sampler.core import console
from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere, warn_of_one_shard
from scfg_sampler.core.interruption import resumable
from scfg_sampler.core.numerals import real_number, whole_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "report", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "train",
        help="learn a grammar from bracketed trees",
        description="Sample how the trees of a treebank are put together from elementary trees, under "
        "Dirichlet process priors. The run directory gets the elementary trees of the last sweep, a trace "
        "and a checkpoint.",
        epilog="examples:\n  scfg-monolingual tsg train trees.mrg --output run --iterations 1000\n"
        "  scfg-monolingual tsg train toy.mrg --output toy --unknown none --concentration 1 --stop 0.5 \\\n"
        "    --iterations 5000 --burn-in 1000 --marginals\n"
        "  scfg-monolingual tsg train --sentences tags.txt --labels A,B,C --unknown none --start minimal \\\n"
        "    --moves single,block --output run",
    )
    parser.add_argument(
        "trees", metavar="TREES", nargs="?", help="Penn-style brackets; .gz is read, - is standard input"
    )
    parser.add_argument("--output", metavar="RUN", required=True, help="run directory")
    parser.add_argument("--overwrite", action="store_true", help="replace an older run in that directory")

    parser.add_argument(
        "--method",
        choices=METHODS,
        default=RunSettings().method,
        help="gibbs: a chain; 2dop: all fragments that two trees share, as often as they occur (Double-DOP)",
    )
    _add_sources(
        parser.add_argument_group("sentences with several trees, besides or instead of TREES"), Sources()
    )
    _add_preparation(parser.add_argument_group("preparation"), Preparation())
    _add_model(parser.add_argument_group("model"), TsgSettings())
    _add_chain(parser.add_argument_group("chain"), TsgSettings(), RunSettings())
    parser.add_argument("--check", action="store_true", help="recount the log joint after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_within(
        "--output",
        r"(?:run|marginals)\.json|checkpoint\.npz|(?:trace|parameters)\.tsv|(?:trees|chosen)\.mrg\.gz|forests\.json\.gz"
        r"|(?:sentences|known)\.txt\.gz|(?:grammar|pcfg|samples/.*)\.tsg\.gz",
    )
    parser.set_defaults(run=run)


def _add_sources(several: argparse._ArgumentGroup, sources: Sources) -> None:
    several.add_argument(
        "--nbest-lists", dest="nbest", metavar="FILE", help="lists of trees: 'number ||| tree' a line"
    )
    several.add_argument("--forests", metavar="FILE", help="packed forests: 'S#1 -> NP#2 VP#3' a line")
    several.add_argument(
        "--brackets", metavar="FILE", help="trees with ? for labels, flat where the inside is not known"
    )
    several.add_argument("--sentences", metavar="FILE", help="words alone, a sentence a line")
    several.add_argument(
        "--pack",
        choices=PACKINGS,
        default=sources.pack,
        help="of --nbest-lists, the trees themselves, or what equal constituents of them combine to",
    )
    several.add_argument("--labels", metavar="A,B", help="what ? may be")
    several.add_argument(
        "--tag-set", dest="tags", metavar="A,B", help="what ? above a word may be (default: --labels)"
    )
    several.add_argument("--root", metavar="A", default=sources.root, help="the label above an outermost ?")
    several.add_argument(
        "--max-length",
        dest="longest",
        metavar="N",
        type=int,
        default=sources.longest,
        help="words in --brackets and --sentences at most",
    )


def _add_preparation(prepared: argparse._ArgumentGroup, preparation: Preparation) -> None:
    prepared.add_argument(
        "--binarise",
        choices=BINARISE,
        default=preparation.binarise,
        help="from which side children are split off; head: what is before the head, then what is behind it",
    )
    prepared.add_argument(
        "--horizontal",
        metavar="N",
        type=int,
        help="how many siblings a constituent made by binarisation names; -1: all (default: "
        f"{default_horizontal(Sources())}; {default_horizontal(Sources(sentences='-'))} where --forests, "
        "--brackets or --sentences are given)",
    )
    prepared.add_argument(
        "--vertical",
        metavar="N",
        type=int,
        default=preparation.vertical,
        help="2: the label of each constituent names the one above, too; 3: and the one above that",
    )
    prepared.add_argument(
        "--heads",
        metavar="FILE",
        default=preparation.heads,
        help="rules for --binarise head, e.g. 'PP right IN/TO left NP'; english are those of Penn's labels",
    )
    prepared.add_argument(
        "--unknown",
        choices=("signature", "none"),
        default=preparation.unknown,
        help="what becomes of rare words",
    )
    prepared.add_argument(
        "--rare", metavar="N", type=int, default=preparation.rare, help="words seen at most so often"
    )
    prepared.add_argument(
        "--keep-annotation", action="store_true", help="leave empty elements, function tags and indices"
    )


def _add_model(model: argparse._ArgumentGroup, settings: TsgSettings) -> None:
    model.add_argument(
        "--base",
        choices=BASES,
        default=settings.base,
        help="of elementary trees: uniform productions (P_M) or those of the treebank PCFG (P_C)",
    )
    model.add_argument(
        "--concentration", metavar="learn|X", default="learn", help="of every label's Dirichlet process"
    )
    model.add_argument(
        "--stop",
        metavar="learn|X",
        default="learn",
        help="probability that a nonterminal below the root of an elementary tree of the base is a frontier",
    )
    model.add_argument(
        "--discount",
        metavar="D",
        type=float,
        default=settings.discount,
        help="above 0: Pitman-Yor processes",
    )


def _add_chain(chain: argparse._ArgumentGroup, settings: TsgSettings, run: RunSettings) -> None:
    chain.add_argument("--iterations", metavar="N", type=int, default=run.iterations, help="sweeps")
    chain.add_argument(
        "--burn-in", metavar="B", type=int, help="sweeps that count for nothing (default: half of them)"
    )
    chain.add_argument(
        "--anneal",
        metavar="START:END:SWEEPS",
        help="temperatures, falling linearly (default: 5:1 over the burn-in)",
    )
    chain.add_argument(
        "--moves",
        metavar="M,M",
        default=",".join(settings.moves),
        help="single: one cut; type: all cuts of a type at once; block: a sentence",
    )
    chain.add_argument(
        "--type-every",
        metavar="K",
        type=int,
        default=settings.type_every,
        help="sweeps from one round of type to the next",
    )
    chain.add_argument("--visit-order", dest="order", choices=ORDERS, default=settings.order, help="of sites")
    chain.add_argument(
        "--start",
        choices=STARTS,
        default=settings.start,
        help="no cuts at first, or all, or those around fragments that recur",
    )
    chain.add_argument("--seed", metavar="N", type=int, default=run.seed, help="seed of all randomness")
    chain.add_argument(
        "--shards",
        metavar="P",
        type=int,
        help="parts of the treebank that see each other's counts one sweep late; 1 is exact (default: as "
        "many as threads)",
    )
    chain.add_argument(
        "--threads",
        metavar="N",
        type=int,
        default=run.threads,
        help="shards worked on at a time; with equal --shards results are the same",
    )
    add_elsewhere(chain)
    _add_kept(chain, run)


def _add_kept(chain: argparse._ArgumentGroup, run: RunSettings) -> None:
    """Add what a chain leaves behind."""
    chain.add_argument("--marginals", action="store_true", help="write how often each node is cut")
    chain.add_argument(
        "--states",
        dest="samples",
        metavar="K",
        type=int,
        help="keep the grammars of the last K states, --thin sweeps apart, whose mean counts tsg parse takes "
        "(default: 10)",
    )
    chain.add_argument(
        "--thin",
        metavar="L",
        type=int,
        help="sweeps from one of --states to the next (default: 10, or as many as there are for each)",
    )
    chain.add_argument(
        "--checkpoint-every",
        metavar="K",
        type=int,
        default=run.checkpoint_every,
        help="sweeps; 0: at the end",
    )


def run(options: argparse.Namespace) -> None:
    """Learn, and say what came of it."""
    from monolingual.tsg.run import Conduct, start_run

    given = vars(options)
    burn_in = default_burn_in(options.iterations) if options.burn_in is None else options.burn_in
    settings = TsgSettings(
        base=options.base,
        concentration=_learn_or_number("--concentration", options.concentration),
        stop=_learn_or_number("--stop", options.stop),
        discount=options.discount,
        moves=tuple(options.moves.split(",")),
        type_every=options.type_every,
        order=options.order,
        start=options.start,
        shards=options.threads if options.shards is None else options.shards,
        anneal=default_anneal(burn_in) if options.anneal is None else _anneal(options.anneal),
    )
    named = {name: _names(given[name]) for name in ("labels", "tags")}
    sources = Sources(**{**{name: given[name] for name in Sources._fields}, **named})
    preparation = Preparation(
        binarise=options.binarise,
        horizontal=default_horizontal(sources) if options.horizontal is None else options.horizontal,
        vertical=options.vertical,
        heads=options.heads,
        unknown=options.unknown,
        rare=options.rare,
        keep_annotation=options.keep_annotation,
    )
    kept = RunSettings(**{**{name: given[name] for name in RunSettings._fields}, "burn_in": burn_in})
    if options.method == "2dop" and (options.samples or options.marginals):
        raise SettingsError("--states and --marginals are of chains; --method 2dop has none")
    _warn_of_idle(options, settings)
    if options.method == "gibbs":
        _warn_of_other_temperatures(settings, kept)
    if options.method == "gibbs" and settings.shards == 1:
        warn_of_one_shard(options, "; --shards P divides the treebank for others")
    with (
        resumable("scfg-monolingual tsg resume", options.output),
        elsewhere(options) as executor,
        console.progress("sampling", options.iterations) as advance,
    ):
        record = start_run(
            sources,
            options.output,
            settings,
            preparation,
            kept,
            overwrite=options.overwrite,
            conduct=Conduct(options.check, advance, executor),
        )
    report(options.output, record)


def _warn_of_other_temperatures(settings: TsgSettings, run: RunSettings) -> None:
    """Warn if states after the burn-in are drawn at other temperatures than the last."""
    last, sweeps = settings.anneal[1:]
    if not run.marginals and temperature(settings, run.burn_in) != last:
        console.warn(
            f"--anneal takes {counted(sweeps, 'sweep')} and --burn-in is {run.burn_in}, so that states at "
            "other temperatures are kept"
        )


def _warn_of_idle(options: argparse.Namespace, settings: TsgSettings) -> None:
    """Warn of what was given, but does nothing beside the other options."""
    plain, has_types = Preparation(), "type" in settings.moves
    is_spelled_out = options.brackets is None and options.sentences is None
    of_forests = "--brackets or --sentences"
    for option, is_given, is_idle, other in (
        *_of_chains(options, settings),
        ("--type-every", options.type_every != TsgSettings().type_every, not has_types, "--moves type"),
        ("--thin", options.thin is not None, options.samples == 0, "--states"),
        ("--rare", options.rare != plain.rare, options.unknown == "none", "--unknown signature"),
        ("--heads", options.heads != plain.heads, options.binarise != "head", "--binarise head"),
        (
            "--horizontal",
            options.horizontal is not None,
            options.binarise == "none",
            "--binarise right, left or head",
        ),
        ("--pack", options.pack != Sources().pack, options.nbest is None, "--nbest-lists"),
        ("--labels", options.labels is not None, is_spelled_out, of_forests),
        ("--tag-set", options.tags is not None, is_spelled_out, of_forests),
        ("--root", options.root != Sources().root, is_spelled_out, of_forests),
        ("--max-length", options.longest != Sources().longest, is_spelled_out, of_forests),
    ):
        if is_given and is_idle:
            console.warn(f"{option} does nothing without {other}")


def _of_chains(options: argparse.Namespace, settings: TsgSettings) -> Iterator[tuple[str, bool, bool, str]]:
    """What a chain alone looks at, as `_warn_of_idle` lists options."""
    plain, run = TsgSettings(), RunSettings()
    former = {"order": "visit-order"}
    given = {
        **{name: getattr(settings, name) != getattr(plain, name) for name in _OF_CHAINS},
        **{name: getattr(options, name) != getattr(run, name) for name in _OF_RUNS},
        **{name: getattr(options, name) is not None for name in _UNSET},
        "check": options.check,
    }
    for name, is_given in given.items():
        option = f"--{former.get(name, name).replace('_', '-')}"
        yield option, is_given, options.method != "gibbs", "--method gibbs"


_OF_CHAINS = ("base", "concentration", "stop", "discount", "moves", "type_every", "order", "start")
_OF_RUNS = ("iterations", "checkpoint_every", "seed", "threads")
_UNSET = ("burn_in", "anneal", "shards", "workers", "scheduler", "thin")
"""What is None where nobody has given it."""


def report(output: str, record: dict[str, Any]) -> None:
    """Say what a run has made."""
    from scfg_sampler.core.chains.chain import read_trace

    if record["run"]["method"] == "2dop":
        console.say(
            f"{counted(record['fragments'], 'elementary tree')} of "
            f"{counted(record['sentences'], 'sentence')}, "
            f"of them {counted(record['productions'], 'production')}, {record['cpu_seconds']:.1f} CPU seconds"
        )
        console.say(f"run directory: {output}")
        return
    trace = read_trace(f"{output}/trace.tsv")
    console.say(
        f"{counted(record['sweeps'], 'sweep')} over {counted(record['sentences'], 'sentence')} with "
        f"{counted(record['nodes'], 'node')}: "
        f"{counted(round(trace['types'][-1]), 'elementary tree')}, "
        f"{counted(record['productions'], 'production')} in the treebank, "
        f"log joint {trace['log_joint'][-1]:.2f}, {record['cpu_seconds']:.1f} CPU seconds"
    )
    console.say(f"run directory: {output}")


def _names(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(text.split(","))


def _learn_or_number(option: str, text: str) -> float | None:
    if text == "learn":
        return None
    try:
        return real_number(text)
    except ValueError:
        raise SettingsError(f"{option} is {text!r}; give a number, or 'learn'") from None


def _anneal(text: str) -> tuple[float, float, int]:
    try:
        first, last, sweeps = text.split(":")
        return real_number(first), real_number(last), whole_number(sweeps)
    except ValueError:
        raise SettingsError(f"--anneal is {text!r}; give START:END:SWEEPS, e.g. 5:1:4000") from None
