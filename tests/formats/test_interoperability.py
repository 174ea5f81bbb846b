"""A table that goes out to another decoder and comes back translates as it did before."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from decoder.grammar.trie import GrammarSource, build_grammar
from decoder.lm.model import load_lm
from decoder.translation.decoder import Decoder, feature_names
from decoder.translation.weights import initial_weights
from scfg_sampler.baseline.extraction import extract
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import read_lines
from scfg_sampler.corpus.parallel_text import read_corpus
from scfg_sampler.formats import FORMATS
from scfg_sampler.formats.conversion import read_table, write_table
from scfg_sampler.rules.features import score_rules
from scfg_sampler.rules.lexical import estimate
from scfg_sampler.rules.table import RuleTable, read_rule_table, write_rule_table
from scfg_sampler.rules.text_filter import filter_table

CORPUS = Path(__file__).resolve().parents[2] / "data" / "novish-en"
TRAINING, TEST = 150, 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The baseline's table of the first pairs of the bundled corpus, a text, and a language model."""
    folder = tmp_path_factory.mktemp("interoperability")
    for name, lines in (
        ("train.novish", TRAINING),
        ("train.en", TRAINING),
        ("train.novish-en.gold", TRAINING),
    ):
        cut(name, lines, folder)
    cut("test.novish", TEST, folder)
    corpus = read_corpus(folder / "train.novish", folder / "train.en", folder / "train.novish-en.gold")
    counts = extract(corpus)
    table = score_rules(
        counts, estimate(corpus), corpus.source_vocabulary, corpus.target_vocabulary, signature="made here"
    )
    write_rule_table(table, folder / "native.gz")
    words = sorted({word for line in read_lines(folder / "train.en") for word in split_words(line)})
    unigrams = "".join(f"{-1 - len(word) / 10}\t{word}\n" for word in words)
    header = f"\\data\\\nngram 1={len(words) + 3}\n\n\\1-grams:\n-99\t<s>\n-1\t</s>\n-4\t<unk>\n"
    (folder / "lm.arpa").write_text(f"{header}{unigrams}\n\\end\\\n")
    return folder


def cut(name: str, lines: int, folder: Path) -> None:
    """The beginning of a file of the bundled corpus."""
    text = gzip.decompress((CORPUS / f"{name}.gz").read_bytes()).decode()
    (folder / name).write_text("".join(text.splitlines(keepends=True)[:lines]))


def sentences(folder: Path) -> list[list[str]]:
    return [split_words(line) for line in read_lines(folder / "test.novish")]


def translator(table: RuleTable, lm: tuple) -> Decoder:
    grammar = build_grammar([GrammarSource(table)])
    return Decoder(grammar, *lm, initial_weights(feature_names(grammar)))


@pytest.fixture(scope="module")
def lm(folder):
    return load_lm(folder / "lm.arpa")


@pytest.fixture(scope="module")
def translations(folder, lm):
    """What the native table says of every sentence: the tokens, and the features of the derivation."""
    decoder = translator(read_rule_table(folder / "native.gz"), lm)
    return [decoder.translate(words) for words in sentences(folder)]


@pytest.mark.parametrize("file_format", FORMATS[1:])
def test_a_table_that_came_back_translates_token_by_token_the_same(folder, lm, translations, file_format):
    write_table(read_rule_table(folder / "native.gz"), folder / f"{file_format}.gz", file_format)
    decoder = translator(read_table(folder / f"{file_format}.gz")[0], lm)
    for words, before in zip(sentences(folder), translations, strict=True):
        after = decoder.translate(words)
        assert after.text == before.text
        assert after.score == before.score


def test_grammars_for_cdec_by_sentence_translate_the_same(folder, lm, translations):
    write_table(read_rule_table(folder / "native.gz"), folder / "cdec.gz", "cdec")
    filter_table(folder / "cdec.gz", source=folder / "test.novish", per_sentence=folder / "each")
    segments = (folder / "each" / "input.sgm").read_text().splitlines()
    assert len(segments) == TEST
    for segment, words, before in zip(segments, sentences(folder), translations, strict=True):
        path, text = re.fullmatch(r'<seg grammar="(.*)" id="\d+"> (.*) </seg>', segment).groups()
        assert text.split(" ") == words
        after = translator(read_table(path)[0], lm).translate(words)
        assert after.text == before.text
        assert after.score == before.score


