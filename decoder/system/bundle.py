"""A system directory: what translating needs, compiled, with a list of what is there.

    system.json         version, settings, signatures, and the size and digest of every other file
    grammar.bin         the rule table with its trie (decoder.grammar.file)
    ranking.bin         the targets of every source side in their order (decoder.system.ranking)
    lm.bin              the language model (decoder.lm.table); lm-1.bin and so on, if there are several
    weights.json        the weights
    preparation.json    and the models it names, if the system takes raw text

Nothing in it names a place outside of it, so it may be moved. It is written under another name and renamed.

The fact a newcomer would get wrong: digests are those of the bytes. Large files have checksums of their own,
which are compared when they are mapped into memory; hashing them too would take longer than translating a
sentence.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decoder.grammar.file import is_grammar_file, read_grammar_file, with_settings, write_grammar_file
from decoder.grammar.weighted import as_weighted
from decoder.lm.model import load_lms
from decoder.lm.table import write_lm_file
from decoder.system.ranking import write_ranking
from decoder.translation.decoder import Decoder
from decoder.translation.settings import SEARCHES, SearchDefaults
from decoder.translation.weights import read_weights, write_weights
from scfg_sampler import __version__
from scfg_sampler.core.directories import new_directory
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError
from scfg_sampler.preparation.preparation import FILE as PREPARATION
from scfg_sampler.preparation.preparation import load_preparation, model_files
from scfg_sampler.rules.table import RuleTable

__all__ = ["GRAMMAR", "LM", "RANKING", "SYSTEM", "WEIGHTS", "lm_files", "read_system_record", "write_system"]

SYSTEM, GRAMMAR, RANKING, LM, WEIGHTS = "system.json", "grammar.bin", "ranking.bin", "lm.bin", "weights.json"
_FORMAT, _FORMAT_OF_SEVERAL = 1, 2  # With one language model, and with several.
_HASHED = 1 << 20  # The largest file whose digest is compared whenever the system is loaded.
_AGAIN = "Copy the whole system again, or bundle it again"


def write_system(
    grammar: RuleTable | PathLike,
    lm: PathLike | Sequence[PathLike],
    weights: PathLike,
    preparation: PathLike | None,
    output: PathLike,
    settings: SearchDefaults = SearchDefaults(),  # noqa: B008
) -> dict[str, Any]:
    """Write a system directory; what its `system.json` says.

    Parameters
    ----------
    grammar : a table, or the path of a compiled one
    lm : an ARPA file or a compiled model, or several
    weights : a JSON file with a weight for every feature
    preparation : a directory with a `preparation.json`, if the system is to take raw text
    output : a new directory, or an older system, which is replaced
    settings : SearchDefaults

    Raises
    ------
    InputError
        A part cannot be read or does not fit the others, or `output` is something else.
    """
    models = None if preparation is None else load_preparation(preparation)
    with new_directory(output, SYSTEM, "system") as folder:
        lms = [lm] if isinstance(lm, str | os.PathLike) else list(lm)
        record: dict[str, Any] = {
            "format": _FORMAT if len(lms) == 1 else _FORMAT_OF_SEVERAL,
            "version": __version__,
            "settings": settings._asdict(),
        }
        record |= _write_models(grammar, lms, weights, folder, settings)
        record["languages"] = None
        if models is not None and preparation is not None:
            record["languages"] = [models.source.language, models.target.language]
            for name in (PREPARATION, *model_files(models)):
                shutil.copyfile(Path(preparation) / name, folder / name)
        record["files"] = {path.name: _entry(path) for path in sorted(folder.iterdir())}
        with atomic_output(folder / SYSTEM) as stream:
            stream.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return record


def _write_models(
    grammar: RuleTable | PathLike,
    lms: Sequence[PathLike],
    weights: PathLike,
    folder: Path,
    settings: SearchDefaults,
) -> dict[str, Any]:
    """Write the models and the ranking, if they fit each other; what there is to say of them."""
    if isinstance(grammar, RuleTable):
        write_grammar_file(grammar, folder / GRAMMAR)
    else:
        shutil.copyfile(grammar, folder / GRAMMAR)
    compiled = read_grammar_file(folder / GRAMMAR)
    loaded = load_lms(lms)
    for model, (lm, vocabulary) in enumerate(zip(*loaded, strict=True)):
        write_lm_file(lm, vocabulary.words, folder / _lm_file(model))
    known = read_weights(weights)
    write_weights(known, folder / WEIGHTS)
    usable = with_settings(compiled, "", settings.max_span)
    decoder = Decoder(
        as_weighted(usable, loaded.vocabularies, known),
        *loaded,
        known,
        beam=settings.beam,
        max_targets=settings.max_targets,
        widen=settings.widen,
        weights_path=weights,
    )
    write_ranking(decoder.rules, settings.max_targets, folder / RANKING)
    described = [{"order": lm.order, "words": lm.num_words} for lm in loaded.models]
    return {
        "grammar": {"signature": compiled.table.signature, "rules": len(compiled.grammar.rules)},
        "lm": described[0] if len(described) == 1 else described,
    }


def _lm_file(model: int) -> str:
    """The name of the file of a language model, by its number."""
    return f"lm-{model}.bin" if model else LM


def lm_files(record: dict[str, Any]) -> list[str]:
    """The files of a system's language models, by what its `system.json` says."""
    return [_lm_file(model) for model in range(len(record["lm"]) if isinstance(record["lm"], list) else 1)]


