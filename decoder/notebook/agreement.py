"""What several systems say of a line, and the translation that is most like all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from decoder.scoring.evaluate import tokenizer
from decoder.search.mbr import check_scale
from decoder.system.system import SystemTranslation
from decoder.translation.consensus import SCALE
from decoder.translation.consensus import consensus as agreed
from decoder.translation.nbest import Listed
from scfg_sampler.core.arguments import of_arguments, require_type

__all__ = ["consensus"]


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
    require_type("lists", lists, Iterable, "a list of lists of translations")
    of_systems = [list(each) for each in lists]
    for each in of_systems:
        for one in each:
            require_type("lists", one, SystemTranslation, "a list of lists of translations")
    if not any(of_systems):
        raise ValueError("lists has no translations; give those of a system or more")
    with of_arguments():
        check_scale(scale, "--scale")
        parted = None if tokenize == "none" else tokenizer(tokenize)
    words = agreed(
        [[Listed(tuple(one.text.split()), one.score) for one in each] for each in of_systems], scale, parted
    )
    return next(one for each in of_systems for one in each if tuple(one.text.split()) == words)
