"""Parallel text and its word alignments."""
