"""From a sentence to its translation: the decoder, its weights, derivations for people."""
