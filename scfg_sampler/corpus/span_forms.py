"""What files of labels look like: see `corpus.span_labels`."""

__all__ = ["FORMS", "SIDES"]

FORMS = ("spans", "classes", "trees")
"""The forms of lines."""

SIDES = ("source", "target")
"""Whose spans are labelled."""
