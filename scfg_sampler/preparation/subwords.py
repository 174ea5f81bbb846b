"""Pieces of words, by sentencepiece (Kudo and Richardson 2018): unigram by default (Kudo 2018), or BPE.

A piece that a space comes before begins with `▁`; so pieces are joined by writing them one after the other.
Text in a script without spaces does not begin with one; other text does, so that a word is the same at the
beginning of a sentence as within. Training is on one thread: the same text gives the same model everywhere.

The fact a newcomer would get wrong: protected parts (addresses, numbers) are never given to sentencepiece.
Each is one word, so that one the grammar does not know is copied as it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.preparation.protected import protected_spans
from scfg_sampler.preparation.segments import MARKS, WORD_BEGIN, Joined, Segmented, escape, unescape

__all__ = ["MODELS", "SubwordSegmenter", "is_unspaced", "train_subwords", "uses_spaces"]

MODELS = ("unigram", "bpe")
_MOST_LINES = 1_000_000  # Training on more takes long and changes little.
_COVERAGE = 0.9995  # The share of a text's characters that get pieces; the others are copied.
_UNKNOWN = 0
_AT_SPACES = re.compile(f"{WORD_BEGIN}?[^{WORD_BEGIN}]+|{WORD_BEGIN}")
_SCRIPTS = (  # Javanese, Balinese and those of Tai languages among them.
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f"
    "\u3040-\u30ff\u3400-\u9fff\ua980-\ua9ff\uaa60-\uaadf\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_SCRIPTS}]")
_MARK_OR_FOREIGN = re.compile(rf"{MARKS.pattern}|[^\W\d_{_SCRIPTS}]+(?:['’.-][^\W\d_{_SCRIPTS}]+)*")


class SubwordSegmenter:
    """Segmentation by a sentencepiece model.

    Parameters
    ----------
    model : the bytes of a model that `train_subwords` made
    spaced : whether the text's words stand between spaces
    name : what errors call the model

    Raises
    ------
    InputError
        The bytes are no model.
    """

    def __init__(self, model: bytes, *, spaced: bool, name: object = None):
        from sentencepiece import SentencePieceProcessor

        self.model, self.spaced = model, spaced
        try:
            self._processor = SentencePieceProcessor()
            self._processor.LoadFromSerializedProto(model)
            self.num_pieces = self._processor.get_piece_size()
        except (RuntimeError, TypeError, ValueError):
            hint = "Copy it again, or prepare the text again"
            raise InputError(name, None, "not a sentencepiece model", hint) from None

    def segment(self, text: str, own_case: str | None = None) -> Segmented:
        """The pieces of a text; one that sentencepiece parts from the space before it takes it along."""
        words: list[str] = []
        places: list[tuple[int, int]] = []
        at = 0
        for begin, end in _whole_parts(text, self.spaced):
            has_space = text[begin - 1] == " " if begin else self.spaced
            self._add_pieces(text, at, begin - (begin > 0 and has_space), words, places)
            words.append(WORD_BEGIN * has_space + escape(text[begin:end]))
            places.append((begin, end))
            at = end
        self._add_pieces(text, at, len(text), words, places)
        return Segmented(words, places)

    def _add_pieces(
        self, text: str, begin: int, end: int, words: list[str], places: list[tuple[int, int]]
    ) -> None:
        """Add the pieces of a part of a text that has neither marks nor protected parts in it."""
        if begin >= end:
            return
        at = begin
        part = text[begin:end]
        if begin == 0 and self.spaced:
            part, at = " " + part, -1
        for piece in _parted(self._processor.encode(part, out_type=str)):
            if words and words[-1] == WORD_BEGIN:
                words[-1] += piece  # A space is not a word of its own.
                places[-1] = (places[-1][0], at + len(piece))
            else:
                words.append(piece)
                places.append((at + piece.startswith(WORD_BEGIN), at + len(piece)))
            at += len(piece)

    def join(self, words: Sequence[str]) -> Joined:
        """The text of pieces; spaces at its ends are left out, and several are one."""
        parts: list[str] = []
        places = []
        at, space = 0, False
        for word in words:
            core = unescape(word.removeprefix(WORD_BEGIN).replace(WORD_BEGIN, ""))
            space = space or word.startswith(WORD_BEGIN)
            if core and space and parts:
                parts.append(" ")
                at += 1
            places.append((at, at + len(core)))
            if core:
                parts.append(core)
                at, space = at + len(core), False
        return Joined("".join(parts), places)

    def word(self, text: str, *, joined: bool) -> str:
        """A part of a text as one word."""
        return WORD_BEGIN * (not joined) + escape(text)

    def respelled(self, word: str) -> str:
        """The piece with a space before it if it has none, or without."""
        return word[1:] if word.startswith(WORD_BEGIN) else WORD_BEGIN + word

    def record(self) -> dict[str, Any]:
        """Kind and number of pieces; the model is kept beside it."""
        return {"kind": "subwords", "pieces": self.num_pieces, "spaced": self.spaced}


def train_subwords(lines: Sequence[str], size: int, model: str = "unigram", what: str = "the text") -> bytes:
    """A sentencepiece model of `size` pieces, or fewer if the text has not as many.

    Parameters
    ----------
    lines : normalised text
    size : at least 2
    model : one of MODELS
    what : what errors call the text

    Raises
    ------
    SettingsError
        There is no text, or `size` is too small for the characters of the text.
    """
    from sentencepiece import SentencePieceTrainer

    if model not in MODELS:
        raise SettingsError(f"--subword-model is {model!r}, but must be one of {', '.join(MODELS)}")
    step = 1 + len(lines) // _MOST_LINES
    spaced = uses_spaces(lines)
    sample = list(_training_lines(lines[::step], spaced))
    if not any(part.strip() for part in sample):
        raise SettingsError(f"{what} has no words to learn subwords from; use --segment none")
    stream = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=stream,
            vocab_size=size,
            model_type=model,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            character_coverage=_COVERAGE,
            max_sentence_length=1 << 20,
            num_threads=1,
            unk_id=_UNKNOWN,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            minloglevel=3,
        )
    except RuntimeError as error:
        needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        if needed is None:
            raise
        found = f"--segment subwords:{size} is too few for {what}, which has {needed[1]} different characters"
        raise SettingsError(f"{found}: use at least twice as many") from None
    return stream.getvalue()


def uses_spaces(lines: Sequence[str]) -> bool:
    """Whether a text is in a script whose words stand between spaces: most of its letters are.

    >>> uses_spaces(["我喜欢 Python。"]), uses_spaces(["한국어 문장"])
    (True, True)
    >>> uses_spaces(["我很喜欢你们的 DVD。"])
    False
    """
    letters = unspaced = 0
    for line in lines:
        letters += sum(map(str.isalpha, line))
        unspaced += len(_UNSPACED.findall(line))
    return 2 * unspaced <= letters


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script whose words do not stand between spaces; "" is not."""
    return _UNSPACED.match(character) is not None


