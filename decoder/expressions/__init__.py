"""Functional expressions as a target language: linear forms, a model of trees, well-formed derivations."""
