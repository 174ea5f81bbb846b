"""Every line of four corpora comes back, in words and in pieces."""

from __future__ import annotations

import gzip

import pytest

from scfg_sampler.preparation.learning import SegmentationSettings, learn_preparation, parse_segmentation
from scfg_sampler.preparation.normalise import normalise


def lines(path):
    return gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]


def corpus(shared_data, languages):
    """Both sides of a corpus; Japanese without the spaces of its tokens."""
    if languages == ("zh", "en"):
        rows = [line.split("\t") for line in lines(shared_data / "raw" / "tatoeba-zh-en.tsv.gz")]
        return [row[1] for row in rows], [row[0] for row in rows]
    folder = {"de": "raw/multi30k-de-en", "ja": "tanaka-ja-en", "hi": "indic-hi-en"}[languages[0]]
    sides = [lines(shared_data / folder / f"train.{language}.gz") for language in languages]
    if languages[0] == "ja":
        sides[0] = [line.replace(" ", "") for line in sides[0]]
    return sides


@pytest.mark.slow
@pytest.mark.parametrize("languages", [("de", "en"), ("zh", "en"), ("ja", "en"), ("hi", "en")])
@pytest.mark.parametrize("segment", ["words", "subwords:4000"])
def test_every_line_comes_back(shared_data, languages, segment):
    pytest.importorskip("sacremoses")
    sides = corpus(shared_data, languages)
    half = [[normalise(line) for line in side[: len(side) // 2]] for side in sides]
    settings = SegmentationSettings(languages, parse_segmentation(segment), case="keep")
    preparation = learn_preparation(*half, settings)
    for language, side in zip(languages, sides, strict=True):
        for line in side:
            assert preparation.restore(preparation.segment(line, language), language) == normalise(line)
