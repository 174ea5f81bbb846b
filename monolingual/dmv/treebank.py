"""Dependency treebanks: CoNLL-U, CoNLL-X and three columns, read and written with other heads.

CoNLL-U and CoNLL-X have ten columns, of which the same ones hold position, form, coarse tag, fine tag, head
and relation. Ranges of multiword tokens and empty nodes are no words. A file of three columns has a sentence
a line: tags, heads, words.

Punctuation is removed on reading, and its dependents are attached to the nearest ancestor that is kept; if
that makes several roots, the later ones are attached to the first. Three columns are taken as they are.

The fact a newcomer would get wrong: positions count kept words only. `kept` leads back to the file's words.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from scfg_sampler.core.arrays.on_demand import OnDemand
from scfg_sampler.core.arrays.stored_text import StoredText
from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.numerals import whole_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, TreeError

__all__ = [
    "Punctuation",
    "Sentence",
    "StoredSentences",
    "is_block",
    "read_treebank",
    "shown_words",
    "write_treebank",
]

_NO_HEAD = -1
_CHUNK = re.compile(r"[BILUES]-\S+|O")
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
"""Positions of multiword tokens and empty nodes."""
_POSITION = re.compile(r"[1-9][0-9]{0,5}")
_HEADS = re.compile(r"[0-9]+( [0-9]+)*")
_COARSE, _HEAD, _FEWEST_COLUMNS, _COLUMNS = 3, 6, 8, 10
"""Of CoNLL-U and CoNLL-X: where the coarse tag and the head stand, and how many columns there are."""
_GLOBAL_COLUMNS = "# global.columns ="
_NAMES = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL"]
"""What a file of CoNLL-U Plus begins with, and the columns that are read and those between them."""
_MOST_COLUMNS = 6
"""Of lines with a word each that end in a chunk or a name."""
Punctuation: TypeAlias = Collection[str] | Callable[[Sequence[tuple[str, str]]], Collection[str]]
"""Tags, or what finds them given the coarse and the fine tag of every word."""


class Sentence(NamedTuple):
    """A sentence's tags and heads, without punctuation.

    Attributes
    ----------
    tags : tuple of str
    heads : tuple of int
        From 1 among the kept words, 0 for the root; empty if the file has no heads.
    lines : tuple of str
        The sentence as the file has it.
    kept : tuple of int
        For each word its number among the file's words, from 0.
    """

    tags: tuple[str, ...]
    heads: tuple[int, ...]
    lines: tuple[str, ...]
    kept: tuple[int, ...]


class StoredSentences(OnDemand[Sentence]):
    """Sentences in flat arrays; one is made whenever it is asked for."""

    def __init__(self, lines: StoredText):
        self._lines, self._names = lines, Vocabulary()
        self._first, self._size, self._start = array("q"), array("i"), array("q", [0])
        self._tags, self._heads, self._kept = array("i"), array("i"), array("i")

    def append(self, first: int, sentence: Sentence) -> None:
        """Add a sentence that begins on a line, counted from 1, behind the others."""
        self._first.append(first - 1)
        self._size.append(len(sentence.lines))
        self._tags.extend(self._names.add_all(sentence.tags))
        self._heads.extend(sentence.heads or [_NO_HEAD] * len(sentence.tags))
        self._kept.extend(sentence.kept)
        self._start.append(len(self._tags))

    def where(self, is_wanted: Callable[[Sentence], bool]) -> StoredSentences:
        """Those of the sentences of which something is true."""
        found = StoredSentences(self._lines)
        for first, sentence in zip(self._first, self, strict=True):
            if is_wanted(sentence):
                found.append(first + 1, sentence)
        return found

    def blank_lines(self, number: int) -> int:
        """How many empty lines stand right before a sentence, or at the end; 0 in ten columns.

        There they are what parts sentences.
        """
        if len(self) and is_block(self[0]):
            return 0
        end = self._first[number] if number < len(self) else len(self._lines)
        begin = end
        while begin > 0 and not self._lines[begin - 1].strip():
            begin -= 1
        return end - begin

    def number_in_file(self, number: int) -> int:
        """What a sentence is called in lists: of three columns its line, of ten its number, both from 0."""
        return number if is_block(self[0]) else self._first[number]

    def __len__(self) -> int:
        return len(self._first)

    def _made(self, number: int) -> Sentence:
        begin, end = self._start[number : number + 2]
        first, words = self._first[number], self._names.words
        heads = tuple(self._heads[begin:end])
        return Sentence(
            tuple([words[tag] for tag in self._tags[begin:end]]),
            () if heads[:1] == (_NO_HEAD,) else heads,
            tuple(self._lines[first : first + self._size[number]]),
            tuple(self._kept[begin:end]),
        )


def read_treebank(
    path: PathLike, *, column: str = "xpos", punctuation: Punctuation = ("PUNCT",)
) -> StoredSentences:
    """The sentences of a treebank, in whichever of the formats it is.

    Parameters
    ----------
    path : path
        "-" is standard input.
    column : str
        "xpos" or "upos": the fine or the coarse tags of ten columns.
    punctuation : collection of str, or function
        Words whose coarse or fine tag is among these are removed from ten columns. A function is asked for
        them, given the coarse and fine tags of all words of ten columns.

    Raises
    ------
    TreeError
        Names the line whose columns are too few, or whose tag is missing, or the sentence whose heads are
        not a tree.
    """
    lines = StoredText(line.removesuffix("\r") for line in read_lines(path))
    in_blocks = _are_in_blocks(lines)
    _refuse_other_columns(path, lines)
    if not in_blocks:
        _refuse_chunks(path, lines)
        _refuse_spaces(path, lines)
    if callable(punctuation):
        punctuation = punctuation(_tag_pairs(lines)) if in_blocks else ()
    sentences = StoredSentences(lines)
    block: list[str] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        if not in_blocks:
            if line.strip():
                sentences.append(number, _read_columns(path, number, line))
        elif line.strip():
            block.append(line)
        elif block:
            first_line = number - len(block)
            sentences.append(first_line, _read_block(path, first_line, block, column, punctuation))
            block = []
    if block:
        first_line = number - len(block) + 1
        sentences.append(first_line, _read_block(path, first_line, block, column, punctuation))
    if not sentences:
        raise InputError(path, None, "holds no sentence", "Give CoNLL-U, CoNLL-X, or tags, heads and words")
    return sentences


def is_block(sentence: Sentence) -> bool:
    """Whether a sentence was read from CoNLL-U or CoNLL-X, and not from three columns."""
    return len(sentence.lines) > 1 or not sentence.tags or sentence.lines[0].count("\t") >= _HEAD


def write_treebank(path: PathLike, sentences: Sequence[Sentence], heads: Sequence[Sequence[int]]) -> None:
    """Write sentences in the format they were read in, with other heads.

    In ten columns relations become `root`, `dep` and `punct`, and removed words depend on the root. Empty
    lines between sentences of three columns are written, too.

    Parameters
    ----------
    path : path
    sentences : sequence of Sentence
    heads : sequence of sequences of int
        For each sentence as many as it has tags.
    """
    blank_lines = getattr(sentences, "blank_lines", lambda number: 0)
    with atomic_output(path) as stream:
        for number, (sentence, new) in enumerate(zip(sentences, heads, strict=True)):
            stream.write("\n" * blank_lines(number))
            if is_block(sentence):
                stream.writelines(line + "\n" for line in _with_heads(sentence, new))
                stream.write("\n")
            else:
                tags, _, words = (sentence.lines[0] + "\t\t").split("\t")[:3]
                stream.write(f"{tags}\t{' '.join(map(str, new))}\t{words}\n")
        stream.write("\n" * blank_lines(len(sentences)))


def shown_words(sentence: Sentence) -> list[str]:
    """The kept words of a sentence with their tags, as a picture has them."""
    if is_block(sentence):
        rows = [line.split("\t") for line in sentence.lines if re.match(r"[0-9]+\t", line)]
        words = [rows[at][1] for at in sentence.kept]
    else:
        words = split_words((sentence.lines[0] + "\t\t").split("\t")[2])
    if len(words) != len(sentence.tags):
        return list(sentence.tags)
    return [f"{word}/{tag}" if word != tag else tag for word, tag in zip(words, sentence.tags, strict=True)]


def _are_in_blocks(lines: Iterable[str]) -> bool:
    """Whether lines are words, with comments before them, and no sentences, whose first tag may be #."""
    begins_with_hash = False
    for line in lines:
        columns = line.split("\t")
        if len(columns) > _HEAD:
            return True
        if line.startswith("#"):
            if _HEADS.fullmatch("".join(columns[1:2])):
                return False
            begins_with_hash = True
        elif line.strip():
            return begins_with_hash and len(columns) > 1 and _POSITION.fullmatch(columns[0]) is not None
    return begins_with_hash


