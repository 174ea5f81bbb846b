"""Lists of the best translations, as lines that other programs read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoder.translation.results import Translation, summed

__all__ = ["BAR", "nbest_lines"]

BAR = "&#124;&#124;&#124;"
"""How a word that is `|||` is written in a list, as Moses does."""


def nbest_lines(
    number: int,
    translations: Sequence[Translation],
    names: Sequence[str],
    texts: Sequence[str] | None = None,
) -> Iterator[str]:
    """Lines of a Moses-style list, `number ||| text ||| Feature=value … ||| score`.

    Features of one name are one (`summed`). A word that is `|||` itself is written as Moses does, so that the
    fields stay four. `texts` are what is written instead of the translations' words.
    """
    for at, translation in enumerate(translations):
        spelled = translation.words if texts is None else texts[at].split(" ")
        words = (BAR if word == "|||" else word for word in spelled)
        values = zip(names, translation.features.tolist(), strict=True)
        named = summed((*values, *translation.sparse))
        features = " ".join(f"{name}={value:.6g}" for name, value in named.items())
        yield f"{number} ||| {' '.join(words)} ||| {features} ||| {translation.score:.6f}"
