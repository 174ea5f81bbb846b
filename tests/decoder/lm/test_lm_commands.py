"""The commands train-lm, query-lm and compile-lm."""

import io
import json
import math

import pytest

from decoder.commands import compile_lm, query_lm, train_lm
from decoder.lm.arpa import read_arpa
from scfg_sampler.core.console import run
from scfg_sampler.core.parsers import Parser


@pytest.fixture
def command(monkeypatch):
    """Runs a command line, its standard input given as text; returns the exit status."""

    def call(*words: object, stdin: str = "") -> int:
        parser = Parser(prog="scfg-decoder")
        subparsers = parser.add_subparsers(required=True)
        for module in (train_lm, query_lm, compile_lm):
            module.add_parser(subparsers)
        args = parser.parse_args([str(word) for word in words])
        raw = io.BufferedReader(io.BytesIO(stdin.encode()))  # type: ignore[arg-type]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw, encoding="utf-8"))
        return run("scfg-decoder", lambda _: args.run(args))

    return call


@pytest.fixture
def trained(command, tmp_path, capsys):
    text, lm = tmp_path / "text", tmp_path / "lm.arpa"
    text.write_text("a b c\nb c\n\na b </s>\n", encoding="utf-8")
    assert command("train-lm", text, "--order", 2, "--output", lm) == 0
    return lm, capsys.readouterr()


def test_train_lm_writes_the_model_and_says_what_it_did(trained):
    lm, said = trained
    model = read_arpa(lm)
    assert model.order == 2
    assert model.words == ["<unk>", "<s>", "</s>", "a", "b", "c"]
    assert said.out == ""
    # t = (3, 1, 1, 0) for the words: Y = 3/5, D = (1 − 2Y/3, 2 − 3Y, 3).
    assert "1-grams: 6, discounts 0.6000 0.2000 3.0000\n" in said.err
    assert "2-grams: 8, discounts 0.5000 1.0000 1.5000 (fixed)\n" in said.err
    assert "warning: words of the text that are <s>, </s> or <unk>, and count as unknown words: 1" in said.err


def test_whoever_sorts_the_model_is_the_same(command, tmp_path, rng, scheduler):
    text = tmp_path / "text"
    words = rng.zipf(1.3, size=(1500, 8)) % 90
    text.write_text("".join(" ".join(f"w{word}" for word in line) + "\n" for line in words.tolist()))
    found = []
    for options in (
        [],
        ["--memory", "1M"],
        ["--memory", "1M", "--threads", 3],
        ["--memory", "1M", *scheduler],
    ):
        lm = tmp_path / "lm.arpa"
        assert command("train-lm", text, "--output", lm, "--quiet", *options) == 0
        found.append(lm.read_bytes())
    assert found[1:] == found[:1] * 3


def test_train_lm_sorts_on_one_thread_at_least(command, tmp_path, capsys):
    assert command("train-lm", "-", "--output", tmp_path / "lm.arpa", "--threads", 0, stdin="a\n") == 2
    assert "--threads is 0; it must be from 1 to" in capsys.readouterr().err


def test_train_lm_prunes_and_gives_unknown_words_the_rest(command, tmp_path):
    lm = tmp_path / "lm.arpa"
    options = ("--prune", 0, 1, "--no-interpolate-unigrams", "--quiet")
    assert command("train-lm", "-", "--output", lm, *options, stdin="a b\na b\nb a\n") == 0
    model = read_arpa(lm)
    bigrams = {" ".join(model.words[i] for i in gram) for gram in model.ngrams[1].tolist()}
    assert bigrams == {"<s> a", "a b", "b </s>"}
    # Continuation counts a 2, b 2, </s> 2; each gives 1 (fixed discount) of 6 to <unk>.
    assert 10 ** model.log_probs[0][0] == pytest.approx(3 / 6, abs=1e-6)


def test_query_lm_prints_a_line_per_line_and_the_perplexity(command, trained, capsys):
    lm, _ = trained
    assert command("query-lm", lm, stdin="a b\n\na <s> zz\n") == 0
    said = capsys.readouterr()
    *scores, summary = said.out.splitlines()
    assert len(scores) == 3
    total = sum(map(float, scores)) * math.log(10)
    assert summary.startswith(f"# perplexity {math.exp(-total / 8):.3f}, ")
    assert summary.endswith("without 2 unknown of 8 tokens")
    assert "count as unknown words: 1" in said.err


def test_query_lm_json_holds_the_totals_and_nothing_else(command, trained, capsys):
    lm, _ = trained
    assert command("query-lm", lm, "--json", stdin="a b\n\na c zz\n") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["unknown"], result["tokens"]) == (1, 8)
    assert result["perplexity"] == pytest.approx(10 ** (-result["log10_probability"] / 8))
    assert 1 < result["perplexity_without_unknown"] < result["perplexity"]


def test_query_lm_of_nothing_has_no_perplexity(command, trained, capsys):
    lm, _ = trained
    assert command("query-lm", lm, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["perplexity"], result["tokens"]) == (None, 0)
    assert command("query-lm", lm) == 0
    assert capsys.readouterr().out == ""


def test_a_compiled_model_gives_the_same_answers(command, trained, tmp_path, capsys):
    lm, _ = trained
    assert command("compile-lm", lm, "--output", tmp_path / "lm.bin") == 0
    assert "order 2, 3 words" in capsys.readouterr().err
    answers = []
    for path in (lm, tmp_path / "lm.bin"):
        assert command("query-lm", path, stdin="a b\nc zz\n") == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["compile-lm", "query-lm"])
def test_a_binary_model_of_kenlm_is_named_and_how_to_make_another(command, tmp_path, capsys, name):
    lm = tmp_path / "lm.kenlm"
    lm.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(range(256)))
    output = ["--output", tmp_path / "out"] if name == "compile-lm" else []
    assert command(name, lm, *output) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{lm}: is a binary model of KenLM" in said
    assert "lmplz -o 3 < TEXT > LM.arpa" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train-lm", "missing.txt", "--output", "x"), "missing.txt: cannot be read"),
        (("train-lm", "-", "--output", "x"), "-: there is no text"),
        (("train-lm", "-", "--order", 9, "--output", "x"), "--order is 9; it must be from 1 to 6"),
        (("query-lm", "missing.arpa"), "missing.arpa: cannot be read"),
        (("compile-lm", "-", "--output", "x"), "-:1: no line says \\data\\"),
    ],
)
def test_what_users_can_mend_ends_with_one_line_and_status_2(
    words, message, command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert command(*words, stdin="") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_perplexity_beyond_all_numbers_is_infinite(command, tmp_path, capsys):
    """A model may give a word 10⁻¹⁰⁰⁰, whose inverse is no floating-point number."""
    lm = tmp_path / "lm.arpa"
    words = "-1000\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.5\ta\n"
    lm.write_text(f"\\data\\\nngram 1=4\n\n\\1-grams:\n{words}\n\\end\\\n", encoding="utf-8")
    assert command("query-lm", lm, stdin="b\n") == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "# perplexity inf, 3.162 without 1 unknown of 2 tokens"
    assert command("query-lm", lm, "--json", stdin="b\n") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["perplexity"] is None
    assert result["perplexity_without_unknown"] == pytest.approx(10**0.5)
