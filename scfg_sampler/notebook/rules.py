"""Rule tables as sequences of rules that show themselves, from and to every decoder's format."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.baseline.labelled import extract_labelled, score_labelled
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.core.arguments import (
    ArgumentError,
    of_arguments,
    require_lines,
    require_path,
    require_place,
    require_type,
    require_whole,
    settings_of,
)
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.wording import counted, legible
from scfg_sampler.corpus.span_forms import FORMS, SIDES
from scfg_sampler.formats.conversion import PLAIN, Spelling, loss_message, read_table, write_table
from scfg_sampler.formats.tables import iterate_rules
from scfg_sampler.formats.words import spelling_note
from scfg_sampler.learner.drawing import readable
from scfg_sampler.learner.grammar import pruned_table
from scfg_sampler.notebook.pairs import IDLE_LABELS, Corpus
from scfg_sampler.notebook.settings import BaselineSettings
from scfg_sampler.notebook.shown import SHOWN, html_table
from scfg_sampler.rules.annotation import feature_values
from scfg_sampler.rules.features import score_rules
from scfg_sampler.rules.lexical import estimate
from scfg_sampler.rules.table import (
    RuleTable,
    as_written,
    read_rule_table,
    rule,
    select_rows,
    write_rule_table,
)
from scfg_sampler.rules.text import Rule, format_rule, signature
from scfg_sampler.rules.text_filter import filter_table

__all__ = ["Rules", "extract_rules", "read_rules"]


class Rules(Sequence[Rule]):
    """A rule table; iterating gives each `Rule(source, target, features, alignment)`.

    In the sides of a rule, words are strings and nonterminal k is the integer −k.

    Parameters
    ----------
    table : RuleTable

    >>> import scfg_sampler
    >>> corpus = scfg_sampler.make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")])
    >>> rules = scfg_sampler.extract_rules(corpus)
    >>> [(rule.source, rule.target) for rule in rules.find(source="ne pas")]
    [(('ne', -1, 'pas'), ('not', -1)), (('ne', 'dort', 'pas'), ('not', 'sleep'))]
    >>> rules.to_columns()["source"].tolist()
    ['dort', 'ne [X,1] pas', 'ne dort pas']
    >>> len(rules.filter(["il dort"]))
    1
    """

    def __init__(self, table: RuleTable):
        self.table = table

    def __len__(self) -> int:
        return self.table.num_rules

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._part(np.arange(len(self))[key])
        return rule(self.table, require_place(key, len(self), "rules"))

    def __iter__(self) -> Iterator[Rule]:
        return iterate_rules(self.table)

    def find(self, source: str = "", target: str = "") -> Rules:
        """The rules whose sides hold all of these words, strings with spaces between, in any order."""
        for name, text in (("source", source), ("target", target)):
            require_type(name, text, str, "a string: ' '.join(words)")
        return self._part(self.find_rows(source, target))

    def find_rows(self, source: str = "", target: str = "") -> np.ndarray:
        """The rows of the table that `find` selects, int64."""
        found = np.ones(len(self), bool)
        for text, start, symbols, vocabulary in (
            (source, self.table.source_start, self.table.source, self.table.source_vocabulary),
            (target, self.table.target_start, self.table.target, self.table.target_vocabulary),
        ):
            for word in split_words(text) if text else []:
                symbol = vocabulary.id(word)
                places = np.flatnonzero((symbols == symbol) & (symbols >= 0))
                found &= np.isin(np.arange(len(self)), np.searchsorted(start, places, side="right") - 1)
        return np.flatnonzero(found)

    def best(self, number: int = SHOWN, by: str = "LogCount") -> Rules:
        """So many rules with the highest values of a feature, the highest first, equal ones in order."""
        require_type("by", by, str, "the name of a feature")
        if by not in (*self.table.feature_names, *self.table.sparse_names):
            names = ", ".join(self.table.feature_names)
            raise ArgumentError(f"by is {by!r}, but the rules have the features {names}")
        number = require_whole("number", number)
        if number < 0:
            raise ArgumentError(f"number is {number}; it is at least 0")
        values = feature_values(self.table, by)
        return self._part(np.argsort(-values, kind="stable")[:number])

    def filter(self, text: PathLike | Iterable[str]) -> Rules:
        """The rules that can match a text: a file, or sentences in a list.

        The others cannot be used in any translation of the text.
        """
        with tempfile.TemporaryDirectory() as folder:
            table, source, kept = (Path(folder) / name for name in ("table", "source", "kept"))
            write_rule_table(self.table, table)
            if isinstance(text, str | os.PathLike):
                source, name = Path(text), os.fspath(text)
            else:
                lines = require_lines("text", text)
                name = counted(len(lines), "sentence")
                with atomic_output(source) as stream:
                    stream.writelines(f"{line}\n" for line in lines)
            filter_table(table, source=source, output=kept)
            # Files round features, so the rows are this table's own.
            found = {(each.source, each.target) for each in Rules(read_rule_table(kept, labels=True))}
        rows = np.array([each[:2] in found for each in self], bool)
        made = f"{self.table.signature or 'filtered'}|text:{legible(name)}"  # As `filter` says it.
        return Rules(select_rows(self.table, rows)._replace(signature=made))

    def _part(self, rows: np.ndarray) -> Rules:
        """The rules of some rows, whose table says of how many they are taken, unless they are all."""
        part = select_rows(self.table, rows)
        if len(rows) < len(self):
            before = [self.table.signature] if self.table.signature else []
            part = part._replace(signature="|".join([*before, f"part:{len(rows)}-of-{len(self)}"]))
        return Rules(part)

    def prune(self, how: str | None = None, keep: str | int | None = None) -> Rules:
        """The rules that are worth their place.

        Parameters
        ----------
        how : str, optional
            As `grammar --prune` has it: "redundancy", "entropy:0", "significance", "count:2".
        keep : str or int, optional
            So many of the rest, or such a share ("10%"): the best by what `how` measures.

        Raises
        ------
        ArgumentError
            One of them is none of these.
        InputError
            The rules have no feature LogCount or LogForward, or labels other than X.
        """
        if how is not None:
            require_type("how", how, str, "a string such as 'count:2'")
        with of_arguments():
            return Rules(
                pruned_table(self.table, "table", prune=how, keep=None if keep is None else str(keep))
            )

    def to_columns(self) -> dict[str, np.ndarray]:
        """The table as columns of equal length, which `pandas.DataFrame` takes as they are.

        Returns
        -------
        dict of str to array
            `left`, the left-hand sides, of rules with labels; `source`, `target`: strings, as rule tables
            spell them; `alignment`: strings, `0-0 1-2`; `count`: float64; then every feature, float32.
        """
        spelled = [format_rule(each._replace(features={})).split(" ||| ") for each in self]
        columns: dict[str, np.ndarray] = {}
        fields_of = [(1, "source"), (2, "target"), (4, "alignment")]
        for place, name in fields_of if self.table.labels is None else [(0, "left"), *fields_of]:
            column = np.empty(len(spelled), object)
            column[:] = [fields[place].strip() if place < len(fields) else "" for fields in spelled]
            columns[name] = column
        columns["count"] = self.table.count.copy()
        for name in (*self.table.feature_names, *self.table.sparse_names):
            columns[name] = feature_values(self.table, name).copy()
        return columns

    def write(self, path: PathLike, file_format: str = "native", spelling: Spelling = PLAIN) -> None:
        """Write the table in any decoder's format; warns of what it cannot hold or has to spell otherwise.

        Parameters
        ----------
        path : path
            Compressed if the name ends in `.gz`.
        file_format : str
            native, cdec, moses, joshua or travatar.
        spelling : Spelling
            As `convert` has it: words escaped already, features without names.
        """
        for reason, number in write_table(self.table, path, file_format, spelling).items():
            warnings.warn(f"{path}: {loss_message(number, reason)}", stacklevel=2)
        if note := spelling_note(self.table, file_format, spelling.escaped):
            warnings.warn(f"{path}: {note}", stacklevel=2)

    def __repr__(self) -> str:
        more = len(self.table.sparse_names)
        others = f" and {counted(more, 'feature')} that few of them have" if more else ""
        return f"{counted(len(self), 'rule')} with {', '.join(self.table.feature_names)}{others}"

    def _repr_html_(self) -> str:
        rows = []
        for each in self[:SHOWN]:
            text = format_rule(each._replace(features={}))
            shown = readable(text if self.table.labels else text.removeprefix("[X] ||| "))
            rows.append((shown, *(f"{each.features[name]:.4g}" for name in self.table.feature_names)))
        return html_table(counted(len(self), "rule"), ("rule", *self.table.feature_names), rows)


def read_rules(path: PathLike, file_format: str | None = None, spelling: Spelling = PLAIN) -> Rules:
    """The rules of a table in any decoder's format; warns of those that are left out.

    Parameters
    ----------
    path : path
    file_format : str, optional
        native, cdec, moses, joshua or travatar; by default its first rule tells.
    spelling : Spelling

    Raises
    ------
    RuleTableError
        A line is not a rule; file and line are named.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table").write_text("[X] ||| ne [X,1] pas ||| not [X,1] ||| LogForward=0\\n")
    ...     read_rules(Path(folder, "table"))
    1 rule with LogForward
    """
    require_path("path", path)
    if file_format is not None:
        require_type("file_format", file_format, str, "the name of a format")
    table, left_out = read_table(path, file_format, spelling)
    for reason, number in left_out.items():
        warnings.warn(f"{path}: left out {loss_message(number, reason)}", stacklevel=2)
    return Rules(table)


def extract_rules(
    corpus: Corpus,
    *,
    labels_form: str = "spans",
    labels_side: str = "target",
    **settings: Unpack[BaselineSettings],
) -> Rules:
    """The Hiero baseline's rules of a corpus, with features, in the order of `scfg-sampler extract`.

    Parameters
    ----------
    corpus : Corpus
        If it has labels, nonterminals are called by those of what they cover.
    labels_form : str
        What a line of labels is: spans, classes or trees.
    labels_side : str
        Whose spans they are: source or target.
    settings
        Those of `scfg_sampler.baseline.settings.HieroSettings`.

    Raises
    ------
    TypeError
        `corpus` is no Corpus, or a setting is of another type.
    ArgumentError
        There is no such setting, or it is out of range.
    InputError
        The labels cannot be read, are not of the form, or do not fit the corpus.

    >>> import scfg_sampler
    >>> pairs = [("ne dort pas", "not sleep", "0-0 1-1 2-0"), ("ne mange pas", "not eat", "0-0 1-1 2-0")]
    >>> extract_rules(scfg_sampler.make_corpus(pairs)).best(1)[0].source
    ('ne', -1, 'pas')
    """
    require_type("corpus", corpus, Corpus, "a Corpus, as read_corpus and make_corpus return it")
    for name, value, legal in (("labels_form", labels_form, FORMS), ("labels_side", labels_side, SIDES)):
        require_type(name, value, str, "a string")
        if value not in legal:
            raise ArgumentError(f"{name} is {value}; choose one of {', '.join(legal)}")
    with of_arguments():
        chosen = settings_of(HieroSettings, settings)
        chosen.check()
    arrays = corpus.arrays
    lexical = estimate(arrays)
    fields = [*chosen.fields(), *({} if corpus.files is None else corpus.files.by_name()).items()]
    labels = corpus.span_labels(labels_side, labels_form, chosen.longest(labels_side))
    if labels is not None:
        made = signature([*fields, ("labels-form", labels_form), ("labels-side", labels_side)])
        table = score_labelled(extract_labelled(arrays, labels, chosen), lexical, arrays, made)
    else:
        if (labels_form, labels_side) != ("spans", "target"):
            warn(IDLE_LABELS)
        vocabularies = arrays.source_vocabulary, arrays.target_vocabulary
        made = signature(fields)
        table = score_rules(extract(arrays, chosen), lexical, *vocabularies, signature=made)
    return Rules(as_written(table))  # Ties are broken by the order of rules.
