"""Translate with synchronous grammars: language model, search, tuning, evaluation.

`decoder.load_system(directory)` is what `scfg-decoder bundle` made, ready to translate; it is loaded when it
is first asked for. See docs/raw-text.md.
"""

__all__ = ["load_system"]


def __getattr__(name: str):
    """What programs use, without its taking time where nobody asks for it."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("decoder.system.system"), name)
    raise AttributeError(f"module 'decoder' has no attribute {name!r}")
