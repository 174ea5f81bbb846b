"""Chart parsing, cube pruning, and what is read off the forest they leave."""
