"""Parsers: from questions to expressions, with all that takes.

    parser = load_parser("parser")
    parser.parse_line("Which rivers run through Ohio?").expression

A question is parsed as `translate --expressions` does it, and of the best expressions one is chosen as `rank`
does.

The fact a newcomer would get wrong: there may be no expression. Where the search has kept no well-formed
derivation, and nothing is predicted, it is the empty string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from decoder.expressions.decoder import ExpressionDecoder
from decoder.expressions.forms import FORMS, from_linear, write
from decoder.expressions.questions import cut_words, question_words
from decoder.expressions.ranker import Candidate, Ranker, candidate_scores, probabilities
from decoder.translation.results import Translation, summed
from scfg_sampler.core.arguments import require_count, require_type
from scfg_sampler.core.streams import each_line
from scfg_sampler.core.wording import counted

__all__ = ["LONGEST", "Parse", "Parser", "Reading"]

LONGEST = 100  # Words of a question that is parsed; memory grows by 4 MB a word.


class Reading(NamedTuple):
    """How a parser reads questions, and writes expressions.

    form : one of `FORMS`; None for that of the model of expressions
    letters : that words are cut after, but for the ranker; 0 leaves them whole
    copy_any : whether a word may be left out although the grammar knows it
    candidates : derived expressions that the ranker chooses among
    predicted : how many more of them are predicted, as `translate --predict` says
    """

    form: str | None = None
    letters: int = 0
    copy_any: bool = False
    candidates: int = 100
    predicted: int = 0


class Parse(NamedTuple):
    """A question and an expression.

    source : the question as it was given
    expression : in the parser's form; "" if there is none
    words : its linear form
    score : by the ranker, or, without one, that of the derivation
    features : of the derivation
    probability : that it is the right one, by the ranker, if one in its list is; 0 if there is none

    Without a ranker the probability is None.

    >>> found = Parse("Rivers?", "answer(river(all))", ["answer@1", "river@1", "all@0"], -2.5, {"Glue": 1.0})
    >>> found.expression, found.features["Glue"]
    ('answer(river(all))', 1.0)
    """

    source: str
    expression: str
    words: list[str]
    score: float
    features: dict[str, float]
    probability: float | None = None


class Parser:
    """Parses questions; immutable, so threads may share it.

    decoder : ExpressionDecoder, or one that copies any word
    ranker : Ranker, or None
    reading : Reading

    >>> import decoder, json, os, tempfile
    >>> from decoder.cli import main
    >>> rules = {"rivers": "river@1", "in": "loc@1", "texas": "'texas'@0"}
    >>> features = "LogForward LanguageModel Glue PassThrough ExpressionModel SymbolLexicon"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     at = lambda name: os.path.join(folder, name)
    ...     for name, text in {
    ...         "text": "rivers in texas", "mr": "river@1 loc@1 'texas'@0",
    ...         "rules": "".join(f"[X] ||| {f} ||| {e} ||| LogForward=-1 ||| \\n" for f, e in rules.items()),
    ...         "weights": json.dumps(dict.fromkeys(features.split(), 1.0)),
    ...     }.items():
    ...         print(text, file=open(at(name), "w"), flush=True)
    ...     lm = decoder.train_lm(at("mr"), at("lm"))
    ...     given = ["--source", at("text"), "--target", at("mr"), "--output", at("model"), "--quiet"]
    ...     statuses = [main(["train-expressions", *given])]
    ...     parts = ["--grammar", at("rules"), "--lm", at("lm"), "--weights", at("weights")]
    ...     more = ["--expressions", at("model"), "--output", at("parser"), "--quiet"]
    ...     statuses.append(main(["bundle-parser", *parts, *more]))
    ...     parser = decoder.load_parser(at("parser"))
    ...     statuses, [found.expression for found in parser.parse(["Rivers in Texas?", "Lakes?"])]
    ([0, 0], ["river(loc('texas'))", ''])
    """

    def __init__(self, decoder: ExpressionDecoder, ranker: Ranker | None, reading: Reading):
        self.decoder, self.ranker, self.reading = decoder, ranker, reading

    def parse(self, lines: Iterable[str], *, threads: int = 1) -> list[Parse]:
        """The parses of questions, in order; TypeError for a string, which is one question."""
        return list(self.stream(lines, threads=threads))

    def stream(self, lines: Iterable[str], *, threads: int = 1) -> Iterator[Parse]:
        """The same, each as soon as it is found."""
        return each_line(self.parse_line, lines, threads)

    def parse_line(self, line: str) -> Parse:
        """The best parse of a question."""
        none = Parse(line, "", [], 0.0, {}, None if self.ranker is None else 0.0)
        return next(iter(self.n_best(line, 1)), none)

    def n_best(self, line: str, k: int = 10) -> list[Parse]:
        """Up to k different parses of a question, the best first; none if there is none.

        With a ranker, of as many as it chooses among, or k if that is more. A question of more than a hundred
        words has none: it would take gigabytes. TypeError if k is no whole number, ValueError if it is
        less than 1.
        """
        require_type("line", line, str, "a string")
        require_count("k", k)
        words = question_words(line)
        if not words or len(words) > LONGEST:
            return []
        number = k if self.ranker is None else max(k, self.reading.candidates)
        result = self.decoder.search(cut_words(words, self.reading.letters))
        found = [each for each in self.decoder.translations(result, number) if each.words]
        if not found:
            return []
        candidates = [Candidate(each.words, self._features(each)) for each in found]
        scores = np.array([each.score for each in found])
        likely: list[float | None] = [None] * len(found)
        if self.ranker is not None:
            scores = candidate_scores(self.ranker, words, candidates)
            likely = [*probabilities(scores).tolist()]
        best = np.argsort(-scores, kind="stable")[:k].tolist()
        return [self._parse(line, candidates[at], float(scores[at]), likely[at]) for at in best]

    def words(self, line: str) -> tuple[list[str], list[str]]:
        """The words of a question, and those of them that are in no rule."""
        words = question_words(line)
        vocabulary = self.decoder.grammar.source_vocabulary
        cut = cut_words(words, self.reading.letters)
        return words, [word for word, known in zip(words, cut, strict=True) if known not in vocabulary]

    def _features(self, found: Translation) -> dict[str, float]:
        values = zip(self.decoder.feature_names, found.features.tolist(), strict=True)
        return summed((*values, *found.sparse))

    def _parse(self, line: str, candidate: Candidate, score: float, likely: float | None) -> Parse:
        expression = from_linear(candidate.words)
        text = None if expression is None else write(expression, self.reading.form or FORMS[0])
        return Parse(line, text or "", candidate.words, score, candidate.features, likely)

    def __repr__(self) -> str:
        ranked = "a ranker" if self.ranker is not None else "no ranker"
        rules = counted(len(self.decoder.grammar.rules), "rule")
        return f"Parser to {self.reading.form} of {rules} and {ranked}"
