"""Translation to functional expressions: a decoder all of whose translations are well-formed.

The search is that of any translation, and goes by the language model. Then the forest is intersected with the
expression model, and what is read off it, the best derivation and the k best, is read off the intersection.
Two features come to those of the search:

    ExpressionModel    ln P of the expression as a tree
    SymbolLexicon      the log odds of the symbols, given the words of the sentence

A decoder that predicts (`predicting`) adds to its lists what a tree model finds likely and no derivation is,
and two features more, which have no weights here, to all of them:

    TreeModel          ln P of the expression given the words, but for its constants
    Underived          1 for what is predicted alone, whose features of rules are those of the best derivation

Words that are copied elsewhere are left out here: a source word is no symbol. PassThrough counts them.

Not all well-formed expressions can be written in the form that they are for: a tree of SQL's symbols need not
be a query. There, what is no query is left out as it is read off.

The fact a newcomer would get wrong: there may be no translation. Where the search has kept no well-formed
derivation, the translation has no words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Self

import numpy as np

from decoder.expressions.files import Expressions
from decoder.expressions.forms import is_sound
from decoder.expressions.intersection import WellFormed, intersection
from decoder.expressions.model import expression_model
from decoder.expressions.prediction import Predictor, constants_of
from decoder.expressions.tree import is_constant
from decoder.expressions.words import log_odds
from decoder.grammar.trie import Grammar
from decoder.lm.model import LanguageModel, LmVocabulary, feature_of, score_sentences
from decoder.search.cube import SearchSettings
from decoder.search.forest import ForestGraph
from decoder.search.guide import Guidance
from decoder.search.kbest import KBest, k_best
from decoder.translation.decoder import Decoder, feature_names
from decoder.translation.results import Copy, ForestPosterior, KBestList, SearchResult, Translation
from decoder.translation.settings import SearchDefaults
from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.arrays.sparse import no_rows
from scfg_sampler.core.elementary import products
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import SettingsError

__all__ = ["FEATURES", "PREDICTED", "ExpressionDecoder", "expression_features"]

FEATURES = ("ExpressionModel", "SymbolLexicon")
PREDICTED = ("TreeModel", "Underived")
_MOST = 64  # Shapes of a node.
_LENGTH = "TargetWords"  # Of rule tables.
_FEWEST, _FARTHEST = 64, 16  # Derivations looked at for one of SQL, and that many times as many at most.


def expression_features(grammar: Grammar, num_models: int = 1) -> tuple[str, ...]:
    """The features of a decoder with so many language models, then those of expressions."""
    return (*feature_names(grammar, num_models), *FEATURES)


class ExpressionDecoder(Decoder):
    """Translates to well-formed expressions in linear form.

    Parameters
    ----------
    expressions : Expressions
    grammar : Grammar
    lm, lm_vocabulary : as for `Decoder`
    weights : a number for every one of `expression_features(grammar, number of models)`
    settings : SearchDefaults, its `max_span` aside
    weights_path : for error messages
    """

    def __init__(
        self,
        expressions: Expressions,
        grammar: Grammar,
        lm: LanguageModel | tuple[LanguageModel, ...],
        lm_vocabulary: LmVocabulary | tuple[LmVocabulary, ...],
        weights: dict[str, float],
        settings: SearchDefaults,
        weights_path: PathLike | None = None,
    ):
        self._set(grammar, lm, lm_vocabulary, weights, settings, weights_path)
        self._rank()
        self._model = expression_model(expressions.arguments)
        self._lexicon, self._form = expressions.lexicon, expressions.form
        self._trees, self.predicted = expressions.trees, 0
        number = {symbol: i for i, symbol in enumerate(self._model.symbols)}
        words = self.grammar.target_vocabulary.words
        self._symbol = np.fromiter((number.get(word, -1) for word in words), np.int32, len(words))

    @staticmethod
    def _feature_names(grammar: Grammar, num_models: int) -> tuple[str, ...]:
        return expression_features(grammar, num_models)

    def _search_settings(self) -> SearchSettings:
        # Not guided: what is well-formed may be far from the best of its cell.
        return super()._search_settings()._replace(guidance=Guidance())

    @property
    def _own_weights(self) -> np.ndarray:
        """The weights of `FEATURES`."""
        return self.weights[len(self.feature_names) - len(FEATURES) : len(self.feature_names)]

    def search(
        self,
        words: Sequence[str],
        copies: Sequence[Copy] | None = None,
        *,
        fixed: Collection[int] = (),
        keep_states: bool = False,
    ) -> SearchResult:
        """The forest of a sentence; words that no rule covers are left out unless `copies` says otherwise."""
        copies = [()] * len(words) if copies is None else copies
        return super().search(words, copies, fixed=fixed, keep_states=keep_states)

    def well_formed(self, result: SearchResult) -> tuple[WellFormed, np.ndarray] | None:
        """The well-formed derivations of a forest, and the values of `FEATURES` of each edge, float64 (E, 2).

        None if there are no such derivations.
        """
        forest = self.export(result)
        words = self._word_values(result, forest)
        of_model, of_words = self._own_weights.tolist()
        weights = result.forest.weight[forest.edges] + of_words * words
        found = intersection(forest, weights, self._symbol, self._model, of_model, _MOST)
        if found is None:
            return None
        return found, np.column_stack((found.log_prob, self._word_values(result, found.graph)))

    def _word_values(self, result: SearchResult, graph: ForestGraph) -> np.ndarray:
        """The log odds of the symbols that each edge writes, summed; float64 (E,)."""
        odds = log_odds(self._lexicon, result.source, self._model.symbols)
        value = np.append(np.where(self._symbol >= 0, odds[self._symbol], 0.0), 0.0)
        template = graph.template
        # Words beyond the vocabulary are no symbols; gaps are below 0, and without rules there are no words.
        each = np.where(template >= 0, value[np.clip(template, 0, len(value) - 1)], 0.0)
        return _sums(each, graph.template_start)

    def k_best(self, result: SearchResult, k: int, *, unique: bool = True) -> KBestList:
        """The k best well-formed derivations, or with `unique` those of different expressions.

        One without words, and features of 0, where there are none.
        """
        well_formed = self.well_formed(result)
        if well_formed is None:
            return self._no_list()
        (graph, _), values = well_formed
        weights = result.forest.weight[graph.edges] + products(values, self._own_weights)
        best = self._read_off(graph, weights, k, unique)
        if len(best.score) == 0:
            return self._no_list()
        edges = graph.edges[best.edges]
        ours = [_sums(column[best.edges], best.edge_start) for column in values.T]
        features = np.column_stack((self.features(result, best.edge_start, edges), *ours))
        return KBestList(
            best.word_start,
            best.words,
            features,
            best.score,
            result.extra_words,
            best.edge_start,
            edges,
            self.sparse_features(result, best.edge_start, edges),
        )

    def _read_off(self, graph: ForestGraph, weights: np.ndarray, k: int, unique: bool) -> KBest:
        """The k best derivations of what can be written in its form; for SQL, of as many as are looked at."""
        how = graph.graph, weights, graph.template_start, graph.template
        if self._form != "sql":
            return k_best(*how, k, unique=unique)
        most = _FARTHEST * max(k, _FEWEST)
        number = min(most, max(4 * k, _FEWEST))
        while True:
            found = k_best(*how, number, unique=unique)
            texts = np.split(found.words, found.word_start[1:-1])
            rows = np.flatnonzero([is_sound(self._spell(text, []), self._form) for text in texts])[:k]
            if len(rows) == k or len(found.score) < number or number == most:
                edges = take_rows(found.edge_start, found.edges, rows)
                return KBest(found.score[rows], *edges, *take_rows(found.word_start, found.words, rows))
            number = min(most, 4 * number)

    def _no_list(self) -> KBestList:
        """The list of a sentence without an expression: one without words, and features of 0."""
        start = np.zeros(2, np.int64)
        nothing = np.zeros(0, np.int32)
        features = np.zeros((1, len(self.feature_names)))
        sparse = no_rows(1, len(self.sparse_names)) if self.sparse_names else None
        return KBestList(start, nothing, features, np.zeros(1), [], start, nothing, sparse)

    def predicting(self, number: int) -> Self:
        """The same decoder, whose lists have up to so many expressions more, predicted by a tree model.

        SettingsError if `train-expressions` has learnt none.
        """
        if number and self._trees is None:
            raise SettingsError(
                "the model of expressions predicts none; learn it anew, with train-expressions"
            )
        return self._with(predicted=number)

    def translations(self, result: SearchResult, k: int, *, unique: bool = True) -> list[Translation]:
        """The k best well-formed translations, and what is predicted beside them, the likeliest first."""
        found = super().translations(result, k, unique=unique)
        if self.predicted == 0 or self._trees is None:
            return found
        predictor = Predictor(self._model, self._trees, self._lexicon.names, self._form)
        places = predictor.places(result.source)
        derived = [
            each._replace(
                sparse=(*each.sparse, (PREDICTED[0], places.log_prob(each.words)), (PREDICTED[1], 0.0))
            )
            for each in found
            if each.words
        ]
        known = {tuple(each.words) for each in derived}
        sequences = constants_of(each.words for each in derived) or self._constants(result)
        predicted = predictor.predicted(places, sequences, self.predicted)
        new = [(tree, log_prob) for tree, log_prob in predicted if tuple(tree) not in known]
        return [*derived, *self._predicted(result, derived, new, predictor)] or found

    def _constants(self, result: SearchResult) -> list[tuple[str, ...]]:
        """The constants that rules of a forest write, each by itself."""
        ids = np.unique(self.export(result).template)
        words = self._spell(ids[ids >= 0], result.extra_words)
        return [(word,) for word in words if is_constant(word)]

    def _predicted(
        self,
        result: SearchResult,
        derived: Sequence[Translation],
        trees: Sequence[tuple[list[str], float]],
        predictor: Predictor,
    ) -> Iterator[Translation]:
        """What is predicted, with features; its score is ln P, less than that of all derivations."""
        features = derived[0].features if derived else np.zeros(len(self.feature_names))
        floor = min((each.score for each in derived), default=0.0)
        column = {name: i for i, name in enumerate(self.feature_names)}
        odds = dict(
            zip(
                self._model.symbols,
                log_odds(self._lexicon, result.source, self._model.symbols).tolist(),
                strict=True,
            )
        )
        for tree, log_prob in trees:
            own = {
                _LENGTH: float(len(tree)),
                FEATURES[0]: predictor.log_prob(tree),
                FEATURES[1]: sum(odds[symbol] for symbol in tree),
                **self._language_models(tree),
            }
            values = features.copy()
            for name, value in own.items():
                if name in column:
                    values[column[name]] = value
            more = (PREDICTED[0], log_prob), (PREDICTED[1], 1.0)
            yield Translation(tree, floor + log_prob, values, np.zeros(0, np.int32), more)

    def _language_models(self, words: Sequence[str]) -> dict[str, float]:
        """The log probability of words by each language model."""
        start = np.array([0, len(words)], np.int64)
        return {
            feature_of(i): float(score_sentences(lm, start, ids)[0][0])
            for i, (lm, ids) in enumerate(zip(self.lms, self.lm_ids(words), strict=True))
        }

    def best(self, result: SearchResult) -> Translation:
        """The best well-formed translation; no words if there is none."""
        return self._translation(self.k_best(result, 1), 0)

    def posterior(self, result: SearchResult, scale: float = 1.0) -> ForestPosterior:
        """Not there for expressions: a SettingsError."""
        raise SettingsError("posteriors of rules are those of a forest, not of its expressions")


def _sums(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The sums of values[start[i]:start[i + 1]] for each i."""
    return np.diff(np.concatenate([[0.0], np.cumsum(values)])[start])
