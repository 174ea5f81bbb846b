"""Files that are mapped into memory: no damage goes unnoticed, and no number in them ends the process."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from decoder.grammar import soundness
from decoder.grammar.file import read_grammar_file, write_grammar_file
from decoder.lm.arpa import write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import load_lm
from decoder.lm.table import build_lm, write_lm_file
from decoder.lm.vocabulary import LmVocabulary
from decoder.system.bundle import write_system
from decoder.system.system import load_system
from scfg_sampler.core.arrays.sparse import Rows, is_sound
from scfg_sampler.errors import InputError, RuleTableError
from scfg_sampler.rules.table import read_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.labelled_grammars import random_labelled_rules, write_rules
from tests.decoder.mapped_faults import main as all_faults
from tests.decoder.mapped_faults import put_together, taken_apart, use_grammar
from tests.decoder.translation.test_sparse_features import tables

TEXT = ["a b c a b", "b c a", "c foreign a", "a a b"]


@pytest.fixture
def folder(tmp_path, rng):
    """A system, whose parts have the names of parts."""
    model, _ = estimate_lm(encode_text(TEXT), 3)
    write_arpa(model, tmp_path / "lm.arpa")
    table = small.rule_table(
        [*small.random_rules(rng, 25, max_arity=2), ("X1", "X1 a", [0, 0]), ("u", "a", [1, 1])]
    )
    names = (*small.FEATURES, "LanguageModel", "Glue", "PassThrough")
    (tmp_path / "weights").write_text(json.dumps(dict.fromkeys(names, 0.5)))
    write_system(table, tmp_path / "lm.arpa", tmp_path / "weights", None, tmp_path / "system")
    return tmp_path / "system"


def test_the_format_taken_apart_and_put_together_is_the_file(folder):
    for name in ("lm.bin", "grammar.bin", "ranking.bin"):
        data = (folder / name).read_bytes()
        assert put_together(*taken_apart(data)) == data


@pytest.mark.parametrize(("name", "use"), [("lm.bin", use_grammar), ("grammar.bin", use_grammar)])
def test_no_changed_byte_goes_unnoticed(folder, name, use):
    """All of the first kilobyte, which holds the header, and many of the rest."""
    path = folder / name
    whole = path.read_bytes()
    for at in [*range(min(1400, len(whole))), *range(1400, len(whole), 41)]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        with pytest.raises(InputError, match=name):
            use(folder)
    path.write_bytes(whole)
    use(folder)


@pytest.mark.parametrize(("name", "places"), [("lm.bin", 10), ("grammar.bin", 8), ("ranking.bin", 3)])
def test_wrong_numbers_under_a_right_checksum_do_no_harm(folder, root, name, places):
    """In a process of its own: what this is about is a segmentation fault, or no end."""
    command = [sys.executable, "-m", "tests.decoder.mapped_faults", str(folder), name, str(places)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert child.returncode == 0, (child.stderr[-2000:], (folder / "last").read_text())
    counts = json.loads(child.stdout)
    assert counts["refused"] > counts["used"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("lm.bin", 1500), ("grammar.bin", 9000), ("ranking.bin", 9000)])
def test_many_wrong_numbers_under_a_right_checksum_do_no_harm(folder, capsys, name, least):
    """Both are many: a language model has two arrays, and most wrong prices in it are prices still."""
    all_faults(folder, name, 2000)
    counts = json.loads(capsys.readouterr().out)
    assert counts["refused"] > least
    assert counts["used"] > 2000


def changed(path, name, place, value):
    """The file with one number of an array another, and the checksum right."""
    magic, header, body = taken_apart(path.read_bytes())
    at, length, dtype, _ = header["arrays"][name]
    np.frombuffer(body, np.dtype(dtype), length // np.dtype(dtype).itemsize, at)[place] = value
    path.write_bytes(put_together(magic, header, body))


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("features", 3, np.nan, "a feature is not a finite number"),
        ("source_start", 1, 1 << 40, "a source side lies outside of the table"),
        ("target_start", 1, -(1 << 62), "a target side lies outside of the table"),
        ("target", slice(None), 4, "a target side has a word that is none"),
        ("target", slice(None), -1, "has nonterminals that do not fit"),
        ("slot_children", 0, 1 << 30, "its trie has a child that is no node"),
        ("slot_keys", slice(None), 5, "its trie has no free slot"),
        ("first_group", 1, 99999, "a source side has a group that is none"),
        ("next_group", 0, 0, "a source side has two groups"),
        ("rules", 0, 1 << 20, "a group has a rule that is none"),
        ("rule_start", 1, 0, "a group has no rules, or rules of different source sides"),
        ("group_arity", 0, 9, "a group has no rules, or rules of different source sides"),
    ],
)
def test_the_message_says_what_is_wrong(folder, name, place, value, message):
    path = folder / "grammar.bin"
    changed(path, name, place, value)
    with pytest.raises(
        RuleTableError, match=rf"grammar\.bin: is no grammar: .*{message}.*\. Compile the grammar again"
    ):
        read_grammar_file(path)


@pytest.fixture
def sparse_folder(folder):
    """The same with a grammar of which few rules have some of the features."""
    write_grammar_file(tables()[1], folder / "grammar.bin")
    return folder


def test_wrong_numbers_of_sparse_features_do_no_harm(sparse_folder, root):
    """All numbers of the header are left to the grammar without such features."""
    command = [sys.executable, "-m", "tests.decoder.mapped_faults"]
    command += [str(sparse_folder), "grammar.bin", "24", "sparse"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert child.returncode == 0, (child.stderr[-2000:], (sparse_folder / "last").read_text())
    counts = json.loads(child.stdout)
    assert counts["refused"] > 30
    assert counts["used"] > 3


@pytest.fixture
def labelled_folder(folder, rng):
    """The same with a grammar whose nonterminals have labels other than X."""
    write_rules(random_labelled_rules(rng, 30), folder / "rules")
    write_grammar_file(read_rule_table(folder / "rules", labels=True), folder / "grammar.bin")
    assert read_grammar_file(folder / "grammar.bin").grammar.labels is not None
    return folder


def labelled_faults(folder, root, times: int, *beginning: str) -> dict[str, int]:
    """How many wrong files were refused and used, in a process of its own; then the file is as it was."""
    whole = (folder / "grammar.bin").read_bytes()
    command = [sys.executable, "-m", "tests.decoder.mapped_faults"]
    command += [str(folder), "grammar.bin", str(times), *beginning]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert child.returncode == 0, (child.stderr[-2000:], (folder / "last").read_text())
    (folder / "grammar.bin").write_bytes(whole)
    return json.loads(child.stdout)


def test_wrong_numbers_of_labels_do_no_harm(labelled_folder, root):
    """What a group is led to by is a label here too, so that wrong ones may lead in a circle."""
    for beginning, times in (("label", 40), ("slot", 12), ("next_group", 12)):
        counts = labelled_faults(labelled_folder, root, times, beginning)
        assert counts["refused"] > 3, beginning
        assert counts["used"] > 0, beginning


@pytest.mark.slow
def test_many_wrong_numbers_of_a_grammar_with_labels_do_no_harm(labelled_folder, root):
    assert labelled_faults(labelled_folder, root, 600)["refused"] > 2000


def test_no_changed_byte_of_labels_goes_unnoticed(labelled_folder):
    path = labelled_folder / "grammar.bin"
    whole = path.read_bytes()
    header = taken_apart(whole)[1]
    for name in ("label_kind", "label_kinds"):
        at, length, *_ = header["arrays"][name]
        begin = len(whole) - len(taken_apart(whole)[2]) + at
        for place in range(begin, begin + length):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
            with pytest.raises(InputError, match=r"grammar\.bin.* checksum"):
                read_grammar_file(path)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("label_kind", 0, 1 << 30, "a rule has labels that do not fit"),
        ("label_kind", 0, -1, "a rule has labels that do not fit"),
        ("label_kinds", 0, 1 << 30, "a rule has labels that do not fit"),
        ("label_kinds", slice(None), -1, "a rule has labels that do not fit"),
        ("next_group", 0, 0, "groups lead in a circle"),
    ],
)
def test_wrong_labels_are_named(labelled_folder, name, place, value, message):
    changed(labelled_folder / "grammar.bin", name, place, value)
    with pytest.raises(RuleTableError, match=rf"grammar\.bin: is no grammar: .*{message}"):
        read_grammar_file(labelled_folder / "grammar.bin")


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("sparse_start", 1, 1 << 40),
        ("sparse_start", 1, -1),
        ("sparse_column", 0, 3),
        ("sparse_column", 0, -1),
        ("sparse_column", slice(None), 0),
        ("sparse_values", 0, np.nan),
        ("sparse_values", 0, np.inf),
    ],
)
def test_wrong_sparse_features_are_named(sparse_folder, name, place, value):
    path = sparse_folder / "grammar.bin"
    read_grammar_file(path)
    changed(path, name, place, value)
    with pytest.raises(RuleTableError, match=r"is no grammar: .*features of few rules are not in order"):
        read_grammar_file(path)


def test_beginnings_of_rows_so_far_apart_that_differences_overflow_are_unsound():
    """Each of these is above the one before, as far as 64 bits hold their difference."""
    start = np.array([0, (1 << 63) - 1, -(1 << 63), -1, 2])
    assert (np.diff(start) >= 0).all()
    assert not is_sound(Rows(start, np.array([0, 1], np.int32), np.ones(2), 2), 4)
    assert is_sound(Rows(np.array([0, 1, 1, 2, 2]), np.array([0, 1], np.int32), np.ones(2), 2), 4)


def test_a_header_of_another_order_is_refused(folder):
    """The checksum covers it."""
    path = folder / "lm.bin"
    path.write_bytes(path.read_bytes().replace(b'"order": 3', b'"order": 2'))
    with pytest.raises(InputError, match="do not match their checksum"):
        load_lm(path)


@pytest.mark.parametrize("place", [3, 7], ids=["probability", "back-off"])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_ranking_with_a_price_that_is_none_is_refused(folder, place, value):
    """A search took the bits of NaN for the number of a row, far outside of its arrays."""
    path = folder / "ranking.bin"
    magic, header, body = taken_apart(path.read_bytes())
    at, length, *_ = header["arrays"]["prefix_state"]
    states = np.frombuffer(body, np.float32, length // 4, at).reshape(-1, 9)
    assert len(states) > 20
    states[-1, place] = value
    path.write_bytes(put_together(magic, header, body))
    record = json.loads((folder / "system.json").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    record["files"]["ranking.bin"] = {"bytes": path.stat().st_size, "sha256": digest}
    (folder / "system.json").write_text(json.dumps(record))
    with pytest.raises(RuleTableError, match=r"ranking.bin: .*: a state has a number that is none"):
        load_system(folder)


def test_a_ranking_of_another_system_is_refused(folder, tmp_path, rng):
    other = small.rule_table(small.random_rules(rng, 9, max_arity=1))
    write_system(other, tmp_path / "lm.arpa", tmp_path / "weights", None, tmp_path / "other")
    record = json.loads((folder / "system.json").read_text())
    record["files"]["ranking.bin"] = json.loads((tmp_path / "other" / "system.json").read_text())["files"][
        "ranking.bin"
    ]
    (folder / "system.json").write_text(json.dumps(record))
    shutil.copyfile(tmp_path / "other" / "ranking.bin", folder / "ranking.bin")
    with pytest.raises(RuleTableError, match=r"ranking.bin: is no ranking of the rules of this system"):
        load_system(folder)


def test_models_of_all_orders_and_grammars_of_all_arities_are_sound(tmp_path, rng):
    for order in range(1, 6):
        model, _ = estimate_lm(encode_text(TEXT), order)
        write_lm_file(build_lm(model), LmVocabulary(model.words), tmp_path / "lm.bin")
        load_lm(tmp_path / "lm.bin")
    for arity in (0, 1, 2, 4):
        rules = small.random_rules(rng, 12, max_arity=arity)
        write_grammar_file(small.rule_table(rules), tmp_path / "g.bin")
        read_grammar_file(tmp_path / "g.bin")
    write_grammar_file(small.rule_table([]), tmp_path / "g.bin")
    assert len(read_grammar_file(tmp_path / "g.bin").grammar.rules) == 0


def test_a_rule_of_more_nonterminals_than_a_file_holds_is_not_written(tmp_path):
    for arity in (soundness.MOST_GAPS, soundness.MOST_GAPS + 1):
        side = " ".join(f"X{k}" for k in range(1, arity + 1))
        table = small.rule_table([("u " + side, side + " a", [0, 0])])
        if arity > soundness.MOST_GAPS:
            with pytest.raises(RuleTableError, match="a rule has 61 nonterminals, which is more than 60"):
                write_grammar_file(table, tmp_path / "g.bin")
        else:
            write_grammar_file(table, tmp_path / "g.bin")
            read_grammar_file(tmp_path / "g.bin")
