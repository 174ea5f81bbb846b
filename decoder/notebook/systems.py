"""Systems out of rules, a language model and weights: in memory, and as directories."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from decoder.grammar.trie import GrammarSource, build_grammar
from decoder.grammar.weighted import as_weighted
from decoder.lm.model import LanguageModels
from decoder.lm.table import write_lm_file
from decoder.notebook.language_models import NgramModel, load_lm
from decoder.notebook.texts import RulesLike, of_weights, spelling_of, table_of, weights_of
from decoder.system.bundle import write_system
from decoder.system.system import System, load_system
from decoder.translation.decoder import Decoder, feature_names
from decoder.translation.settings import SearchDefaults
from decoder.translation.weights import initial_weights, write_weights
from scfg_sampler.core.arguments import of_arguments, require_path, require_type, settings_of
from scfg_sampler.core.files import PathLike

__all__ = ["LmLike", "SearchOptions", "bundle", "make_decoder", "make_system", "models_of"]

LmLike = NgramModel | PathLike | Sequence[NgramModel | PathLike]
"""A language model, or several; objects or files."""


class SearchOptions(TypedDict, total=False):
    """Fields of `decoder.translation.settings.SearchDefaults`."""

    beam: int
    max_targets: int
    widen: float
    max_span: int
    search: str


def models_of(lm: LmLike) -> list[NgramModel]:
    """The language models as objects."""
    require_type("lm", lm, (NgramModel, str, os.PathLike, Iterable), "a language model, or a path")
    several = [lm] if isinstance(lm, NgramModel | str | os.PathLike) else list(lm)
    return [each if isinstance(each, NgramModel) else load_lm(each) for each in several]


def make_decoder(
    rules: RulesLike,
    lm: LmLike,
    weights: Mapping[str, float] | PathLike | None = None,
    **search: Unpack[SearchOptions],
) -> Decoder:
    """The decoder of these parts; without weights, one with those that tuning begins with."""
    with of_arguments():
        return _decoder(rules, lm, weights, settings_of(SearchDefaults, search))


def _decoder(
    rules: RulesLike, lm: LmLike, weights: Mapping[str, float] | PathLike | None, settings: SearchDefaults
) -> Decoder:
    """`make_decoder`, of settings of the right types."""
    models = models_of(lm)
    grammar = build_grammar([GrammarSource(table_of(rules), "", settings.max_span)])
    lms = LanguageModels(
        tuple(model.lm for model in models), tuple(model.vocabulary for model in models)
    ).spelled(spelling_of(rules))
    known = {} if weights is None else weights_of(weights)
    grammar = as_weighted(grammar, lms.vocabularies, known)
    if weights is None:
        known = initial_weights((*feature_names(grammar, len(models)), *grammar.sparse_names))
    return Decoder(
        grammar,
        *lms,
        known,
        beam=settings.beam,
        max_targets=settings.max_targets,
        widen=settings.widen,
    ).searching(settings.search)


def make_system(
    rules: RulesLike,
    lm: LmLike,
    weights: Mapping[str, float] | PathLike | None = None,
    **search: Unpack[SearchOptions],
) -> System:
    """What translates text whose words stand between spaces.

    Parameters
    ----------
    rules : Rules, or the path of a rule table
    lm : what `train_lm` or `load_lm` returns, or the path of a model; or several
    weights : mapping, or path, optional
        A number for each feature; by default those that tuning begins with.
    search
        beam, max_targets, widen, max_span, search, as `scfg-decoder translate` has them.

    Raises
    ------
    InputError
        A feature has no weight.

    >>> import decoder, scfg_sampler
    >>> pairs = [("un chat dort", "a cat sleeps", "0-0 1-1 2-2"), ("un chien", "a dog", "0-0 1-1")]
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    >>> lm = decoder.train_lm([target for _, target, _ in pairs])
    >>> system = decoder.make_system(rules, lm)
    >>> [found.text for found in system.translate(["un chien dort"])]
    ['a dog sleeps']
    """
    return System(make_decoder(rules, lm, weights, **search), None, {})


def bundle(
    rules: RulesLike,
    lm: LmLike,
    weights: Mapping[str, float] | PathLike,
    output: PathLike,
    *,
    preparation: PathLike | None = None,
    **search: Unpack[SearchOptions],
) -> System:
    """Write a system into a directory, which may be moved; `load_system` finds it again.

    Parameters
    ----------
    rules, lm, weights : as for `make_system`
    output : path
        A new directory, or an older system, which is replaced.
    preparation : path, optional
        A directory that `scfg-sampler prepare` made: the system then takes raw text.
    search : as for `make_system`

    Raises
    ------
    InputError
        The parts do not fit each other, or `output` is something else.

    >>> import decoder, scfg_sampler, tempfile
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus([("un chat", "a cat", "0-0 1-1")]))
    >>> lm = decoder.train_lm(["a cat", "the cat"])
    >>> weights = {name: 1.0 for name in decoder.make_system(rules, lm).decoder.feature_names}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     decoder.bundle(rules, lm, weights, folder + "/system")
    System of 5 rules and a language model; takes words between spaces
    """
    require_path("output", output)
    if preparation is not None:
        require_path("preparation", preparation)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, model in enumerate(models_of(lm)):
            paths.append(Path(folder) / f"lm-{number}")
            write_lm_file(model.lm, model.vocabulary, paths[-1])
        write_weights(weights_of(weights), Path(folder) / "weights.json")
        settings = settings_of(SearchDefaults, search)
        parts = (table_of(rules), paths, Path(folder) / "weights.json", preparation)
        with of_arguments(), of_weights(weights, Path(folder) / "weights.json"):
            name = rules if isinstance(rules, str | os.PathLike) else "rules"
            write_system(*parts, output, settings, spelling_of(rules), name)
    return load_system(output)
