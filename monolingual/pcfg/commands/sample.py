"""`pcfg sample`: rule probabilities and trees from their posterior, into a run directory."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from monolingual.pcfg.approaches import APPROACHES, PROPOSALS
from monolingual.pcfg.commands import add_grammar_options, add_handling, encoding_of, read_model_grammar
from monolingual.pcfg.settings import SAMPLERS, STARTS, SampleSettings
from scfg_sampler.core import console
from scfg_sampler.core.interruption import resumable
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted

__all__ = [
    "NOT_DECISIVE",
    "add_data_options",
    "add_parser",
    "read_data",
    "report",
    "run",
    "warn_of_idle_data",
]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sample",
        help="rule probabilities (and trees) from their posterior",
        description="Sample rule probabilities from their posterior given trees, sentences or both, under "
        "one of three readings of grammars that are not tight: only tight grammars are allowed; the "
        "probabilities of trees are divided by what they sum to; or what is missing goes to a sink.",
        epilog="examples:\n  scfg-monolingual pcfg sample grammar.txt --trees trees.txt \\\n"
        "    --approach only-tight --output run\n"
        "  scfg-monolingual pcfg sample grammar.txt --sentences text.txt --prior 0.1 \\\n"
        "    --iterations 1000 --burn-in 900 --gold trees.txt --output run",
    )
    add_grammar_options(parser)
    add_data_options(parser)
    parser.add_argument("--output", metavar="RUN", required=True, help="run directory")
    parser.add_argument("--overwrite", action="store_true", help="replace an older run in that directory")
    chain = parser.add_argument_group("chain")
    settings = SampleSettings()
    chain.add_argument(
        "--approach", choices=APPROACHES, default=settings.approach, help="to non-tight grammars"
    )
    chain.add_argument(
        "--sampler", choices=SAMPLERS, default=settings.sampler, help="collapsed: of sentences, for sink"
    )
    for name, metavar, text in (
        ("iterations", "N", "sweeps of each chain"),
        ("burn-in", "B", "sweeps of these not kept"),
        ("thin", "K", "keep the last of every K sweeps"),
        ("chains", "N", "independent chains"),
        ("seed", "N", "seed of all randomness"),
    ):
        default = getattr(settings, name.replace("-", "_"))
        chain.add_argument(f"--{name}", metavar=metavar, type=int, default=default, help=text)
    chain.add_argument(
        "--start",
        choices=STARTS,
        help="of chains: the grammar's weights, or drawn from the prior (default: weights if there are any)",
    )
    chain.add_argument(
        "--proposal",
        choices=PROPOSALS,
        help="of renormalise: by way of the tight grammar with the same trees, by tilted draws alone, or by "
        f"algorithm 2 of Cohen and Johnson (2013) (default: {settings.proposal})",
    )
    chain.add_argument("--reweight", action="store_true", help="let draws of sink answer for all approaches")
    _add_scoring(parser, settings)
    add_handling(parser)
    parser.writes_within(
        "--output",
        r"(?:run|summary)\.json|(?:checkpoint\.[0-9]+|samples)\.npz|trace\.[0-9]+\.tsv|trees\.txt\.gz",
    )
    parser.set_defaults(run=run)


def _add_scoring(parser: argparse.ArgumentParser, settings: SampleSettings) -> None:
    scoring = parser.add_argument_group("scoring")
    scoring.add_argument("--gold", metavar="TREES", help="gold trees of the sentences, for bracket F1")
    scoring.add_argument(
        "--bracket-labels",
        dest="brackets",
        metavar="REGEX",
        default=settings.brackets,
        help="labels of sampled trees that count",
    )
    scoring.add_argument(
        "--score-every", metavar="K", type=int, default=settings.score_every, help="every K-th kept sweep"
    )


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add --trees, --sentences and --prior."""
    data = parser.add_argument_group("data (one a line; .gz is read too)")
    data.add_argument("--trees", metavar="FILE", help="bracketed trees of the grammar")
    data.add_argument("--sentences", metavar="FILE", help="sentences, tokens separated by spaces")
    data.add_argument(
        "--skip-unparsable",
        action="store_true",
        help="leave out sentences the grammar cannot derive, and their gold trees",
    )
    data.add_argument(
        "--prior",
        metavar="A",
        help="Dirichlet concentrations: one number for all rules, numbers for nonterminals (0.1,S=1,NP=0.5), "
        "or 'pseudo-counts' for those of Johnson's format (default: these if there are any, else 1)",
    )


def run(options: argparse.Namespace) -> None:
    """Sample, and say what came of it."""
    execute(vars(options))


