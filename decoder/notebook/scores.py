"""BLEU, chrF and TER of translations, and whether they differ from others'."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from decoder.notebook.texts import Text, lines_of, sets_of
from decoder.scoring.evaluate import Comparison, compare
from decoder.scoring.evaluate import evaluate as scored
from scfg_sampler.core.arguments import of_arguments
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["Scores", "evaluate"]


class Scores(NamedTuple):
    """Scores in percent; for TER, lower is better.

    Attributes
    ----------
    bleu, chrf, ter : float
    details : mapping
        sacrebleu's own dictionary of each metric: signature, n-gram precisions, ….
    against : mapping of metric to Comparison
        Difference to other translations and its p-value, if there are any.

    >>> import decoder
    >>> scores = decoder.evaluate(["the cat sleeps on a mat"], ["the cat sleeps on the mat"])
    >>> round(scores.bleu, 1), scores.details["bleu"]["signature"].split("|")[0]
    (53.7, 'nrefs:1')
    """

    bleu: float
    chrf: float
    ter: float
    details: Mapping[str, Mapping[str, Any]]
    against: Mapping[str, Comparison]

    def __repr__(self) -> str:
        shown = f"BLEU {self.bleu:.2f}, chrF {self.chrf:.2f}, TER {self.ter:.2f}"
        if self.against:
            found = self.against["bleu"]
            shown += f"; BLEU {found.difference:+.2f} (p = {found.p_value:.3f})"
        return shown

    def _repr_html_(self) -> str:
        names = ["score", "", *(["difference", "p"] if self.against else []), "signature"]
        rows = ["".join(f"<th>{name}</th>" for name in names)]
        for metric, each in self.details.items():
            cells = [each["name"], f"{each['score']:.2f}"]
            if self.against:
                found = self.against[metric]
                cells += [f"{found.difference:+.2f}", f"{found.p_value:.3f}"]
            cells.append(str(each["signature"]))
            rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def evaluate(
    translations: Text,
    references: Text | Sequence[Text],
    *,
    against: Text | None = None,
    tokenize: str = "none",
) -> Scores:
    """BLEU, chrF and TER by sacrebleu; with `against`, also the paired bootstrap.

    Parameters
    ----------
    translations : path, or lines
    references : path, or lines; or several of these, one for each set of references
    against : path, or lines, optional
        Other translations of the same text.
    tokenize : str
        sacrebleu's tokenizer; text is tokenised already unless it says otherwise.

    Raises
    ------
    InputError
        There is nothing to evaluate, or there are not as many lines of one text as of another.
    ArgumentError
        The tokenizer is unknown.

    >>> evaluate(["the cat sleeps on a mat"], ["the cat sleeps on a mat"])
    BLEU 100.00, chrF 100.00, TER 0.00
    """
    found = lines_of(translations)
    texts: list[list[str | None]] = [list(lines_of(each)) for each in sets_of(references)]
    for number, text in enumerate(texts, start=1):
        if len(text) != len(found) or not text:
            lines = counted(len(text), "line") if text else "no lines"
            said = f"has {lines} for {counted(len(found), 'translation')}"
            name = "references" if len(texts) == 1 else f"set {number} of references"
            raise InputError(name, None, said, "Give a line for each translation")
    texts[1:] = [[line if line and line.strip() else None for line in text] for text in texts[1:]]
    with of_arguments():
        details = scored(found, texts, tokenize=tokenize)
    comparison = {}
    if against is not None:
        others = lines_of(against)
        if len(others) != len(found):
            said = f"has {counted(len(others), 'line')}, but there are {len(found)} translations"
            raise InputError("against", None, said, "Give a line for each")
        comparison = compare(found, others, texts, tokenize=tokenize)
    bleu, chrf, ter = (float(details[name]["score"]) for name in ("bleu", "chrf", "ter"))
    return Scores(bleu, chrf, ter, details, comparison)