def _tag_pairs(lines: Iterable[str]) -> list[tuple[str, str]]:
    """The coarse and the fine tag of every word in ten columns."""
    rows = (line.split("\t", 5) for line in lines if line[:1].isdigit())
    pairs = ((row[3], row[4]) for row in rows if len(row) > 4 and row[0].isdecimal())
    same: dict[tuple[str, str], tuple[str, str]] = {}
    return [same.setdefault(pair, pair) for pair in pairs]


def _refuse_other_columns(path: PathLike, lines: Iterable[str]) -> None:
    """Raise TreeError if a first line as CoNLL-U Plus has it names columns in another order."""
    named = next(iter(lines), "").partition(_GLOBAL_COLUMNS)[2].split()
    if named and named[:_FEWEST_COLUMNS] != _NAMES:
        raise TreeError(path, 1, f"columns are {' '.join(named)}", f"Put them in order: {' '.join(_NAMES)}")


def _refuse_chunks(path: PathLike, lines: Iterable[str]) -> None:
    """Raise TreeError if each line is a word with its chunk or name, which would pass for tags."""
    first, width, has_words, has_chunks = 0, 0, False, False
    for number, line in enumerate(lines, start=1):
        cells = line.split()
        if not cells or cells[0] == "-DOCSTART-":
            continue
        first, width = first or number, width or len(cells)
        if len(cells) != width or not 2 <= width <= _MOST_COLUMNS or not _CHUNK.fullmatch(cells[-1]):
            return
        has_words |= not _CHUNK.fullmatch(cells[0])
        has_chunks |= cells[-1] != "O"
    if has_words and has_chunks:
        found = "seems to be chunks or names as of CoNLL-2000, -2002 or -2003, a word a line, without heads"
        hint = "To learn from their tags alone, write those of each sentence on a line, spaces between"
        raise TreeError(path, first, found, hint)


