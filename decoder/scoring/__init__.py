"""Translations scored: BLEU's statistics, BLEU, chrF and TER, and the bootstrap."""
