"""Dirichlet and logistic normal priors over multinomials, and the learners that use them."""
