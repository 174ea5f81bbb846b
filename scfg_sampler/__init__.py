"""Learn small, readable translation grammars from word-aligned text.

For notebooks there are objects that show themselves, from `read_corpus` to `sample`; they are loaded when
they are first asked for. See `scfg_sampler.notebook` and docs/notebook.md.
"""

from typing import TYPE_CHECKING

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

__version__ = "0.2.0"

_HOME = {
    "Corpus": "pairs",
    "Forest": "pairs",
    "Rules": "rules",
    "Run": "runs",
    "SentencePair": "pairs",
    "Tree": "pairs",
    "extract_rules": "rules",
    "make_corpus": "pairs",
    "open_run": "runs",
    "read_corpus": "pairs",
    "read_rules": "rules",
    "sample": "runs",
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


def __getattr__(name: str):
    """What notebooks use, without its taking time where nobody asks for it."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"scfg_sampler.notebook.{_HOME[name]}"), name)
    raise AttributeError(f"module 'scfg_sampler' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
