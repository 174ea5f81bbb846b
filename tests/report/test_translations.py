"""The distance of translations, against a recursion over what may be done to them."""

from __future__ import annotations

import codecs
import functools
import gzip
import io
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.errors import InputError
from scfg_sampler.report.translations import (
    distance,
    name_and_path,
    read_outputs,
    read_rounds,
    read_scores,
    read_written,
    tell_scores,
    tell_tuning,
)

texts = st.lists(st.sampled_from("abc"), max_size=6)


@given(texts, texts)
def test_distance_is_the_least_number_of_edits(one, other):
    @functools.cache
    def least(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        replaced = least(i + 1, j + 1) + (one[i] != other[j])
        return min(replaced, least(i + 1, j) + 1, least(i, j + 1) + 1)

    assert distance(one, other) == least(0, 0)


def test_files_are_called_by_their_names():
    assert name_and_path("a=b=c") == ("a", "b=c")
    assert name_and_path("dir=x/out.txt") == ("dir", "x/out.txt")
    assert name_and_path("runs/a=b/out.test.txt") == ("out", "runs/a=b/out.test.txt")


@pytest.mark.parametrize("row", ["2", "2\t11", "2\t11\t1\t0", "nan\t11\t1", "2\tinf\t1", "2\t11\t"])
def test_rounds_have_a_finite_number_in_each_column(tmp_path, row):
    (tmp_path / "r").write_text(f"round\tscore\tlength\n1\t10.5\t0.9\n{row}\n")
    with pytest.raises(InputError, match=r"r:3: is not as many finite numbers as there are columns"):
        read_rounds(tmp_path / "r")


@pytest.mark.parametrize(
    "text",
    [
        '[{"score": 1}]',
        '{"bleu": {"score": "high"}}',
        '{"bleu": {"score": 1, "confidence_mean": 2}}',
        '{"bleu": {"score": 1, "difference": 2, "against": 1}}',
        '{"bleu": {"score": 1, "deviation": "wide"}}',
    ],
)
def test_scores_of_something_else_are_refused(tmp_path, text):
    (tmp_path / "s").write_text(text)
    with pytest.raises(InputError, match=r"s: holds no scores\. Name what 'evaluate --json' wrote"):
        read_scores(tmp_path / "s")


def test_intervals_end_where_scores_do():
    """Of few sentences half of their length about the mean is beyond."""
    wide = {"score": 50.0, "confidence_mean": 50.5, "confidence_var": 52.25}
    told = str(tell_scores({"a": {"exact": wide, "ter": wide}})[0])
    assert "0.00 – 100.00" in told
    assert "0.00 – 102.75" in told


def test_derivations_whose_sides_are_no_lists_are_refused(tmp_path):
    (tmp_path / "t").write_text("a\n")
    node = '{"span": [0, 1], "source": 5, "target": ["a"], "children": []}'
    (tmp_path / "d").write_text(f'{{"sentence": 0, "nodes": [{node}]}}\n')
    with pytest.raises(InputError, match="d:1: not a derivation"):
        read_outputs(tmp_path / "t", [tmp_path / "t"], {"a": tmp_path / "t"}, {"a": tmp_path / "d"})


def test_derivations_of_a_sentence_that_is_no_number_are_refused(tmp_path):
    (tmp_path / "t").write_text("a\n")
    for sentence in ("true", '"0"', "0.5"):
        (tmp_path / "d").write_text(f'{{"sentence": {sentence}, "nodes": []}}\n')
        with pytest.raises(InputError, match="d:1: not a derivation"):
            read_outputs(tmp_path / "t", [tmp_path / "t"], {"a": tmp_path / "t"}, {"a": tmp_path / "d"})


SCORES = '{"bleu": {"name": "BLEU", "score": 20.5, "signature": "s"}}\n'


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: codecs.BOM_UTF8 + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        gzip.compress,
    ],
    ids=["plain", "mark", "Windows", "packed"],
)
def test_files_are_the_same_in_all_forms(tmp_path, form):
    (tmp_path / "s").write_bytes(form(SCORES.encode()))
    assert read_scores(tmp_path / "s")["bleu"]["score"] == 20.5
    (tmp_path / "r").write_bytes(form(b"round\tscore\tGlue\n1\t10.5\t0.25\n"))
    assert {name: column.tolist() for name, column in read_rounds(tmp_path / "r").items()} == {
        "round": [1.0],
        "score": [10.5],
        "Glue": [0.25],
    }
    (tmp_path / "t").write_bytes(form(b"a b\n\nc\n"))
    texts = read_outputs(tmp_path / "t", [tmp_path / "t"], {"x": tmp_path / "t"}, {})
    lines = ["a b", "", "c"]
    assert (texts.source, texts.references, texts.systems) == (
        lines,
        [[line] for line in lines],
        {"x": lines},
    )


def test_weights_that_were_written_stand_beside_those_of_the_best_round(tmp_path):
    rounds = tmp_path / "w.json.rounds.tsv"
    rounds.write_text("round\tscore\tGlue\n0\t9\t1\n1\t10.5\t0.25\n2\t10\t0.75\n")
    tunings = {"a": read_rounds(rounds)}

    def shown():
        table = ElementTree.fromstring(str(tell_tuning(tunings, written)[-1]))
        return [cell.text for row in table.iter("tr") for cell in row]

    written = {"a": read_written(rounds)}
    assert shown() == ["weight", "at first", "round 1", "Glue", "+1.0000", "+0.2500"]
    (tmp_path / "w.json").write_text('{"Glue": 0.5}')
    written = {"a": read_written(rounds)}
    assert shown() == [*["weight", "at first", "round 1", "written"], "Glue", "+1.0000", "+0.2500", "+0.5000"]
    (tmp_path / "w.json").write_text('{"Other": 0.5}')  # Of another tuning.
    written = {"a": read_written(rounds)}
    assert len(shown()) == 6
    assert read_written(tmp_path / "w.json") == {}


def test_scores_that_are_no_utf8_say_what_they_are(tmp_path):
    """As PowerShell 5 writes what is redirected into a file."""
    (tmp_path / "s").write_bytes(SCORES.encode("utf-16"))
    with pytest.raises(InputError, match=r"s:1: is UTF-16, not UTF-8\. Convert"):
        read_scores(tmp_path / "s")
    with pytest.raises(InputError, match=r"is a directory\. Name a file"):
        read_scores(tmp_path)


def test_scores_are_read_from_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(SCORES.encode()))))
    assert read_scores("-")["bleu"]["score"] == 20.5
