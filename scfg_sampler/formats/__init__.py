"""Rule tables of other decoders: cdec, Moses, Joshua and Travatar.

One module per family of formats, each with a parser and a writer of single rules; `conversion` reads and
writes whole tables.
"""
