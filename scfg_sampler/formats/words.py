"""Words as the files of each decoder spell them: tables, input, and what a language model is trained on.

Only what a decoder would take for something else is written otherwise. Then the word has to be spelled so in
its input and in its language model as well, as no decoder unescapes what it reads. The fact a newcomer would
get wrong: where they differ nothing fails. The word is unknown to the language model, or copied instead of
translated.

The `<` of `<s>`, `</s>` and `<UNK>` is written `&#60;` for all: KenLM, which all of them have, takes the last
for `<unk>`, and the other two are glue rules' in Moses and Joshua.

cdec
    as the native format has it: `[`, `]`, `|`, white space and control characters as `&#N;`, and the first
    character of what it takes for a command: `<seg`, `</seg>`, `((('` and `{"rules":`, and of `*EPS*`,
    which it takes for no word
Moses
    `|`, which parts factors, the `[` of a word that ends with `]`, the `<` of its commands `<seg` and `<dlt`,
    and a byte order mark that begins a word and might begin a table, as `&#N;`
    (text that went through Moses' own tokeniser is escaped already and must not be escaped again, which
    `escaped` says; escapes of that tokeniser, such as `&apos;`, are read in any case)
Joshua
    `[`, `]` and `|` as `-lsb-`, `-rsb-` and `-pipe-`, as it does with its input, and as `&#N;` the `<` of
    `<seg`, the `%` of what its `output-format` has instead of the sentence's number and the like, also where
    a translation holds it, and characters beyond U+FFFF, which Java hands to KenLM as no UTF-8, so that it
    knows no such word
Travatar
    nothing but what follows; its quotation marks need no escape within words

Everywhere, white space and control characters of ASCII and what looks like an escape are written `&#N;`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import Vocabulary, split_words
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.formats.escapes import escapes
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import escape, guards, unescape

__all__ = ["Speller", "convert_text", "respelled", "speller", "spelling_note"]


class Speller(NamedTuple):
    """How a word is written in a format, and how it is read: `read(write(word)) == word`."""

    write: Callable[[str], str]
    read: Callable[[str], str]


_MOSES = {
    "&": "&amp;",
    "|": "&#124;",
    "<": "&lt;",
    ">": "&gt;",
    "'": "&apos;",
    '"': "&quot;",
    "[": "&#91;",
    "]": "&#93;",
}
_OF_MODELS = r"\A<(?=/?s>\Z|UNK>\Z)"
_LOOKS_ESCAPED = re.compile("|".join(_MOSES.values()))
_guard, _unguard = guards()


def _escape_little(word: str) -> str:
    """For text that is escaped already: only what would break the line; brackets and bars as it has them."""
    return re.sub(r"[\[\]|]", lambda match: _MOSES[match[0]], _guard(word))


_SPELLERS = {
    "native": Speller(str, str),
    "cdec": Speller(escape, unescape),
    "moses": Speller(
        *escapes(
            rf"\||\A\ufeff|\A\[(?=[\s\S]*\]\Z)|{_OF_MODELS}|\A<(?=(?i:seg))|<(?=(?i:dlt))",
            understood={character: name for character, name in _MOSES.items() if name[1] != "#"},
        )
    ),
    "joshua": Speller(
        *escapes(
            rf"-(?=(?:lsb|rsb|pipe)[-\[\]|])|{_OF_MODELS}|\A<(?=seg\Z)|%(?=[Sacdefit])|[\U00010000-\U0010ffff]",
            {"[": "-lsb-", "]": "-rsb-", "|": "-pipe-"},
        )
    ),
    "travatar": Speller(*escapes(_OF_MODELS)),
}


def speller(file_format: str, escaped: bool = False) -> Speller:
    """How the words of texts are spelled for a decoder; native texts are as they are.

    escaped : Moses: the words have the escapes of its tokeniser already
    """
    return Speller(_escape_little, _unguard) if escaped and file_format == "moses" else _SPELLERS[file_format]


def respelled(
    table: RuleTable, file_format: str, escaped: bool = False
) -> tuple[dict[str, str], dict[str, str]]:
    """The source words and the target words in rules that a format spells otherwise, and how."""
    write = speller(file_format, escaped).write

    def of_side(vocabulary: Vocabulary, symbols: np.ndarray) -> dict[str, str]:
        words = [vocabulary.words[word] for word in np.unique(symbols[symbols >= 0]).tolist()]
        return {word: spelled for word in words if (spelled := write(word)) != word}

    return of_side(table.source_vocabulary, table.source), of_side(table.target_vocabulary, table.target)


def spelling_note(table: RuleTable, file_format: str, escaped: bool = False) -> str:
    """What to tell of words that a decoder's table spells otherwise than texts do; "" if there are none."""
    source, target = respelled(table, file_format, escaped)
    if not source and not target:
        return ""
    word, spelled = next(iter((source | target).items()))
    note = (
        f"{len(source)} source and {len(target)} target words are spelled otherwise than in texts, such as "
        f"{word!r} as {spelled!r}: spell the input, and the text that the language model is trained on, "
        f"likewise, with 'convert --to {file_format}{' --escaped' * escaped} --text IN OUT'"
    )
    if file_format == "moses" and not escaped and any(map(_LOOKS_ESCAPED.search, source | target)):
        note += "; if they have the escapes of Moses' tokeniser already, give --escaped instead"
    return note


def convert_text(
    path: PathLike, output: PathLike, to: str, origin: str = "native", *, escaped: bool = False
) -> None:
    """Write a text with its words spelled for a decoder, or back.

    cdec leaves out lines without characters, and the translations that follow stand at other lines than their
    sentences: for it, a line without words is a blank.

    Parameters
    ----------
    path, output : paths
        Tokenised text, one sentence a line, each of which stays a line.
    to, origin : str
        The formats whose spelling it is to have and has: native is that of texts for our own programs.
    escaped : bool, optional
        As `speller` has it.
    """
    read, write = speller(origin, escaped).read, speller(to, escaped).write
    no_words = " " if to == "cdec" else ""
    with atomic_output(output) as stream:
        for line in read_lines(path):
            stream.write((" ".join(write(read(word)) for word in split_words(line)) or no_words) + "\n")
