"""The commands of `scfg-sampler`, one module each: `add_parser` and `run`."""
