"""What `translate` does with several systems: which options go with them, and a line's translation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scfg_sampler.errors import SettingsError

if TYPE_CHECKING:
    from decoder.commands._forced import Derived
    from decoder.system.agreement import Agreement
    from decoder.system.system import System

__all__ = ["agreement_of", "check_agreement", "translate_agreed"]

_OF_ONE = (
    *("nbest", "not_unique", "predict", "mbr", "mbr_scale", "markup", "reference"),
    *("derivations", "hypergraph", "expressions"),
)


def check_agreement(options: argparse.Namespace) -> None:
    """A SettingsError if options do not go with several systems, or only with these."""
    from decoder.search.mbr import check_scale

    number = len(options.system or ())
    if number > 1:
        for name in _OF_ONE:
            if getattr(options, name):
                option = f"--{name.replace('_', '-')}"
                raise SettingsError(f"{option} is of one system, but --system is given {number} times")
    if options.agree_scale is not None:
        if number < 2:
            raise SettingsError("--agree-scale goes with several systems; give --system for each")
        check_scale(options.agree_scale, "--agree-scale")


def agreement_of(systems: list[System], options: argparse.Namespace) -> Agreement:
    """The systems together; a SettingsError that names one with other languages than the first."""
    from decoder.system.agreement import Agreement, translates
    from decoder.translation.consensus import SCALE

    what, *others = map(translates, systems)
    for directory, other in zip(options.system[1:], others, strict=True):
        if other != what:
            found = f"--system {directory} translates {other}, but {options.system[0]} {what}"
            raise SettingsError(f"{found}; give systems of the same languages")
    return Agreement(systems, scale=SCALE if options.agree_scale is None else options.agree_scale)


def translate_agreed(agreement: Agreement, options: argparse.Namespace, numbered: tuple[int, str]) -> Derived:
    """The translation of a line with its number; its words are those that the first system sees."""
    from decoder.commands import input_words
    from decoder.commands._forced import Derived

    line = numbered[1]
    prepared = [
        each if system.preparation else each._replace(words=input_words(options, each.words))
        for system, each in zip(agreement.systems, agreement.prepare(line), strict=True)
    ]
    text = agreement.translate_prepared(line, prepared).text
    words = prepared[0].words
    known = [system.decoder.grammar.source_vocabulary for system in agreement.systems]
    unknown = sum(all(vocabulary.id(word) < 0 for vocabulary in known) for word in words)
    return Derived(text + "\n", "", bool(text) or not words, "", len(words), unknown)
