"""The options of a cluster, said to every command that hands out tasks: `--shards` as to the sampler."""

import gzip
from pathlib import Path

import pytest

from decoder.cli import main as decode
from scfg_sampler.cli import main as sample

TEXT = ("jo sha un hus", "sha un skol", "hi no hus", "un hus no skol")
OTHER = ("i see a house", "she a school", "he no house", "a school 's house")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    (directory / "text.fo").write_text("".join(line + "\n" for line in TEXT))
    (directory / "text.en").write_text("".join(line + "\n" for line in OTHER))
    (directory / "links").write_text("0-0 1-1 2-2 3-3\n0-0 1-1 2-2\n0-0 1-1 2-2\n0-0 1-3 2-2 3-1\n")
    return directory


def commands(place: Path, into: Path) -> dict[str, tuple]:
    """The five, in an order in which each has what it needs; the last word of each is what it writes."""
    text, other = str(place / "text.fo"), str(place / "text.en")
    table, lm, weights = str(into / "rules.gz"), str(into / "lm.arpa"), str(into / "weights.json")
    pairs = ["--source", text, "--target", other, "--alignment", str(place / "links")]
    system = ["--grammar", table, "--lm", lm]
    tuned = ["--source", text, "--references", other, "--rounds", "1", "--method", "pro", "--quiet"]
    return {
        "extract": (sample, ["extract", *pairs, "--quiet", "--output", table]),
        "filter": (sample, ["filter", table, "--source", text, "--output", str(into / "some.gz")]),
        "train-lm": (decode, ["train-lm", other, "--order", "2", "--quiet", "--output", lm]),
        "tune": (decode, ["tune", *system, *tuned, "--output", weights]),
        "translate": (
            decode,
            ["translate", *system, "--weights", weights, "--input", text, "--output", str(into / "out")],
        ),
    }


def written(place: Path, into: Path, more: list[str]) -> dict[str, bytes]:
    into.mkdir()
    found = {}
    for name, (main, arguments) in commands(place, into).items():
        assert main([*arguments, *more]) in (0, None), name
        content = Path(arguments[-1]).read_bytes()
        found[name] = gzip.decompress(content) if arguments[-1].endswith(".gz") else content
    return found


def test_no_division_changes_what_they_write(place, tmp_path):
    whole = written(place, tmp_path / "one", [])
    divided = written(place, tmp_path / "two", ["--shards", "3"])
    assert {name for name in whole if whole[name] != divided[name]} == set()
    assert b"house" in whole["translate"]


@pytest.mark.parametrize("name", ["extract", "filter", "train-lm", "tune", "translate"])
def test_numbers_of_shards_that_cannot_be_are_refused(place, tmp_path, name, capsys):
    into = tmp_path / "made"
    written(place, into, [])
    main, arguments = commands(place, into)[name]
    written_before = Path(arguments[-1]).read_bytes()
    capsys.readouterr()
    assert main([*arguments, "--shards", "0"]) == 2
    assert "--shards is 0; it must be from 1 to 65536" in capsys.readouterr().err
    assert Path(arguments[-1]).read_bytes() == written_before
