"""Weights learnt from a development set: rounds of pairwise ranking or of batch MIRA."""
