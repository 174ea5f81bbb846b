"""`pcfg train`: EM, MAP or variational Bayes."""

from __future__ import annotations

import argparse

from monolingual.pcfg.commands import add_grammar_options, read_model_grammar
from monolingual.pcfg.commands.sample import add_data_options
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "train",
        help="rule probabilities by EM or variational Bayes",
        description="Estimate rule probabilities from trees, sentences or both: by EM, which maximises the "
        "likelihood, or the posterior density with a --prior above 1; or by variational Bayes, of whose "
        "posterior the mean is written.",
        epilog="examples:\n  scfg-monolingual pcfg train grammar.txt --sentences text.txt --output em.txt\n"
        "  scfg-monolingual pcfg train grammar.txt --sentences text.txt --method vb --prior 0.1 \\\n"
        "    --output vb.txt",
    )
    add_grammar_options(parser)
    add_data_options(parser)
    parser.add_argument("--output", metavar="FILE", required=True, help="the grammar with its new weights")
    parser.add_argument("--format", choices=("nltk", "johnson"), default="nltk", help="of that grammar")
    parser.add_argument("--method", choices=("em", "vb"), default="em", help="how")
    parser.add_argument("--rounds", metavar="N", type=int, default=200, help="at the most")
    parser.add_argument("--tolerance", metavar="T", type=float, default=1e-8, help="smallest relative gain")
    parser.add_argument(
        "--start",
        choices=("weights", "random"),
        help="the grammar's weights, or drawn uniformly (default: weights if there are any)",
    )
    parser.add_argument(
        "--restarts", metavar="N", type=int, default=1, help="random starts; the best is kept"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of all randomness")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="over sentences")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Learn, write, and say whether the result is tight."""
    import numpy as np

    from monolingual.pcfg.commands.sample import read_data, read_prior, warn_of_idle_data
    from monolingual.pcfg.grammar_text import refuse_names, write_grammar
    from monolingual.pcfg.model import build_model
    from monolingual.pcfg.tightness import analyse
    from monolingual.pcfg.training import pcfg_expectations
    from monolingual.priors.estimators import em_kernel, learn, vb_kernel
    from monolingual.priors.multinomials import normalise
    from scfg_sampler.errors import SettingsError

    _check(options)
    warn_of_idle_data(options)
    grammar, probs, pseudo_counts, has_weights = read_model_grammar(options)
    refuse_names(grammar, options.format)  # Before hours of learning, which would be lost.
    if options.method == "em" and options.prior is None:
        pseudo_counts = None
    model = build_model(grammar, read_prior(options.prior, grammar, pseudo_counts))
    data = read_data(options, model)
    expectations = pcfg_expectations(model, data, threads=options.threads)
    kernel = (em_kernel if options.method == "em" else vb_kernel)(model.families, expectations, model.prior)
    rng = np.random.default_rng(options.seed)
    is_random = (options.start or ("weights" if has_weights else "random")) == "random"
    if options.restarts > 1 and not is_random:
        raise SettingsError("--restarts needs --start random")
    best = None
    with console.progress(options.method, options.rounds * options.restarts) as advance:
        for restart in range(options.restarts):
            # The flat Dirichlet: every grammar is as likely as any other.
            first = normalise(model.families, rng.exponential(size=len(probs))) if is_random else probs
            state, trace = learn(
                kernel,
                kernel.init(rng, first),
                max_rounds=options.rounds,
                tolerance=options.tolerance,
                watch=lambda done, progress: advance(1, f"{progress.log_joint:.2f}"),
            )
            advance(options.rounds - len(trace), "")
            if options.restarts > 1:
                console.say(f"start {restart + 1}: {trace[-1]:.6f} after {counted(len(trace), 'round')}")
            if best is None or trace[-1] > best[1][-1]:
                best = state, trace
    assert best is not None
    state, trace = best
    new = normalise(model.families, state.values)
    write_grammar(options.output, grammar, new, style=options.format)
    name = {"em": "log likelihood", "vb": "lower bound of the log evidence"}[options.method]
    if options.method == "em" and np.any(model.prior != 1.0):
        name = "log posterior"
    verdict = analyse(grammar, new)
    console.say(f"{name} {trace[-1]:.6f} after {counted(len(trace), 'round')}")
    console.say(
        f"spectral radius {verdict.spectral_radius:.6g}, " + ("tight" if verdict.tight else "not tight")
    )


def _check(options: argparse.Namespace) -> None:
    """Raise SettingsError if a number is out of range."""
    from scfg_sampler.core.limits import require_number, require_seed
    from scfg_sampler.errors import SettingsError

    require_number("threads", options.threads)
    require_seed(options.seed)
    for name in ("rounds", "restarts"):
        if getattr(options, name) < 1:
            raise SettingsError(f"--{name} is {getattr(options, name)}; it must be at least 1")
    if options.tolerance < 0:
        raise SettingsError(f"--tolerance is {options.tolerance:g}; it must be at least 0")
