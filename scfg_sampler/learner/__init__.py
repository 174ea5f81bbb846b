"""The sampler of Chung et al. (2014): its chain, its runs, and the grammars they come to."""
