"""Learn small, readable translation grammars from word-aligned text."""

__version__ = "0.1.0"
