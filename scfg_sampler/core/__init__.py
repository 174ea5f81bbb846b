"""Machinery that knows nothing of translation, trees or languages.

Forests, semirings, restaurants, draws, kernels and the chain driver. Every model of the project is
built from these; nothing here imports from the layers above.
"""
