"""`plug`: a table, language models and weights as a directory that another decoder runs as it is.

    plug.json           what it was made with, and what is to be known of it
    README              the same for people, with the command to type
    grammar.gz, …       the table, and grammar.gz.json, what it was made with; glue rules
    lm.arpa, …          the language models, their words spelled as the table's
    classes             the classes of words that the last of them is of
    cdec.ini, …         configuration and weights

Files name each other without directories, so that it may be moved. The fact a newcomer would get wrong: the
table is not what `convert` writes. Features that elsewhere are no multiple of ours, counts above all, stand
there under our names, for only a multiple can be weighed alike.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler import __version__
from scfg_sampler.core.directories import new_directory
from scfg_sampler.core.files import PathLike, atomic_output, require_file
from scfg_sampler.core.weights import read_weights
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.formats import bracketed, travatar
from scfg_sampler.formats.conversion import Spelling, loss_message, read_line, write_line, write_table
from scfg_sampler.formats.glue import write_glue
from scfg_sampler.formats.moses import SCORES
from scfg_sampler.formats.words import respelled, speller
from scfg_sampler.plugs.classes import CLASSES, write_classes
from scfg_sampler.plugs.configuration import PLUGS, Plug, Search, model_file
from scfg_sampler.plugs.labels import (
    COPIES,
    LabelNames,
    least_pop_limit,
    names_of_labels,
    relabelling_warning,
    taken_label,
    write_copies,
)
from scfg_sampler.plugs.language_model import copy_model
from scfg_sampler.plugs.weights import TheirWeights, own_features, their_weights, unknown_feature
from scfg_sampler.rules.features import count_words
from scfg_sampler.rules.table import RuleTable, select_rows
from scfg_sampler.rules.text import Rule, RuleProblem

__all__ = ["PLUG", "Parts", "Report", "write_plug"]

PLUG, README = "plug.json", "README"
_KIND = "directory that plug made"
_NAMES = (
    r"README|(grammar|rule-table|rules)\.gz(\.json)?|(glue|copy)-rules|glue-grammar|classes|lm(\.[0-9]+)?\.arpa"
    r"|weights|(cdec|moses|travatar)\.ini|joshua\.config"
)
"""What its other files are called, for whatever decoder."""
_OWN_NAMES = {  # What a feature of a table cannot be called.
    "cdec": r"LanguageModel(_[0-9]+)?(_OOV|_Emit)?|Glue|PassThrough\S*|WordPenalty",
    "moses": r"",
    "joshua": r"lm_\S*|tm_\S*|OOVPenalty|WordPenalty",
    "travatar": r"lm([0-9]+)?(unk)?|unk|glue|p",
}
_LARGEST = 2**31 - 1  # The largest number that they read.
_LEAST_FLOAT = (
    -87.0
)  # Below it, Moses reads a probability as 0 or with few digits, and as exp(−100) at least.


class Parts(NamedTuple):
    """What goes into a directory.

    table : RuleTable
    table_path, weights : paths, the first for messages only
    lms : the paths of the language models, at least one
    escaped : Moses: words are escaped by its tokeniser already
    origin : the format that the table was read from, whose spelling its language models may have, too
    classes : path of the classes of words that the last language model is of; for cdec
    """

    table: RuleTable
    table_path: PathLike
    lms: tuple[PathLike, ...]
    weights: PathLike
    escaped: bool = False
    origin: str = "native"
    classes: PathLike | None = None


class Report(NamedTuple):
    """What was written.

    command : what to type, where the directory is as given
    constant : scores are those of our decoder and this
    notes : what differs from our decoder, a sentence each
    warnings : what may spoil translations, a sentence each
    rules : how many were written
    """

    command: str
    constant: float
    notes: list[str]
    warnings: list[str]
    rules: int


def write_plug(
    parts: Parts,
    decoder: str,
    output: PathLike,
    *,
    pop_limit: int = 1000,
    max_span: int = 20,
    advance: Callable[..., object] = lambda rules: None,
) -> Report:
    """Write a directory for a decoder.

    Parameters
    ----------
    parts : Parts
    decoder : str
        One of `PLUGS`.
    output : path
        A new directory, or an older one of this kind with nothing else in it, which is replaced.
    pop_limit, max_span : int
        As `Search` has them.
    advance : callable
        Told of every so many rules that have been written.

    Raises
    ------
    InputError
        A part cannot be read, the table is empty, weights and table do not fit, a feature cannot be carried
        over, or `output` is something else.
    SettingsError
        A limit is less than 1 or more than they can read, or `escaped` is for another decoder.
    """
    for name, value in (("--pop-limit", pop_limit), ("--max-span", max_span)):
        if not 1 <= value <= _LARGEST:
            raise SettingsError(f"{name} is {value}; it is from 1 to {_LARGEST}")
    if parts.escaped and decoder != "moses":
        raise SettingsError("--escaped is for Moses, whose tokeniser escapes words")
    if parts.classes is not None and decoder != "cdec":
        raise SettingsError("--classes is for cdec; the others do not look up the class of a word")
    plug = PLUGS[decoder]
    for path in (*parts.lms, *([] if parts.classes is None else [parts.classes])):
        require_file(path)
    if not parts.table.num_rules:
        raise InputError(parts.table_path, None, "has no rules", "Is it the table that was meant?")
    names = names_of_labels(parts.table, decoder)
    if names and (taken := taken_label(names, decoder)):
        found = f"has a label {taken}, which {plug.name} has for itself"
        raise InputError(parts.table_path, None, found, "Call it otherwise in the table")
    parts, left_out = _usable(parts, decoder, max_span)
    # As for our decoder, features that few rules have count 0 without a weight.
    weights = dict.fromkeys(parts.table.sparse_names, 0.0) | read_weights(parts.weights)
    _check_weights(parts, weights)
    _check_features(parts, decoder)
    theirs = their_weights(weights, _feature_names(parts), decoder, len(parts.lms))
    spelling = Spelling(escaped=parts.escaped, linear=True)
    with new_directory(output, PLUG, _KIND, _NAMES) as folder:
        orders, of_models = _copy_models(parts, decoder, folder)
        lost = write_table(parts.table, folder / plug.table, decoder, spelling, advance=advance)
        _write_glue(folder, decoder, names)
        least = least_pop_limit(names, decoder)
        search = Search(max(pop_limit, least), max_span, orders, names, parts.classes is not None)
        notes = _notes(parts, decoder, search, pop_limit)
        warnings = [*left_out, *(loss_message(number, reason) for reason, number in lost.items())]
        warnings += _warnings(parts, decoder, len(of_models))
        for name, text in plug.files(theirs, search).items():
            _write(folder / name, text)
        _write(folder / README, _readme(parts, decoder, theirs, max_span, notes + warnings))
        record: dict[str, Any] = {
            "version": __version__,
            "decoder": decoder,
            "signature": parts.table.signature,
            "rules": parts.table.num_rules,
            "constant": theirs.constant,
            "notes": notes,
            "warnings": warnings,
        }
        _write(folder / PLUG, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return Report(_command(plug, str(output)), theirs.constant, notes, warnings, parts.table.num_rules)


def _copy_models(parts: Parts, decoder: str, folder: Path) -> tuple[tuple[int, ...], frozenset[str]]:
    """Write the language models; their orders, and the words that are spelled otherwise."""
    spell = speller(decoder, parts.escaped).write
    of_table, as_it_is = speller(parts.origin, parts.escaped), speller("native")
    orders: list[int] = []
    respelled: frozenset[str] = frozenset()
    for k, path in enumerate(parts.lms):
        classes = parts.classes if k == len(parts.lms) - 1 else None
        spelling = (spell, of_table) if classes is None else (as_it_is.write, as_it_is)
        model = copy_model(path, folder / model_file(k), *spelling)
        orders.append(model.order)
        respelled |= model.respelled
        if classes is not None:
            respelled |= write_classes(classes, folder / CLASSES, model.words, spell, of_table)
    return tuple(orders), respelled


def _usable(parts: Parts, decoder: str, max_span: int) -> tuple[Parts, list[str]]:
    """The parts without rules at which the decoder ends, or which it alone would use; what to say of them."""
    said: list[str] = []
    table = parts.table
    if decoder == "travatar":
        longer = np.diff(table.source_start) > max_span
        why = "no rule covers more words here, and Travatar has no limit for what a rule's own words cover"
        table = _without(table, longer, f"a source side of more than {max_span} symbols", why, said)
    if decoder == "travatar" or table.labels is not None:
        why = "Travatar ends at them, and not used here" if decoder == "travatar" else "not used here"
        of = "one nonterminal"
        of += " of their own label, or of one made of it" if table.labels is not None else ""
        table = _without(table, travatar.circular(table), f"a source side of {of}", why, said)
    if decoder == "cdec":
        why = "cdec has no room for more"
        table = _without(table, bracketed.too_large(table), bracketed.TOO_LARGE, why, said)
    if not table.num_rules:
        found = "has only rules that must be left out: " + "; ".join(said)
        raise InputError(parts.table_path, None, found, "Is it the table that was meant?")
    return parts._replace(table=table), said


def _without(table: RuleTable, rows: np.ndarray, of: str, why: str, said: list[str]) -> RuleTable:
    """The table without some rows, which is said."""
    if not rows.any():
        return table
    number = counted(int(np.count_nonzero(rows)), "rule has", "rules have")
    said.append(f"{number} {of}; left out, as {why}")
    return select_rows(table, ~rows)


def _write_glue(folder: Path, decoder: str, names: LabelNames | None) -> None:
    """Write the glue rules that a decoder does not bring, and what makes labels of copied words."""
    if names:
        write_glue(folder / (PLUGS[decoder].glue or "glue-rules"), decoder, names.left, names.start)
        write_copies(folder / COPIES, decoder, names)
    elif glue := PLUGS[decoder].glue:
        write_glue(folder / glue, decoder)


def _copies_any(parts: Parts, decoder: str) -> bool:
    """Whether the decoder may copy words that rules have as their source side."""
    plug = PLUGS[decoder]
    return plug.copies_any if parts.table.labels is None else plug.copies_any_of_labels


# ---- Checks ---------------------------------------------------------------------------------------


def _feature_names(parts: Parts) -> tuple[str, ...]:
    """All features of the table's rules."""
    return (*parts.table.feature_names, *parts.table.sparse_names)


