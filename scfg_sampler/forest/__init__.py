"""Phrase decomposition forests: walked without being built, as trees, and spelled out."""
