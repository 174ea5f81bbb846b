"""The commands of `scfg-monolingual pcfg`."""
