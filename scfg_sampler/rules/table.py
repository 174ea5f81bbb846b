"""Synchronous rules with features, in memory and in the native text format.

One rule is one line of cdec's text format (see `scfg_sampler.rules.text`), and the file begins with a comment
line that reproduces it::

    # scfg-sampler 0.2.0|model:hiero|…
    [X] ||| [X,1] ge [X,2] ||| [X,2] a [X,1] ||| LogForward=-0.6931472 … ||| 1-1

Lines are sorted as `LC_ALL=C sort` sorts them. Features are natural logarithms of what they name, or numbers,
with seven significant digits, about what float32 holds. The fact a newcomer would get wrong: the file does
not say which words are which ids; reading numbers the words anew, so tables that were read from two files
share no ids.

Where there are more than 256 names of features, those that few rules have are kept apart, and a line gives
them only where they are not 0 (see `scfg_sampler.rules.columns`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.arrays.sparse import Rows, no_rows, take
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.arrays.word_pool import WordPool, new_word_pool, with_room
from scfg_sampler.core.files import PathLike, atomic_output, is_stream, read_lines
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules import parser as rule_parser
from scfg_sampler.rules.columns import Columns, SparseFeatures, in_columns
from scfg_sampler.rules.counts import RuleCounts, counts_of
from scfg_sampler.rules.labels import (
    Labels,
    gap_counts,
    gap_symbols,
    gap_texts,
    kind_of,
    labels_of_rows,
    take_labels,
)
from scfg_sampler.rules.order import TextOrder, text_order
from scfg_sampler.rules.record import has_record, read_signature
from scfg_sampler.rules.text import Rule, escape, escape_label, parse_rule, unescape
from scfg_sampler.rules.writer import format_rules

__all__ = [
    "RuleTable",
    "SparseFeatures",
    "TableReader",
    "as_written",
    "native_order",
    "read_rule_table",
    "rule",
    "select_rows",
    "write_rule_table",
    "write_rule_tables",
]


_NO_KINDS = np.zeros((1, 1), np.int32), np.zeros(0, np.int32)  # Of a table all of whose labels are X.


class RuleTable(NamedTuple):
    """R rules with F features; the ragged arrays are those of `scfg_sampler.rules.counts.RuleCounts`.

    source_vocabulary, target_vocabulary : Vocabulary
    source_start, target_start, alignment_start : int64, shape (R + 1,)
    source, target : int32, word ids ≥ 0, or −1−k for nonterminal k
    alignment : int32, shape (A, 2), pairs of positions in the two sides
    count : float64, shape (R,)
    features : float32, shape (R, F)
    feature_names : tuple of F strings
    signature : str, what the table was made with, on one line
    sparse : other features, which few rules have; None if there are none
    labels : of nonterminals; None if all are X
    """

    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_start: np.ndarray
    source: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    alignment_start: np.ndarray
    alignment: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    features: np.ndarray
    feature_names: tuple[str, ...]
    signature: str
    sparse: SparseFeatures | None = None
    labels: Labels | None = None

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """The names of the features that few rules have."""
        return () if self.sparse is None else self.sparse.names

    @property
    def num_rules(self) -> int:
        return len(self.count)

    @property
    def rules(self) -> RuleCounts:
        """The rules with their counts, without features; a view."""
        return RuleCounts(
            source_start=self.source_start,
            source=self.source,
            target_start=self.target_start,
            target=self.target,
            alignment_start=self.alignment_start,
            alignment=self.alignment,
            count=self.count,
        )


def rule(table: RuleTable, row: int) -> Rule:
    """One rule of the table as text, with its features and alignment."""
    sides: list[Any] = []
    for start, symbols, vocabulary in (
        (table.source_start, table.source, table.source_vocabulary),
        (table.target_start, table.target, table.target_vocabulary),
    ):
        ids = symbols[start[row] : start[row + 1]].tolist()
        sides.append(tuple(vocabulary.words[symbol] if symbol >= 0 else symbol for symbol in ids))
    links = table.alignment[table.alignment_start[row] : table.alignment_start[row + 1]]
    features = dict(zip(table.feature_names, table.features[row].tolist(), strict=True))
    if table.sparse is not None:
        names, rows = table.sparse
        at = slice(rows.start[row], rows.start[row + 1])
        features |= zip((names[k] for k in rows.column[at].tolist()), rows.values[at].tolist(), strict=True)
    alignment = tuple((i, j) for i, j in links.tolist())
    return Rule(sides[0], sides[1], features, alignment, kind_of(table.labels, row))


def select_rows(table: RuleTable, rows: np.ndarray) -> RuleTable:
    """The rules of the given rows (indices or a mask), in that order, with the same vocabularies."""
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    source_start, source = take_rows(table.source_start, table.source, rows)
    target_start, target = take_rows(table.target_start, table.target, rows)
    alignment_start, alignment = take_rows(table.alignment_start, table.alignment, rows)
    return table._replace(
        source_start=source_start,
        source=source,
        target_start=target_start,
        target=target,
        alignment_start=alignment_start,
        alignment=alignment,
        count=table.count[rows],
        features=table.features[rows],
        sparse=None if table.sparse is None else table.sparse._replace(rows=take(table.sparse.rows, rows)),
        labels=take_labels(table.labels, rows),
    )


def write_rule_table(table: RuleTable, path: PathLike) -> None:
    """Write the table in the native format, sorted; compressed if the name ends in `.gz`.

    Raises
    ------
    RuleTableError
        A feature is not a finite number.
    """
    write_rule_tables([table], path)


def write_rule_tables(tables: Iterable[RuleTable], path: PathLike) -> int:
    """Write parts of a table one after the other, each sorted; the number of rules written.

    Parameters
    ----------
    tables : at least one, with the same vocabularies and features; the signature is that of the first.
        Several have no labels but X.
    path : compressed if the name ends in `.gz`

    Raises
    ------
    RuleTableError
        A feature is not a finite number.
    """
    buffer = np.empty(1 << 22, np.uint8)
    num_rules = 0
    texts: list[tuple[np.ndarray, np.ndarray]] = []
    with atomic_output(path, binary=True) as stream:
        for table in tables:
            _require_finite(table, path)
            sparse = no_rows(table.num_rules, 0, np.float32) if table.sparse is None else table.sparse.rows
            if not texts:
                made = " ".join(table.signature.split())
                if made or has_record(path):  # An empty one says that what lies beside it is not the table's.
                    stream.write(f"# {made}\n".encode())
                for words in (table.source_vocabulary, table.target_vocabulary):
                    texts.append(_texts(map(escape, words)))
                order = TextOrder(table.source_vocabulary, table.target_vocabulary)
                texts.append(_texts(f"{name}=" for name in (*table.feature_names, *table.sparse_names)))
                names = ("X",) if table.labels is None else table.labels.names
                texts.append(_texts(map(escape_label, names)))
            rows = order.rows(table) if table.labels is None else native_order(table)
            kinds = _NO_KINDS if table.labels is None else (table.labels.kinds, table.labels.kind)
            num_rules += len(rows)
            arrays = (
                *(table.source_start, table.source, table.target_start, table.target),
                *(table.alignment_start, table.alignment, table.features),
            )
            while len(rows):
                done, used = format_rules(rows, arrays, sparse, tuple(texts), kinds, buffer)
                stream.write(buffer[:used].tobytes())
                rows = rows[done:]
                if done == 0:
                    buffer = np.empty(2 * len(buffer), np.uint8)
            del table, arrays, sparse, rows  # Before the next one is made.
    return num_rules


def as_written(table: RuleTable) -> RuleTable:
    """The table as its file would give it back: in the order of lines, features to seven digits.

    Counts stay as they are, though text has but their logarithms; ids of words, too. For tables without
    sparse features.
    """
    features = np.empty_like(table.features)
    for column in range(features.shape[1]):
        values, place = np.unique(table.features[:, column], return_inverse=True)
        features[:, column] = np.array([float(f"{value:.7g}") for value in values.tolist()], np.float32)[
            place
        ]
    return select_rows(table._replace(features=features), native_order(table))


def native_order(table: RuleTable) -> np.ndarray:
    """The rows of a table in the order of their lines in the native format; int64, shape (R,)."""
    labels = table.labels
    if labels is None:
        return text_order(table)
    texts = gap_texts(labels, lambda name, n: f"[{escape_label(name)},{n}]")
    told_apart = table._replace(
        source=gap_symbols(labels, table.source_start, table.source),
        target=gap_symbols(labels, table.target_start, table.target),
        labels=None,
    )
    order = text_order(told_apart, label=lambda n: texts[n - 1])
    # Lines begin with the left-hand side.
    sides = [f"[{escape_label(name)}]".encode("utf-8", "surrogatepass") for name in labels.names]
    rank = np.argsort(sorted(range(len(sides)), key=sides.__getitem__))
    return order[np.argsort(rank[labels.lhs[order]], kind="stable")]


def _require_finite(table: RuleTable, path: PathLike) -> None:
    """A RuleTableError that names the first feature that is not a finite number."""
    finite = np.isfinite(table.features)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        name, value = table.feature_names[column], table.features[row, column]
    elif table.sparse is not None and not np.isfinite(table.sparse.rows.values).all():
        names, rows = table.sparse
        at = int(np.argmin(np.isfinite(rows.values)))
        row = int(np.searchsorted(rows.start, at, side="right")) - 1
        name, value = names[rows.column[at]], rows.values[at]
    else:
        return
    found = f"feature {name} of rule {row} is {value}"
    raise RuleTableError(path, None, found, "Features must be finite numbers")


def read_rule_table(path: PathLike, *, labels: bool = False) -> RuleTable:
    """The table of a file in the native format; "-" is standard input.

    Rules keep the order of the file. `count` is exp(LogCount), or 1 if the table has no such feature. A
    feature missing on a line is 0. Without a comment line, `PATH.json` is asked for the signature.

    labels : whether there may be nonterminals other than X

    Raises
    ------
    RuleTableError
        A line is not such a rule with named features; file and line are named.
    InputError
        The file cannot be read, or is not UTF-8.
    """
    reader = TableReader(path, labels=labels)
    return reader.table(list(reader.blocks()))


class TableReader:
    """Reads a file in the native format, block by block, numbering words as they come.

    Parameters
    ----------
    path : path
    labels : whether there may be nonterminals other than X

    Attributes
    ----------
    signature : str
        What the table was made with; known when the first block has been read.
    """

    def __init__(self, path: PathLike, *, labels: bool = False):
        self.signature = ""
        self._path = path
        self._keeps_labels = labels
        self._pools = [new_word_pool(), new_word_pool(), new_word_pool(), rule_parser.label_pool()]
        self._words = _Words(path), _Words(path)

    def blocks(self) -> Iterator[rule_parser.ParsedRules]:
        """The rules of the file; exceptions are those of `read_rule_table`. Can be called once."""
        lines = 0
        signature = None
        for raw in read_blocks(self._path):
            block = np.frombuffer(raw, np.uint8)
            if lines == 0 and raw.startswith(b"# "):
                signature = raw[2 : raw.find(b"\n") % (len(raw) + 1)].decode("utf-8", "replace").strip()
                self.signature = signature
            out = rule_parser.new_parsed_rules(block)
            at = 0
            while at < len(block):
                status, at = rule_parser.parse_block(block, at, out, *self._pools, self._keeps_labels)
                end = raw.find(b"\n", at) % (len(raw) + 1)
                if status == rule_parser.NO_ROOM:
                    self._pools = [with_room(pool, end - at) for pool in self._pools]
                elif status == rule_parser.BAD_LINE:
                    line = lines + raw.count(b"\n", 0, at) + 1
                    _raise_bad_line(raw[at:end], self._path, line, self._keeps_labels)
            lines += raw.count(b"\n")
            yield _trimmed(out, int(self._pools[2].size[0]))
        if signature is None:
            self.signature = read_signature(self._path)

    def table(self, parts: list[rule_parser.ParsedRules]) -> RuleTable:
        """The table of some blocks; tables of one reader share their vocabularies, which grow with it."""
        for words, pool in zip(self._words, self._pools, strict=False):
            words.take(pool)
        joined = _joined(parts, self._words, _spelled(self._pools[2], self._path), self.signature)
        if self._pools[3].size[0] == 1:
            return joined
        return joined._replace(labels=_joined_labels(parts, joined, _spelled(self._pools[3], self._path)))


class _Words:
    """The words of a pool, unescaped, and their ids where two spellings of one word make them differ."""

    def __init__(self, path: PathLike):
        self.vocabulary = Vocabulary()
        self._ids: list[int] = []
        self._path = path

    def take(self, pool: WordPool) -> None:
        """Add the words that a pool has got since it was last asked."""
        self._ids += self.vocabulary.add_all(map(unescape, _spelled(pool, self._path, len(self._ids))))

    def symbols(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """The symbols of all parts, int32, words by their ids."""
        joined = np.concatenate([np.zeros(0, np.int32), *parts])
        if len(self.vocabulary) == len(self._ids):
            return joined
        ids = np.array(self._ids, np.int32)
        return np.where(joined >= 0, ids[joined], joined)


def _raise_bad_line(raw: bytes, path: PathLike, line: int, labels: bool) -> None:
    """The error that says what is wrong with a line that the compiled parser could not read."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        _raise_not_utf8(path)
        raise
    parse_rule(text, path, line, labels=labels)
    raise RuleTableError(path, line, "cannot be read as a rule", "Compare it with the other lines")