def _refuse_spaces(path: PathLike, lines: Iterable[str]) -> None:
    """Raise TreeError if lines are words in columns without tabs between them, which would pass for tags."""
    first, cells, position = next(_numbered(lines), (0, [], 0))
    if position != 1:
        return
    if len(cells) >= _FEWEST_COLUMNS:
        is_one, can_be_parted = _are_columns(lines)
        hint = "Put tabs there" + (": awk -v OFS='\\t' '{$1 = $1} 1'" if can_be_parted else ", not in words")
    else:
        is_one = _are_first_columns(lines, len(cells))
        hint = "Give all ten columns, and tabs between them"
    if is_one:
        raise TreeError(path, first, "seems to be CoNLL-U or CoNLL-X with spaces between columns", hint)


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, list[str], int]]:
    """Number, cells and position of lines that may be a word each, 0 where it does not go on."""
    last = 0
    for number, line in enumerate(lines, start=1):
        cells = line.split()
        if not cells or cells[0].startswith("#") or _NO_WORD.fullmatch(cells[0]):
            continue
        position = int(cells[0]) if _POSITION.fullmatch(cells[0]) else 0
        yield number, cells, position if position in (1, last + 1) and "\t" not in line else 0
        last = position


def _are_columns(lines: Iterable[str]) -> tuple[bool, bool]:
    """Whether lines are words with heads; and whether every space between their cells parts columns.

    Blanks in words move the head to the right. That is allowed of less than half, and a tenth may be odd, as
    sentences of tags that happen to begin with 1, 2, 3, … are so less often.
    """
    total, fitting, plain, widths = 0, 0, 0, set()
    for _, cells, position in _numbered(lines):
        # Numbers alone are a sentence of word classes, which have such names.
        heads = (
            at
            for at in range(_HEAD, len(cells) - 1)
            if (cells[at] in ("_", "-") or cells[at].isdecimal()) and not cells[at + 1].isdecimal()
        )
        head = next(heads, 0) if position else 0
        total, fitting = total + 1, fitting + (head > 0)
        plain += head == _HEAD and len(cells) <= _COLUMNS
        widths.add(len(cells))
    return 10 * fitting >= 9 * total and 2 * plain > total, plain == total and len(widths) == 1


