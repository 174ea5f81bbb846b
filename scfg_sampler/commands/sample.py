"""`sample`: learn rules from word-aligned text, into a run directory."""

from __future__ import annotations

import argparse

from scfg_sampler.commands import add_corpus, corpus_files
from scfg_sampler.core import console
from scfg_sampler.core.numerals import real_number, whole_number
from scfg_sampler.errors import SettingsError

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
    corpus = add_corpus(parser)
    corpus.add_argument(
        "--max-length", metavar="N", type=int, default=250, help="skip pairs with more words on a side"
    )
    parser.add_argument("--output", metavar="RUN", required=True, help="run directory")
    parser.add_argument("--overwrite", action="store_true", help="replace an older run in that directory")

    model = parser.add_argument_group("model")
    model.add_argument(
        "--model", choices=("pitman-yor", "dirichlet"), default="pitman-yor", help="rule model"
    )
    model.add_argument("--base", choices=("poisson", "lexical"), default="poisson", help="base distribution")
    model.add_argument(
        "--tables", choices=("exact", "estimated"), default="estimated", help="seating tracked, or t = n^d"
    )
    model.add_argument("--discount", metavar="D", type=float, help="Pitman-Yor discount (default: 0.5)")
    model.add_argument(
        "--strength", metavar="A", type=float, help="strength (default: 5; 100 with --model dirichlet)"
    )
    model.add_argument("--mean-length", metavar="L", type=float, help="mean of the length prior (default: 2)")
    model.add_argument(
        "--source-vocabulary",
        metavar="N",
        type=int,
        default=0,
        help="size in the base of dirichlet; 0: counted",
    )
    model.add_argument(
        "--target-vocabulary",
        metavar="N",
        type=int,
        default=0,
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

    chain = parser.add_argument_group("chain")
    chain.add_argument("--iterations", metavar="N", type=int, default=100, help="sweeps over the corpus")
    chain.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    chain.add_argument(
        "--schedule", choices=("stratified", "full"), help="which nodes a sweep samples (default: full)"
    )
    chain.add_argument(
        "--sweeps-per-level", metavar="K", type=int, default=10, help="of the stratified schedule"
    )
    chain.add_argument(
        "--max-cut-span", metavar="W", type=int, default=7, help="nodes over more words are cut; 0: no limit"
    )
    chain.add_argument(
        "--unaligned",
        choices=("lowest", "free"),
        default="lowest",
        help="the rule of an unaligned word: that of the lowest node around it, or any that could hold it",
    )
    chain.add_argument(
        "--max-attached",
        metavar="K",
        type=int,
        default=3,
        help="most free words that a rule takes in at each end of either side (default: 3)",
    )
    chain.add_argument(
        "--order", choices=("depth-first", "breadth-first"), default="depth-first", help="order of the nodes"
    )
    chain.add_argument(
        "--no-density-factor", action="store_true", help="leave out the correction for bushy forests"
    )
    chain.add_argument(
        "--operator",
        choices=("top-down", "rejection"),
        default="top-down",
        help="node by node, or whole trees proposed and accepted or not",
    )
    chain.add_argument(
        "--type-moves",
        metavar="K",
        type=int,
        default=0,
        help="after every K sweeps, resample all cuts of a type together; 0: never",
    )
    chain.add_argument(
        "--anneal",
        metavar="START:END:SWEEPS",
        help="temperature, falling from START to END over so many sweeps",
    )
    chain.add_argument("--chains", metavar="N", type=int, default=1, help="independent chains")
    chain.add_argument(
        "--threads",
        metavar="N",
        type=int,
        default=1,
        help="shards of the corpus swept side by side against stale counts (approximate); with --chains, "
        "chains at a time (exact)",
    )
    chain.add_argument("--paper", action="store_true", help="all settings as in Chung et al. (2014)")

    kept = parser.add_argument_group("what is kept")
    kept.add_argument(
        "--burn-in", metavar="B", type=int, help="sweeps before counts are kept (default: a fifth)"
    )
    kept.add_argument("--average-every", metavar="N", type=int, default=10, help="of --from average")
    kept.add_argument("--average-until", metavar="N", type=int, default=70, help="of --from average")
    kept.add_argument("--marginals", action="store_true", help="also write marginals.json")
    kept.add_argument("--checkpoint-every", metavar="K", type=int, default=25, help="sweeps; 0: at the end")
    parser.add_argument("--check", action="store_true", help="recount everything after every sweep")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, and say what came of it."""
    from scfg_sampler.learner.chains import start_chains
    from scfg_sampler.learner.hyperparameters import LEARNABLE
    from scfg_sampler.learner.settings import LearnerSettings, RunSettings

    dirichlet = options.model == "dirichlet"
    defaults = {"discount": 0.5, "strength": 100.0 if dirichlet else 5.0, "mean_length": 2.0}
    learned: list[str] = []
    if options.learn_hyperparameters:
        learned = [name for name in LEARNABLE if getattr(options, name) is None]
        if dirichlet:
            learned = [name for name in learned if name == "strength"]
    anneal_start, anneal_end, anneal_sweeps = _temperatures(options.anneal)
    settings = LearnerSettings(
        model=options.model,
        base=options.base,
        tables=options.tables,
        **{
            name: default if (given := getattr(options, name)) is None else given
            for name, default in defaults.items()
        },
        learned=tuple(learned),
        source_vocabulary=options.source_vocabulary,
        target_vocabulary=options.target_vocabulary,
        operator=options.operator,
        schedule=options.schedule or ("stratified" if options.paper else "full"),
        sweeps_per_level=options.sweeps_per_level,
        max_cut_span=options.max_cut_span,
        unaligned=options.unaligned,
        max_attached=options.max_attached,
        max_length=options.max_length,
        order=options.order,
        density_factor=not options.no_density_factor,
        divide_by_trees=options.divide_by_trees,
        type_moves=options.type_moves,
        anneal_start=anneal_start,
        anneal_end=anneal_end,
        anneal_sweeps=anneal_sweeps,
        threads=options.threads,
    )
    burn_in = options.burn_in
    if burn_in is None:
        burn_in = max(options.iterations // 5, anneal_sweeps)
    kept = RunSettings(
        iterations=options.iterations,
        burn_in=burn_in,
        average_every=options.average_every,
        average_until=options.average_until,
        marginals=options.marginals,
        checkpoint_every=options.checkpoint_every,
        seed=options.seed,
    )
    with console.progress("sampling", options.iterations * max(1, options.chains)) as advance:
        record = start_chains(
            corpus_files(options),
            options.output,
            settings,
            kept,
            chains=options.chains,
            overwrite=options.overwrite,
            check=options.check,
            advance=advance,
        )
    report(record, options.output)


def _temperatures(text: str | None) -> tuple[float, float, int]:
    """The parts of START:END:SWEEPS."""
    if text is None:
        return 1.0, 1.0, 0
    try:
        start, end, sweeps = text.split(":")
        return real_number(start), real_number(end), whole_number(sweeps)
    except ValueError:
        raise SettingsError(f"--anneal is {text}; it must be START:END:SWEEPS, as in 3:1:50") from None


def report(record: dict, output: str) -> None:
    """Say what a run came to."""
    from scfg_sampler.corpus.parallel_text import CorpusFiles

    skipped = len(record["skipped"])
    alignments = len(CorpusFiles.from_names(record["corpus"]["files"]).alignments)
    console.say(
        (f"{record['chains']} chains of " if "chains" in record else "")
        + f"{record['sweeps']} sweeps over {record['corpus']['sentences'] - skipped} sentence pairs"
        + (f" ({alignments} alignments of each)" if alignments > 1 else "")
        + f" in {record['seconds']:.1f} s, {record['peak_memory_mb']:.0f} MB"
        + (f"; {skipped} skipped (see run.json)" if skipped else "")
    )
    console.say(f"run directory: {output}")
