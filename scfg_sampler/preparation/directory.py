"""From raw pairs to a data directory as the recipes take it.

    train.xx  train.yy         segmented training text, line by line
    dev.xx  dev.yy  test.xx …  the same for the sets; with several references dev.yy.ref0, dev.yy.ref1, …
    raw/dev.xx  raw/test.yy …  the sets as they were, normalised only, to score translations of raw text with
    monolingual.yy             more text of the target language, if given
    preparation.json, models   see `preparation`

All of it is written beside what is there before anything is replaced.

The fact a newcomer would get wrong: training pairs may be left out after segmentation too, because they have
too many words; pairs of the sets never are, so that line k of a given test set stays line k.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scfg_sampler.core import console
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.leftovers import sync_directory, temporary_directory
from scfg_sampler.corpus.parallel_text import require_equal_lines
from scfg_sampler.corpus.symmetrise import METHODS
from scfg_sampler.corpus.word_alignment import suffix
from scfg_sampler.errors import InputError
from scfg_sampler.preparation.cleaning import REASONS, Cleaned, Limits, clean, leave_out, same_sentence
from scfg_sampler.preparation.learning import SegmentationSettings, learn_preparation
from scfg_sampler.preparation.normalise import normalise
from scfg_sampler.preparation.preparation import (
    FILE,
    LanguagePreparation,
    Preparation,
    write_preparation,
)
from scfg_sampler.preparation.readers import Pair
from scfg_sampler.preparation.splitting import HeldOut, split

__all__ = [
    "GivenSets",
    "Report",
    "SplitSettings",
    "prepare",
    "read_set",
    "refuse_file",
    "refuse_occupied",
    "refuse_own_files",
]


class SplitSettings(NamedTuple):
    """How the sets are drawn: their sizes in source sentences; None as `split` has it."""

    dev: int | None = None
    test: int | None = None
    seed: int = 1


class GivenSets(NamedTuple):
    """Sets that are not drawn, but given; and more text of the target language."""

    dev: HeldOut | None = None
    test: HeldOut | None = None
    monolingual: tuple[PathLike, ...] = ()


class Report(NamedTuple):
    """What came of preparing.

    read : number of pairs
    cleaned : what was left out
    sizes : name of a file → number of lines
    preparation : Preparation
    removed : names of alignments that were there, of a training text that is another now
    """

    read: int
    cleaned: Cleaned
    sizes: dict[str, int]
    preparation: Preparation
    removed: tuple[str, ...]


def read_set(source: PathLike, references: Sequence[PathLike]) -> HeldOut:
    """A set from files, every line of it; an empty line in a second or later reference is no reference.

    Raises
    ------
    InputError
        A file cannot be read, or they differ in their number of lines.
    """
    sources = [normalise(line) for line in read_lines(source)]
    if not sources:
        raise InputError(source, None, "has no lines", "Give at least one sentence pair")
    lists: list[list[str]] = [[] for _ in sources]
    for path in references:
        lines = [normalise(line) for line in read_lines(path)]
        require_equal_lines(source, len(sources), path, len(lines))
        for found, line in zip(lists, lines, strict=True):
            if line or path == references[0]:
                found.append(line)
    return HeldOut(sources, lists)


def refuse_occupied(output: PathLike, names: Iterable[str]) -> None:
    """Raise InputError if a directory has files of these names, or a preparation."""
    taken = [name for name in (FILE, *names) if (Path(output) / name).exists()]
    if taken:
        found = "holds a preparation already" if taken[0] == FILE else f"holds {taken[0]} already"
        raise InputError(output, None, found, "Name another directory, or give --overwrite")


def refuse_file(output: PathLike) -> None:
    """Raise InputError if something else than a directory is where one is to be made."""
    if Path(output).exists() and not Path(output).is_dir():
        raise InputError(output, None, "is a file, where a directory is to be made", "Name another one")


def refuse_own_files(output: PathLike, languages: Sequence[str], inputs: Iterable[PathLike]) -> None:
    """Raise InputError if one of the files to be read has a name that `prepare` writes in the directory."""
    one, folder = "|".join(map(re.escape, languages)), Path(output).resolve()
    written = re.compile(rf"(raw/)?(train|dev|test|monolingual)\.({one})(\.ref\d+)?")
    for path in inputs:
        place = Path(path).resolve()
        if place.is_relative_to(folder) and written.fullmatch(place.relative_to(folder).as_posix()):
            hint = f"Name another directory than {output} for the prepared text"
            raise InputError(path, None, "is to be read, and would be replaced", hint)


def prepare(
    pairs: Iterable[Pair],
    output: PathLike,
    settings: SegmentationSettings,
    limits: Limits,
    splitting: SplitSettings,
    given: GivenSets,
    origin: dict[str, Any],
    overwrite: bool = False,
) -> Report:
    """Write a data directory; what came of it.

    Parameters
    ----------
    pairs : raw
    output : the directory
    settings, limits, splitting, given
        What is done.
    origin : what `preparation.json` is to say of where the text comes from
    overwrite : whether what is there may be replaced; alignments of another training text go, too

    Raises
    ------
    InputError, SettingsError
        The text or the settings cannot be used, or the directory holds such files; none is changed then.
    """
    raw = list(pairs)
    if not raw:
        raise InputError(origin.get("source"), None, "has no lines", "Give text, one sentence a line")
    cleaned = clean(raw, limits)
    train, dev, test = _divided(cleaned, splitting, given)
    if not train:
        raise InputError(origin.get("source"), None, "no training pair is left", _left_out(cleaned.counts))
    with console.progress("learning the segmentation", None):
        preparation = learn_preparation(
            [pair.source for pair in train], [pair.target for pair in train], settings
        )
    texts = _segmented_training(train, preparation, limits, cleaned)
    if not texts["train." + preparation.source.language]:
        raise InputError(origin.get("source"), None, "no training pair is left", _left_out(cleaned.counts))
    texts |= _set_texts("dev", dev, preparation) | _set_texts("test", test, preparation)
    if given.monolingual:
        known = {same_sentence(line) for held in (dev, test) for found in held.references for line in found}
        lines = list(_monolingual(given.monolingual, preparation.target, limits, known))
        texts[f"monolingual.{preparation.target.language}"] = lines
    sizes = {name: len(lines) for name, lines in texts.items()}
    preparation.record.update(
        origin=origin,
        settings={
            "segment": [f"{kind}:{size}" if size else kind for kind, size in settings.segment],
            "joint": settings.joint,
            "subword_model": settings.subword_model,
            "case": settings.case,
            "rules": dict(settings.rules),
            "apostrophes": list(settings.apostrophes),
            **limits._asdict(),
            **splitting._asdict(),
        },
        pairs={"read": len(raw), "left_out": cleaned.counts},
        files=sizes,
    )
    if not overwrite:
        refuse_occupied(output, texts)
    removed = _write(Path(output), texts, preparation)
    return Report(len(raw), cleaned, sizes, preparation, removed)


def _left_out(counts: dict[str, int]) -> str:
    """What was left out, for a message."""
    found = [f"{number} because {REASONS[reason]}" for reason, number in counts.items() if number]
    return "Left out: " + ", ".join(found) if found else "Use smaller sets, or give more text"


def _divided(
    cleaned: Cleaned, splitting: SplitSettings, given: GivenSets
) -> tuple[list[Pair], HeldOut, HeldOut]:
    """The training pairs and both sets; pairs that share a sentence with a given set are left out."""
    sets = [held for held in (given.dev, given.test) if held is not None]
    sources = {same_sentence(line) for held in sets for line in held.sources}
    targets = {same_sentence(line) for held in sets for found in held.references for line in found}
    kept = []
    for pair in cleaned.pairs:
        if same_sentence(pair.source) in sources or same_sentence(pair.target) in targets:
            leave_out(cleaned, "held out", pair)
        else:
            kept.append(pair)
    dev_size, test_size = (
        0 if held is not None else size
        for held, size in ((given.dev, splitting.dev), (given.test, splitting.test))
    )
    train, dev, test = split(kept, dev_size, test_size, splitting.seed)
    return train, given.dev or dev, given.test or test


def _segmented_training(
    train: Sequence[Pair], preparation: Preparation, limits: Limits, cleaned: Cleaned
) -> dict[str, list[str]]:
    """The training text of both languages; pairs with too many words are left out."""
    sides = (preparation.source, preparation.target)
    texts: dict[str, list[str]] = {f"train.{side.language}": [] for side in sides}
    with console.progress("segmenting", len(train)) as advance:
        for pair in train:
            both = [side.segment_normal(text) for side, text in zip(sides, pair[:2], strict=True)]
            if limits.max_words and max(map(len, both)) > limits.max_words:
                leave_out(cleaned, "words", pair)
            else:
                for side, words in zip(sides, both, strict=True):
                    texts[f"train.{side.language}"].append(" ".join(words))
            advance(1, "")
    return texts


def _set_texts(name: str, held: HeldOut, preparation: Preparation) -> dict[str, list[str]]:
    """The files of a set, without and with segmentation; none if it is empty."""
    if not held.sources:
        return {}
    source, target = preparation.source, preparation.target
    raw = {f"{name}.{source.language}": held.sources}
    most = max(map(len, held.references))
    for number in range(most):
        suffix = f".ref{number}" if most > 1 else ""
        lines = [found[number] if number < len(found) else "" for found in held.references]
        raw[f"{name}.{target.language}{suffix}"] = lines
    texts = {f"raw/{file}": lines for file, lines in raw.items()}
    for file, lines in raw.items():
        side = source if file == f"{name}.{source.language}" else target
        texts[file] = [" ".join(side.segment(line)) for line in lines]
    return texts


def _monolingual(
    paths: Iterable[PathLike], side: LanguagePreparation, limits: Limits, known: set[str]
) -> Iterable[str]:
    """The segmented lines of texts that are not too long, new, and in no set."""
    seen: set[str] = set()
    for path in paths:
        for line in read_lines(path):
            text = normalise(line)
            too_long = limits.max_characters and len(text) > limits.max_characters
            if not text or too_long or text in seen or same_sentence(text) in known:
                continue
            if not limits.keep_doubled:
                seen.add(text)
            yield " ".join(side.segment_normal(text))


def _write(output: Path, texts: dict[str, list[str]], preparation: Preparation) -> tuple[str, ...]:
    """Write texts and preparation; files of an older one go, and alignments, whose names come back."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with temporary_directory(".prepare.", output) as folder:
            new = folder / "new"
            for name, lines in texts.items():
                with atomic_output(new / name) as stream:
                    stream.writelines(line + "\n" for line in lines)
            write_preparation(preparation, new)
            removed = _clear(output, texts)
            made = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file())
            for name in [*(name for name in made if name != FILE), FILE]:
                (output / name).parent.mkdir(exist_ok=True)
                (new / name).replace(output / name)
            sync_directory(output)
    except OSError as error:
        raise InputError(output, None, f"cannot be written ({error.strerror})") from None
    except InputError as error:  # Names a file that nobody has heard of.
        raise InputError(output, None, error.found, error.hint) from None
    return removed


