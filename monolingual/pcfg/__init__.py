"""Probabilistic context-free grammars that need not be tight, and their Bayesian estimation."""