def _raise_not_utf8(path: PathLike) -> None:
    """Read the file again as text, which names the line and the byte."""
    if is_stream(path):
        raise RuleTableError(path, None, "the table is not UTF-8", "Convert it to UTF-8")
    for _ in read_lines(path):
        pass


def _texts(words) -> tuple[np.ndarray, np.ndarray]:
    """Words as bytes one behind the other, and their offsets."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    start = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=start[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), start


def _trimmed(out: rule_parser.ParsedRules, num_names: int) -> rule_parser.ParsedRules:
    rules, source, target, links, more, labels = out.size.tolist()
    return rule_parser.ParsedRules(
        out.source_start[: rules + 1].copy(),
        out.source[:source].copy(),
        out.target_start[: rules + 1].copy(),
        out.target[:target].copy(),
        out.alignment_start[: rules + 1].copy(),
        out.alignment[:links].copy(),
        out.features[:rules, :num_names].copy(),
        out.given[:num_names],
        out.more_start[: rules + 1].copy(),
        out.more_name[:more].copy(),
        out.more_value[:more].copy(),
        out.label[:labels].copy(),
        out.size,
    )


def _joined(
    parts: list[rule_parser.ParsedRules], words: tuple[_Words, _Words], names: list[str], signature: str
) -> RuleTable:
    """The table of the parts that were parsed."""
    sides = [each.symbols([part[1 + 2 * side] for part in parts]) for side, each in enumerate(words)]
    starts = [
        _joined_starts([part[field] for part in parts], [part.size[column] for part in parts])
        for field, column in ((0, 1), (2, 2), (4, 3))
    ]
    features, in_order, sparse = _joined_features(parts, names)
    return RuleTable(
        words[0].vocabulary,
        words[1].vocabulary,
        starts[0],
        sides[0],
        starts[1],
        sides[1],
        starts[2],
        np.concatenate([np.zeros((0, 2), np.int32), *(part.alignment for part in parts)]),
        counts_of(features, in_order),
        features,
        in_order,
        signature,
        sparse,
    )


def _joined_labels(parts: list[rule_parser.ParsedRules], table: RuleTable, names: list[str]) -> Labels | None:
    """The labels of the rules of all parts, by how they are spelled."""
    vocabulary = Vocabulary()
    ids = np.array(vocabulary.add_all(map(unescape, names)), np.int32)
    start = np.zeros(table.num_rules + 1, np.int64)
    np.cumsum(1 + gap_counts(table.source_start, table.source), out=start[1:])
    return labels_of_rows(vocabulary.words, start, ids[np.concatenate([part.label for part in parts])])


def _joined_features(parts: list[rule_parser.ParsedRules], names: list[str]) -> Columns:
    """The features of the rules of all parts."""
    num_first = max((part.features.shape[1] for part in parts), default=0)
    features = np.zeros((sum(len(part.features) for part in parts), num_first), np.float32)
    start = _joined_starts([part.more_start for part in parts], [part.size[4] for part in parts])
    column = np.concatenate([np.zeros(0, np.int32), *(part.more_name for part in parts)])
    values = np.concatenate([np.zeros(0, np.float32), *(part.more_value for part in parts)])
    given = np.bincount(column, minlength=len(names))
    at = 0
    for part in parts:
        rows, columns = part.features.shape
        features[at : at + rows, :columns] = part.features
        given[:columns] += part.given
        at += rows
    return in_columns(names, given, features, Rows(start, column, values, len(names)))


def _joined_starts(starts: list[np.ndarray], lengths: list[int]) -> np.ndarray:
    before = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shifted = [start[1:] + shift for start, shift in zip(starts, before, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *shifted])


def _spelled(pool: WordPool, path: PathLike, first: int = 0) -> list[str]:
    """The words of a pool as they stand in the file, from word number `first` on."""
    start, text = pool.start[first : int(pool.size[0]) + 1], pool.symbols
    plain, begin = text[start[0] : start[-1]].tobytes(), start[0]
    try:
        return [plain[low:high].decode("utf-8") for low, high in itertools.pairwise((start - begin).tolist())]
    except UnicodeDecodeError:
        _raise_not_utf8(path)
        raise
