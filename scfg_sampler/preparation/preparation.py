"""What was done to a text before a grammar was learnt from it: to do the same to new text, and to undo it.

    preparation = load_preparation("data")
    words = preparation.segment("Ein Hund läuft.")          # of the source language
    text = preparation.restore(["a", "dog", "runs", "."])   # of the target language

A directory holds `preparation.json`, which says how each language is segmented and cased, and beside it the
models it names. Text of a language is normalised (`normalise`), then cased (`case`), then segmented (`words`,
`subwords`, or at spaces); `restore` goes back. With `keep`, `restore(segment(text))` is the normalised text.

The fact a newcomer would get wrong: a word that the grammar does not know is copied into a text of the other
language, which may mark spaces otherwise. `copied` spells every word of the source as the target would.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scfg_sampler import __version__
from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.preparation.case import CASES, CaseModel, begins_small, first_letter
from scfg_sampler.preparation.letters import is_letter
from scfg_sampler.preparation.normalise import normalise, normalise_with_places
from scfg_sampler.preparation.protected import is_protected
from scfg_sampler.preparation.segments import Plain, Segmenter, escape, spelling
from scfg_sampler.preparation.subwords import SubwordSegmenter, is_unspaced
from scfg_sampler.preparation.words import WordSegmenter, sacremoses_version

__all__ = [
    "FILE",
    "LanguagePreparation",
    "Preparation",
    "Prepared",
    "load_preparation",
    "model_files",
    "spelling",
    "write_preparation",
]

FILE = "preparation.json"
_FORMAT = 1
_AGAIN = "Prepare the text again, or copy the whole directory"
# Wide forms of ASCII, and what else punctuation of Chinese and Japanese is in text whose words have spaces.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | str.maketrans(
    "。、·・「」『』《》〈〉【】〜～", ".,··“”“”“”“”[]~~"
)


class Prepared(NamedTuple):
    """A text as a grammar takes it.

    words : what the grammar sees
    places : the half-open range of each word in the raw text
    cased : the part of the normalised text that each word stands for, in the case it was segmented in
    parts : the same in the text's own case
    joined : whether each word has no space before it in the text; False for the first
    begins_small : whether the text begins with a small letter, in a script that has capitals
    """

    words: list[str]
    places: list[tuple[int, int]]
    cased: list[str]
    parts: list[str]
    joined: list[bool]
    begins_small: bool


class LanguagePreparation:
    """How the text of one language is prepared, and restored.

    Parameters
    ----------
    language : its code or name
    segmenter : Segmenter
    case : one of `case.CASES`
    case_model : None if case is kept
    """

    def __init__(self, language: str, segmenter: Segmenter, case: str, case_model: CaseModel | None):
        self.language, self.segmenter = language, segmenter
        self.case, self.case_model = case, case_model

    def cased(self, text: str) -> str:
        """A normalised text in the case it is segmented in; as long as it was."""
        if self.case_model is None:
            return text
        return self.case_model.true(text) if self.case == "true" else self.case_model.lower(text)

    def segment(self, text: str) -> list[str]:
        """The words of a raw text."""
        return self.segment_normal(normalise(text))

    def segment_normal(self, text: str) -> list[str]:
        """The words of a normalised text."""
        return self.segmenter.segment(self.cased(text), text).words

    def prepare(self, text: str) -> Prepared:
        """The words of a raw text, and where they come from."""
        normal, origins = normalise_with_places(text)
        cased = self.cased(normal)
        words, places = self.segmenter.segment(cased, normal)
        raw = [(origins[begin][0], origins[end - 1][1]) for begin, end in places]
        joined = [at > 0 and places[at - 1][1] == places[at][0] for at in range(len(places))]
        cased_parts, parts = ([text[begin:end] for begin, end in places] for text in (cased, normal))
        return Prepared(words, raw, cased_parts, parts, joined, begins_small(normal))

    def restore(self, words: Sequence[str], *, begins_small: bool = False) -> str:
        """The text that words make, with its capitals, but for the first letter if `begins_small`."""
        return self.restore_with_places(words, begins_small=begins_small)[0]

    def restore_with_places(
        self, words: Sequence[str], *, begins_small: bool = False
    ) -> tuple[str, list[tuple[int, int]]]:
        """The same, and the half-open range of each word in it."""
        text, places = self.segmenter.join(list(words))
        if self.case_model is not None:
            if self.case == "lower":
                text = self.case_model.recalled(text)
            with_capitals = self.case_model.with_capitals(text)
            kept = first_letter(text) + 1 if begins_small else 0
            text = text[:kept] + with_capitals[kept:]
        return text, places

    def does_as(self, other: LanguagePreparation) -> bool:
        """Whether another makes the same words of any text, and the same text of any words."""
        return self._made_of() == other._made_of()

    def _made_of(self) -> tuple[Any, ...]:
        """All that decides about words."""
        pieces = self.segmenter.model if isinstance(self.segmenter, SubwordSegmenter) else None
        case_model = None if self.case_model is None else self.case_model.record()
        return self.language, self.segmenter.record(), pieces, self.case, case_model


class Preparation:
    """How parallel text is prepared: a `LanguagePreparation` for each side, and the record of how they came
    about.

    source, target : LanguagePreparation, of different languages
    record : what else `preparation.json` says: settings, counts, versions
    """

    def __init__(self, source: LanguagePreparation, target: LanguagePreparation, record: dict[str, Any]):
        if source.language == target.language:
            raise SettingsError(f"both languages are called {source.language!r}; give them different names")
        self.source, self.target, self.record = source, target, record

    def of(self, language: str) -> LanguagePreparation:
        """The preparation of one of the two languages.

        Raises
        ------
        SettingsError
            It is neither of them.
        """
        for side in (self.source, self.target):
            if side.language == language:
                return side
        known = f"{self.source.language} and {self.target.language}"
        raise SettingsError(f"the language is {language!r}, but the preparation is of {known}")

    def segment(self, text: str, language: str | None = None) -> list[str]:
        """The words of a raw text, of the source language if no other is named."""
        return (self.source if language is None else self.of(language)).segment(text)

    def restore(self, words: Sequence[str], language: str | None = None) -> str:
        """The text that words make, of the target language if no other is named."""
        return (self.target if language is None else self.of(language)).restore(words)

    def copied(
        self, prepared: Prepared, *, own_case: bool = False, follows: Sequence[bool] | None = None
    ) -> list[str]:
        """Every word of a source text, spelled as a word of the target text that is the same.

        With `own_case` in the case of the raw text, otherwise in that of the grammar. `follows` says of each
        word whether it comes right after the word before it in the target, too (by default it does): only
        then is a character of a text without spaces joined to it. Punctuation of such a text becomes that of
        a text with spaces.
        """
        ours, theirs = self.source.segmenter, self.target.segmenter
        parts = prepared.parts if own_case else prepared.cased
        if _marks(ours) == _marks(theirs):
            replaced = zip(prepared.words, prepared.cased, parts, strict=True)
            return [word.replace(escape(cased), escape(part)) for word, cased, part in replaced]
        words = []
        for at, part in enumerate(parts):
            before = parts[at - 1] if at else ""
            joined = _is_joined(
                before, part, prepared.joined[at], theirs, None if follows is None else follows[at]
            )
            if theirs.record().get("spaced") is not False:
                part = part.translate(_NARROW)
            words.append(theirs.word(part, joined=joined))
        return words


def _marks(segmenter: Segmenter) -> tuple[Any, Any]:
    """How a segmenter tells where spaces are."""
    record = segmenter.record()
    return record["kind"], record.get("spaced")


def _is_joined(before: str, part: str, joined: bool, target: Segmenter, follows: bool | None) -> bool:
    """Whether a copied part is to have no space before it; `follows` may be unknown."""
    if target.record().get("spaced") is False:
        if follows and is_letter(before[-1]) and is_letter(part[0]):
            return joined  # +86 10 does not become +8610.
        return joined or is_protected(part) or not before
    if follows is False and is_unspaced(part[0]):
        return False
    # Words of a text without spaces are parted, but not the pieces of one foreign word.
    alike = is_letter(before[-1:]) == is_letter(part[0]) and is_unspaced(before[-1:]) == is_unspaced(part[0])
    return joined and alike and not is_protected(part) and not is_protected(before)


# ---- Files ------------------------------------------------------------------------------------------


def write_preparation(preparation: Preparation, directory: PathLike) -> None:
    """Write `preparation.json` and the models into a directory that exists."""
    folder = Path(directory)
    sides, models = [], dict[str, bytes]()
    for side in (preparation.source, preparation.target):
        entry: dict[str, Any] = {"language": side.language, "case": side.case}
        entry["segmenter"] = side.segmenter.record()
        if isinstance(side.segmenter, SubwordSegmenter):
            entry["segmenter"]["model"] = _named(models, "subwords", side.language, side.segmenter.model)
        if side.case_model is not None:
            case_model = json.dumps(side.case_model.record(), ensure_ascii=False, indent=0)
            entry["case_model"] = _named(models, "case", side.language, case_model.encode())
        sides.append(entry)
    record = {
        "format": _FORMAT,
        "version": __version__,
        "sides": sides,
        "models": {name: hashlib.sha256(content).hexdigest() for name, content in models.items()},
        "sacremoses": sacremoses_version(),
        **preparation.record,
    }
    for name, content in models.items():
        with atomic_output(folder / name, binary=True) as stream:
            stream.write(content)
    with atomic_output(folder / FILE) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def model_files(preparation: Preparation) -> list[str]:
    """The names of the files that the record of a preparation on disk lists beside itself."""
    return list(preparation.record["models"])


def _named(models: dict[str, bytes], kind: str, language: str, content: bytes) -> str:
    """The name of the file for a model, which is put into `models`; that of an equal one, if there is one."""
    for name, other in models.items():
        if other == content:
            return name
    name = f"{kind}.{language}.{'model' if kind == 'subwords' else 'json'}"
    models[name] = content
    return name


def load_preparation(directory: PathLike) -> Preparation:
    """What `write_preparation` wrote into a directory.

    Raises
    ------
    InputError
        A file is missing, damaged, or of another version.
    """
    folder = Path(directory)
    path = folder / FILE
    if not path.is_file():
        raise InputError(directory, None, f"has no {FILE}", "Name a directory that scfg-sampler prepare made")
    try:
        record = parse_json("\n".join(read_lines(path)))
        if record["format"] != _FORMAT:
            found = f"is of format {record['format']}, but this version reads {_FORMAT}"
            raise InputError(path, None, found, f"It was written by version {record.get('version')}")
        models = {name: _model(folder / name, digest) for name, digest in record["models"].items()}
        if record["sacremoses"] != sacremoses_version() and any(
            side["segmenter"]["kind"] == "words" for side in record["sides"]
        ):
            warn(
                f"{path}: words were told apart by sacremoses {record['sacremoses']}, here is "
                f"{sacremoses_version() or 'none'}"
            )
        source, target = (_side(side, models, folder) for side in record["sides"])
    except WRONG_RECORD as error:
        found = f"not a preparation ({type(error).__name__}: {error})"
        raise InputError(path, None, found, _AGAIN) from None
    return Preparation(source, target, record)


def _model(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror})", _AGAIN) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(path, None, "does not match its digest in preparation.json", _AGAIN)
    return content


def _side(side: dict[str, Any], models: dict[str, bytes], folder: Path) -> LanguagePreparation:
    """The preparation of a language from its entry in `preparation.json`."""
    settings = side["segmenter"]
    segmenter: Segmenter
    if settings["kind"] == "words":
        joins = settings["joins_left"], settings["joins_right"]
        whole, apostrophes = (settings.get(name, False) for name in ("whole", "apostrophes"))
        segmenter = WordSegmenter(settings["rules"], *joins, whole=whole, apostrophes=apostrophes)
    elif settings["kind"] == "subwords":
        name = settings["model"]
        segmenter = SubwordSegmenter(models[name], spaced=settings["spaced"], name=folder / name)
    elif settings["kind"] == "none":
        segmenter = Plain()
    else:
        raise ValueError(f"the segmentation is {settings['kind']!r}")
    if side["case"] not in CASES:
        raise ValueError(f"the case is {side['case']!r}")
    case_model = None
    if side["case"] != "keep":
        case_model = CaseModel.from_record(parse_json(models[side["case_model"]]))
    return LanguagePreparation(side["language"], segmenter, side["case"], case_model)