def _training_lines(lines: Sequence[str], spaced: bool) -> Iterator[str]:
    """The parts that are given to sentencepiece, with spaces before them as in `segment`."""
    for line in lines:
        at = 0
        for begin, end in _whole_parts(line, spaced):
            yield from _part(line, at, begin, spaced)
            at = end
        yield from _part(line, at, len(line), spaced)


def _parted(pieces: Iterable[str]) -> Iterator[str]:
    """Pieces with marks at their beginnings only; sentencepiece leaves unknown words in a row as one."""
    for piece in pieces:
        if WORD_BEGIN in piece[1:]:
            yield from _AT_SPACES.findall(piece)
        else:
            yield piece


def _part(line: str, begin: int, end: int, spaced: bool) -> Iterator[str]:
    part = " " * (spaced and begin == 0) + line[begin:end]
    if part.strip():
        yield part.rstrip()


def _whole_parts(text: str, spaced: bool) -> Iterator[tuple[int, int]]:
    """Begin and end of what is one word each.

    These are protected parts; characters that are marks elsewhere; and in a text without spaces the words of
    other scripts, which are names more often than not.
    """
    at = 0
    pattern = MARKS if spaced else _MARK_OR_FOREIGN
    for begin, end, _ in protected_spans(text):
        yield from (match.span() for match in pattern.finditer(text, at, begin))
        yield begin, end
        at = end
    yield from (match.span() for match in pattern.finditer(text, at))
