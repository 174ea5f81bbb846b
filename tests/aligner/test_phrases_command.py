"""`align --aligner phrases`: its files, its options, what it refuses."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import pytest

from scfg_sampler.aligner import alignment, texts
from scfg_sampler.cli import main
from scfg_sampler.core.files import read_lines
from scfg_sampler.corpus.parallel_text import read_alignment
from tests.aligner.corpora import SOURCE, TARGET

CORPUS = Path(__file__).resolve().parents[2] / "data" / "novish-en"

LINKS = "ee0ad485bb4f073cbfdba919cc0e743afd7cfe35f72d0cd92477cb6ad7d2eafa"
"""SHA-256 of those of the bundled corpus, as they were made at 446e2bfc, before it was made faster."""


@pytest.fixture
def given(tmp_path, monkeypatch):
    """The options of a small text, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("f", SOURCE), ("e", TARGET)):
        Path(name).write_text("".join(line + "\n" for line in lines * 6))
    return ["align", "--aligner", "phrases", "--source", "f", "--target", "e", "--output", "it"]


def test_links_are_written_and_told(given, capsys):
    assert main(given) == 0
    offsets, links = read_alignment("it.phrases")
    assert len(offsets) == 31
    said = capsys.readouterr().err
    assert said == f"30 pairs aligned by {len(links)} links: it.phrases\n"
    assert sorted(path.name for path in Path().iterdir()) == ["e", "f", "it.phrases"]


def test_draws_are_chains_of_the_next_seeds(given, capsys):
    assert main([*given, "--draws", "2", "--seed", "4", "--iterations", "3"]) == 0
    assert "30 pairs aligned 2 times, by" in capsys.readouterr().err
    assert main([*given[:-1], "other", "--seed", "5", "--iterations", "3"]) == 0
    assert Path("it.2.phrases").read_bytes() == Path("other.phrases").read_bytes()
    assert main([*given[:-1], "again", "--seed", "4", "--iterations", "3"]) == 0
    assert Path("it.phrases").read_bytes() == Path("again.phrases").read_bytes()


def test_case_does_not_count(given):
    Path("f").write_text("".join(line + "\n" + line.title() + "\n" for line in SOURCE * 3))
    Path("e").write_text("".join(line + "\n" + line.title() + "\n" for line in TARGET * 3))
    assert main([*given[:-1], "titled"]) == 0
    for name in "fe":
        Path(name).write_text(Path(name).read_text().lower())
    assert main(given) == 0
    assert Path("it.phrases").read_bytes() == Path("titled.phrases").read_bytes()


def test_long_pairs_are_warned_of(given, capsys):
    assert main([*given, "--longest", "2"]) == 0
    assert "no links for 12 pairs with more than 2 words on a side" in capsys.readouterr().err
    assert [line == "" for line in read_lines("it.phrases")] == [False, False, False, True, True] * 6


def test_empty_lines_have_no_links(given):
    for name in "fe":
        lines = Path(name).read_text().splitlines()
        lines[3 if name == "f" else 4] = ""
        Path(name).write_text("".join(line + "\n" for line in lines))
    assert main(given) == 0
    assert [number for number, line in enumerate(read_lines("it.phrases")) if line == ""] == [3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--iterations", "0"], "--iterations is 0; it must be from 1 to 65536"),
        (["--longest", "121"], "--longest is 121; it must be from 1 to 120"),
        (["--draws", "0"], "--draws is 0; it must be from 1 to 65536"),
        (["--seed", "-1"], "--seed is -1; it must be at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(given, capsys, options, message):
    assert main([*given, *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("it.phrases").exists()


def test_texts_that_cannot_be_aligned_are_named(given, capsys):
    Path("e").write_text("the house\n")
    assert main(given) == 2
    assert "e:2: ends after 1 line, but f has 30. Line k" in capsys.readouterr().err
    for name in "fe":
        Path(name).write_text("\n\n")
    assert main(given) == 2
    assert "has no words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--symmetrise", "union"], "--symmetrise does nothing without --aligner eflomal"),
        (["--parts", "2"], "--parts does nothing without --aligner eflomal"),
    ],
)
def test_what_is_told_to_eflomal_is_warned_of(given, capsys, options, message):
    assert main([*given, *options]) == 0
    assert message in capsys.readouterr().err


def test_draws_that_are_whole_when_it_is_stopped_are_named(given, capsys, monkeypatch):
    chain = texts.PhraseAligner

    def stopped(*sides, longest, seed):
        if seed == 3:
            raise KeyboardInterrupt
        return chain(*sides, longest=longest, seed=seed)

    monkeypatch.setattr(texts, "PhraseAligner", stopped)
    assert main([*given, "--draws", "3"]) == 130
    assert "2 draws of 3 can be used: it.phrases, it.2.phrases" in capsys.readouterr().err


def test_pairs_that_are_aligned_coarsely_are_warned_of(given, capsys, monkeypatch):
    room = alignment.new_scratch
    monkeypatch.setattr(alignment, "new_scratch", lambda *sizes: room(*sizes, most_cells=9, long=224))
    assert main([*given, "--iterations", "2"]) == 0
    said = "12 long pairs aligned coarsely: hardly any of the words seem to translate each other"
    assert said in capsys.readouterr().err
    assert all(read_lines("it.phrases"))


def test_the_bundled_corpus_is_aligned_well(tmp_path):
    """Against its gold alignment, whose links are those of words, and not of blocks."""
    prefix = tmp_path / "it"
    sides = ["--source", str(CORPUS / "train.novish.gz"), "--target", str(CORPUS / "train.en.gz")]
    assert main(["align", "--aligner", "phrases", *sides, "--output", str(prefix)]) == 0
    links = Path(f"{prefix}.phrases").read_bytes()
    assert hashlib.sha256(links).hexdigest() == LINKS
    found, gold = (
        [set(map(tuple, links[begin:end].tolist())) for begin, end in itertools.pairwise(offsets)]
        for offsets, links in map(read_alignment, (f"{prefix}.phrases", CORPUS / "train.novish-en.gold.gz"))
    )
    both = sum(len(one & other) for one, other in zip(found, gold, strict=True))
    num_found, num_gold = sum(map(len, found)), sum(map(len, gold))
    assert both / num_gold > 0.92
    assert both / num_found > 0.75
