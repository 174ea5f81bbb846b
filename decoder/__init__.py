"""Translate with synchronous grammars: language model, search, tuning, evaluation.

From rules to scores, each name loaded when it is first asked for::

    lm = decoder.train_lm("train.en", "en.arpa")
    tuning = decoder.tune(rules, lm, "dev.fr", "dev.en")
    system = decoder.make_system(rules, lm, tuning.weights)
    translations = [found.text for found in system.translate(lines)]
    decoder.evaluate(translations, "test.en")

See `decoder.notebook`, docs/look-up/python.md and, for raw text, docs/raw-text.md.
"""

from typing import TYPE_CHECKING

from scfg_sampler.exports import exports

if TYPE_CHECKING:
    from decoder.expressions.parser import Parse, Parser
    from decoder.expressions.parser_files import load_parser
    from decoder.notebook.agreement import consensus
    from decoder.notebook.language_models import NgramModel, load_lm, train_class_lm, train_lm
    from decoder.notebook.scores import Scores, evaluate
    from decoder.notebook.systems import bundle, make_system
    from decoder.notebook.tuning import Tuning, tune
    from decoder.system.agreement import Agreement
    from decoder.system.shown import TranslationTree
    from decoder.system.system import System, SystemTranslation, load_system

_HOME = {
    "Agreement": "system.agreement",
    "NgramModel": "notebook.language_models",
    "Parse": "expressions.parser",
    "Parser": "expressions.parser",
    "Scores": "notebook.scores",
    "System": "system.system",
    "SystemTranslation": "system.system",
    "TranslationTree": "system.shown",
    "Tuning": "notebook.tuning",
    "bundle": "notebook.systems",
    "consensus": "notebook.agreement",
    "evaluate": "notebook.scores",
    "load_lm": "notebook.language_models",
    "load_parser": "expressions.parser_files",
    "load_system": "system.system",
    "make_system": "notebook.systems",
    "train_class_lm": "notebook.language_models",
    "train_lm": "notebook.language_models",
    "tune": "notebook.tuning",
}

__all__ = [
    "Agreement",
    "NgramModel",
    "Parse",
    "Parser",
    "Scores",
    "System",
    "SystemTranslation",
    "TranslationTree",
    "Tuning",
    "bundle",
    "consensus",
    "evaluate",
    "load_lm",
    "load_parser",
    "load_system",
    "make_system",
    "train_class_lm",
    "train_lm",
    "tune",
]

__getattr__, __dir__ = exports(__name__, _HOME)
