"""Filtering by a text: the rules of a table that can match it, found in one pass over the file (`filter`).

What a rule looks like and what it is worth are others' business: `rules.filters` and `rules.pruning`.

Only the source sides are matched (`text_index`); lines are copied as they are, if they are rules
(`line_check`). Memory holds the text, and of the table no more than what is kept.

The fact a newcomer would get wrong: a line that does not match is not looked at further than its source side,
so what is wrong behind it stays unseen.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.arrays.word_pool import end_of_line, has_room, next_token
from scfg_sampler.core.executors import Executor
from scfg_sampler.core.files import PathLike, atomic_output, is_stream, read_lines
from scfg_sampler.core.jit import borrowing, kernel
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.streams import ordered
from scfg_sampler.core.wording import legible
from scfg_sampler.errors import RuleTableError, SettingsError
from scfg_sampler.rules.line_check import explain, is_bar, is_rule, new_line_check, same_bytes, with_room_for
from scfg_sampler.rules.record import read_signature, require_record_place, write_record
from scfg_sampler.rules.text import escape
from scfg_sampler.rules.text_index import NONTERMINAL, TextIndex, index_text, match, word_of

__all__ = ["FilterReport", "filter_table"]

_AHEAD = 16  # Blocks on their way to others, and back.
_SCORES = [  # What ranks targets, and its sign: ours, and cdec's negated logarithm of the same.
    (re.compile(rb"(?:^|[ \t])LogForward=(\S+)"), 1.0),
    (re.compile(rb"(?:^|[ \t])EgivenFCoherent=(\S+)"), -1.0),
]
_BETWEEN = re.compile(rb"[ \t]\|\|\|[ \t]")
_BEGINNING = re.compile(rb".*?[ \t]\|\|\|[ \t].*?[ \t]\|\|\|")  # Left-hand side and source side.


class FilterReport(NamedTuple):
    """What came of filtering: rules read, rules kept, sentences of the text."""

    read: int
    kept: int
    sentences: int


def filter_table(
    table: PathLike,
    *,
    source: PathLike | None = None,
    output: PathLike | None = None,
    per_sentence: PathLike | None = None,
    max_targets: int | None = None,
    file_format: str | None = None,
    where: int | Executor = 1,
    advance: Callable[..., object] = lambda rules: None,
) -> FilterReport:
    """Write the rules of a table that can match a text, or a sentence.

    A table without comment line gets a file beside it, which says what it was made with.

    Parameters
    ----------
    table : path of a table in the native (cdec's) text format
    source : path of the text to translate, optional
        Without it, all rules match.
    output : path, optional
        Where to write the rules that match any sentence.
    per_sentence : path of a directory, optional
        Where to write one table per sentence, `grammar.0.gz`, …, for cdec, hence without comment lines,
        and `input.sgm`, the text with a reference to its grammar on every sentence, as cdec reads it.
    max_targets : int, optional
        Keep no more rules of one source side: those with the highest P(target | source), by LogForward or
        cdec's EgivenFCoherent, the first of equals. The table must be sorted by source side, as native
        tables are.
    file_format : str, optional
        What `output` is to be: "native", with a comment line, or "cdec", without. By default it has one if
        `table` has.
    where : int or Executor
        In how many threads rules are matched, or by whom.
    advance : callable, optional
        Told of every so many rules that have been read.

    Raises
    ------
    RuleTableError
        A line is not a rule, or the table is not sorted although `max_targets` asks for it.
    InputError
        A file cannot be read.
    SettingsError
        Nothing to do, `max_targets` is below 1, or cdec could not read the names of files in `per_sentence`.
    """
    if output is None and per_sentence is None:
        raise SettingsError("neither --output nor --per-sentence says where to write the filtered rules")
    if source is None and (per_sentence is not None or max_targets is None):
        raise SettingsError("--source is missing: give the text to filter for, or only --max-targets")
    if max_targets is not None and max_targets < 1:
        raise SettingsError(f"--max-targets is {max_targets}, but must be at least 1")
    if per_sentence is not None:
        _require_readable_name(os.fspath(per_sentence))
    sides = [] if source is None else read_lines(source)
    if per_sentence is not None:
        sides = list(sides)  # They are wanted twice, and a pipe has them once.
    index = None if source is None else index_text(sides)
    # Of standard input nobody knows whose it is.
    strict = file_format != "cdec" and (file_format is not None or not is_stream(table))
    reader = _Reader(table, index, per_sentence is not None, strict, where, advance)
    lines = reader.lines(one_by_one=per_sentence is not None or max_targets is not None)
    if max_targets is not None:
        lines = _best_targets(lines, max_targets, table)
    first = list(itertools.islice(lines, 1))  # Now the table's comment line has been read, too.
    signature = _signature(reader.comment, table, source, max_targets)
    with_comment = reader.comment is not None if file_format is None else file_format == "native"
    recorded = [output] if output is not None and not with_comment else []
    recorded += [] if per_sentence is None else [Path(per_sentence) / "grammar"]
    for place in recorded:
        require_record_place(place)
    num_sentences = 0 if index is None else len(index.start) - 1
    shared: list[bytes] = []
    rows = [array("i") for _ in range(num_sentences)]
    kept = 0
    with contextlib.ExitStack() as stack:
        stream = None if output is None else stack.enter_context(atomic_output(output, binary=True))
        if stream is not None and with_comment:
            stream.write(f"# {signature}\n".encode())
        for text, number, sentences in itertools.chain(first, lines):
            if stream is not None:
                stream.write(text)
            if per_sentence is not None:
                for sentence in sentences.tolist():
                    rows[sentence].append(kept)
                shared.append(text)
            kept += number
        if per_sentence is not None:
            _write_per_sentence(shared, rows, Path(per_sentence), sides)
    for place in recorded:
        write_record(place, signature, "cdec")
    return FilterReport(reader.read, kept, num_sentences)


class _Lines(NamedTuple):
    """Lines that match, with their line ends; how many; and the sentences they match, if those are wanted."""

    text: bytes
    number: int
    sentences: np.ndarray


class _Reader:
    """The lines of a table that match an index, with what is learnt on the way."""

    def __init__(
        self,
        path: PathLike,
        index: TextIndex | None,
        per_sentence: bool,
        strict: bool,
        where: int | Executor,
        advance: Callable[..., object],
    ):
        self.path, self.strict, self.where, self.advance = path, strict, where, advance
        text = index_text([]) if index is None else index
        self.task = functools.partial(_match_block, text, index is None, per_sentence, strict)
        self.comment: str | None = None  # that the table begins with; known once a line has been read
        self.read = 0

    def lines(self, one_by_one: bool) -> Iterator[_Lines]:
        """The lines that match, each by itself, or together with others."""
        before = 0
        waiting: collections.deque[bytes] = collections.deque()

        def blocks() -> Iterator[bytes]:
            for raw in read_blocks(self.path):
                waiting.append(raw)
                yield raw

        with ordered(self.task, self.where, batch=1, ahead=_AHEAD) as matched:
            for parts in matched(blocks()):
                raw = waiting.popleft()
                if before == 0 and raw.startswith(b"# "):
                    comment = raw[2 : raw.find(b"\n") % (len(raw) + 1)]
                    self.comment = comment.decode("utf-8", "replace").strip()
                for part in parts:
                    self.read += part.read
                    self.advance(part.read)
                    yield from _each_line(raw, part) if one_by_one else _joined_lines(raw, part)
                    before += part.num_lines
                    if part.status == _BAD:
                        bad = raw[part.at : raw.find(b"\n", part.at) % (len(raw) + 1)]
                        explain(bad, self.path, before + 1, self.strict)


class _Part(NamedTuple):
    """What `_match_lines` says of a part of a block."""

    status: int
    at: int
    num_lines: int
    read: int
    extents: np.ndarray
    pair_start: np.ndarray
    sentences: np.ndarray


def _each_line(raw: bytes, part: _Part) -> Iterator[_Lines]:
    for row, (begin, end) in enumerate(part.extents.tolist()):
        sentences = part.sentences[part.pair_start[row] : part.pair_start[row + 1]]
        yield _Lines(raw[begin:end] + b"\n", 1, sentences)


def _joined_lines(raw: bytes, part: _Part) -> Iterator[_Lines]:
    if len(part.extents):
        text = _join(np.frombuffer(raw, np.uint8), part.extents)
        yield _Lines(text.tobytes(), len(part.extents), part.sentences)


def _match_block(
    index: TextIndex, everything: bool, per_sentence: bool, strict: bool, raw: bytes
) -> list[_Part]:
    """The lines of a block that match, part by part; ends with a bad line."""
    block = np.frombuffer(raw, np.uint8)
    parts: list[_Part] = []
    at, check = 0, new_line_check(strict)
    while at < len(block) and not (parts and parts[-1].status == _BAD):
        parts.append(_Part(*_match_lines(block, at, index, everything, per_sentence, check)))
        at = parts[-1].at
        if parts[-1].status == _NO_ROOM:
            check = with_room_for(check, raw.find(b"\n", at) % (len(raw) + 1) - at)
    return parts


def _signature(comment: str | None, table: PathLike, source: PathLike | None, max_targets: int | None) -> str:
    """What the filtered table is made with: its table, as the comment or the file beside it says, and how."""
    settings = ["" if source is None else f"|text:{source}", f"|max-targets:{max_targets}"]
    more = "".join(settings[: 1 + (max_targets is not None)])
    before = read_signature(table) if comment is None else comment
    return (before or "filtered") + legible(" ".join(more.split()))


def _best_targets(lines: Iterator[_Lines], most: int, path: PathLike) -> Iterator[_Lines]:
    """The lines with the highest scores of each left-hand side and source side, in their order."""
    before = b""
    for key, group in itertools.groupby(lines, key=lambda line: _BEGINNING.match(line.text)[0]):  # type: ignore[index]
        if key < before:
            side = _BETWEEN.split(key)[-1][:-4].decode("utf-8", "replace")
            found = f"source side {side!r} comes after a larger one"
            raise RuleTableError(path, None, found, "Sort the table with LC_ALL=C sort first")
        before = key
        rules = list(group)
        ranked = sorted(range(len(rules)), key=lambda row: -_score(rules[row].text, path))
        yield from (rules[row] for row in sorted(ranked[:most]))


def _score(line: bytes, path: PathLike) -> float:
    fields = _BETWEEN.split(line)
    for score, sign in _SCORES if len(fields) > 3 else []:
        if match := score.search(fields[3]):
            with contextlib.suppress(ValueError):
                return sign * real_number(match[1].decode("utf-8", "replace"))
    found = f"{line.decode('utf-8', 'replace').strip()!r} has no feature LogForward or EgivenFCoherent"
    raise RuleTableError(path, None, found, "--max-targets ranks by P(target | source)")


def _require_readable_name(directory: str) -> None:
    """A SettingsError for a directory whose files input.sgm cannot name: cdec knows no escapes there.

    See `utils/stringlib.cc`, ProcessAndStripSGML and ParseTranslatorInput.
    """
    if found := re.search(r'[">\n]|[|]{3}| =|= ', directory):
        raise SettingsError(
            f"--per-sentence is {directory!r}, and cdec reads no name with {found[0]!r} from input.sgm; "
            "name another directory"
        )


def _write_per_sentence(lines: list[bytes], rows: list[array], directory: Path, text: Iterable[str]) -> None:
    """Write the tables of all sentences, given as the rows of `lines`, and the text that names them."""
    for sentence, own in enumerate(rows):
        with atomic_output(directory / f"grammar.{sentence}.gz", binary=True, durable=False) as stream:
            stream.writelines(lines[row] for row in own)
    with atomic_output(directory / "input.sgm") as stream:
        for sentence, line in enumerate(text):
            words = " ".join(map(escape, split_words(line)))
            name = directory / f"grammar.{sentence}.gz"
            stream.write(f'<seg grammar="{name}" id="{sentence}"> {words} </seg>\n')


_DONE, _BAD, _NO_ROOM = 0, 1, 2
_NEWLINE, _RETURN, _HASH, _OPEN, _CLOSE = 10, 13, 35, 91, 93
_SYMBOLS = 1024  # Of a source side that there is room for at first.


@kernel
def _match_lines(block, at, index, everything, per_sentence, check):
    """The lines from `at` on that match.

    Stops at a bad line, or early when there are many pairs of lines and sentences, or no room for names.
    Returns the status, where to go on, the number of lines before that, that of rules, begin and end of each
    line that matches, and as ragged rows the sentences that it matches (without per_sentence: none).
    """
    num_sentences = len(index.start) - 1
    extents = np.empty((1024, 2), np.int64)
    pair_start = np.zeros(1025, np.int64)
    sentences = np.empty(max(1 << 16, 2 * num_sentences), np.int32)
    matched = np.empty(num_sentences, np.int32)
    seen = np.full(num_sentences, -1, np.int64)
    symbols, room = np.empty(_SYMBOLS, np.int32), np.empty(_SYMBOLS, np.uint8)
    num_lines, num_read, num_kept, num_pairs, num_matched = 0, 0, 0, 0, 0
    last_begin, last_end = 0, -1
    status = _DONE
    while at < len(block) and num_pairs + num_sentences <= len(sentences):
        end = end_of_line(block, at)
        stop = end - 1 if end > at and block[end - 1] == _RETURN else end
        if block[at] == _HASH or next_token(block, at, stop)[0] == stop:
            at = end + 1
            num_lines += 1
            continue
        symbols = grown(symbols, (stop - at) // 2 + 1)
        room = grown(room, stop - at)
        begin, source_end, num_symbols = _read_source(block, at, stop, index.words, symbols, room)
        if num_symbols <= 0:
            status = _BAD
            break
        if not same_bytes(block, begin, source_end, last_begin, last_end):
            if everything:
                num_matched = 1
            else:
                num_matched = match(symbols, num_symbols, index, per_sentence, matched, seen, num_read)
            last_begin, last_end = begin, source_end
        if num_matched > 0:
            if not has_room(check.names, stop - at):
                status = _NO_ROOM
                break
            if not is_rule(block, at, stop, check, at):
                status = _BAD
                break
            extents, pair_start = grown(extents, num_kept + 1), grown(pair_start, num_kept + 2)
            extents[num_kept, 0], extents[num_kept, 1] = at, stop
            if per_sentence:
                for k in range(num_matched):
                    sentences[num_pairs + k] = matched[k]
                num_pairs += num_matched
            num_kept += 1
            pair_start[num_kept] = num_pairs
        num_read += 1
        num_lines += 1
        at = end + 1
    rows = extents[:num_kept], pair_start[: num_kept + 1], sentences[:num_pairs]
    return status, at, num_lines, num_read, *rows


@kernel
def _join(block, extents):
    """The lines with these extents, a line feed behind each: uint8."""
    text = np.empty(np.sum(extents[:, 1] - extents[:, 0]) + len(extents), np.uint8)
    at = 0
    for row in range(len(extents)):
        for k in range(extents[row, 0], extents[row, 1]):
            text[at] = block[k]
            at += 1
        text[at] = _NEWLINE
        at += 1
    return text


@borrowing
def _read_source(block, at, end, words, symbols, room):
    """Begin and end of the source side, and its number of symbols, which are put into `symbols`.

    Symbols are word ids, NONTERMINAL or UNKNOWN. The number is 0 if the line is no rule. `room` is for words.
    """
    begin, stop = next_token(block, at, end)
    if stop - begin < 3 or block[begin] != _OPEN or block[stop - 1] != _CLOSE:
        return at, at, 0
    begin, stop = next_token(block, stop, end)
    if not is_bar(block, begin, stop):
        return at, at, 0
    first, number = stop, 0
    while True:
        begin, stop = next_token(block, stop, end)
        if begin == stop:
            return at, at, 0
        if is_bar(block, begin, stop):
            return first, begin, number
        if stop - begin > 2 and block[begin] == _OPEN and block[stop - 1] == _CLOSE:
            symbols[number] = NONTERMINAL
        else:
            symbols[number] = word_of(words, block, begin, stop, room)
        number += 1
