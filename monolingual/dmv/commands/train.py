"""`dmv train`: learn a dependency model from tagged sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from monolingual.dmv.commands import add_checkpoint_option, add_treebank_options, read
from monolingual.dmv.settings import DEFAULT_PRIORS, E_STEPS, LEVELS, METHODS, SHARPEST, UNUSED, Settings
from scfg_sampler.core import console
from scfg_sampler.core.interruption import resumable
from scfg_sampler.core.numerals import real_number, whole_number
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from monolingual.dmv.treebank import Sentence, StoredSentences

__all__ = ["add_parser", "execute", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "train",
        help="learn a model from tagged sentences",
        description="Learn a dependency model from sentences of at most --max-length words, of which only "
        "the tags are looked at. With --heldout, training stops when the likelihood of its sentences falls; "
        "without, when the objective stops rising. Until it is done, MODEL.checkpoint.npz lies beside the "
        "model: training that was stopped goes on with 'dmv resume MODEL'.",
        epilog="examples:\n  scfg-monolingual dmv train train.conllu --heldout dev.conllu --output em.txt\n"
        "  scfg-monolingual dmv train train.conllu --method vb-em-logistic-normal --covariance families \\\n"
        "    --heldout dev.conllu --output model.txt --covariances model.npz",
    )
    settings = Settings()
    parser.add_argument("data", metavar="TAGS", help="CoNLL-U, CoNLL-X, or three columns: tags, heads, words")
    add_treebank_options(parser)
    parser.add_argument("--output", metavar="MODEL", required=True, help="the model, as text")
    parser.add_argument(
        "--overwrite", action="store_true", help="begin anew where training to that MODEL was stopped"
    )
    parser.add_argument("--method", choices=METHODS, default=settings.method, help="how")
    parser.add_argument("--heldout", metavar="TAGS", help="sentences that say when to stop")
    parser.add_argument("--max-length", metavar="N", type=int, default=10, help="leave out longer sentences")
    several = ", ".join(f"{prior:g} for {method}" for method, prior in DEFAULT_PRIORS.items())
    parser.add_argument(
        "--prior",
        metavar="A[,A…]",
        help="Dirichlet concentration; of several, the one with the best held-out likelihood (default: "
        f"{several}, {settings.prior:g} at the start of vb-em-dirichlet)",
    )
    parser.add_argument(
        "--rounds", metavar="N", type=int, help=f"at the most; not of gibbs (default: {settings.rounds})"
    )
    parser.add_argument(
        "--iterations", metavar="N", type=int, help=f"sweeps of gibbs (default: {settings.rounds})"
    )
    parser.add_argument(
        "--tolerance",
        metavar="T",
        type=float,
        default=settings.tolerance,
        help="smallest relative gain; not of gibbs",
    )
    _add_start(parser)
    parser.add_argument(
        "--valence", type=int, choices=(1, 2), default=1, help="2: children depend on adjacency (E-DMV)"
    )
    parser.add_argument(
        "--smooth",
        metavar="N",
        type=float,
        help="smooth children by those of all heads, with N pseudo-counts for doing so (not with gibbs, "
        "--anneal and --e-step lateen)",
    )
    text = "write a table: objective before every round, of gibbs after it, and held-out likelihood after it"
    parser.add_argument("--trace", metavar="FILE", help=text)
    add_checkpoint_option(parser)
    _add_options_of_methods(parser, settings)
    parser.writes("--trace", "--covariances")
    parser.set_defaults(run=run)


def _add_start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--start",
        dest="init",
        metavar="HOW",
        default="harmonic",
        help="harmonic, uniform, random, dirichlet:A (random, of concentration A), or a model",
    )
    parser.add_argument(
        "--restarts",
        metavar="N",
        type=int,
        default=1,
        help="random starts; the one with the best likelihood is kept",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")


def _add_options_of_methods(parser: argparse.ArgumentParser, settings: Settings) -> None:
    group = parser.add_argument_group("em and em-map")
    group.add_argument(
        "--e-step", choices=E_STEPS, default=settings.e_step, help="the best tree alone, or in turn"
    )
    group.add_argument(
        "--unambiguity",
        metavar="S",
        type=float,
        default=settings.unambiguity,
        help=f"sharpen a soft E-step, 0 ≤ S ≤ {SHARPEST}",
    )
    group.add_argument(
        "--anneal",
        metavar="S:N",
        help="begin with --unambiguity S, 1 being the best tree alone, and let it fall to what "
        "--unambiguity says over N rounds",
    )
    group = parser.add_argument_group("vb-em-logistic-normal")
    group.add_argument(
        "--covariance",
        metavar="HOW",
        default="identity",
        help="at the start: identity, families (shipped for Penn and universal tags), or a file of families, "
        "a tag and its family on each line",
    )
    group.add_argument(
        "--share",
        metavar="FAMILY[,FAMILY…]",
        help="heads of these families share a normal expert for each of their stops and children, beside "
        "one of their own: noun, verb …, all for every family, or one for a single expert of all tags",
    )
    group.add_argument(
        "--level",
        choices=LEVELS,
        default=settings.level,
        help="who draws parameters: each sentence, or the corpus, faster, with the prior as it is",
    )
    group.add_argument(
        "--unused",
        choices=UNUSED,
        default=settings.unused,
        help="parameters that a sentence cannot use: averaged in the M-step as published, or integrated out",
    )
    group.add_argument(
        "--covariances", metavar="FILE", help="write what was learnt, for dmv covariances (.npz)"
    )


def run(options: argparse.Namespace) -> None:
    """Learn and write."""
    from monolingual.dmv.run import checkpoint_of
    from scfg_sampler.errors import InputError

    options.rounds = _rounds(options)
    checkpoint = checkpoint_of(options.output)
    if checkpoint is not None and checkpoint.exists() and not options.overwrite:
        hint = f"Continue it with 'dmv resume {options.output}', or give --overwrite"
        raise InputError(checkpoint, None, "holds training that was stopped", hint)
    execute(options)


def _rounds(options: argparse.Namespace) -> int:
    """How many rounds, or sweeps of gibbs, at the most."""
    from scfg_sampler.errors import SettingsError

    if options.method != "gibbs" and options.iterations is not None:
        raise SettingsError("--iterations is of --method gibbs; others take --rounds")
    if options.method == "gibbs" and options.rounds is not None:
        raise SettingsError("--rounds is not of --method gibbs, which takes --iterations")
    given = options.rounds if options.iterations is None else options.iterations
    return Settings().rounds if given is None else int(given)


def execute(options: argparse.Namespace) -> None:
    """Train from the beginning, or from the checkpoint if there is one, and write the model."""
    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.model import DmvModel, smoothed, write_model
    from monolingual.dmv.parsing import heldout_of, number_tags
    from monolingual.dmv.run import drive_training, forget, rounds_done
    from monolingual.dmv.training import Task, is_cut_short

    priors = check(options)
    sentences = read_short(options, options.data)
    tags = sorted({tag for sentence in sentences for tag in sentence.tags})
    layout = Layout(len(tags), options.valence)
    corpus = build_corpus(layout, number_tags(tags, sentences))
    unseen = read_short(options, options.heldout) if options.heldout else []
    _warn_of_idle(options)
    _warn_of_new(options, tags, unseen)

    def begin(rng: np.random.Generator) -> np.ndarray:
        probs = start(options, rng, tags, layout, corpus)
        return smoothed(DmvModel(tuple(tags), layout, probs)).probs

    task = Task(
        layout,
        corpus,
        (begin,) * options.restarts,
        tuple(settings_of(options, tags, layout, prior) for prior in priors),
        heldout_of(tags, layout, unseen) if unseen else None,
    )
    rounds = options.rounds * options.restarts * len(priors) - rounds_done(options)
    with (
        resumable("scfg-monolingual dmv resume", options.output, ".checkpoint.npz"),
        console.progress(options.method, rounds) as advance,
    ):
        best = drive_training(task, options, (sentences, unseen), advance)
    model = DmvModel(tuple(tags), layout, best.outcome.probs)
    comment = f"method {options.method}, seed {options.seed}, {counted(best.outcome.best, 'round')}"
    write_model(options.output, model, comment=comment)
    if options.covariances:
        write_covariances(options.covariances, model, *best.outcome.prior)
    forget(options.output)
    is_short = is_cut_short(best.outcome, task.settings[0])
    console.say(
        f"{counted(len(sentences), 'sentence')}, {counted(len(tags), 'tag')}, "
        f"{counted(best.outcome.best, 'round')}{', not converged: raise --rounds' if is_short else ''}"
    )
    of_whom = "held out" if unseen else "log likelihood"
    # Legs of lateen EM that gained nothing come last, and are not what the model is of.
    last = max(best.outcome.best, 1) - 1 if options.e_step == "lateen" else -1
    when = "" if options.method == "gibbs" or options.e_step == "lateen" else " before the last round"
    console.say(f"objective {best.outcome.trace[last]:.3f}{when}, {of_whom} {best.score:.3f}")


def _warn_of_idle(options: argparse.Namespace) -> None:
    """Warn if --tolerance was given, but the held-out sentences say when training ends."""
    is_asked = options.e_step == "lateen"  # What a pair of legs gains.
    if options.heldout and not is_asked and options.tolerance != Settings().tolerance:
        console.warn("--tolerance does nothing with --heldout")


def _warn_of_new(options: argparse.Namespace, tags: list[str], unseen: Sequence[Sentence]) -> None:
    """Warn if held-out sentences have tags of which nothing is learnt."""
    from monolingual.dmv.commands.parse import some_of
    from monolingual.dmv.parsing import unknown_tags

    if new := unknown_tags(tags, unseen):
        why = "of which nothing is learnt: they count as average ones in its likelihood"
        console.warn(f"--heldout {options.heldout} has the tags {some_of(new)}, {why}")


def read_short(options: argparse.Namespace, path: str) -> StoredSentences:
    """The sentences of a treebank that have words, but not more than --max-length."""
    from scfg_sampler.errors import InputError

    sentences = read(options, path)
    short = sentences.where(lambda s: 0 < len(s.tags) <= options.max_length)
    if not short:
        if any(sentence.tags for sentence in sentences):
            raise InputError(path, None, "holds no sentence that is short enough", "Raise --max-length")
        raise InputError(path, None, "holds no word", "Give sentences in columns, or in CoNLL-U")
    return short


def check(options: argparse.Namespace) -> list[float]:
    """The priors to try; raises if options contradict each other."""
    from monolingual.dmv import initial
    from scfg_sampler.core.limits import require_number, require_seed
    from scfg_sampler.errors import SettingsError

    counted_by = "iterations" if options.method == "gibbs" else "rounds"
    for name, number in {counted_by: options.rounds, "max-length": options.max_length}.items():
        if number < 1:
            raise SettingsError(f"--{name} is {number}; it must be at least 1")
    require_seed(options.seed)
    if options.tolerance < 0:
        raise SettingsError(f"--tolerance is {options.tolerance:g}; it must be at least 0")
    if options.method == "gibbs" and options.tolerance != Settings().tolerance:
        raise SettingsError("--tolerance is not for --method gibbs")
    require_number("restarts", options.restarts)
    if options.restarts > 1 and options.init != "random" and initial.concentration_of(options.init) is None:
        raise SettingsError("--restarts needs --start random or dirichlet:A")
    is_normal = options.method == "vb-em-logistic-normal"
    chosen = options.covariance, options.level, options.unused
    if chosen != ("identity", "sentence", "averaged") and not is_normal:
        raise SettingsError("--covariance, --level and --unused are for --method vb-em-logistic-normal")
    if options.level == "corpus" and options.unused != "averaged":
        raise SettingsError(
            "--unused is for --level sentence; with --level corpus no parameters are left out"
        )
    if options.covariances and (not is_normal or options.level == "corpus"):
        raise SettingsError("--covariances needs --method vb-em-logistic-normal and --level sentence")
    if options.share and (not is_normal or options.level == "corpus" or options.covariances):
        raise SettingsError(
            "--share needs --method vb-em-logistic-normal and --level sentence, without --covariances"
        )
    is_sharp = options.e_step != "soft" or options.unambiguity or options.anneal
    if is_sharp and options.method not in ("em", "em-map"):
        raise SettingsError("--e-step, --unambiguity and --anneal are for --method em and em-map")
    if options.smooth is not None and options.method == "gibbs":
        raise SettingsError("--smooth is not for --method gibbs")
    if options.smooth is not None and (options.share or options.covariances or options.level == "corpus"):
        raise SettingsError("--smooth goes without --share, --covariances and --level corpus")
    if options.smooth is not None and (options.anneal or options.e_step == "lateen"):
        # Legs hand on a model, in which it is lost how much of it is smoothed.
        raise SettingsError("--smooth goes without --anneal and --e-step lateen")
    if options.e_step != "soft" and (options.unambiguity or options.anneal):
        raise SettingsError("--unambiguity and --anneal are for --e-step soft")
    if options.prior is None:
        return [DEFAULT_PRIORS.get(options.method, Settings().prior)]
    try:
        priors = [real_number(value) for value in options.prior.split(",")]
    except ValueError:
        raise SettingsError(f"--prior is {options.prior!r}; give numbers, separated by commas") from None
    if options.method in ("em", "vb-em-logistic-normal"):
        raise SettingsError(f"--prior is not for --method {options.method}")
    if options.method == "em-map" and min(priors) < 1.0:
        raise SettingsError(f"--prior is {min(priors):g}; em-map needs at least 1, vb-dirichlet does not")
    if len(priors) > 1 and not options.heldout:
        raise SettingsError("--prior with several values needs --heldout to choose by")
    return priors


def annealing(text: str | None) -> tuple[float, int] | None:
    """The first σ and the number of rounds from what --anneal says."""
    from scfg_sampler.errors import SettingsError

    if text is None:
        return None
    first, _, duration = text.partition(":")
    try:
        return real_number(first), whole_number(duration)
    except ValueError:
        raise SettingsError(f"--anneal is {text!r}; give a number and how many rounds, as in 1:50") from None


def settings_of(options: argparse.Namespace, tags, layout, prior: float):
    """The settings of one learner."""
    from monolingual.dmv.tag_families import (
        expert_covariances,
        family_covariances,
        family_experts,
        read_families,
        shipped_families,
    )

    covariance = experts = None
    if options.method == "vb-em-logistic-normal":
        mapping: dict[str, str] = {}
        if options.covariance == "families":
            mapping = shipped_families(tags)
        elif options.covariance != "identity":
            mapping = read_families(options.covariance)
        lacking = [tag for tag in tags if tag not in mapping]
        if mapping and lacking:
            console.say(f"no family for {', '.join(lacking)}: each is one of its own")
        covariance = family_covariances(layout, tags, mapping)
        if options.share:
            experts = family_experts(
                layout, tags, mapping or shipped_families(tags), options.share.split(",")
            )
            covariance = expert_covariances(layout, experts, covariance)
    return Settings(
        method=options.method,
        prior=prior,
        covariance=covariance,
        experts=experts,
        level=options.level,
        unused=options.unused,
        e_step=options.e_step,
        unambiguity=options.unambiguity,
        anneal=annealing(options.anneal),
        rounds=options.rounds,
        tolerance=options.tolerance,
        smooth=options.smooth,
    )


def start(options: argparse.Namespace, rng, tags, layout, corpus):
    """The probabilities to start with."""
    from monolingual.dmv import initial
    from monolingual.dmv.model import read_model, weights_for
    from monolingual.priors.multinomials import normalise
    from scfg_sampler.errors import SettingsError

    if options.init == "harmonic":
        return initial.harmonic(layout, corpus)
    if options.init == "uniform":
        return initial.uniform(layout)
    if options.init == "random":
        return initial.random(rng, layout)
    concentration = initial.concentration_of(options.init)
    if concentration is not None:
        return initial.random(rng, layout, concentration)
    model = read_model(options.init)
    if model.layout.child_valences != layout.child_valences:
        found = f"--start {options.init} has valence {model.layout.child_valences}"
        raise SettingsError(f"{found}; give --valence {model.layout.child_valences}")
    wide = weights_for(model, tags)
    return normalise(initial.parameter_families(layout), chosen_tags(wide, tags))


def chosen_tags(model, tags):
    """The parameters of a model for some of its tags, in their order."""
    import numpy as np

    from monolingual.dmv.model import parts

    places = [model.tags.index(tag) for tag in tags]
    root, stop, child = parts(model.layout, model.probs)
    return np.concatenate([root[places], stop[places].ravel(), child[places][..., places].ravel()])


def write_covariances(path: str, model, mean, covariance) -> None:
    """Write the means and covariances of a logistic normal, with the names that go with them."""
    import numpy as np

    from scfg_sampler.core.files import atomic_path

    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(
            stream,
            tags=np.array(model.tags),
            child_valences=model.layout.child_valences,
            mean=mean,
            covariance=covariance,
        )
