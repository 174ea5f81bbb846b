"""Tests of `scfg_sampler.preparation`."""