def execute(given: dict, begun_with: Mapping[str, str] | None = None, done: int = 0) -> None:
    """Run a chain.

    Parameters
    ----------
    given : dict
        The options, which `resume` reads from the run directory.
    begun_with : mapping, optional
        On resuming, the digests of what the run was begun with, by option. Of standard input, versions
        before there were any have none, and nothing is compared.
    done : int
        Sweeps of all chains that are not to be made again.

    Raises
    ------
    CheckpointMismatch
        Something that was read has another digest; the run is not touched.
    """
    from monolingual.pcfg.model import build_model
    from monolingual.pcfg.run import RESULTS, Task, sample
    from monolingual.pcfg.scores import brackets_among, read_brackets
    from monolingual.pcfg.settings import Handling
    from scfg_sampler.core.chains.occupied import refuse_occupied
    from scfg_sampler.errors import SettingsError

    options, resume = argparse.Namespace(**given), begun_with is not None
    if not resume:
        refuse_occupied(options.output, options.overwrite, "pcfg resume", *RESULTS)
    if options.gold and not options.sentences:
        raise SettingsError("--gold scores trees of --sentences; give them")
    if not resume:
        _tell_of_idle(options)
    names = ("grammar", "trees", "sentences", "gold")
    files = {name: getattr(options, name) for name in names if getattr(options, name)}
    if list(files.values()).count("-") > 1:
        raise SettingsError("only one file can be standard input (-)")
    grammar, probs, pseudo_counts, has_weights = read_model_grammar(options)
    model = build_model(grammar, read_prior(options.prior, grammar, pseudo_counts))
    data = read_data(options, model)
    fields = {name: getattr(options, name, 0) for name in SampleSettings._fields}
    # Runs of before there was a choice go on as they began.
    fields["proposal"] = getattr(options, "proposal", "dirichlet") or PROPOSALS[0]
    fields["start"] = options.start or ("weights" if has_weights else "prior")
    settings = SampleSettings(**fields)  # type: ignore[arg-type]
    gold = read_brackets(options.gold, encoding=encoding_of(options)) if options.gold else None
    kept = {name: given[name] for name in sorted(given.keys() - NOT_DECISIVE)}
    if not resume:  # From anywhere, then.
        kept |= {name: str(Path(path).resolve()) for name, path in files.items() if path != "-"}
    digests = _digests(files, (*grammar, probs, pseudo_counts), data, gold)
    if gold is not None and data.kept is not None and len(gold.lengths) == len(data.kept):
        gold = brackets_among(gold, data.kept)
    if begun_with is not None:
        digests = {name: found for name, found in digests.items() if files[name] != "-" or name in begun_with}
        _refuse_other_data(options.output, files, digests, begun_with)
    handling = Handling(options.threads, options.check, options.checkpoint_every)
    left = settings.iterations * settings.chains - done
    with (
        resumable("scfg-monolingual pcfg resume", options.output),
        console.progress("sampling", left) as advance,
    ):
        task = Task(model, data, probs, gold, {"options": kept, "digests": digests})
        summary = sample(task, options.output, settings, handling, resume=resume, advance=advance)
    report(summary, options.output)


def _digests(files: Mapping[str, str], grammar: tuple, data, gold) -> dict[str, str]:
    """Digests of files by option; of standard input, which is read once, of what was found in it.

    Of trees that is how often they use each rule, which is all that is learnt from.
    """
    from scfg_sampler.core.files import file_digest

    found = {
        "grammar": grammar,
        "trees": (data.tree_counts,),
        "sentences": (data.words, data.start),
        "gold": gold,
    }
    return {name: file_digest(path) if path != "-" else _digest(found[name]) for name, path in files.items()}


def _digest(parts: tuple) -> str:
    """SHA-256 of arrays and names; None is a part, too."""
    import hashlib
    import json

    import numpy as np

    digest = hashlib.sha256()
    for part in parts:
        text = part.tobytes() if isinstance(part, np.ndarray) else json.dumps(part).encode()
        digest.update(b"%d " % len(text) + text)
    return digest.hexdigest()


def _refuse_other_data(
    output: str, files: Mapping[str, str], found: Mapping[str, str], begun_with: Mapping[str, str]
) -> None:
    """Raise a CheckpointMismatch that says what is not what a run was begun with."""
    from scfg_sampler.errors import CheckpointMismatch

    names = [name for name in sorted({*found, *begun_with}) if found.get(name) != begun_with.get(name)]
    if names:
        places = ["standard input" if files.get(name) == "-" else files.get(name) for name in names]
        told = ", ".join(f"{name} ({place})" for name, place in zip(names, places, strict=True))
        hint = "Go on with what it was begun with, or begin another run"
        raise CheckpointMismatch(f"{output} belongs to another run, which differs in {told}. {hint}")


def _tell_of_idle(options: argparse.Namespace) -> None:
    """Warn of, or refuse, options that do nothing beside the others."""
    from scfg_sampler.errors import SettingsError

    if options.proposal is not None and options.approach != "renormalise":
        console.warn(f"--proposal is for renormalise; with --approach {options.approach} it does nothing")
    if options.brackets and not options.gold:
        raise SettingsError("--bracket-labels chooses what is scored by --gold; give that")
    if options.score_every != SampleSettings().score_every and not options.gold:
        console.warn("--score-every does nothing without --gold")
    warn_of_idle_data(options)


