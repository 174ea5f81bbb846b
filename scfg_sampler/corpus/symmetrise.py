"""One word alignment out of two directional ones.

All methods lie between the intersection and the union of the two. The growing ones (Och and Ney 2003; Koehn,
Och and Marcu 2003) start from the intersection and go through the other links of the union in the order of
source, then target position, again and again until nothing changes. *grow-diag* adds a link when one of its
words is still unaligned and one of its eight neighbours is in; *final* then adds links of the forward, then
of the reverse alignment when either word is unaligned, *final-and* when both are.

The fact a newcomer would get wrong: links are added one by one and count at once, so the order matters. Here
it is the order of `atools`, which gives other links than the symmetrisation of Moses now and then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.parallel_text import parse_links
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["METHODS", "symmetrise", "symmetrise_files"]

METHODS = ("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")

Link = tuple[int, int]


def symmetrise(forward: Iterable[Link], reverse: Iterable[Link], method: str) -> list[Link]:
    """The links of one sentence pair, sorted.

    Parameters
    ----------
    forward, reverse : iterables of (source position, target position), both in this orientation
    method : one of METHODS

    >>> symmetrise([(0, 0), (1, 1)], [(0, 0), (1, 2)], "grow-diag")
    [(0, 0), (1, 1), (1, 2)]

    Raises
    ------
    SettingsError
        There is no such method.
    """
    if method not in METHODS:
        raise SettingsError(f"--method is {method!r}, but must be one of {', '.join(METHODS)}")
    forward, reverse = set(forward), set(reverse)
    if method == "union":
        return sorted(forward | reverse)
    links = forward & reverse
    if method == "intersect":
        return sorted(links)
    grown = _Growing(links)
    candidates = sorted((forward | reverse) - links)
    before = -1
    while len(grown.links) != before:
        before = len(grown.links)
        candidates = [link for link in candidates if not grown.add_neighbour(link)]
    if method != "grow-diag":
        for direction in (forward, reverse):
            for link in sorted(direction - grown.links):
                grown.add_final(link, both=method.endswith("-and"))
    return sorted(grown.links)


def symmetrise_files(forward: PathLike, reverse: PathLike, method: str) -> Iterator[str]:
    """The lines of the symmetrised alignment of two Pharaoh files.

    Raises
    ------
    InputError, AlignmentError
        A file cannot be read, a link is malformed, one file is longer than the other, or none has lines.
    """
    first, second = read_lines(forward), read_lines(reverse)
    line = 0
    while True:
        line += 1
        one, other = next(first, None), next(second, None)
        if one is None and other is None:
            if line == 1:
                raise InputError(forward, None, "has no lines", "Did the aligner end with an error?")
            return
        if one is None or other is None:
            short, long = (forward, reverse) if one is None else (reverse, forward)
            hint = "Give the two directions of one corpus"
            raise InputError(short, line, f"ends after {counted(line - 1, 'line')}, but {long} goes on", hint)
        links = symmetrise(parse_links(one, forward, line), parse_links(other, reverse, line), method)
        yield " ".join(f"{i}-{j}" for i, j in links)


_NEIGHBOURS = [(di, dj) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj]


class _Growing:
    """An alignment that links are added to."""

    def __init__(self, links: set[Link]):
        self.links = set(links)
        self.source = {i for i, _ in links}
        self.target = {j for _, j in links}

    def add_neighbour(self, link: Link) -> bool:
        """Add a link beside another one if one of its words is unaligned; whether that was so."""
        i, j = link
        if i in self.source and j in self.target:
            return False
        if not any((i + di, j + dj) in self.links for di, dj in _NEIGHBOURS):
            return False
        self._add(link)
        return True

    def add_final(self, link: Link, *, both: bool) -> None:
        """Add a link if one of its words is unaligned, or both are."""
        i, j = link
        free = (i not in self.source) + (j not in self.target)
        if free >= 1 + both:
            self._add(link)

    def _add(self, link: Link) -> None:
        self.links.add(link)
        self.source.add(link[0])
        self.target.add(link[1])