def _are_first_columns(lines: Iterable[str], width: int) -> bool:
    """Whether lines are the first columns of words: position, form, lemma and tags.

    As nothing else tells them from tags, positions must begin again, or most forms have small letters, and
    tags none.
    """
    total, fitting, small, last, is_longer, begins_again = 0, 0, 0, 0, False, False
    for _, cells, position in _numbered(lines):
        total += 1
        if position and len(cells) == width and width > _COARSE + 1 and not cells[_COARSE].isdecimal():
            fitting += 1
            small += cells[1] != cells[1].upper() and cells[_COARSE] == cells[_COARSE].upper()
        is_longer |= position > 1
        begins_again |= position == 1 and last > 1
        last = position
    return is_longer and 10 * fitting >= 9 * total and (begins_again or 2 * small > total)


def _read_columns(path: PathLike, number: int, line: str) -> Sentence:
    """A sentence of three columns; without heads if there is one column."""
    columns = line.split("\t")
    tags = tuple(split_words(columns[0]))
    for tag in tags:
        if tag.split() != [tag]:
            found = f"the tag {tag!r} has a blank of another kind than spaces in it"
            raise TreeError(path, number, found, "Put spaces between tags, and underscores within")
    if len(columns) == 1:
        return Sentence(tags, (), (line,), tuple(range(len(tags))))
    if len(columns) > 2 and columns[2].isdecimal() and not columns[1].replace(" ", "").isdecimal():
        hint = "Write CoNLL-X instead; NLTK does it by DependencyGraph.to_conll(10)"
        raise TreeError(path, number, "seems to be Malt-TAB, a word, its tag and its head a line", hint)
    try:
        heads = tuple(map(whole_number, columns[1].split()))
    except ValueError:
        raise TreeError(
            path, number, f"heads {columns[1]!r} are not numbers", "Count from 1; 0: root"
        ) from None
    if len(tags) != len(heads):
        found = f"{counted(len(tags), 'tag')} with {counted(len(heads), 'head')}"
        raise TreeError(path, number, found, "Give each tag a head")
    _check_tree(path, [number] * len(heads), heads)
    if heads.count(0) != 1:
        raise TreeError(path, number, f"{heads.count(0)} words have the head 0", "Give it to one word")
    return Sentence(tags, heads, (line,), tuple(range(len(tags))))


