"""`dmv train`: learn a dependency model from tagged sentences."""

from __future__ import annotations

import argparse

from monolingual.dmv.commands import add_treebank_options, read
from scfg_sampler.core import console
from scfg_sampler.core.numerals import real_number, whole_number

__all__ = ["add_parser", "run"]

METHODS = ("em", "em-map", "vb-dirichlet", "vb-em-dirichlet", "vb-em-logistic-normal", "gibbs")
PRIORS = {"em-map": "1.1", "vb-dirichlet": "0.25", "gibbs": "0.25"}


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "train",
        help="learn a model from tagged sentences",
        description="Learn a dependency model from sentences of at most --max-length words, of which only "
        "the "
        "tags are looked at. With --heldout, training stops when the likelihood of its sentences falls; "
        "without, "
        "when the objective stops rising.",
        epilog="examples:\n  scfg-monolingual dmv train train.conllu --heldout dev.conllu --output em.txt\n"
        "  scfg-monolingual dmv train train.conllu --method vb-em-logistic-normal --covariance families \\\n"
        "    --heldout dev.conllu --output model.txt --covariances model.npz",
    )
    parser.add_argument("data", metavar="TAGS", help="CoNLL-U, CoNLL-X, or three columns: tags, heads, words")
    add_treebank_options(parser)
    parser.add_argument("--output", metavar="MODEL", required=True, help="the model, as text")
    parser.add_argument("--method", choices=METHODS, default="em", help="how")
    parser.add_argument("--heldout", metavar="TAGS", help="sentences that say when to stop")
    parser.add_argument("--max-length", metavar="N", type=int, default=10, help="leave out longer sentences")
    parser.add_argument(
        "--prior",
        metavar="A[,A…]",
        help="Dirichlet concentration; of several, the one with the best held-out likelihood (default: 1.1 "
        "for em-map, 0.25 for vb-dirichlet and gibbs, 1 at the start of vb-em-dirichlet)",
    )
    parser.add_argument("--rounds", metavar="N", type=int, default=200, help="at the most; sweeps of gibbs")
    parser.add_argument("--tolerance", metavar="T", type=float, default=1e-5, help="smallest relative gain")
    parser.add_argument(
        "--init", metavar="HOW", default="harmonic", help="harmonic, uniform, random, or a model"
    )
    parser.add_argument(
        "--restarts",
        metavar="N",
        type=int,
        default=1,
        help="random starts; the one with the best likelihood is kept",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    parser.add_argument(
        "--valence", type=int, choices=(1, 2), default=1, help="2: children depend on adjacency (E-DMV)"
    )
    group = parser.add_argument_group("em and em-map")
    group.add_argument(
        "--e-step",
        choices=("soft", "viterbi", "lateen"),
        default="soft",
        help="the best tree alone, or in turn",
    )
    group.add_argument(
        "--unambiguity", metavar="S", type=float, default=0.0, help="sharpen a soft E-step, 0 ≤ S ≤ 0.95"
    )
    group.add_argument(
        "--anneal",
        metavar="S:N",
        help="begin with --unambiguity S, 1 being the best tree alone, and let it fall to what "
        "--unambiguity says over N rounds",
    )
    parser.add_argument(
        "--smooth",
        metavar="N",
        type=float,
        help="smooth children by those of all heads, with N pseudo-counts for doing so (not with gibbs)",
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
        choices=("sentence", "corpus"),
        default="sentence",
        help="who draws parameters: each sentence, or the corpus, faster, with the prior as it is",
    )
    group.add_argument(
        "--unused",
        choices=("averaged", "integrated"),
        default="averaged",
        help="parameters that a sentence cannot use: averaged in the M-step as published, or integrated out",
    )
    group.add_argument(
        "--covariances", metavar="FILE", help="write what was learnt, for dmv covariances (.npz)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Learn and write."""
    import numpy as np

    from monolingual.dmv.layout import Layout, build_corpus
    from monolingual.dmv.model import DmvModel, smoothed, write_model
    from monolingual.dmv.parsing import heldout_of, number_tags
    from monolingual.dmv.training import heldout_likelihood, train
    from scfg_sampler.errors import InputError

    priors = check(options)
    sentences = [s for s in read(options, options.data) if 0 < len(s.tags) <= options.max_length]
    if not sentences:
        raise InputError(options.data, None, "holds no sentence that is short enough", "Raise --max-length")
    tags = sorted({tag for sentence in sentences for tag in sentence.tags})
    layout = Layout(len(tags), options.valence)
    corpus = build_corpus(layout, number_tags(tags, sentences))
    heldout = None
    if options.heldout:
        unseen = [s for s in read(options, options.heldout) if 0 < len(s.tags) <= options.max_length]
        if not unseen:
            raise InputError(options.heldout, None, "holds no sentence that is short enough", "")
        heldout = heldout_of(tags, layout, unseen)
    rng = np.random.default_rng(options.seed)
    best = None
    with console.progress(options.method, options.rounds * options.restarts * len(priors)) as advance:
        for restart in range(options.restarts):
            probs = start(options, rng, tags, layout, corpus)
            for prior in priors:
                settings = settings_of(options, tags, layout, prior)
                outcome = train(
                    rng,
                    layout,
                    corpus,
                    smoothed(DmvModel(tuple(tags), layout, probs)).probs,
                    settings,
                    heldout=heldout,
                    watch=lambda done, progress, score: advance(1, f"{progress.log_joint:.1f}"),
                )
                advance(options.rounds - len(outcome.trace), "")
                score = (
                    outcome.heldout[outcome.best]
                    if heldout
                    else heldout_likelihood(layout, corpus, outcome.probs)
                )
                if options.restarts * len(priors) > 1:
                    which = f"start {restart + 1}, " if options.restarts > 1 else ""
                    which += f"prior {prior:g}, " if len(priors) > 1 else ""
                    console.say(f"{which}{'held-out ' if heldout else ''}log likelihood {score:.3f}")
                if best is None or score > best[0]:
                    best = score, outcome, prior
    assert best is not None
    score, outcome, prior = best
    model = DmvModel(tuple(tags), layout, outcome.probs)
    comment = f"method {options.method}, seed {options.seed}, {outcome.best} rounds"
    write_model(options.output, model, comment=comment)
    if options.covariances:
        write_covariances(options.covariances, model, outcome.state)
    console.say(f"{len(sentences)} sentences, {len(tags)} tags, {outcome.best} rounds")
    of_whom = "held out" if heldout else "log likelihood"
    console.say(f"objective {outcome.trace[-1]:.3f}, {of_whom} {score:.3f}")


def check(options: argparse.Namespace) -> list[float]:
    """The priors to try; raises if options contradict each other."""
    from scfg_sampler.errors import SettingsError

    for name in ("rounds", "restarts", "max_length"):
        if getattr(options, name) < 1:
            raise SettingsError(
                f"--{name.replace('_', '-')} is {getattr(options, name)}; it must be at least 1"
            )
    if options.restarts > 1 and options.init != "random":
        raise SettingsError("--restarts needs --init random")
    is_normal = options.method == "vb-em-logistic-normal"
    chosen = options.covariance, options.level, options.unused
    if chosen != ("identity", "sentence", "averaged") and not is_normal:
        raise SettingsError("--covariance, --level and --unused are for --method vb-em-logistic-normal")
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
    if options.e_step != "soft" and (options.unambiguity or options.anneal):
        raise SettingsError("--unambiguity and --anneal are for --e-step soft")
    text = options.prior or PRIORS.get(options.method, "1")
    try:
        priors = [real_number(value) for value in text.split(",")]
    except ValueError:
        raise SettingsError(f"--prior is {text!r}; give numbers, separated by commas") from None
    if options.prior and options.method in ("em", "vb-em-logistic-normal"):
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
    from monolingual.dmv.training import Settings

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
        options.method,
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
    model = read_model(options.init)
    if model.layout.child_valences != layout.child_valences:
        found = f"--init {options.init} has valence {model.layout.child_valences}"
        raise SettingsError(f"{found}; give --valence {model.layout.child_valences}")
    wide = weights_for(model, tags)
    return normalise(initial.parameter_families(layout), chosen_tags(wide, tags, layout))


def chosen_tags(model, tags, layout):
    """The parameters of a model for some of its tags, in their order."""
    import numpy as np

    from monolingual.dmv.model import parts

    places = [model.tags.index(tag) for tag in tags]
    root, stop, child = parts(model.layout, model.probs)
    return np.concatenate([root[places], stop[places].ravel(), child[places][..., places].ravel()])


def write_covariances(path: str, model, state) -> None:
    """Write the means and covariances of a logistic normal, with the names that go with them."""
    import numpy as np

    from scfg_sampler.core.files import atomic_path

    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(
            stream,
            tags=np.array(model.tags),
            child_valences=model.layout.child_valences,
            mean=state.mean,
            covariance=state.covariance,
        )
