"""Stochastic Optimality Theory: tableaux, learners, exact likelihoods, comparison, plots."""
