"""Reading ARPA files as the tools write them, refusing broken ones with the line, writing them back."""

import gzip

import numpy as np
import pytest

from decoder.lm.arpa import model_words, read_arpa, write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from scfg_sampler.errors import ArpaError, InputError

PLAIN = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.25
-0.75\t</s>
-0.5\ta\t-0.125
-1\tb\t0

\\2-grams:
-0.5\t<s> a
-0.25\ta b
-0.125\tb </s>

\\end\\
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        path = tmp_path / "lm.arpa"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


def listed(model):
    """{n-gram in words: (log10 probability, back-off)}."""
    return {
        " ".join(model.words[i] for i in gram): (p, b)
        for grams, probs, backoffs in zip(model.ngrams, model.log_probs, model.backoffs, strict=True)
        for gram, p, b in zip(grams.tolist(), probs.tolist(), backoffs.tolist(), strict=True)
    }


EXPECTED = {
    "<unk>": (-1.5, 0.0),
    "<s>": (-99.0, -0.25),
    "</s>": (-0.75, 0.0),
    "a": (-0.5, -0.125),
    "b": (-1.0, 0.0),
    "<s> a": (-0.5, 0.0),
    "a b": (-0.25, 0.0),
    "b </s>": (-0.125, 0.0),
}


@pytest.mark.parametrize(
    "dialect",
    [
        lambda text: text,
        lambda text: text.replace("ngram 1=", "ngram  1=      ").replace("ngram 2=", "ngram 2 = "),
        lambda text: text.replace("\t", "  ").replace("<s> a", "<s>   a"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\t\n"),
        lambda text: "Trained by a talkative tool\n\n" + text,
        lambda text: text.replace("\n\n", "\n"),
        lambda text: text.replace("\n\n", "\n\n\n\n"),
        lambda text: text.replace("<s> a", "<s> a\t0"),
        lambda text: text + "\nwhatever follows",
        lambda text: text.replace("-99", "-inf"),
        lambda text: text.replace("-99", "0").replace("<unk>", "<UNK>"),
    ],
)
def test_dialects_of_arpa_are_read_alike(dialect, written):
    model = read_arpa(written(dialect(PLAIN)))
    assert model.words[:3] == ["<unk>", "<s>", "</s>"]
    got = listed(model)
    got["<s>"] = (-99.0, got["<s>"][1])
    assert got == EXPECTED


def test_ids_of_reserved_words_do_not_depend_on_their_place(written):
    lines = PLAIN.split("\n")
    lines[5:10] = reversed(lines[5:10])
    model = read_arpa(written("\n".join(lines)))
    assert model.words == ["<unk>", "<s>", "</s>", "b", "a"]
    assert listed(model) == EXPECTED


def test_gzip_is_read_by_content(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert listed(read_arpa(path)) == EXPECTED


def test_words_may_hold_any_letter_but_separators(written):
    word = "\u3000\u00a0\u2028\\end\\"
    model = read_arpa(written(PLAIN.replace("\ta", f"\t{word}").replace(" a", f" {word}")))
    assert model.words[3] == word
    assert listed(model)[f"{word} b"] == (-0.25, 0.0)


@pytest.mark.parametrize(("word", "log_prob"), [("<unk>", -100.0), ("<s>", -99.0), ("</s>", -100.0)])
def test_missing_reserved_words_are_added_with_a_warning(word, log_prob, written, capsys):
    one = "\\data\\\nngram 1=3\n\\1-grams:\n" + "".join(
        f"-0.5\t{other}\n" for other in ("<unk>", "<s>", "</s>", "a") if other != word
    )
    model = read_arpa(written(one + "\\end\\\n"))
    assert listed(model)[word] == (log_prob, 0.0)
    assert listed(model)["a"] == (-0.5, 0.0)
    assert (
        f"no {word} among the 1-grams; added with log10 probability {log_prob:g}" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", r"lm\.arpa:1: no line says \\data\\"),
        ("ngram 1=5\nngram 2=3\n", "", r":3: '\\1-grams:' where a count should be"),
        ("ngram 2", "ngram 3", r":3: the count of 3-grams where 2 should follow"),
        ("ngram 2=3", "ngram 2=3\nngram 3=0", r":18: '\\end\\' where \\3-grams: should be"),
        ("ngram 2=3\n", "", r":11: '\\2-grams:' where \\end\\ should be"),
        ("1=5", "1=4", r":10: 5 1-grams where the header promises 4"),
        ("2=3", "2=4", r":16: 3 2-grams where the header promises 4"),
        ("2=3", "2=2", r":15: 3 2-grams where the header promises 2"),
        ("-0.25\ta b", "nan\ta b", r":14: log probability nan"),
        ("-0.25\ta b", "0.5\ta b", r":14: log probability 0\.5"),
        ("-0.5\ta\t-0.125", "-0.5\ta\tNaN", r":9: back-off nan"),
        ("-0.5\ta\t-0.125", "-0.5\ta\tinf", r":9: back-off inf"),
        ("-0.25\ta b", "minus\ta b", r":14: 'minus' where a number should be"),
        ("-0.25\ta b", "-0.25\ta b c", r":14: 'c' where a number should be"),
        ("-0.25\ta b", "-0.25\ta", r":14: 2 fields where a 2-gram has 3 or 4"),
        ("-0.25\ta b", "-0.25\ta b 0 0", r":14: 5 fields"),
        ("-0.25\ta b", "-0.25\ta zz", r":14: the word 'zz' is not among the 1-grams"),
        ("-1\tb", "-1\ta", r":10: the word 'a' is listed twice"),
        ("\\end\\", "\\fin\\", r":17: '\\fin\\' where \\end\\ should be"),
        ("\\end\\\n", "", r":16: the file ends before \\end\\"),
    ],
)
def test_broken_files_are_refused_with_the_line(old, new, message, written):
    assert old in PLAIN
    with pytest.raises(ArpaError, match=message):
        read_arpa(written(PLAIN.replace(old, new, 1)))


def test_a_file_cut_anywhere_is_refused(written):
    end = PLAIN.index("\\end\\") + len("\\end\\")
    for length in range(end):
        with pytest.raises(ArpaError):
            read_arpa(written(PLAIN[:length]))


def test_a_section_cut_short_says_how_far_it_got(written):
    cut = PLAIN[: PLAIN.index("-0.25\ta b")]
    with pytest.raises(ArpaError, match=r":13: the file ends after 1 of 3 2-grams\. It was cut"):
        read_arpa(written(cut))


def test_orders_above_six_are_refused(written):
    counts = "".join(f"ngram {n}=1\n" for n in range(1, 8))
    with pytest.raises(ArpaError, match=r"a model of order 7\. The highest order supported is 6"):
        read_arpa(written(f"\\data\\\n{counts}\\1-grams:\n"))


def test_a_damaged_gzip_or_encoding_names_the_line(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_bytes(gzip.compress(PLAIN.encode())[:-12])
    with pytest.raises(InputError, match="gzip data is damaged"):
        read_arpa(path)
    path.write_bytes(PLAIN.replace("a\t", "\u00e4\t").encode("latin-1"))
    with pytest.raises(InputError, match=r":9: byte 0xe4"):
        read_arpa(path)


@pytest.mark.parametrize("name", ["lm.arpa", "lm.arpa.gz"])
def test_what_is_written_reads_back_unchanged(name, tmp_path, rng):
    lines = [" ".join(f"w{i}" for i in rng.integers(0, 40, size=8)) for _ in range(200)]
    model, _ = estimate_lm(encode_text([*lines, "\u3000 ||| [X,1]"]), 4)
    path = tmp_path / name
    write_arpa(model, path)
    back = read_arpa(path)
    assert back.words == model.words
    for ours, theirs in zip(model.ngrams, back.ngrams, strict=True):
        assert np.array_equal(ours, theirs)
    for ours, theirs in zip(
        [*model.log_probs, *model.backoffs], [*back.log_probs, *back.backoffs], strict=True
    ):
        assert np.array_equal(ours.astype(np.float32), theirs.astype(np.float32))
    again = tmp_path / f"again-{name}"
    write_arpa(back, again)
    assert again.read_bytes() == path.read_bytes()


def test_words_are_split_where_arpa_files_split_them():
    assert model_words(" a\u00a0b \t c\r") == ["a\u00a0b", "c"]
    assert model_words("") == []


def test_blank_lines_may_stand_behind_headings(written):
    blank = PLAIN.replace("-grams:\n", "-grams:\n\n \n")
    assert listed(read_arpa(written(blank))) == EXPECTED
    for empty in ("\\3-grams:\n\n\\end", "\\3-grams:\n\\end"):
        more = PLAIN.replace("ngram 2=3", "ngram 2=3\nngram 3=0").replace("\\end", empty)
        assert listed(read_arpa(written(more))) == EXPECTED
    wrong = blank.replace("-0.25\ta b", "-0.25\ta c")
    with pytest.raises(ArpaError, match=r"lm.arpa:18: the word 'c' is not among"):
        read_arpa(written(wrong))
    with pytest.raises(ArpaError, match=r"lm.arpa:20: 3 2-grams where the header promises 4"):
        read_arpa(written(blank.replace("2=3", "2=4")))


@pytest.mark.parametrize("other", ["-99\t<s>\t-0.25", "-99\t\t<s>\t-0.25"], ids=["as written", "doubled"])
def test_a_carriage_return_within_a_line_parts_words_whatever_the_other_lines(written, other):
    text = PLAIN.replace("-1\tb\t0", "-1\ta\rb").replace("-99\t<s>\t-0.25", other)
    with pytest.raises(ArpaError, match="10: 'b' where a number should be"):
        read_arpa(written(text))
