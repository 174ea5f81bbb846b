"""Symmetrised alignments are those of atools, and obey the laws of their methods."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.cli import main
from scfg_sampler.core.files import read_lines
from scfg_sampler.corpus.symmetrise import METHODS, symmetrise, symmetrise_files
from scfg_sampler.errors import AlignmentError, InputError, SettingsError

LINKS = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10)


@pytest.mark.parametrize("aligner", ["eflomal", "fast_align"])
@pytest.mark.parametrize("name", ["tanaka-ja-en", "multi30k-de-en", "tatoeba-zh-en", "indic-hi-en"])
def test_grow_diag_final_and_equals_atools_on_real_alignments(shared_data, name, aligner):
    prefix = str(shared_data / name / f"train.{name.split('-', 1)[1]}.{aligner}")
    lines = symmetrise_files(f"{prefix}-fwd.gz", f"{prefix}-rev.gz", "grow-diag-final-and")
    expected = read_lines(f"{prefix}-gdfa.gz")
    assert list(itertools.islice(lines, 2000)) == list(itertools.islice(expected, 2000))


@given(LINKS, LINKS)
def test_every_method_lies_between_intersection_and_union(forward, reverse):
    found = {method: set(symmetrise(forward, reverse, method)) for method in METHODS}
    assert found["intersect"] == forward & reverse
    assert found["union"] == forward | reverse
    assert found["intersect"] <= found["grow-diag"] <= found["grow-diag-final-and"]
    assert found["grow-diag"] <= found["grow-diag-final"] <= found["union"]
    for links in found.values():
        assert found["intersect"] <= links <= found["union"]


@given(LINKS, LINKS)
def test_final_leaves_no_word_out_that_could_be_linked(forward, reverse):
    links = set(symmetrise(forward, reverse, "grow-diag-final"))
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    assert all(i in sources and j in targets for i, j in forward | reverse)
    links = set(symmetrise(forward, reverse, "grow-diag-final-and"))
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    assert all(i in sources or j in targets for i, j in forward | reverse)


@given(LINKS)
def test_two_equal_directions_stay_as_they_are(links):
    assert all(symmetrise(links, links, method) == sorted(links) for method in METHODS)


def test_growing_by_hand():
    # 1-2 touches 1-1 and its target is free; 3-3 touches nothing, and is free on both sides.
    forward, reverse = [(0, 0), (1, 1), (3, 3)], [(0, 0), (1, 1), (1, 2), (0, 4)]
    assert symmetrise(forward, reverse, "grow-diag") == [(0, 0), (1, 1), (1, 2)]
    assert symmetrise(forward, reverse, "grow-diag-final-and") == [(0, 0), (1, 1), (1, 2), (3, 3)]
    assert symmetrise(forward, reverse, "grow-diag-final") == [(0, 0), (0, 4), (1, 1), (1, 2), (3, 3)]


@pytest.mark.parametrize("link", [(1, 1), (1, 3), (3, 1), (3, 3), (1, 2), (2, 1), (2, 3), (3, 2)])
def test_links_grow_along_rows_columns_and_diagonals(link):
    assert symmetrise([(2, 2), link], [(2, 2)], "grow-diag") == sorted([(2, 2), link])
    assert symmetrise([(2, 2), (4, 2)], [(2, 2)], "grow-diag") == [(2, 2)]


def test_errors_name_file_and_line(tmp_path):
    (tmp_path / "a").write_text("0-0\n0-0\n")
    (tmp_path / "b").write_text("0-0\n")
    with pytest.raises(InputError, match=r"b:2: ends after 1 line, but .*a goes on"):
        list(symmetrise_files(tmp_path / "a", tmp_path / "b", "union"))
    (tmp_path / "b").write_text("0-0\n0:0\n")
    with pytest.raises(AlignmentError, match="b:2: '0:0' is not a link"):
        list(symmetrise_files(tmp_path / "a", tmp_path / "b", "union"))
    with pytest.raises(SettingsError, match="--method is 'both', but must be one of intersect, union"):
        symmetrise([], [], "both")


def test_the_command_writes_one_line_per_sentence(tmp_path, capsys):
    (tmp_path / "a").write_text("0-0 1-1\n\n0-1\n")
    (tmp_path / "b").write_text("0-0\n\n0-1\n")
    files = ["--forward", str(tmp_path / "a"), "--reverse", str(tmp_path / "b")]
    assert main(["symmetrise", *files, "--method", "union", "--quiet"]) == 0
    assert capsys.readouterr().out == "0-0 1-1\n\n0-1\n"


def test_the_command_takes_no_empty_directions_for_an_alignment(tmp_path, capsys):
    empty = tmp_path / "a"
    empty.write_text("")
    written = tmp_path / "out"
    paths = ["--forward", str(empty), "--reverse", str(empty), "--output", str(written)]
    assert main(["symmetrise", *paths]) == 2
    assert capsys.readouterr().err.endswith("a: has no lines. Did the aligner end with an error?\n")
    assert not written.exists()


def test_the_command_offers_every_method(capsys):
    with pytest.raises(SystemExit):
        main(["symmetrise", "--help"])
    assert "one of " + ", ".join(METHODS) in " ".join(capsys.readouterr().out.split())
