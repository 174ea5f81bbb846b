"""Counted rules, rule tables, their features, and which of them are kept."""
