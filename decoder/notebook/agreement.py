"""What several systems say of a line, and the translation that is most like all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from decoder.scoring.evaluate import tokenizer
from decoder.search.mbr import check_scale
from decoder.system.system import SystemTranslation
from decoder.translation.consensus import SCALE
from decoder.translation.consensus import consensus as agreed
from decoder.translation.nbest import Listed
from scfg_sampler.core.arguments import of_arguments, require_type, settings_of
from scfg_sampler.core.arrays.vocabulary import split_words

__all__ = ["consensus"]

_WANTED = "a list of lists of translations"


class _Options(NamedTuple):
    scale: float
    tokenize: str


def consensus(
    lists: Iterable[Sequence[SystemTranslation]], *, scale: float = SCALE, tokenize: str = "none"
) -> SystemTranslation:
    """Of the translations of several systems, the one that is most like all of them (minimum Bayes risk).

    Each system has one vote, which it divides among the translations of its list by exp(scale · score); the
    translation with the highest BLEU+1 to be expected by these votes is chosen (Kumar and Byrne 2004).

    Parameters
    ----------
    lists : `System.n_best` of one line by each system
    scale : float > 0
        A large one gives a system's vote to its best translation, a small one as much to each of its list.
    tokenize : str
        sacrebleu's tokenizer, by which translations are compared; text is tokenised unless it says otherwise.

    Raises
    ------
    TypeError
        A list is of other things than translations.
    ValueError
        There are no translations, the scale is not above 0, or the tokenizer is unknown.

    >>> import decoder, scfg_sampler
    >>> def system_of(*pairs):
    ...     rules = scfg_sampler.extract_rules(scfg_sampler.make_corpus(pairs))
    ...     return decoder.make_system(rules, decoder.train_lm([target for _, target, _ in pairs]))
    >>> pairs = [("un chat", target, "0-0 1-1") for target in ("a cat", "one cat", "a kitten")]
    >>> systems = [system_of(pairs[0]), system_of(pairs[1]), system_of(pairs[2], pairs[0])]
    >>> consensus([system.n_best("un chat", 50) for system in systems]).text
    'a cat'
    """
    of_systems = _checked(lists)
    if not any(of_systems):
        raise ValueError("lists has no translations; give those of a system or more")
    options = settings_of(_Options, {"scale": scale, "tokenize": tokenize})
    with of_arguments():
        check_scale(options.scale, "--scale")
        parted = None if options.tokenize == "none" else tokenizer(options.tokenize)
    listed = [[Listed(_words(one), one.score) for one in each] for each in of_systems]
    words = agreed(listed, options.scale, parted)
    return next(one for each in of_systems for one in each if _words(one) == words)


def _checked(lists: Iterable[Sequence[SystemTranslation]]) -> list[list[SystemTranslation]]:
    """The lists, each read once; a TypeError if they are of other things: a single list above all."""
    require_type("lists", lists, Iterable, _WANTED)
    found = []
    for each in lists:
        if isinstance(each, SystemTranslation):
            raise TypeError(f"lists is a list of translations; give {_WANTED}, one of each system")
        require_type("one of lists", each, Iterable, "a list of translations")
        found.append(list(each))
        for one in found[-1]:
            require_type("what one of lists has", one, SystemTranslation, "what System.n_best has")
    return found


def _words(one: SystemTranslation) -> tuple[str, ...]:
    """As they are parted in lists that are read."""
    return tuple(split_words(one.text))
