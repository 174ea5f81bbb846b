"""The Hiero baseline (Chiang 2007): every rule its heuristics allow."""
