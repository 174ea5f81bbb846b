"""Tables with thousands of names of features: those that few rules have stand where they are not 0."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scfg_sampler.errors import RuleTableError
from scfg_sampler.formats import FORMATS
from scfg_sampler.formats.conversion import Spelling, read_table, write_table
from scfg_sampler.formats.tables import iterate_rules
from scfg_sampler.rules.columns import MOST_COLUMNS
from scfg_sampler.rules.table import read_rule_table, rule, select_rows, write_rule_table
from scfg_sampler.rules.text import parse_rule


def lines(names: int, rules: int, each: int = 10) -> list[str]:
    """Rules of which all have two features, two thirds a third, and each some of many; one of them is 0."""
    rng = random.Random(7)
    found = []
    for k in range(rules):
        numbers = sorted({k * names // rules, *(rng.randrange(names) for _ in range(each))})
        some = [f"S{n}={rng.uniform(-1, 1):.4g}" for n in numbers] + ["Third=0.5"] * (k % 3 > 0)
        rng.shuffle(some)
        features = " ".join([f"LogForward=-{k}", *some, f"Zero{k}=0", f"LogCount={k % 5}"])
        found.append(f"[X] ||| a{k} ||| b{k % 50} c ||| {features}")
    return found


def table(path, *numbers: int):
    path.write_text("# made\n" + "".join(line + "\n" for line in lines(*numbers)))
    return path


def named(found, row: int) -> dict[str, float]:
    """The features of a rule that are not 0."""
    return {name: value for name, value in rule(found, row).features.items() if value}


def expected(number: int, names: int, rules: int) -> dict[str, float]:
    features = parse_rule(lines(names, rules)[number], "t", 1).features
    return {name: float(np.float32(value)) for name, value in features.items() if value}


@pytest.mark.parametrize("names", [3, 31, 200, 3000])
def test_every_rule_has_the_features_of_its_line(tmp_path, names):
    found = read_rule_table(table(tmp_path / "table", names, 40))
    for row in range(40):
        assert named(found, row) == expected(row, names, 40)
    assert list(iterate_rules(found)) == [rule(found, row) for row in range(40)]
    assert_array_equal(found.count, np.exp([k % 5 for k in range(40)]))


def test_up_to_the_limit_all_features_have_columns_and_beyond_it_those_of_half_of_the_rules(tmp_path):
    few = read_rule_table(table(tmp_path / "few", 200, 30))
    assert few.sparse is None
    assert len(few.feature_names) <= MOST_COLUMNS
    many = read_rule_table(table(tmp_path / "many", 3000, 300))
    assert set(many.feature_names) == {"LogForward", "Third", "LogCount"}
    assert list(many.sparse_names) == sorted(many.sparse_names)
    assert (many.sparse.rows.values != 0).all()


def test_half_of_the_rules_are_just_enough_for_a_column(tmp_path):
    made = lines(3000, 300)
    half = [line + " Half=1" * (k < 150) + " Less=1" * (k < 149) for k, line in enumerate(made)]
    (tmp_path / "table").write_text("".join(line + "\n" for line in half))
    found = read_rule_table(tmp_path / "table")
    assert set(found.feature_names) == {"LogForward", "Third", "LogCount", "Half"}
    assert "Less" in found.sparse_names


def test_a_table_that_is_read_again_is_written_to_the_same_bytes(tmp_path):
    found = read_rule_table(table(tmp_path / "table", 3000, 300))
    write_rule_table(found, tmp_path / "once")
    again = read_rule_table(tmp_path / "once")
    write_rule_table(again, tmp_path / "twice")
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()
    order = {rule(found, row)[:2]: row for row in range(300)}
    for row in range(300):
        there = rule(again, row)
        assert named(again, row) == pytest.approx(named(found, order[there[:2]]), rel=1e-6)


def test_selected_rows_keep_their_features(tmp_path):
    found = read_rule_table(table(tmp_path / "table", 3000, 300))
    rows = np.array([7, 3, 3, 299])
    part = select_rows(found, rows)
    assert [named(part, i) for i in range(4)] == [named(found, row) for row in rows]


@pytest.mark.parametrize("file_format", ["cdec", "joshua", "moses", "travatar"])
def test_sparse_features_go_through_every_format(tmp_path, file_format):
    found = read_rule_table(table(tmp_path / "table", 2000, 100))
    write_table(found, tmp_path / "there", file_format)
    back, _ = read_table(tmp_path / "there", file_format)
    assert back.sparse is not None
    of = {rule(back, row)[:2]: row for row in range(100)}
    for row in range(100):
        there = named(back, of[rule(found, row)[:2]])
        sparse = {name: value for name, value in named(found, row).items() if name[0] == "S"}
        assert {name: there.get(name) for name in sparse} == pytest.approx(sparse, rel=1e-6)


@pytest.mark.parametrize("file_format", FORMATS)
def test_names_that_hold_equals_signs_come_back(tmp_path, file_format):
    """As sparse features of Moses may; what follows the last sign is the number."""
    first = " ".join(f"f{k}=1" for k in range(40))  # More than have a column while a table is read.
    (tmp_path / "table").write_text(
        f"[X] ||| a ||| b ||| LogForward=-1 x=y=0.5 {first} pos=NN==2 late=x=0.25\n"
        "[X] ||| c ||| d ||| x=y=0.75 x=3 LogForward=-2\n"
    )
    found = read_rule_table(tmp_path / "table")
    write_table(found, tmp_path / "there", file_format)
    back, _ = read_table(tmp_path / "there", file_format)
    assert {"x=y": 0.5, "pos=NN=": 2.0, "late=x": 0.25}.items() <= named(back, 0).items()
    assert {"x=y": 0.75, "x": 3.0}.items() <= named(back, 1).items()


def test_features_without_names_cannot_be_sparse(tmp_path):
    found = read_rule_table(table(tmp_path / "table", 2000, 100))
    with pytest.raises(RuleTableError, match=r"out: .*\d{3} sparse features.*--dense"):
        write_table(found, tmp_path / "out", "joshua", Spelling(dense=True))


def test_a_feature_given_twice_is_refused_whatever_its_number(tmp_path):
    text = "\n".join(lines(3000, 300)) + "\n"
    for name in ("LogForward", "S2999"):
        assert f"{name}=" in text
        (tmp_path / "twice").write_text(f"{text}[X] ||| a ||| b ||| {name}=1 S3=2 {name}=1\n")
        with pytest.raises(RuleTableError, match=f"twice:301: .*{name} is given twice"):
            read_rule_table(tmp_path / "twice")


def test_a_feature_that_is_not_finite_is_named(tmp_path):
    found = read_rule_table(table(tmp_path / "table", 3000, 300))
    values = found.sparse.rows.values.copy()
    at = int(found.sparse.rows.start[8])
    values[at] = np.nan
    broken = found._replace(sparse=found.sparse._replace(rows=found.sparse.rows._replace(values=values)))
    name = found.sparse_names[found.sparse.rows.column[at]]
    with pytest.raises(RuleTableError, match=f"feature {name} of rule 8 is nan"):
        write_rule_table(broken, tmp_path / "out")


def test_reading_takes_little_room(tmp_path):
    path = table(tmp_path / "table", 10_000, 5000)
    table(tmp_path / "small", 300, 30)
    read_rule_table(path)  # Compiles, so that the other process does not.
    program = (
        "import resource, sys; from scfg_sampler.rules.table import read_rule_table\n"
        "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "read_rule_table(sys.argv[1]); before = most(); read_rule_table(sys.argv[2]); print(most() - before)"
    )
    options = [sys.executable, "-c", program, str(tmp_path / "small"), str(path)]
    # What is given back to the heap goes to the system, so that nobody reads it afterwards unnoticed.
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "4096", "MALLOC_PERTURB_": "85"}
    done = subprocess.run(options, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    taken = int(done.stdout)
    # As a matrix it would have 200 MB.
    assert taken * 1024 < 40e6, taken
