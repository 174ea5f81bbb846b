"""Sentence pairs: alignment grid, derivation, and how certain each node is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.pages.elements import Content, Markup, element, words
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.parallel_text import pair_words
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.pair_posteriors import (
    LastState,
    PairPosterior,
    Place,
    last_derivation,
    pair_posteriors,
)
from scfg_sampler.report.grammar import spelled_rule
from scfg_sampler.report.grid import draw_grid

__all__ = ["choose_pairs", "pair_links", "tell_pairs"]

_GAP = re.compile(r"\[[^\[\],]+,([12])\]")
_SHORTEST, _LONGEST = 5, 14
_DEEPEST = 100
"""As many rules within each other are shown: a page has no room for more, nor has Python's stack."""
_MOST_DRAWN = 250
"""Words on a side: the grid, a square for every two of them, fills pages and minutes beyond."""
_DRAWN = 0.25
"""A phrase is drawn on the grid if it is cut in this share of the states."""
_NAMED = 0.1
"""Another rule at a node is named if it is there in this share of the states."""


def choose_pairs(last: LastState, number: int) -> list[int]:
    """Pairs to look at: spread over the corpus, of 5 to 14 words, with a rule that has words and swaps gaps.

    Fewer where the corpus has fewer; whatever there is where it has none such.

    Parameters
    ----------
    last : LastState
    number : int
    """
    if number < 0:
        raise SettingsError(f"--pairs is {number}; it must be at least 0")
    corpus, number_of_all = last.bank.corpus, last.bank.num_sentences
    starts = corpus.source_start, corpus.target_start
    lengths = np.stack([np.diff(start[: number_of_all + 1]) for start in starts])
    derived = np.diff(last.bank.tree_start) > 0
    good = np.flatnonzero(derived & (lengths >= _SHORTEST).all(axis=0) & (lengths <= _LONGEST).all(axis=0))
    if len(good) < number:
        rest = np.setdiff1d(np.flatnonzero(derived), good)
        short = rest[np.argsort(lengths.max(axis=0)[rest], kind="stable")]
        return sorted([*good.tolist(), *short[: number - len(good)].tolist()])
    chosen = []
    for block in np.array_split(good, number):
        telling = (each for each in block[:50].tolist() if _is_telling(last_derivation(last, each)))
        chosen.append(next(telling, int(block[0])))
    return chosen


def _is_telling(derivation: Derivation | None) -> bool:
    """Whether a rule of the derivation has words around two gaps, and swaps these.

    >>> _is_telling(Derivation((0, 5), (0, 5), "[NP,1] o [X,2] ||| [X,2] the [NP,1]", []))
    True
    >>> _is_telling(Derivation((0, 5), (0, 5), "[X,1] o [X,2] ||| [X,1] of [X,2] there", []))
    False
    """
    stack = [derivation] if derivation is not None else []
    while stack:
        node = stack.pop()
        source, target = (side.split(" ") for side in node.rule.split(" ||| ")[-2:])
        gaps = [gap[1] for gap in map(_GAP.fullmatch, target) if gap]
        if len(source) > len(gaps) and gaps == ["2", "1"]:
            return True
        stack += node.parts
    return False


def tell_pairs(
    rng: np.random.Generator, last: LastState, sentences: Sequence[int], sweeps: int
) -> list[Markup]:
    """A panel for each pair.

    Parameters
    ----------
    rng : numpy.random.Generator
    last : LastState
        Its state is changed.
    sentences : sequence of int
    sweeps : int
        States of each pair that certainty is judged by.
    """
    shown = [s for s in sentences if last.bank.tree_start[s + 1] > last.bank.tree_start[s]]
    if not shown:
        return [element("p", "There are no pairs to show.", class_="note")]
    before = {sentence: last_derivation(last, sentence) for sentence in shown}
    posteriors = pair_posteriors(rng, last, shown, sweeps)
    note = (
        f"Each pair was resampled {counted(sweeps, 'time')}, the derivations of all others held as "
        "the chain left them. "
        "The number before a rule of the derivation is the share of these states in which a rule begins at "
        "its phrase; below it stand other rules that were there often. On the grid are all phrases at which "
        f"rules begin in {_DRAWN:.0%} of the states, the stronger the surer. Pairs are counted from 0."
    )
    if longest := last.settings.max_cut_span:
        note += f" Rules always begin at phrases of more than {longest} source words (--max-cut-span)."
    if last.alignments > 1:
        note += " All pairs under the first alignment come first, then all under the second, …"
    panels = []
    for sentence in shown:
        derivation = before[sentence]
        assert derivation is not None
        panels.append(_panel(last, sentence, derivation, posteriors[sentence]))
    return [element("p", note), *panels]