def _check_weights(parts: Parts, weights: Mapping[str, float]) -> None:
    """An InputError unless every feature has a weight, and every weight but 0 a feature."""
    num_models = len(parts.lms)
    features = (*_feature_names(parts), *own_features(num_models))
    missing = [name for name in features if name not in weights]
    if missing:
        hint = "Add it to the weights, as 0 to ignore the feature"
        raise InputError(parts.weights, None, f"no weight for {_listed(missing)}", hint)
    known = {*features, *map(unknown_feature, range(num_models))}
    if parts.table.labels is not None and "LabelMismatch" in weights:
        hint = "Tune again without --soft-labels"
        raise InputError(
            parts.weights, None, "are for labels that need not match, as they must elsewhere", hint
        )
    unknown = [name for name, value in weights.items() if value and name not in known]
    models = [name for name in unknown if re.fullmatch(r"LanguageModel_[0-9]+(_OOV)?", name)]
    if models:
        found = f"has weights for {_listed(models)}, and fewer language models are given"
        raise InputError(parts.weights, None, found, "Give --lm for each of the models, in their order")
    if unknown:
        found = f"has weights for {_listed(unknown)}, which the table {parts.table_path} lacks"
        raise InputError(
            parts.weights, None, found, "Name the table that they were tuned with, or remove them"
        )


