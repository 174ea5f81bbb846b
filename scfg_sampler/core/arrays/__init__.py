"""Rows of different lengths, words and symbols as ids, tables on disk: data in flat arrays."""
