"""A derivation as an object that shows itself, in a notebook as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoder.translation.derivations import draw_text
from decoder.translation.drawing import draw_svg

__all__ = ["TranslationTree"]


class TranslationTree:
    """How a translation was built, rule by rule.

    Parameters
    ----------
    record : mapping
        As `decoder.translation.derivations` makes it, and `translate --derivations` writes it.

    >>> import decoder, scfg_sampler
    >>> rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus([("un chat", "a cat", "0-0 1-1")]))
    >>> system = decoder.make_system(rules, decoder.train_lm(["a cat", "the cat sleeps"]))
    >>> tree = system.derivation("un chat")
    >>> tree.text, "un chat → a cat" in repr(tree), tree.features["TargetWords"]
    ('a cat', True, 2.0)
    """

    def __init__(self, record: Mapping[str, Any]):
        self.record = record

    @property
    def text(self) -> str:
        """The translation, as the grammar spells it."""
        return str(self.record["translation"])

    @property
    def features(self) -> dict[str, float]:
        """The sum of each feature over the rules."""
        return dict(self.record["features"])

    def svg(self) -> str:
        """A box for every rule above the source words it covers."""
        return draw_svg(self.record)

    def __repr__(self) -> str:
        return draw_text(self.record).rstrip("\n")

    def _repr_html_(self) -> str:
        return self.svg()