def _check_features(parts: Parts, decoder: str) -> None:
    """An InputError if the format would take a feature for another, or make another value of it."""
    table = parts.table
    name_of = PLUGS[decoder].name
    for name in _feature_names(parts):
        own = _OWN_NAMES[decoder] and re.fullmatch(_OWN_NAMES[decoder], name)
        if own or not re.fullmatch(r"[^\s;#=|]+", name):
            found = f"{name_of} cannot have a feature of rules called '{name}'"
            raise InputError(parts.table_path, None, found, "Rename it in the table and in the weights")
    columns = {
        "TargetWords": count_words(table.target_start, table.target),
        "Abstract": count_words(table.source_start, table.source)
        + count_words(table.target_start, table.target)
        == 0,
    }
    for name, values in columns.items():
        if name in table.feature_names:
            column = table.features[:, table.feature_names.index(name)]
            if wrong := int(np.count_nonzero(column != values)):
                found = (
                    f"{name} of {counted(wrong, 'rule')} is not what is counted in the rule, as "
                    "it is read back"
                )
                raise InputError(parts.table_path, None, found, "Give the feature another name")
    _check_round_trip(parts, decoder)


def _check_round_trip(parts: Parts, decoder: str) -> None:
    """An InputError if a rule with all features does not come back with the same ones."""
    carried = [name for name in _feature_names(parts) if name not in ("TargetWords", "Abstract")]
    features = {name: -1.0 - k for k, name in enumerate(carried)}
    sent = Rule(("a",), ("b",), features, ((0, 0),))
    try:
        back = read_line(write_line(sent, decoder, Spelling(linear=True)), decoder)
    except RuleProblem:
        back = "none"
    found = back.features if isinstance(back, Rule) else {}
    wrong = [name for name in carried if abs(found.get(name, 0.0) - features[name]) > 1e-5]
    if wrong:
        text = f"{PLUGS[decoder].name}'s tables have another meaning for a feature called {_listed(wrong)}"
        raise InputError(parts.table_path, None, text, "Rename it in the table and in the weights")


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# ---- What is said ---------------------------------------------------------------------------------


