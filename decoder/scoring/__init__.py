"""Translations scored: BLEU's statistics, BLEU, chrF and TER, and the bootstrap."""

__all__ = ["TOKENIZERS"]

TOKENIZERS = ("none", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab")
"""Ways of sacrebleu's BLEU to part texts into words."""