def _entry(path: Path) -> dict[str, Any]:
    """Size and digest of a file."""
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def read_system_record(directory: PathLike) -> dict[str, Any]:
    """What `system.json` says, once every file it lists is found to be there as it was.

    Raises
    ------
    InputError
        A file is missing, damaged, or of another version.
    """
    folder = Path(directory)
    path = folder / SYSTEM
    if not path.is_file():
        raise InputError(
            directory, None, f"has no {SYSTEM}", "Name a directory that scfg-decoder bundle made"
        )
    try:
        record = parse_json("\n".join(read_lines(path)))
        if record["format"] not in (_FORMAT, _FORMAT_OF_SEVERAL):
            found = f"is of format {record['format']}, but this version reads up to {_FORMAT_OF_SEVERAL}"
            raise InputError(
                path, None, found, f"It was written by version {record.get('version')}; bundle it again"
            )
        files = {name: (int(each["bytes"]), str(each["sha256"])) for name, each in record["files"].items()}
        settings = SearchDefaults(**record["settings"])
        *numbers, search = settings
        is_number = all(isinstance(value, (int, float)) and abs(value) < 2**31 for value in numbers)
        if not is_number or search not in SEARCHES:
            raise ValueError(f"settings {list(settings)!r}"[:80])
        lms = lm_files(record)
        if not lms:
            raise ValueError("no language model")
        parts = (GRAMMAR, RANKING, *lms, WEIGHTS)
    except WRONG_RECORD as error:
        raise InputError(path, None, f"is damaged ({type(error).__name__}: {error})", _AGAIN) from None
    for name in parts:
        if name not in files:
            raise InputError(path, None, f"does not list {name}", _AGAIN)
    for name, (size, digest) in files.items():
        part = folder / name
        try:
            is_there = part.is_file()
        except OSError as error:  # Of a name that is too long for a file.
            found = f"lists a file named {name!r:.40} ({error.strerror})"
            raise InputError(path, None, found, _AGAIN) from None
        if not is_there:
            raise InputError(part, None, "is missing from the system", _AGAIN)
        found_size = part.stat().st_size
        if found_size != size:
            raise InputError(part, None, f"has {counted(found_size, 'byte')} where {size} should be", _AGAIN)
        if size <= _HASHED and hashlib.sha256(part.read_bytes()).hexdigest() != digest:
            raise InputError(part, None, "does not match its digest in system.json", _AGAIN)
    if not is_grammar_file(folder / GRAMMAR):
        found = f"is not a compiled grammar as version {__version__} writes it"
        raise InputError(
            folder / GRAMMAR, None, found, f"Bundle the system again, or use version {record['version']}"
        )
    return record