def _clear(output: Path, texts: dict[str, list[str]]) -> tuple[str, ...]:
    """Remove what an older preparation alone has, and alignments of other text, whose names come back."""
    older = _older_files(output / FILE)
    sides = [name for name in (older or texts) if name.startswith("train.")][:2]
    removed = []
    if any(_differs(output / name, texts.get(name)) for name in sides):
        prefix = "-".join([sides[0], *(name.removeprefix("train.") for name in sides[1:])])
        ends = "|".join(("fwd", "rev", "phrases", *map(suffix, METHODS)))
        alignment = re.compile(rf"{re.escape(prefix)}(\.[0-9]+)?\.({ends})(\.gz)?")
        removed = sorted(path.name for path in output.iterdir() if alignment.fullmatch(path.name))
    for name in (FILE, *removed, *(name for name in older if name not in texts)):
        (output / name).unlink(missing_ok=True)
    return tuple(removed)


def _differs(path: Path, lines: Collection[str] | None) -> bool:
    """Whether a file holds other lines than these, or is not there."""
    try:
        return list(read_lines(path)) != lines
    except InputError:
        return True


def _older_files(path: Path) -> list[str]:
    """The files that an older preparation says it has."""
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
        names = [*record["files"], *record["models"]]
    except (OSError, *WRONG_RECORD):
        return []
    return [name for name in names if isinstance(name, str) and ".." not in name and not name.startswith("/")]
