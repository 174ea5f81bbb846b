"""Translate with synchronous grammars: language model, search, tuning, evaluation."""
