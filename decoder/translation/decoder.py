"""Translation of sentences: the chart, the search and what comes out of them, put together.

    decoder = Decoder(build_grammar([GrammarSource(read_rule_table(path))]), *load_lm(lm_path), weights)
    decoder.translate("mein haus .".split()).text

With several language models it is `*load_lms(paths)`. A `Decoder` is immutable, so threads may share it; the
kernels release the interpreter lock. Words of the input are words and nothing else: `[X,1]`, `|||` or `<s>`
are translated or copied like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Self

import numpy as np

from decoder.grammar.trie import Grammar, RankedRules, rank_rules
from decoder.lm.model import LanguageModel, LmVocabulary, unknown_feature_of
from decoder.search import boundary, cube
from decoder.search.chart import COPY
from decoder.search.cube import FINISH, SearchSettings
from decoder.search.forest import (
    ForestGraph,
    best_derivation,
    derivation_features,
    export,
    own_features,
)
from decoder.search.guide import Guidance
from decoder.search.kbest import k_best
from decoder.search.labelled import chart_of
from decoder.search.mbr import expected_bleu, posteriors
from decoder.translation.results import (
    Copy,
    ForestPosterior,
    KBestList,
    ParsedSentence,
    SearchResult,
    Translation,
    copied_to,
)
from decoder.translation.settings import SearchDefaults, check_search, check_search_settings
from decoder.translation.weights import weight_vector
from scfg_sampler.core.arrays.sparse import Rows, row_sums
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.forests.derivations import edge_posteriors
from scfg_sampler.core.forests.semiring import Expectation, inside
from scfg_sampler.errors import SettingsError

__all__ = ["Decoder", "feature_names"]

# How a search is guided, by scores and processor seconds on development sets.
_NARROWER, _MARGIN, _REST = 16, 14.0, 0.5


def feature_names(grammar: Grammar, num_models: int = 1) -> tuple[str, ...]:
    """The features of a grammar's rules, then those of a decoder with so many language models."""
    return (*grammar.feature_names, *own_features(num_models, grammar.soft_labels))


