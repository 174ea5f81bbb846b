"""Chains of any kernel: the driver, checkpoints, diagnostics, run directories."""
