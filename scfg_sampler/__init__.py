"""Learn small, readable translation grammars from word-aligned text.

For notebooks there are objects that show themselves, from `read_corpus` to `sample`; they are loaded when
they are first asked for. See `scfg_sampler.notebook` and docs/notebook.md.
"""

from typing import TYPE_CHECKING

from scfg_sampler.exports import exports

if TYPE_CHECKING:
    from scfg_sampler.notebook.pairs import (
        Corpus,
        Forest,
        SentencePair,
        Tree,
        make_corpus,
        read_corpus,
    )
    from scfg_sampler.notebook.rules import Rules, extract_rules, read_rules
    from scfg_sampler.notebook.runs import Run, open_run, sample

__version__ = "0.4.0.dev0"

_HOME = {
    "Corpus": "notebook.pairs",
    "Forest": "notebook.pairs",
    "Rules": "notebook.rules",
    "Run": "notebook.runs",
    "SentencePair": "notebook.pairs",
    "Tree": "notebook.pairs",
    "extract_rules": "notebook.rules",
    "make_corpus": "notebook.pairs",
    "open_run": "notebook.runs",
    "read_corpus": "notebook.pairs",
    "read_rules": "notebook.rules",
    "sample": "notebook.runs",
}

__all__ = [
    "Corpus",
    "Forest",
    "Rules",
    "Run",
    "SentencePair",
    "Tree",
    "extract_rules",
    "make_corpus",
    "open_run",
    "read_corpus",
    "read_rules",
    "sample",
]

__getattr__, __dir__ = exports(__name__, _HOME)