class Decoder:
    """Translates with a grammar, language models and weights.

    Parameters
    ----------
    grammar : Grammar
    lm : LanguageModel, or a tuple of several
    lm_vocabulary : LmVocabulary, or a tuple of them, one for each model
    weights : a number for every one of `feature_names(grammar, number of models)`; features that few rules
        have count 0 without one
    beam : how many points a cell may pop; 0 for exact search, which is exponential
    max_targets : how many targets of a source side are tried; 0 for all
    widen : a span of n words may pop beam · n / widen points; 0 for `beam`, whatever the span
    weights_path : for error messages

    Raises
    ------
    InputError
        A feature has no weight.
    SettingsError
        `beam`, `max_targets` or `widen` is negative.
    """

    def __init__(
        self,
        grammar: Grammar,
        lm: LanguageModel | tuple[LanguageModel, ...],
        lm_vocabulary: LmVocabulary | tuple[LmVocabulary, ...],
        weights: dict[str, float],
        *,
        beam: int = 200,
        max_targets: int = 20,
        widen: float = 1.5,
        weights_path: PathLike | None = None,
    ):
        self._set(grammar, lm, lm_vocabulary, weights, SearchDefaults(beam, max_targets, widen), weights_path)
        self._rank()

    @classmethod
    def with_ranking(
        cls,
        grammar: Grammar,
        lm: LanguageModel | tuple[LanguageModel, ...],
        lm_vocabulary: LmVocabulary | tuple[LmVocabulary, ...],
        weights: dict[str, float],
        settings: SearchDefaults,
        rules: RankedRules,
    ) -> Decoder:
        """A decoder whose rules one with the same models, weights and `max_targets` has ranked."""
        decoder = object.__new__(cls)
        decoder._set(grammar, lm, lm_vocabulary, weights, settings, None)
        decoder._rules = rules
        return decoder

    def _set(
        self,
        grammar: Grammar,
        lm: LanguageModel | tuple[LanguageModel, ...],
        lm_vocabulary: LmVocabulary | tuple[LmVocabulary, ...],
        weights: dict[str, float],
        settings: SearchDefaults,
        weights_path: PathLike | None,
    ) -> None:
        """All but the ranking."""
        check_search_settings(settings)
        beam, max_targets, widen, _, self._searches_by = settings
        self.grammar = grammar
        self.lms = (lm,) if isinstance(lm, LanguageModel) else tuple(lm)
        self.lm_vocabularies = (
            (lm_vocabulary,) if isinstance(lm_vocabulary, LmVocabulary) else tuple(lm_vocabulary)
        )
        if not self.lms:
            raise SettingsError("--lm: no language model is given")
        self.feature_names = self._feature_names(grammar, len(self.lms))
        self.sparse_names = grammar.sparse_names
        self.weights = weight_vector(weights, self.feature_names, weights_path, self.sparse_names)
        self.beam, self.max_targets, self.widen = beam, max_targets, widen
        self.copy_any = False
        self._max_span = max(source.max_span for source in grammar.sources)
        self._lm_ids = self.lm_ids(grammar.target_vocabulary.words)
        self._settings = self._search_settings()

    @staticmethod
    def _feature_names(grammar: Grammar, num_models: int) -> tuple[str, ...]:
        return feature_names(grammar, num_models)

    def _search_settings(self) -> SearchSettings:
        guidance = Guidance()
        if self._searches_by == "guided":
            guidance = Guidance(self.beam // _NARROWER, _MARGIN, _REST)
        widen, glue = float(self.widen), self.glue_weight
        return SearchSettings(
            self.beam, self.lm_weights, glue, self.mismatch_weight, np.zeros(0), widen, False, guidance
        )

    @property
    def weight_names(self) -> tuple[str, ...]:
        """What each weight is of: `feature_names`, then `sparse_names`."""
        return (*self.feature_names, *self.sparse_names)

    @property
    def rule_weights(self) -> np.ndarray:
        """The weights of the features of rules, as `rule_scores` takes them."""
        of_columns = self.weights[: len(self.grammar.feature_names)]
        return np.concatenate([of_columns, self.weights[len(self.feature_names) :]])

    @property
    def _glue(self) -> int:
        """The column of Glue; that of PassThrough is the next, and then that of LabelMismatch, if any."""
        return len(self.grammar.feature_names) + len(self.lms)

    @property
    def glue_weight(self) -> float:
        """The weight of Glue."""
        return float(self.weights[self._glue])

    @property
    def mismatch_weight(self) -> float:
        """The weight of LabelMismatch, 0 where labels are not soft."""
        return float(self.weights[self._glue + 2]) if self.grammar.soft_labels else 0.0

    @property
    def lm_weights(self) -> np.ndarray:
        """The weight of each language model, float64 (M,)."""
        return self.weights[len(self.grammar.feature_names) : self._glue]

    def lm_ids(self, words: Sequence[str]) -> np.ndarray:
        """The id each language model has for each word, int32 (M, n)."""
        ids = np.empty((len(self.lms), len(words)), np.int32)
        for row, vocabulary in zip(ids, self.lm_vocabularies, strict=True):
            row[:] = np.fromiter(map(vocabulary.id, words), np.int32, len(words))
        return ids

    @property
    def rules(self) -> RankedRules:
        """The targets of every source side, ranked under the weights."""
        return self._rules

    def _rank(self) -> None:
        self._rules = rank_rules(
            self.grammar, self.rule_weights, self.lms, self._lm_ids, self.lm_weights, self.max_targets
        )

    def with_weights(self, weights: np.ndarray) -> Self:
        """The same decoder with other weights, in the order of `weight_names`."""
        other = self._with(weights=np.array(weights, np.float64))
        other._rank()
        return other

    def copying_any(self) -> Self:
        """The same decoder, for which a word may be copied although rules have it as their source side."""
        return self._with(copy_any=True)

    def searching(self, how: str) -> Self:
        """The same decoder with one of the `SEARCHES` of `decoder.translation.settings`."""
        return self._with(_searches_by=check_search(how))

    def unguided(self) -> Self:
        """The same decoder where no narrow search says where to look; itself if none does."""
        return self.searching("boundary") if self._settings.guidance.narrow > 0 else self

    def _with(self, **changed: object) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changed)
        other._settings = other._search_settings()
        return other

    def search(
        self,
        words: Sequence[str],
        copies: Sequence[Copy] | None = None,
        *,
        fixed: Collection[int] = (),
        keep_states: bool = False,
    ) -> SearchResult:
        """The forest of a sentence of at least one word.

        copies : what each word becomes if it is copied, a word or several; by default the same word
        fixed : the positions of words that are copied, whatever rules there are
        keep_states : whether the forest is to have the language-model states of its items
        """
        copies = words if copies is None else copies
        chart, copied, lm_ids, extra = self.parse(words, copies, fixed)
        settings = self._settings._replace(copy_weight=self.copy_weights(copies), keep_states=keep_states)
        search = cube.search if self._searches_by == "cube" else boundary.search
        forest = search(self._rules, self.lms, chart, (copied[0], lm_ids), self.grammar.max_arity, settings)
        return SearchResult(words, copies, chart, forest, copied, extra)

    def parse(
        self, words: Sequence[str], copies: Sequence[Copy], fixed: Collection[int] = ()
    ) -> ParsedSentence:
        """The chart of a sentence of at least one word, and what each becomes if it is copied."""
        vocabulary = self.grammar.target_vocabulary
        extra: dict[str, int] = {}
        known = len(vocabulary)
        spelled = [copied_to(copy) for copy in copies]
        flat = [word for each in spelled for word in each]
        copied_words = np.empty(len(flat), np.int32)
        for i, word in enumerate(flat):
            target = vocabulary.id(word)
            copied_words[i] = target if target >= 0 else extra.setdefault(word, known + len(extra))
        start = np.cumsum([0, *map(len, spelled)]).astype(np.int64)
        source = np.fromiter(map(self.grammar.source_vocabulary.id, words), np.int32, len(words))
        source[list(fixed)] = -1
        chart = chart_of(self.grammar, source, self._max_span, self.copy_any)
        return ParsedSentence(chart, (start, copied_words), self.lm_ids(flat), list(extra))

    def copy_weights(self, copies: Sequence[Copy]) -> np.ndarray:
        """What copying each word adds to the score, its language-model probability apart; float64 (n,)."""
        weights = np.full(len(copies), self.weights[self._glue + 1])
        for feature, unknown in self._unknown(copies):
            weights += self.weights[feature] * unknown
        return weights

    def features(self, result: SearchResult, start: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """The features of derivations, float64 (K, F), in the order of `feature_names`.

        start, edges : int64 (K + 1,), int; derivation i has the edges `edges[start[i]:start[i + 1]]`
        """
        forest = result.forest
        num_own = len(own_features(0, self.grammar.soft_labels))
        values = derivation_features(forest, self.grammar.features, start, edges, num_own)
        for feature, unknown in self._unknown(result.copies):
            begin = result.chart.begin[forest.cell[forest.head[edges]]]
            copied = unknown[begin] * (forest.rule[edges] == COPY)
            before = np.concatenate([[0], np.cumsum(copied)])
            values[:, feature] += np.diff(before[start])
        return values

    def sparse_features(self, result: SearchResult, start: np.ndarray, edges: np.ndarray) -> Rows | None:
        """The features of derivations that few rules have, in the order of `sparse_names`, as `features`.

        None if the grammar has none.
        """
        sparse = self.grammar.sparse
        return None if sparse is None else row_sums(sparse.rows, start, result.forest.rule[edges])

    def named(self, sparse: Rows | None, row: int) -> tuple[tuple[str, float], ...]:
        """Names and values of a row of what `sparse_features` gives."""
        if sparse is None:
            return ()
        at = slice(sparse.start[row], sparse.start[row + 1])
        names = (self.sparse_names[k] for k in sparse.column[at].tolist())
        return tuple(zip(names, sparse.values[at].tolist(), strict=True))

    def edge_features(self, result: SearchResult, edges: np.ndarray) -> np.ndarray:
        """The features of single edges, float64 (len(edges), F)."""
        return self.features(result, np.arange(len(edges) + 1), edges)

    def _unknown(self, copies: Sequence[Copy]) -> Iterator[tuple[int, np.ndarray]]:
        """The features that count words unknown to a model, and how many each copy has, int64 (n,)."""
        for model, vocabulary in enumerate(self.lm_vocabularies):
            if (name := unknown_feature_of(model)) in self.feature_names:
                counts = [sum(word not in vocabulary for word in copied_to(copy)) for copy in copies]
                yield self.feature_names.index(name), np.array(counts, np.int64)

    def translate(self, words: Sequence[str]) -> Translation:
        """The best translation found; no words have no words as their translation."""
        if isinstance(words, str):
            raise TypeError("words is a string; give a list of words, such as text.split()")
        if not words:
            return Translation([], 0.0, np.zeros(len(self.feature_names)), np.zeros(0, np.int32))
        return self.best(self.search(words))

    def best(self, result: SearchResult) -> Translation:
        """The best translation in a forest."""
        forest = result.forest
        ids, edges = best_derivation(
            forest, self.grammar.target_start, self.grammar.target, result.copied, result.chart.begin
        )
        start = np.array([0, len(edges)], np.int64)
        features = self.features(result, start, edges)[0]
        sparse = self.named(self.sparse_features(result, start, edges), 0)
        words = self._spell(ids, result.extra_words)
        return Translation(words, float(forest.score[-1]), features, edges, sparse)

    def export(self, result: SearchResult) -> ForestGraph:
        """The forest of a sentence as a core `Hypergraph`."""
        return export(
            result.forest, self.grammar.target_start, self.grammar.target, result.copied, result.chart.begin
        )

    def k_best(self, result: SearchResult, k: int, *, unique: bool = True) -> KBestList:
        """The k best derivations in a forest, or with `unique` those of different strings."""
        graph = self.export(result)
        weights = result.forest.weight[graph.edges]
        found = k_best(graph.graph, weights, graph.template_start, graph.template, k, unique=unique)
        edges = graph.edges[found.edges]
        features = self.features(result, found.edge_start, edges)
        return KBestList(
            found.word_start,
            found.words,
            features,
            found.score,
            result.extra_words,
            found.edge_start,
            edges,
            self.sparse_features(result, found.edge_start, edges),
        )

    def translations(self, result: SearchResult, k: int, *, unique: bool = True) -> list[Translation]:
        """The k best derivations in a forest, or with `unique` those of different strings."""
        found = self.k_best(result, k, unique=unique)
        return [self._translation(found, i) for i in range(len(found.score))]

    def posterior(self, result: SearchResult, scale: float = 1.0) -> ForestPosterior:
        """Expected features and probabilities of rules over the derivations in a forest.

        Parameters
        ----------
        result : SearchResult
            With beam 0 of all derivations, otherwise of those that the search kept.
        scale : float
            What scores are multiplied by.
        """
        forest, graph = result.forest, self.export(result)
        values = self.edge_features(result, graph.edges)
        log_weights = scale * forest.weight[graph.edges]
        expected = inside(graph.graph, Expectation(log_weights, values))[-1, 1:]
        edges = np.zeros(len(forest.head))
        # Sums of rounded numbers; of scores beyond all sense, far from what they are.
        edges[graph.edges] = np.fmin(edge_posteriors(graph.graph, log_weights), 1.0)
        place = forest.cell[forest.head].astype(np.int64) << 32 | (forest.rule.astype(np.int64) - FINISH)
        _, use = np.unique(place, return_inverse=True)
        return ForestPosterior(expected, edges, np.fmin(np.bincount(use, edges), 1.0)[use])

    def minimum_risk(self, result: SearchResult, k: int = 100, scale: float = 1.0) -> Translation:
        """The translation with the highest expected BLEU+1 among the k best; see `decoder.search.mbr`."""
        found = self.k_best(result, k)
        expected = expected_bleu(found.word_start, found.words, posteriors(found.score, scale))
        return self._translation(found, int(np.argmax(expected)))

    def _translation(self, found: KBestList, i: int) -> Translation:
        return Translation(
            self._spell(found.words[found.word_start[i] : found.word_start[i + 1]], found.extra_words),
            float(found.score[i]),
            found.features[i],
            found.edges[found.edge_start[i] : found.edge_start[i + 1]],
            self.named(found.sparse, i),
        )

    def _spell(self, ids: np.ndarray, extra_words: list[str]) -> list[str]:
        words = self.grammar.target_vocabulary.words
        known = len(words)
        return [words[i] if i < known else extra_words[i - known] for i in ids.tolist()]
