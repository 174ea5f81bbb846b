"""Features that few rules have do what they do as columns, from the table to tuned weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from decoder.grammar.file import is_grammar_file, read_grammar_file, with_settings, write_grammar_file
from decoder.grammar.trie import Grammar, GrammarSource, build_grammar
from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from decoder.translation.derivations import derivation_record
from decoder.translation.forced import ForcedDecoder
from decoder.translation.hypergraph import hypergraph_record
from decoder.translation.nbest import nbest_lines
from decoder.translation.weights import weight_vector
from decoder.tuning.settings import TuneSettings
from decoder.tuning.tune import tune
from scfg_sampler.core.arrays.sparse import sparse_rows
from scfg_sampler.rules.table import RuleTable, SparseFeatures, select_rows
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model

FEW = ("S1", "S2", "S3")
NAMES = (*small.FEATURES, *FEW)
OWN = {"LanguageModel": 0.4, "Glue": -0.2, "PassThrough": -1.0}
WEIGHTS = {"First": 0.7, "Second": -0.3, "S1": 0.5, "S2": -0.8, "S3": 1.1, **OWN}
SOURCES = [list(words) for words in ("uvwuv", "wwvu", "", "vuvuw", "xvuw")]


def tables(seed: int = 3) -> tuple[RuleTable, RuleTable]:
    """The same rules with all features as columns, and with some as features that few rules have."""
    rng = np.random.default_rng(seed)
    rules = [
        (source, target, [*values, *(rng.normal(size=3).round(2) * (rng.random(3) < 0.4))])
        for source, target, values in small.random_rules(rng, 24)
    ]
    rules += [(word, word.translate(str.maketrans("uvw", "abc")), [0, 0, 0, 0, 1]) for word in "uvw"]
    whole = small.rule_table(rules, NAMES)
    few = SparseFeatures(FEW, sparse_rows(whole.features[:, 2:]))
    few = few._replace(rows=few.rows._replace(values=few.rows.values.astype(np.float32)))
    kept = np.ascontiguousarray(whole.features[:, :2])
    return whole, whole._replace(features=kept, feature_names=small.FEATURES, sparse=few)


def decoders(weights=WEIGHTS, **options) -> tuple[Decoder, Decoder]:
    one, other = (decoder_of(build_grammar([GrammarSource(table, "", 8)]), weights) for table in tables())
    return one, other


def decoder_of(grammar: Grammar, weights: dict[str, float]) -> Decoder:
    model = random_model(5, 2)
    return Decoder(grammar, build_lm(model), LmVocabulary(model.words), weights)


def named(decoder, translation) -> dict[str, float]:
    values = dict(zip(decoder.feature_names, translation.features.tolist(), strict=True))
    return {name: value for name, value in (values | dict(translation.sparse)).items() if value}


def test_translations_scores_and_features_are_those_of_columns():
    one, other = decoders()
    assert other.feature_names == (*small.FEATURES, *OWN)
    assert other.weight_names == (*small.FEATURES, *OWN, *FEW)
    with_few = 0
    for words in SOURCES:
        assert other.translate(words).words == one.translate(words).words
        assert named(other, other.translate(words)) == pytest.approx(named(one, one.translate(words)))
        if not words:
            continue
        lists = [decoder.translations(decoder.search(words), 30) for decoder in (one, other)]
        assert len(lists[0]) == len(lists[1])
        for left, right in zip(*lists, strict=True):
            assert right.words == left.words
            assert right.score == pytest.approx(left.score)
            assert named(other, right) == pytest.approx(named(one, left))
            with_few += any(name in FEW for name in named(other, right))
        scores = [sum(other_weights(other)[n] * v for n, v in named(other, t).items()) for t in lists[1]]
        assert_allclose(scores, [translation.score for translation in lists[1]])
    assert with_few > 20


def other_weights(decoder: Decoder) -> dict[str, float]:
    return dict(zip(decoder.weight_names, decoder.weights.tolist(), strict=True))


def test_lists_records_and_hypergraphs_name_them_where_they_are_not_0():
    one, other = decoders()
    words = SOURCES[0]
    found = [decoder.search(words, keep_states=True) for decoder in (one, other)]
    best = [decoder.best(result) for decoder, result in zip((one, other), found, strict=True)]
    lines = [
        next(nbest_lines(0, [t], d.feature_names)).split(" ||| ")
        for d, t in zip((one, other), best, strict=True)
    ]
    values = [dict(field.split("=") for field in line[2].split()) for line in lines]
    present = [{name: value for name, value in each.items() if value != "0"} for each in values]
    assert present[0] == present[1]
    assert any(name in values[1] for name in FEW)
    records = [derivation_record(d, r, t, 0) for d, r, t in zip((one, other), found, best, strict=True)]
    for left, right in zip(records[0]["nodes"], records[1]["nodes"], strict=True):
        assert right["features"] == pytest.approx(left["features"])
    assert {k: v for k, v in records[1]["features"].items() if v} == pytest.approx(
        {k: v for k, v in records[0]["features"].items() if v}
    )
    graphs = [hypergraph_record(d, r, 0)["rules"] for d, r in zip((one, other), found, strict=True)]
    for left, right in zip(*graphs, strict=True):
        assert right["features"] == pytest.approx(left["features"])


def test_forced_derivations_have_their_scores():
    one, other = decoders()
    words = SOURCES[3]
    reference = one.translate(words).words
    scores = []
    for decoder in (one, other):
        found = ForcedDecoder(decoder).derive(words, reference)
        scores.append(decoder.best(found.result).score)
    assert scores[1] == pytest.approx(scores[0])


@pytest.mark.parametrize("method", ["pro", "mira"])
def test_tuned_weights_are_those_of_columns(method, tmp_path):
    references = [[["a" if w == "u" else "b" if w == "v" else "c" for w in words]] for words in SOURCES]
    start = dict.fromkeys(WEIGHTS, 0.1)
    # One round, as weights that differ in the last digit may lead to other lists.
    settings = TuneSettings(rounds=1, nbest=30, method=method, interpolation=0.5)
    one, other = (
        list(tune(decoder, SOURCES, references, settings, state=tmp_path / str(i)))
        for i, decoder in enumerate(decoders(start))
    )
    assert len(one) == len(other) > 1
    columns = [(*NAMES, *OWN).index(name) for name in (*small.FEATURES, *OWN, *FEW)]
    for left, right in zip(one, other, strict=True):
        assert right.num_new == left.num_new
        assert right.score == pytest.approx(left.score)
        assert_allclose(right.weights, left.weights[columns], atol=1e-5)
    assert np.abs(other[-1].weights[-3:] - 0.1).max() > 0.01
    again = list(tune(decoders(start)[1], SOURCES, references, settings, state=tmp_path / "1"))
    for left, right in zip(other, again, strict=True):
        assert_array_equal(right.weights, left.weights)


def test_a_compiled_grammar_keeps_them(tmp_path):
    _, table = tables()
    write_grammar_file(table, tmp_path / "compiled")
    assert is_grammar_file(tmp_path / "compiled")
    compiled = read_grammar_file(tmp_path / "compiled")
    found = with_settings(compiled, "p.", 8)
    assert found.sparse_names == ("p.S1", "p.S2", "p.S3")
    for there, here in zip(found.sparse.rows, table.sparse.rows, strict=True):
        assert_array_equal(there, here)
    weights = {name if name in OWN else f"p.{name}": value for name, value in WEIGHTS.items()}
    for words in SOURCES:
        expected = decoders()[1].translate(words)
        assert decoder_of(found, weights).translate(words).words == expected.words


def test_tables_are_joined_whichever_way_they_have_a_feature():
    """S1 is a column of one table and not of the other; with a prefix, nothing is shared."""
    whole, few = tables()
    rows = [np.arange(0, len(whole.features), 2), np.arange(1, len(whole.features), 2)]
    expected = build_grammar([GrammarSource(select_rows(whole, part)) for part in rows])
    mixed = [GrammarSource(select_rows(whole, rows[0])), GrammarSource(select_rows(few, rows[1]))]
    found = build_grammar(mixed)
    assert found.sparse is None
    assert_array_equal(found.features, expected.features)
    found = build_grammar([GrammarSource(select_rows(few, part)) for part in rows])
    spelled = decoder_of(found, WEIGHTS)
    for words in SOURCES:
        assert spelled.translate(words).words == decoder_of(expected, WEIGHTS).translate(words).words
    apart = build_grammar([GrammarSource(few, "x."), GrammarSource(few)])
    assert apart.sparse_names == ("S1", "S2", "S3", "x.S1", "x.S2", "x.S3")
    size = len(few.sparse.rows.values)
    assert_array_equal(apart.sparse.rows.column, [*(few.sparse.rows.column + 3), *few.sparse.rows.column])
    assert len(apart.sparse.rows.values) == 2 * size


def test_those_without_a_weight_count_0_and_that_none_has_one_is_said(capsys):
    names, few = ("First",), ("S1", "S2")
    assert weight_vector({"First": 2.0, "S2": 3.0}, names, "w", few).tolist() == [2.0, 0.0, 3.0]
    assert capsys.readouterr().err == ""
    assert weight_vector({"First": 2.0}, names, "w", few).tolist() == [2.0, 0.0, 0.0]
    assert "w: no weight for any of 2 sparse features" in capsys.readouterr().err
    weight_vector({"First": 2.0, **{f"T{k}": 1.0 for k in range(2000)}}, names, "w")
    assert "no feature is called T0, T1, T2, nor 1997 others" in capsys.readouterr().err
