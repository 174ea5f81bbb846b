"""Rule tables with their tries in a file that is mapped into memory.

A `Grammar` of one table is written as it is, but for what a command line decides: the span limit and the
prefix of the features are put in when it is read. The rules' alignments, which translating does not need, are
left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.labels import grammar_labels
from decoder.grammar.soundness import MOST_GAPS, grammar_problem
from decoder.grammar.trie import Grammar, GrammarSource, Trie, build_grammar, require_span
from scfg_sampler.core.arrays.array_file import Layout, has_magic, read_array_file, write_array_file
from scfg_sampler.core.arrays.sparse import Rows, no_rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules.labels import Labels
from scfg_sampler.rules.table import RuleTable, SparseFeatures

__all__ = ["CompiledGrammar", "is_grammar_file", "read_grammar_file", "with_settings", "write_grammar_file"]

_MAGIC = b"scfg-grammar 2\n"
_SPARSE_MAGIC = b"scfg-grammar 3\n"  # Of files that have features, besides, which few rules have.
_LABELLED_MAGIC = b"scfg-grammar 4\n"  # Of files with nonterminals other than X, whatever features they have.
_TRIE = ("slot_keys", "slot_children", "first_group", "next_group", "group_span", "group_arity")
_TABLE = ("source_start", "source", "target_start", "target", "features")
_AGAIN = "Compile the grammar again"
_LAYOUT = Layout(
    {"features": list, "signature": str, "max_arity": int, "num_unusable": int},
    ["source", "target"],
    {
        "source_start": ("i8", 1),
        "source": ("i4", 1),
        "target_start": ("i8", 1),
        "target": ("i4", 1),
        "features": ("f4", 2),
        "slot_keys": ("i8", 1),
        "slot_children": ("i4", 1),
        "first_group": ("i4", 1),
        "next_group": ("i4", 1),
        "group_span": ("i4", 1),
        "group_arity": ("i4", 1),
        "rule_start": ("i8", 1),
        "rules": ("i4", 1),
    },
)
_SPARSE = {"sparse_start": ("i8", 1), "sparse_column": ("i4", 1), "sparse_values": ("f4", 1)}
_SPARSE_LAYOUT = _LAYOUT._replace(words=["source", "target", "sparse"], arrays={**_LAYOUT.arrays, **_SPARSE})
_LABELS = {"label_kinds": ("i4", 2), "label_kind": ("i4", 1)}
_LABELLED_LAYOUT = _LAYOUT._replace(
    words=["source", "target", "sparse", "labels"], arrays={**_SPARSE_LAYOUT.arrays, **_LABELS}
)
_FORMATS = ((_MAGIC, _LAYOUT), (_SPARSE_MAGIC, _SPARSE_LAYOUT), (_LABELLED_MAGIC, _LABELLED_LAYOUT))


class CompiledGrammar(NamedTuple):
    """A table, and the grammar of this table alone; its span limits are those it was made with."""

    table: RuleTable
    grammar: Grammar


def is_grammar_file(path: PathLike) -> bool:
    """Whether a file begins like one written by `write_grammar_file`; False if it cannot be read."""
    return any(has_magic(path, magic) for magic, _ in _FORMATS)


def write_grammar_file(table: RuleTable, path: PathLike, name: PathLike | None = None) -> int:
    """Write a table and its trie for `read_grammar_file` to map into memory; how many rules can be used.

    Parameters
    ----------
    table : RuleTable
    path : of the new file
    name : what errors call the table; without it, that is the file's path

    Raises
    ------
    RuleTableError
        A rule has more nonterminals than such a file may hold, or a word or a label has a line
        break.
    """
    place = path if name is None else name
    grammar = build_grammar([GrammarSource(table)])
    if grammar.max_arity > MOST_GAPS:
        found = f"a rule has {grammar.max_arity} nonterminals, which is more than {MOST_GAPS}"
        raise RuleTableError(place, None, found, "Leave such rules out")
    names = table.labels.names if table.labels is not None else ()
    words_of = (table.source_vocabulary, table.target_vocabulary, names)
    if broken := next((word for each in words_of for word in each if "\n" in word), None):
        found = f"{broken!r} has a line break"
        raise RuleTableError(place, None, found, "Leave its rules out, or write it without &#10;")
    arrays = {
        **{name: getattr(table, name) for name in _TABLE},
        **{name: getattr(grammar.trie, name) for name in _TRIE},
        "rule_start": grammar.rule_start,
        "rules": grammar.rules,
    }
    values = {
        "features": list(table.feature_names),
        "signature": table.signature,
        "max_arity": grammar.max_arity,
        "num_unusable": grammar.num_unusable,
    }
    words = {"source": table.source_vocabulary.words, "target": table.target_vocabulary.words}
    magic = _MAGIC
    if table.sparse is not None or table.labels is not None:
        magic = _SPARSE_MAGIC
        sparse = table.sparse or SparseFeatures((), no_rows(table.num_rules, 0, np.float32))
        words |= {"sparse": list(sparse.names)}
        arrays |= dict(zip(_SPARSE, sparse.rows, strict=False))
    if table.labels is not None:
        magic = _LABELLED_MAGIC
        words |= {"labels": list(table.labels.names)}
        arrays |= {"label_kinds": table.labels.kinds, "label_kind": table.labels.kind}
    write_array_file(path, magic, values, words, arrays)
    return len(grammar.rules)


def read_grammar_file(path: PathLike) -> CompiledGrammar:
    """What `write_grammar_file` wrote; its pages are shared between processes.

    Raises
    ------
    RuleTableError
        The file is cut, damaged, from a machine with the other byte order, or holds what no grammar can be.
    """
    sparse, labels = None, None
    magic, layout = next((each for each in _FORMATS if has_magic(path, each[0])), _FORMATS[0])
    values, words, arrays = read_array_file(path, magic, layout, RuleTableError, _AGAIN)
    if words.get("sparse"):
        names = tuple(words["sparse"])
        start, column, rest = (arrays[name] for name in _SPARSE)
        sparse = SparseFeatures(names, Rows(start, column, rest, len(names)))
    if magic == _LABELLED_MAGIC:
        labels = Labels(tuple(words["labels"]), arrays["label_kinds"], arrays["label_kind"])
    source_start, source, target_start, target, features = (arrays[name] for name in _TABLE)
    num_rules = len(features)
    names = tuple(map(str, values["features"]))
    source_vocabulary, target_vocabulary = Vocabulary(words["source"]), Vocabulary(words["target"])
    table = RuleTable(
        source_vocabulary,
        target_vocabulary,
        source_start,
        source,
        target_start,
        target,
        np.zeros(num_rules + 1, np.int64),
        np.zeros((0, 2), np.int32),
        np.ones(num_rules),
        features,
        names,
        values["signature"],
        sparse,
        labels,
    )
    grammar = Grammar(
        (GrammarSource(table),),
        source_vocabulary,
        target_vocabulary,
        Trie(*(arrays[name] for name in _TRIE)),
        arrays["rule_start"],
        arrays["rules"],
        np.array([0, num_rules], np.int64),
        target_start,
        target,
        features,
        names,
        values["max_arity"],
        values["num_unusable"],
        sparse,
    )
    problem = grammar_problem(grammar)
    if problem is None and labels is not None:
        # Only now, as its arrays are good to index with.
        of_groups = grammar.rules[grammar.rule_start[:-1]]
        found = grammar_labels(labels, grammar.trie, len(source_vocabulary), of_groups)
        problem = "labels that no trie can have" if found is None else None
        grammar = grammar._replace(labels=found)
    if problem is not None:
        raise RuleTableError(path, None, f"is no grammar: {problem}", _AGAIN)
    return CompiledGrammar(table, grammar)


def with_settings(compiled: CompiledGrammar, prefix: str, max_span: int) -> Grammar:
    """The grammar with a span limit and a prefix of its features, as `build_grammar` would make it.

    Raises
    ------
    SettingsError
        The span limit is below 1.
    """
    source = GrammarSource(compiled.table, prefix, max_span)
    require_span(source)
    grammar, sparse = compiled.grammar, compiled.grammar.sparse
    spans = np.full(len(grammar.trie.group_span), min(max_span, 2**31 - 1), np.int32)
    return grammar._replace(
        sources=(source,),
        trie=grammar.trie._replace(group_span=spans),
        feature_names=tuple(prefix + name for name in grammar.feature_names),
        sparse=None if sparse is None else sparse._replace(names=tuple(prefix + n for n in sparse.names)),
    )