def warn_of_idle_data(options: argparse.Namespace) -> None:
    """Warn of an option of data that are not there."""
    if options.skip_unparsable and not options.sentences:
        console.warn("--skip-unparsable does nothing without --sentences")


NOT_DECISIVE = frozenset(
    {"run", "output", "overwrite", "quiet"}
    | {"iterations", "chains", "block", "threads", "checkpoint_every", "check", "command", "model"}
)
"""Options that a run need not keep: they may change on resuming."""


def read_prior(text: str | None, grammar, pseudo_counts):
    """The concentrations that --prior asks for: float64, shape (R,)."""
    from monolingual.pcfg.model import nonterminal_prior
    from scfg_sampler.errors import SettingsError

    if text == "pseudo-counts" or (text is None and pseudo_counts is not None):
        if pseudo_counts is None:
            raise SettingsError("--prior pseudo-counts: the grammar has none")
        return pseudo_counts
    default, by_name = 1.0, {}
    parts = ("1" if text is None else text).split(",")
    names = [part.rpartition("=")[0] for part in parts]
    if again := [name for name in names if names.count(name) > 1]:
        whose = f"for {again[0]}" if again[0] else "for all rules"
        raise SettingsError(f"--prior {text}: two numbers {whose}; give one")
    for name, part in zip(names, parts, strict=True):
        number = part.rpartition("=")[2]
        try:
            value = real_number(number)
        except ValueError:
            value = -1.0
        if not 0.0 < value < float("inf"):
            raise SettingsError(f"--prior {text}: {part!r} is no positive number; write 0.1 or 0.1,S=1")
        if name:
            by_name[name] = value
        else:
            default = value
    return nonterminal_prior(grammar, by_name, default)


def read_data(options: argparse.Namespace, model):
    """The trees and sentences of a command line, as `model.Data`."""
    import numpy as np

    from monolingual.pcfg.chart import inside_probabilities
    from monolingual.pcfg.chart_grammar import chart_weights
    from monolingual.pcfg.model import Data
    from monolingual.pcfg.trees import read_sentences, read_trees
    from scfg_sampler.errors import InputError, SettingsError

    if not options.trees and not options.sentences:
        raise SettingsError("give --trees, --sentences or both")
    size = len(model.prior)
    counts, num_trees = np.zeros(size, np.int64), 0
    words, start, kept = np.zeros(0, np.int32), np.zeros(1, np.int64), None
    if options.trees:
        trees = read_trees(options.trees, model.grammar, encoding=encoding_of(options))
        counts, num_trees = np.bincount(trees.rules, minlength=size), len(trees.start) - 1
    if options.sentences:
        found = read_sentences(
            options.sentences,
            model.grammar,
            skip_unknown=options.skip_unparsable,
            encoding=encoding_of(options),
        )
        words, start = found.words, found.start
        even = np.full(size, 1.0 / (1 + np.diff(model.families.start).max()))
        parsed = inside_probabilities(model.chart, chart_weights(model.chart, even), words, start) > -np.inf
        if not parsed.all():
            bad = np.flatnonzero(~parsed)
            if not options.skip_unparsable:
                message = "the grammar does not derive this sentence"
                hint = "Add rules, or leave such sentences out with --skip-unparsable"
                raise InputError(options.sentences, int(found.lines[bad[0]]), message, hint)
            console.warn(
                f"{counted(len(bad), 'sentence is', 'sentences are')} left out: no derivation in the grammar"
            )
            keep, kept = np.flatnonzero(parsed), parsed
            words = np.concatenate([words[:0], *(words[start[i] : start[i + 1]] for i in keep)])
            start = np.concatenate([[0], np.cumsum(np.diff(start)[keep])]).astype(np.int64)
            if not len(keep):
                raise InputError(
                    options.sentences, None, "has no sentence that the grammar derives", "Add rules"
                )
    return Data(words, start, counts.astype(np.int64), num_trees, kept)


def report(summary: dict, output: str) -> None:
    """Say what a run came to."""
    from monolingual.pcfg.summary import rejections_counted_by

    console.say(
        f"{counted(summary['draws'], 'draw')} in {summary['cpu_seconds']:.2f} s of processor time; "
        f"{summary['rejections_per_thousand']:.1f} rejections in a thousand "
        f"{rejections_counted_by(summary['approach'], summary['sampler'])}"
    )
    worst = max((d["rhat"] for d in summary["convergence"].values() if d["rhat"]), default=None)
    if worst is not None:
        console.say(f"largest split R-hat {worst:.4f}")
        if worst > 1.05:
            console.warn(f"split R-hat is {worst:.2f}: the chain has not mixed; take more sweeps")
    if "f1" in summary:
        console.say(f"F1 {summary['f1']:.4f} over {counted(summary['scored_sweeps'], 'sweep')}")
    console.say(f"run directory: {output}")