def test_a_change_in_one_feature_would_be_noticed(folder, lm, translations):
    table = read_rule_table(folder / "native.gz")
    table.features[:, table.feature_names.index("LexForward")] *= 1.0001
    decoder = translator(table, lm)
    scores = [decoder.translate(words).score for words in sentences(folder)]
    assert scores != [before.score for before in translations]


NASTY = ["|||", "[X,1]", "[X]", "<s>", "</s>", "a\u00a0b", "c\u2028d"]
NASTY += ["&#91;", "&#124;", '"\\"', "x0:X", "@", "=", "NULL"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_words_that_look_like_something_else_are_translated(tmp_path, file_format):
    """Each word has a translation of its own, an equally odd one; so any confusion shows."""
    words = dict(zip(NASTY, reversed(NASTY), strict=True))
    order = [NASTY[k : k + 4] for k in range(len(NASTY) - 3)]
    for name, lines in (
        ("f", [" ".join(line) for line in order]),
        ("e", [" ".join(words[word] for word in line) for line in order]),
        ("a", ["0-0 1-1 2-2 3-3"] * len(order)),
    ):
        (tmp_path / name).write_bytes("".join(line + "\n" for line in lines).encode())
    corpus = read_corpus(*(tmp_path / name for name in "fea"))
    lexical = estimate(corpus)
    table = score_rules(extract(corpus), lexical, corpus.source_vocabulary, corpus.target_vocabulary)
    write_rule_table(table, tmp_path / "native")
    write_table(read_rule_table(tmp_path / "native"), tmp_path / file_format, file_format)
    header = f"\\data\\\nngram 1={len(NASTY) + 1}\n\n\\1-grams:\n-99\t<s>\n-1\t</s>\n-4\t<unk>\n"
    unigrams = "".join(f"-2\t{word}\n" for word in NASTY if word not in ("<s>", "</s>"))
    (tmp_path / "lm").write_bytes(f"{header}{unigrams}\n\\end\\\n".encode())
    lm = load_lm(tmp_path / "lm")
    decoder = translator(read_table(tmp_path / file_format, file_format)[0], lm)
    for line in order:
        assert decoder.translate(line).words == [words[word] for word in line]
    if file_format in ("native", "cdec"):
        filter_table(tmp_path / file_format, source=tmp_path / "f", per_sentence=tmp_path / "each")
        for number, line in enumerate(order):
            own = read_table(tmp_path / "each" / f"grammar.{number}.gz", file_format)[0]
            assert translator(own, lm).translate(line).words == [words[word] for word in line]


@pytest.mark.slow
@pytest.mark.parametrize("file_format", FORMATS[1:])
def test_the_baseline_of_a_real_corpus_comes_back(real_table, file_format):
    there, back = (real_table.parent / f"{file_format}.{name}.gz" for name in ("there", "back"))
    table = read_rule_table(real_table)
    losses = write_table(table, there, file_format)
    again, left_out = read_table(there)
    write_rule_table(again, back)
    assert not losses
    assert not left_out
    assert again.num_rules == table.num_rules > 1_200_000
    with gzip.open(real_table) as before, gzip.open(back) as after:
        assert next(before) != b""
        assert next(after) != b""
        assert all(one == other for one, other in zip(before, after, strict=True))


@pytest.fixture(scope="module")
def real_table(tmp_path_factory, shared_data):
    """The baseline's table of the Japanese–English training set, as a file."""
    data = shared_data / "tanaka-ja-en"
    alignment = data / "train.ja-en.eflomal-gdfa.gz"
    corpus = read_corpus(data / "train.ja.gz", data / "train.en.gz", alignment)
    table = score_rules(extract(corpus), estimate(corpus), corpus.source_vocabulary, corpus.target_vocabulary)
    path = tmp_path_factory.mktemp("real") / "native.gz"
    write_rule_table(table, path)
    return path
