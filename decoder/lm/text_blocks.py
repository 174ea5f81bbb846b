"""Text scored by a language model in blocks of bytes, without making a Python object of any word.

Words are what `decoder.lm.arpa.model_words` says, found and looked up as bytes. The fact a newcomer would get
wrong: to a model, a carriage return parts words like a space, also in the middle of a line.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from decoder.lm.arpa import END, UNKNOWN
from decoder.lm.model import LmVocabulary, TextScores, add_word, begin_sentence, finish_sentence
from decoder.lm.table import LanguageModel
from scfg_sampler.core.arrays.blocks import read_blocks
from scfg_sampler.core.arrays.hash_table import find
from scfg_sampler.core.arrays.word_pool import WordPool, end_of_line, pool_of
from scfg_sampler.core.files import PathLike, not_utf8
from scfg_sampler.core.jit import borrowing, by_reference, kernel
from scfg_sampler.errors import InputError

__all__ = ["score_file"]

_BLOCK = 1 << 20  # Bytes that are scored at a time.
_SPACE, _TAB, _RETURN = 32, 9, 13


def score_file(lm: LanguageModel, vocabulary: LmVocabulary, path: PathLike) -> Iterator[TextScores]:
    """The scores of the lines of a file, some at a time; as `score_text` has them.

    Raises
    ------
    InputError
        The file cannot be read, or is not UTF-8; the line is named.
    """
    entries, ids = vocabulary.entries()
    words = pool_of(word.encode("utf-8", "surrogatepass") for word in entries)
    lines = 0
    for raw in read_blocks(path, _BLOCK):
        _require_utf8(raw, path, lines)
        block = np.frombuffer(raw, np.uint8)
        number = raw.count(b"\n") + (not raw.endswith(b"\n"))
        log_probs, unknown = np.zeros(number), np.zeros(number)
        counts = _score_block(lm, words, ids, block, log_probs, unknown)
        yield TextScores(log_probs, unknown, *counts)
        lines += number


def _require_utf8(raw: bytes, path: PathLike, lines: int) -> None:
    """An InputError that names the first byte that is not UTF-8, behind so many lines."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines + raw.count(b"\n", 0, error.start) + 1
        begin = raw.rfind(b"\n", 0, error.start) + 1
        error.object, error.start = raw[begin:], error.start - begin
        raise InputError(path, line, *not_utf8(error)) from None


@kernel
def _score_block(
    lm: LanguageModel,
    words: WordPool,
    ids: np.ndarray,
    block: np.ndarray,
    log_probs: np.ndarray,
    unknown: np.ndarray,
) -> tuple[int, int, int]:
    """Score the lines of a block.

    ids : int32, of each of the words, the reserved ones first
    log_probs, unknown : float64, one for each line, made as `TextScores` has them

    Returns the number of tokens, of unknown words, and of reserved words.
    """
    lm = by_reference(lm)
    state = np.zeros(1 + 4 * (lm.order - 1), dtype=np.int32)
    num_tokens, num_unknown, num_reserved = 0, 0, 0
    at = 0
    for line in range(len(log_probs)):
        stop = end_of_line(block, at)
        begin_sentence(lm, state)
        while True:
            begin, at = _next_word(block, at, stop)
            if begin == at:
                break
            word = find(words, block, begin, at)
            is_reserved = 0 <= word <= END
            word = UNKNOWN if word < 0 or is_reserved else ids[word]
            log_prob = add_word(lm, state, word)
            log_probs[line] += log_prob
            num_tokens += 1
            if word == UNKNOWN:
                unknown[line] += log_prob
                num_unknown += 1
                num_reserved += is_reserved
        log_probs[line] += finish_sentence(lm, state)
        num_tokens += 1
        at = stop + 1
    return num_tokens, num_unknown, num_reserved


@borrowing
def _next_word(block: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """Begin and end of the next word before `end`; both are `end` if there is none."""
    while at < end and (block[at] == _SPACE or block[at] == _TAB or block[at] == _RETURN):
        at += 1
    begin = at
    while at < end and block[at] != _SPACE and block[at] != _TAB and block[at] != _RETURN:
        at += 1
    return begin, at
