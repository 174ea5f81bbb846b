"""Rule tables of other decoders: cdec, Moses, Joshua and Travatar.

One module per family of formats, each with a parser and a writer of single rules; `conversion` reads and
writes whole tables.
"""

__all__ = ["COPY_OWNER", "DECODERS", "FORMATS"]

DECODERS = ("cdec", "moses", "joshua", "travatar")
"""Whose formats are read and written."""

FORMATS = ("native", *DECODERS)
"""Every format; `conversion` says which module reads and writes it, `words` how it spells words."""

COPY_OWNER = "copied-words"
"""What Joshua is to call the rules that make labels of copied words: as nobody calls a table."""
