"""Slow and obviously correct twins of what the project computes fast."""