def _notes(parts: Parts, decoder: str, search: Search, pop_limit: int) -> list[str]:
    """What differs from our decoder; `pop_limit` is what was asked for."""
    name, notes = PLUGS[decoder].name, []
    if decoder == "moses":
        notes.append("Moses leaves out a last line that has no end; convert --to moses --text gives it one")
    if decoder == "cdec":
        notes.append("cdec leaves out empty lines of its input; convert --to cdec --text makes them blank")
    if _copies_any(parts, decoder):
        notes.append(f"{name} may copy any word, also one with rules, as translate --copy any does")
    if decoder == "travatar":
        notes.append(
            f"Travatar limits what fills a gap to {counted(search.max_span, 'word')}, and not what a whole "
            "rule covers: for longer sentences it finds derivations that are none here"
        )
    if search.pop_limit > pop_limit:
        notes.append(
            f"{name} may try {search.pop_limit} derivations of a span, not {pop_limit}, as copied words have "
            "so many labels"
        )
    return notes


def _warnings(parts: Parts, decoder: str, of_model: int) -> list[str]:
    """What has to be done besides, or is not exact.

    of_model : how many words of the language models are spelled otherwise
    """
    table = parts.table
    warnings = list(relabelling_warning(table, decoder))
    source, target = respelled(table, decoder, parts.escaped)
    if source or target or of_model:
        example = next(iter((source | target).items()), None)
        such = f", such as {example[0]!r} as {example[1]!r}" if example else ""
        warnings.append(
            f"{len(source)} source and {len(target)} target words, and {of_model} of the language models, "
            f"are spelled otherwise than in texts{such}: spell input and output likewise, see {README}"
        )
    if decoder == "moses":
        columns = [k for k, name in enumerate(table.feature_names) if name in SCORES]
        low = int(np.count_nonzero((table.features[:, columns] < _LEAST_FLOAT).any(axis=1)))
        if low:
            warnings.append(
                f"probabilities below exp({_LEAST_FLOAT:g}), in so many rules: {low}; Moses reads few "
                "digits of them or none"
            )
    return warnings


def _command(plug: Plug, directory: str) -> str:
    begin = "./" if directory.startswith("-") else ""  # It would be an option.
    return f"(cd {begin}{shlex.quote(directory)} && {plug.command}) < INPUT > OUTPUT"


def _readme(parts: Parts, decoder: str, theirs: TheirWeights, max_span: int, notes: list[str]) -> str:
    plug = PLUGS[decoder]
    copy = " --copy any" if _copies_any(parts, decoder) else ""
    escaped = " --escaped" if parts.escaped else ""
    constant = f" and {theirs.constant:+.6f} for each sentence" if theirs.constant else ""
    models = [model_file(model) for model in range(len(parts.lms))]
    compiling = ""
    if parts.classes is not None:
        words, compiled = f"{CLASSES}.words", f"{models[-1].removesuffix('.arpa')}.bin"
        compiling = f"    awk '{{ print $2, $1 }}' {CLASSES} > {words}\n"
        compiling += f"    scfg-decoder compile-lm {models[-1]} --classes {words} --output {compiled}\n"
        models[-1] = compiled
    lms = " ".join(f"--lm {model}" for model in models)
    said = "".join(f"- {note}\n" for note in notes)
    return f"""\
For {plug.name}, written by scfg-sampler {__version__}: {counted(parts.table.num_rules, "rule")}.
{parts.table.signature}

To translate, one sentence a line, its words between spaces (DIR is this directory, which may be moved):

    {_command(plug, "DIR")}

Words with brackets, bars and the like are spelled otherwise for {plug.name}; to be safe, go there and back:

    scfg-sampler convert --to {decoder}{escaped} --text INPUT SPELLED
    {_command(plug, "DIR").replace("INPUT", "SPELLED").replace("OUTPUT", "TRANSLATED")}
    scfg-sampler convert --from {decoder} --to native{escaped} --text TRANSLATED OUTPUT

Scores are those of the command below{constant}, as far as both searches are wide enough:

{compiling}    scfg-decoder import-weights {plug.weights} --from {decoder} --output weights.json
    scfg-decoder translate --grammar {plug.table},format={decoder} {lms} --weights weights.json \\
        --max-targets 0 --max-span {max_span}{copy} < SPELLED > OUTPUT

{said}"""


def _write(path: Path, text: str) -> None:
    with atomic_output(path) as stream:
        stream.write(text)