def _words(path: PathLike, first: int, block: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and columns of every word of a block."""
    for number, line in enumerate(block, start=first):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) < 8:
            found = counted(len(columns), "column")
            raise TreeError(path, number, found, "CoNLL-U and CoNLL-X have ten, separated by tabs")
        if len(columns) > 12 and columns[8].isdecimal() and not columns[6].isdecimal():
            made = '$1,$2,$3,$5,$5,$7,$9,$11,"_","_"'
            hint = f"Make CoNLL-X of it: awk -F'\\t' -v OFS='\\t' 'NF {{print {made}}} !NF'"
            raise TreeError(path, number, "seems to be CoNLL-2009, whose heads are in the ninth column", hint)
        if not _NO_WORD.fullmatch(columns[0]):
            yield number, columns


def _read_block(
    path: PathLike, first: int, block: list[str], column: str, punctuation: Collection[str]
) -> Sentence:
    """A sentence of ten columns."""
    tags, heads, kept, lines = [], [], [], []
    for at, (number, columns) in enumerate(_words(path, first, block)):
        if columns[0] != str(at + 1):
            hint = "Number words from 1 in each sentence, behind an empty line"
            raise TreeError(path, number, f"word {columns[0]!r} follows word {at}", hint)
        tag = columns[3 if column == "upos" else 4]
        if not punctuation or not {columns[3], columns[4]} & set(punctuation):
            if tag in ("_", "") or tag.split() != [tag]:
                other = "xpos" if column == "upos" else "upos"
                raise TreeError(path, number, f"the tag is {tag!r}", f"Try --tags {other}")
            kept.append(at)
        tags.append(tag)
        heads.append(columns[6])
        lines.append(number)
    if all(head == "_" for head in heads):
        return Sentence(tuple(tags[at] for at in kept), (), tuple(block), tuple(kept))
    for number, head in zip(lines, heads, strict=True):
        if not re.fullmatch(r"[0-9]{1,9}", head):
            hint = "Count from 1; 0: root; _ for all words of a sentence without heads"
            raise TreeError(path, number, f"the head {head!r} is not a number", hint)
    numbers = tuple(map(int, heads))
    _check_tree(path, lines, numbers)
    return Sentence(tuple(tags[at] for at in kept), _without(numbers, kept), tuple(block), tuple(kept))


def _check_tree(path: PathLike, lines: Sequence[int], heads: tuple[int, ...]) -> None:
    """Raise unless every word, of which one stands on each of the lines, leads to the root."""
    state = [0] * (len(heads) + 1)  # 0 unknown, otherwise the word whose path came here; −1 leads to the root
    state[0] = -1
    for word in range(1, len(heads) + 1):
        at = word
        while state[at] == 0:
            state[at] = word
            head = heads[at - 1]
            if not 0 <= head <= len(heads):
                found = f"head {head} in a sentence of {counted(len(heads), 'word')}"
                raise TreeError(path, lines[at - 1], found, "0: root")
            at = head
        if state[at] == word:
            found = f"word {at} depends on itself by way of its heads"
            raise TreeError(path, lines[at - 1], found, "Make it a tree")
        at = word
        while state[at] == word:
            state[at] = -1
            at = heads[at - 1]


def _without(heads: tuple[int, ...], kept: list[int]) -> tuple[int, ...]:
    """Heads among the kept words."""
    new = {at + 1: place for place, at in enumerate(kept, start=1)}
    found = []
    for at in kept:
        head = heads[at]
        while head and head not in new:
            head = heads[head - 1]
        found.append(new.get(head, 0))
    roots = [place for place, head in enumerate(found) if head == 0]
    for place in roots[1:]:
        found[place] = roots[0] + 1
    return tuple(found)


def _with_heads(sentence: Sentence, heads: Sequence[int]) -> Iterator[str]:
    """The lines of a block with other heads."""
    places = dict(zip(sentence.kept, heads, strict=True))
    # Without any kept word the first one is the root.
    root = next((at for at, head in places.items() if head == 0), 0)
    at = -1
    for line in sentence.lines:
        columns = line.split("\t")
        if not line.startswith("#") and re.fullmatch(r"[0-9]+", columns[0]):
            at += 1
            if places.get(at):
                columns[6:8] = [str(sentence.kept[places[at] - 1] + 1), "dep"]
            elif at == root:
                columns[6:8] = ["0", "root"]
            else:
                columns[6:8] = [str(root + 1), "punct"]
        yield "\t".join(columns)
