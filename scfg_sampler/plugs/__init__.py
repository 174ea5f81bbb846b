"""Directories that other decoders run as they are: table, glue, language model, weights, configuration."""
