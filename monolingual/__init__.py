"""Grammar induction from one language on the core of `scfg_sampler`."""
