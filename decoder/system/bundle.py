"""A system directory: what translating needs, compiled, with a list of what is there.

    system.json         version, settings, signatures, and the size and digest of every other file
    grammar.bin         the rule table with its trie (decoder.grammar.file)
    ranking.bin         the targets of every source side in their order (decoder.system.ranking)
    lm.bin              the language model (decoder.lm.table); lm-1.bin and so on, if there are several
    weights.json        the weights
    preparation.json    and the models it names, if the system takes raw text

Nothing in it names a place outside of it, so it may be moved. It is written under another name and renamed.

The fact a newcomer would get wrong: the ranking is part of it, though it could be found again from the rest
(`decoder.system.ranking`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from decoder.system.inventory import Kind, Record, read_record, write_record
from decoder.system.models import MODEL_NAMES, model_files, require_compiled, write_models, write_used_weights
from decoder.system.ranking import write_ranking
from decoder.translation.decoder import Decoder
from decoder.translation.settings import SearchDefaults, check_kept_settings
from scfg_sampler.core.directories import new_directory
from scfg_sampler.core.files import PathLike
from scfg_sampler.preparation.preparation import FILE as PREPARATION
from scfg_sampler.preparation.preparation import load_preparation
from scfg_sampler.preparation.preparation import model_files as preparation_files
from scfg_sampler.rules.table import RuleTable

__all__ = ["KIND", "RANKING", "read_system_record", "write_system"]

SYSTEM, RANKING = "system.json", "ranking.bin"
_NAMES = rf"{MODEL_NAMES}|ranking\.bin|preparation\.json|(case|subwords)\..+\.(json|model)"
# With one language model, with several, and with some in another decoder's spelling.
_FORMAT, _FORMAT_OF_SEVERAL, _FORMAT_OF_SPELLED = 1, 2, 3


def write_system(
    grammar: RuleTable | PathLike,
    lm: PathLike | Sequence[PathLike],
    weights: PathLike,
    preparation: PathLike | None,
    output: PathLike,
    settings: SearchDefaults = SearchDefaults(),  # noqa: B008
    spelling: str = "native",
    name: PathLike | None = None,
) -> Record:
    """Write a system directory; what its `system.json` says.

    Parameters
    ----------
    grammar : a table, or the path of a compiled one
    lm : an ARPA file or a compiled model, or several
    weights : a JSON file with a weight for every feature
    preparation : a directory with a `preparation.json`, if the system is to take raw text
    output : a new directory, or an older system and nothing else, which is replaced
    settings : SearchDefaults
    spelling : the format of the table, whose decoder's language models it may come with
    name : what errors call the table

    Raises
    ------
    InputError
        A part cannot be read or does not fit the others, or `output` is something else.
    SettingsError
        A setting is out of range.
    """
    check_kept_settings(settings)
    prepared = None if preparation is None else load_preparation(preparation)
    with new_directory(output, SYSTEM, KIND.name, _NAMES) as folder:
        models, described = write_models(grammar, lm, weights, folder, settings, spelling, name)
        own, lms, known = models
        beam, max_targets, widen, _, _ = settings
        decoder = Decoder(
            own, *lms, known, beam=beam, max_targets=max_targets, widen=widen, weights_path=weights
        )
        write_used_weights(models, decoder.weight_names, folder)
        write_ranking(decoder.rules, max_targets, folder / RANKING)
        number = _FORMAT if len(lms.models) == 1 else _FORMAT_OF_SEVERAL
        number = _FORMAT_OF_SPELLED if "spelling" in described else number
        record: Record = {"format": number, **described}
        record["languages"] = None
        if prepared is not None and preparation is not None:
            record["languages"] = [prepared.source.language, prepared.target.language]
            for name in (PREPARATION, *preparation_files(prepared)):
                shutil.copyfile(Path(preparation) / name, folder / name)
        return write_record(folder, KIND, settings, record)


def _parts(record: Record) -> list[str]:
    return [*model_files(record), RANKING]


_FORMATS = (_FORMAT, _FORMAT_OF_SEVERAL, _FORMAT_OF_SPELLED)
KIND = Kind("system", SYSTEM, _FORMATS, "scfg-decoder bundle", _parts)


def read_system_record(directory: PathLike) -> Record:
    """What `system.json` says, once every file it lists is found to be there as it was.

    Raises
    ------
    InputError
        A file is missing, damaged, or of another version.
    """
    record = read_record(directory, KIND)
    require_compiled(Path(directory), record, KIND)
    return record
