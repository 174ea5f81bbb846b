"""Tables with labels other than X: the directory of every decoder allows what our decoder finds, no more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from decoder.cli import main as decoder
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.table import RuleTable, write_rule_table
from scfg_sampler.rules.text import Rule
from tests.formats.test_labels import labelled_table
from tests.plugs.charts import read, translations
from tests.plugs.directories import ARPA, NAMES, TABLES, complaint, plug
from tests.rules.test_table import as_rules

WEIGHTS = {"LogForward": 0.7, "LogBackward": 0.3, "LexForward": 0.2, "LexBackward": -0.1, "LogCount": 0.4}
WEIGHTS |= {"TargetWords": -0.31, "Abstract": 0.17, "LanguageModel": 0.0, "Glue": -0.6, "PassThrough": -1.9}
LABELS = ("X", "S", "NP", "GOAL", "COPIED", "=,")
SOURCE, TARGET = ("a", "b", "c"), ("t", "u", "v", "w")
SENTENCES = ("a", "z", "a b", "b z", "z c a", "c a b z")


def labelled_rules(rng: np.random.Generator, relabels: bool) -> list[Rule]:
    """Rules of all shapes; those of a single gap lead from later labels to earlier ones, if any do."""
    found = {}
    while len(found) < 26:
        source: list[str | int] = []
        gaps = 0
        for _ in range(int(rng.integers(1, 4))):
            gaps += (is_gap := gaps < 2 and rng.random() < 0.5)
            source.append(-gaps if is_gap else str(rng.choice(SOURCE)))
        labels = rng.choice(LABELS, 1 + gaps).tolist()
        single = source == [-1]
        if single and (not relabels or LABELS.index(labels[0]) >= LABELS.index(labels[1])):
            continue
        target = [*range(-gaps, 0), *rng.choice(TARGET, int(rng.integers(not gaps or single, 3))).tolist()]
        rng.shuffle(target)
        sides = tuple(source), tuple(x if isinstance(x, str) else int(x) for x in map(_plain, target))
        found[(*sides, *labels)] = Rule(*sides, {}, (), tuple(labels))
    return [entry for entry in found.values() if entry.source != entry.target or entry.labels[0] == "X"]


def _plain(symbol) -> str | int:
    return int(symbol) if str(symbol).lstrip("-").isdigit() else str(symbol)


def save(folder: Path, table: RuleTable, **weights: float) -> None:
    write_rule_table(table, folder / "table.gz")
    (folder / "lm.arpa").write_text(ARPA, encoding="utf-8")
    (folder / "w.json").write_text(json.dumps(WEIGHTS | weights))


def ours(folder: Path, capsys, copy: str) -> list[dict[tuple[bytes, ...], float]]:
    """All our translations of the sentences, with the scores of their best derivations."""
    (folder / "text").write_text("".join(f"{line}\n" for line in SENTENCES))
    arguments = ["translate", f"--grammar={folder / 'table.gz'}", f"--lm={folder / 'lm.arpa'}", "--beam=0"]
    arguments += [f"--weights={folder / 'w.json'}", "--max-targets=0", f"--copy={copy}", "--nbest=100000"]
    capsys.readouterr()
    assert decoder([*arguments, f"--input={folder / 'text'}", "--quiet"]) == 0
    found: list[dict[tuple[bytes, ...], float]] = [{} for _ in SENTENCES]
    for line in capsys.readouterr().out.splitlines():
        number, words, _, score = line.split(" ||| ")
        found[int(number)][tuple(words.encode().split())] = float(score)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_translations_and_scores_are_ours(tmp_path, name, seed, capsys):
    rng = np.random.default_rng(seed)
    table = labelled_table(labelled_rules(rng, relabels=name != "moses"))
    table.features[:, :5] = rng.normal(size=(table.num_rules, 5)).round(2)
    table.features[:, 4] = np.log(rng.integers(1, 9, table.num_rules))
    save(tmp_path, table)
    assert plug(tmp_path, name) == 0
    constant = json.loads((tmp_path / name / "plug.json").read_text())["constant"]
    copy = "any" if " --copy any" in (tmp_path / name / "README").read_text() else "unknown"
    assert (copy == "unknown") == (name == "moses")
    grammar = read(tmp_path / name, name)
    for line, wanted in zip(SENTENCES, ours(tmp_path, capsys, copy), strict=True):
        found = translations(grammar, line.encode().split())
        assert len(wanted) >= 1
        assert {words: score - constant for words, score in found.items()} == pytest.approx(wanted, abs=2e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_comes_back_with_its_labels(tmp_path, name):
    rng = np.random.default_rng(5)
    table = labelled_table(labelled_rules(rng, relabels=True))
    save(tmp_path, table)
    for _ in range(2):  # The second time, it replaces what the first has made.
        assert plug(tmp_path, name, "--quiet") == 0
    back, left_out = read_table(tmp_path / name / TABLES[name])
    assert not left_out
    assert {(*each[:2], each.labels) for each in as_rules(back)} == {
        (*each[:2], each.labels) for each in as_rules(table)
    }


def table_with(*entries: Rule) -> RuleTable:
    return labelled_table([Rule(("a",), ("t",), {}, (), ("NP",)), *entries])


@pytest.mark.parametrize("name", NAMES)
def test_rules_that_lead_back_to_their_label_are_left_out(tmp_path, name, capsys):
    """Our decoder does without them; Travatar would end, and cdec leave out one of two that make a circle."""
    circle = [Rule((-1,), (-1, "u"), {}, (), labels) for labels in (("NP", "N"), ("N", "NP"), ("X", "X"))]
    save(tmp_path, table_with(*circle))
    assert plug(tmp_path, name) == 0
    said = "3 rules have a source side of one nonterminal of their own label, or of one made of it; left out"
    assert said in capsys.readouterr().err
    back, _ = read_table(tmp_path / name / TABLES[name])
    assert back.num_rules == 1


@pytest.mark.parametrize("name", NAMES)
def test_rules_that_moses_does_not_use_are_told(tmp_path, name, capsys):
    """ChartRuleLookupManagerMemory.cpp: «unary and should not be added»."""
    made = Rule((-1,), (-1, "u"), {}, (), ("NP", "N"))
    save(tmp_path, table_with(made, Rule(("a", -1), (-1,), {}, (), ("NP", "N"))))
    assert plug(tmp_path, name) == 0
    said = "1 rule has a source side of one nonterminal and makes another label of it here, but not in Moses"
    assert (said in capsys.readouterr().err) == (name == "moses")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [2, 3, 4])
def test_a_copied_word_has_all_labels_in_moses_whatever_the_limit(tmp_path, name, limit, capsys):
    """ChartCell.cpp: a span has so many hypotheses as the limit says, of all labels together."""
    save(tmp_path, table_with(Rule(("a", -1, -2), (-2, -1), {}, (), ("NP", "N", "NP"))))
    assert plug(tmp_path, name, f"--pop-limit={limit}") == 0
    copied = [line.split()[0] for line in (tmp_path / name / "copy-rules").read_text().splitlines()]
    assert len(copied) == 3
    raised = name == "moses" and limit == 2
    said = "Moses may try 3 derivations of a span, not 2, as copied words have so many labels"
    notes = [line for line in capsys.readouterr().err.splitlines() if "derivations of a span" in line]
    assert notes == [said] * raised
    assert (said in (tmp_path / name / "README").read_text()) == raised
    text = "".join(path.read_text() for path in (tmp_path / name).glob("*.[ic]*[ing]"))
    assert re.findall(r"pop[-_]limit(?:\]\n| = |=)([0-9]+)", text) == ["3" if raised else str(limit)]


def test_a_label_that_cdec_has_for_itself_is_refused(tmp_path, capsys):
    """bottom_up_parser.cc: a rule for `[Goal]` ends the search."""
    save(tmp_path, table_with(Rule(("b", -1), ("u", -1), {}, (), ("NP", "Goal"))))
    assert "has a label Goal, which cdec has for itself. Call it otherwise" in complaint(tmp_path, capsys)
    assert plug(tmp_path, "joshua", "--quiet") == 0


@pytest.mark.parametrize("weight", [-0.5, 0.0])
def test_labels_that_need_not_match_are_refused(tmp_path, capsys, weight):
    save(tmp_path, table_with(), LabelMismatch=weight)
    said = complaint(tmp_path, capsys)
    assert "w.json: are for labels that need not match, as they must elsewhere. Tune again without" in said


def test_travatar_fills_gaps_with_copied_words_before_it_reads_the_table(tmp_path):
    """rule-fsm.cc goes through the files in order: a later one fills no first gap of an earlier one."""
    save(tmp_path, table_with())
    assert plug(tmp_path, "travatar", "--max-span", "7", "--quiet") == 0
    text = (tmp_path / "travatar" / "travatar.ini").read_text()
    assert "[tm_file]\ncopy-rules\nrules.gz\nglue-rules\n" in text
    assert "[hiero_span_limit]\n1\n7\n100000\n" in text


def test_a_table_of_nothing_but_x_needs_no_labels(tmp_path):
    save(tmp_path, labelled_table([Rule(("a", -1), (-1, "t"), {}, ())]))
    for name in NAMES:
        assert plug(tmp_path, name, "--quiet") == 0
        assert not (tmp_path / name / "copy-rules").exists()
        text = "".join(path.read_text() for path in (tmp_path / name).glob("*.[ic]*[ing]"))
        assert not any(word in text for word in ("copy", "unk_symbol", "goal=", "unknown-lhs"))
