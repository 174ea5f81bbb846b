"""Labelled bracketing scores as EVALB counts them.

Words whose tag is a deleted label are taken out of both trees, and constituents left without words with them;
the brackets that count are the labels and spans of the constituents that are neither preterminals nor have
a deleted label themselves. Labels of brackets lose what follows a `-` or `=` inside them, tags do not; ADVP
and PRT are the same. A bracket of the test tree matches one of gold, each once, if label and span agree.
Precision, recall and F1 are over all sentences together; an exact match has no other brackets than gold.

`collins` (COLLINS.prm) deletes TOP, -NONE- and the punctuation tags `,` `:` ` `` ` `''` `.`; `new` (new.prm)
deletes S1, `?` and `!` as well. Its QUOTE_LABEL, by which EVALB puts words back where tags disagree on a
quotation mark, is not followed: such a sentence is an error here.

The fact a newcomer would get wrong: a sentence belongs to the short ones by its words with punctuation. And
if gold and test tree disagree on which words are punctuation, EVALB calls that an error and leaves the
sentence out; `mismatch="gold"` takes out the words that gold says instead. A sentence of punctuation alone is
skipped, and no exact match, and so is one for which there is no test tree: all figures are those of the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from monolingual.tsg.trees import Tree
from scfg_sampler.errors import SettingsError

__all__ = ["PARAMETERS", "Brackets", "SentenceScore", "Totals", "compared", "score_sentence", "total"]

_EMPTY = "-NONE-"
_COLLINS = frozenset({"TOP", _EMPTY, ",", ":", "``", "''", "."})
PARAMETERS = {"collins": _COLLINS, "new": _COLLINS | {"S1", "?", "!"}}
"""Deleted labels by the name of the parameter file."""

_EQUAL = {"PRT": "ADVP"}


class SentenceScore(NamedTuple):
    """Counts of one sentence.

    Attributes
    ----------
    length : int
        Words of gold, punctuation included, empty elements not.
    is_error : bool
        The trees are over different words; the rest is 0.
    is_skipped : bool
        There is no test tree, or no word of it counts, as where all are punctuation; the rest is 0.
    matched, gold, test : int
        Brackets.
    crossing : int
        Brackets of the test tree that cross some bracket of gold.
    words, tags : int
        Words left, and how many of them have the right tag.
    """

    length: int
    is_error: bool
    is_skipped: bool
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    tags: int

    @property
    def is_exact(self) -> bool:
        """Whether the brackets are those of gold."""
        return not (self.is_error or self.is_skipped) and self.matched == self.gold == self.test


class Totals(NamedTuple):
    """What EVALB prints of many sentences; shares in percent."""

    sentences: int
    errors: int
    skipped: int
    precision: float
    recall: float
    f1: float
    exact: float
    crossing: float
    """Crossing brackets per sentence."""
    no_crossing: float
    two_or_less_crossing: float
    tagging: float


class Brackets(NamedTuple):
    """The words of a tree that count, their tags, and the brackets over them: label, begin and end."""

    words: list[str]
    tags: list[str]
    brackets: Counter[tuple[str, int, int]]


def score_sentence(
    gold: Tree, test: Tree | None, *, parameters: str = "collins", mismatch: str = "error"
) -> SentenceScore:
    """The counts of a sentence.

    Parameters
    ----------
    gold, test : Tree
        None: there is no test tree.
    parameters : str
        One of `PARAMETERS`.
    mismatch : str
        `error` or `gold`: what to do if the trees disagree on which words are deleted.

    Raises
    ------
    SettingsError
        There are no such parameters.
    """
    if parameters not in PARAMETERS:
        raise SettingsError(f"--parameters is {parameters}; choose one of {', '.join(PARAMETERS)}")
    gold_words = _tagged_words(gold)
    length = sum(tag != _EMPTY for _, tag in gold_words)
    if test is None:
        return SentenceScore(length, False, True, 0, 0, 0, 0, 0, 0)
    left, right = compared(gold, test, parameters=parameters, mismatch=mismatch)
    if not right.words or left.words != right.words:
        return SentenceScore(length, bool(right.words), not right.words, 0, 0, 0, 0, 0, 0)
    matched = (left.brackets & right.brackets).total()
    crossing = sum(
        times
        for (_, begin, end), times in right.brackets.items()
        if any(b < begin < e < end or begin < b < end < e for _, b, e in left.brackets)
    )
    tags = sum(a == b for a, b in zip(left.tags, right.tags, strict=True))
    return SentenceScore(
        length,
        False,
        False,
        matched,
        left.brackets.total(),
        right.brackets.total(),
        crossing,
        len(left.words),
        tags,
    )


def compared(gold: Tree, test: Tree, *, parameters: str, mismatch: str) -> tuple[Brackets, Brackets]:
    """The brackets of both trees, not to be compared if their words differ; see `score_sentence`."""
    deleted = PARAMETERS[parameters]
    gold_words, test_words = _tagged_words(gold), _tagged_words(test)
    kept = [tag not in deleted for _, tag in gold_words]
    kept_in_test = [tag not in deleted for _, tag in test_words]
    if mismatch == "gold":
        kept_in_test = _asked_of_gold(gold_words, test_words, kept) or kept_in_test
    return _brackets(gold, kept, deleted), _brackets(test, kept_in_test, deleted)


def _asked_of_gold(
    gold: list[tuple[str, str]], test: list[tuple[str, str]], kept: list[bool]
) -> list[bool] | None:
    """Which words of the test tree gold keeps; None if they are others, empty elements aside."""
    if [word for word, _ in gold] == [word for word, _ in test]:
        return kept
    if [word for word, tag in gold if tag != _EMPTY] != [word for word, tag in test if tag != _EMPTY]:
        return None
    answers = iter([is_kept for (_, tag), is_kept in zip(gold, kept, strict=True) if tag != _EMPTY])
    return [tag != _EMPTY and next(answers) for _, tag in test]


def total(scores: Sequence[SentenceScore], cutoff: int | None = None) -> Totals:
    """The figures of many sentences.

    Parameters
    ----------
    scores : sequence of SentenceScore
    cutoff : int, optional
        Only sentences of at most so many words.
    """
    chosen = [score for score in scores if cutoff is None or score.length <= cutoff]
    valid = [score for score in chosen if not (score.is_error or score.is_skipped)]
    matched, gold, test, crossing, words, tags = (
        sum(getattr(score, name) for score in valid)
        for name in ("matched", "gold", "test", "crossing", "words", "tags")
    )
    number = max(1, len(valid))
    precision, recall = 100.0 * matched / max(1, test), 100.0 * matched / max(1, gold)
    return Totals(
        len(chosen),
        sum(score.is_error for score in chosen),
        sum(score.is_skipped for score in chosen),
        precision,
        recall,
        2.0 * precision * recall / max(precision + recall, 1e-300),
        100.0 * sum(score.is_exact for score in valid) / number,
        crossing / number,
        100.0 * sum(score.crossing == 0 for score in valid) / number,
        100.0 * sum(score.crossing <= 2 for score in valid) / number,
        100.0 * tags / max(1, words),
    )


def _category(label: str) -> str:
    """The label without function tags; a `-` or `=` in front belongs to it."""
    for at, character in enumerate(label):
        if at > 0 and character in "-=" and not label.startswith("-"):
            label = label[:at]
            break
    return _tag(label)


def _tag(label: str) -> str:
    """The label of a word, or one without function tags, as it is compared."""
    return _EQUAL.get(label, label)


def _tagged_words(tree: Tree) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    pending: list[tuple[Tree | str, str]] = [(tree, "")]
    while pending:
        item, above = pending.pop()
        if isinstance(item, str):
            found.append((item, above))
        else:
            pending.extend((child, _tag(item.label)) for child in reversed(item.children))
    return found


def _brackets(tree: Tree, kept: list[bool], deleted: frozenset[str]) -> Brackets:
    """The words that are kept, their tags, and the brackets over them."""
    words: list[str] = []
    tags: list[str] = []
    brackets: Counter[tuple[str, int, int]] = Counter()
    flags = iter(kept)
    stack: list[tuple[str, int]] = []
    pending: list[Tree | str | None] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if next(flags):
                words.append(item)
                tags.append(stack[-1][0])
        elif item is None:
            label, begin = stack.pop()
            if len(words) > begin and label not in deleted:
                brackets[label, begin, len(words)] += 1
        elif all(isinstance(child, str) for child in item.children):
            # A preterminal is no bracket.
            for word in item.children:
                if next(flags):
                    words.append(str(word))
                    tags.append(_tag(item.label))
        else:
            stack.append((_category(item.label), len(words)))
            pending.append(None)
            pending.extend(reversed(item.children))
    return Brackets(words, tags, brackets)
