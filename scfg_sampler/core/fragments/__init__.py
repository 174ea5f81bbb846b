"""Tree fragments over any forest, the restaurants that count them, and moves that resample them."""