def pair_links(last: LastState, sentence: int) -> list[tuple[int, int]]:
    """The links of a pair, in order; of one that the chain chooses alignments for, those of all."""
    corpus = last.bank.corpus
    links = set()
    for under in range(sentence, corpus.num_sentences, last.bank.num_sentences):
        begin, end = corpus.link_start[under : under + 2]
        links |= {(i, j) for i, j in corpus.links[begin:end].tolist()}
    return sorted(links)


def _panel(last: LastState, sentence: int, derivation: Derivation, posterior: PairPosterior) -> Markup:
    corpus = last.bank.corpus
    source, target = pair_words(corpus, sentence)
    if max(len(source), len(target)) > _MOST_DRAWN:
        size = f"{len(source):,} by {counted(len(target), 'word')}"
        told = f"A grid of {size} is too large to be drawn: {_MOST_DRAWN} on a side are the most."
        grid = element("p", told, class_="note")
    else:
        grid = draw_grid(source, target, pair_links(last, sentence), _boxes(posterior, source, target))
    if (depth := _depth(derivation)) > _DEEPEST:
        nodes = element(
            "p", f"{counted(depth, 'rule')} within each other are too many to be shown.", class_="note"
        )
    else:
        nodes = element("ul", _tree(derivation, posterior), class_="tree")
    return element(
        "section",
        element("h3", _title(last, sentence)),
        element("p", words(" ".join(source)), element("br"), words(" ".join(target))),
        element(
            "div",
            element("div", grid, class_="scroll"),
            element("div", nodes, class_="derivation"),
            class_="columns",
        ),
        class_="pair",
        id=f"pair-{sentence}",
    )


def _boxes(
    posterior: PairPosterior, source: Sequence[str], target: Sequence[str]
) -> list[tuple[Place, float, str]]:
    """The phrases that are drawn on a grid, with their shares and what is said of them."""
    boxes = []
    for place, rules in posterior.rules.items():
        share = rules.total() / posterior.sweeps
        if share >= _DRAWN:
            phrase = f"{' '.join(source[slice(*place[0])])} – {' '.join(target[slice(*place[1])])}"
            boxes.append((place, share, f"{phrase}: {share:.0%}"))
    return boxes


def _title(last: LastState, sentence: int) -> str:
    place = last.place_in_text(sentence)
    return f"Pair {sentence}" + (f": {place[0]} of the text, under alignment {place[1]}" if place else "")


def _depth(derivation: Derivation) -> int:
    """How many rules are within each other at most."""
    depth, level = 0, [derivation]
    while level:
        depth, level = depth + 1, [part for node in level for part in node.parts]
    return depth


def _tree(node: Derivation, posterior: PairPosterior) -> Markup:
    share, same = posterior.share(node), posterior.share(node, same_rule=True)
    spans = f"source {node.source[0]}–{node.source[1]}, target {node.target[0]}–{node.target[1]}"
    tip = f"{spans}: cut in {share:.0%} of the states, by this rule in {same:.0%}"
    content: list[Content] = [share_tag(share, tip), spelled_rule(node.rule)]
    others = Counter(posterior.rules.get((node.source, node.target), Counter()))
    others.pop(node.rule, None)
    for other, times in others.most_common(2):
        if times / posterior.sweeps >= _NAMED:
            content.append(
                element("span", f"{times / posterior.sweeps:.0%} ", spelled_rule(other), class_="other")
            )
    if node.parts:
        content.append(element("ul", [_tree(part, posterior) for part in node.parts]))
    return element("li", content)


def share_tag(share: float, tip: str) -> Markup:
    """A share in percent, with a bar behind it."""
    return element("span", f"{share:.0%}", class_="share", title=tip, style=f"--of:{100 * share:.0f}%")
