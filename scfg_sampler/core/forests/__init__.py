"""Hypergraphs, dynamic programs over them written once for every semiring, and derivations."""
