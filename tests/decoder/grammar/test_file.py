"""Compiled grammars translate as their tables do."""

from __future__ import annotations

import numpy as np
import pytest

import decoder
from decoder.cli import main
from decoder.grammar.file import is_grammar_file, read_grammar_file, with_settings, write_grammar_file
from decoder.grammar.trie import GrammarSource, build_grammar
from scfg_sampler.errors import RuleTableError
from scfg_sampler.notebook.rules import read_rules
from scfg_sampler.rules.table import read_rule_table
from tests.decoder import small_grammars as small


@pytest.fixture
def table(rng):
    return small.rule_table([*small.random_rules(rng, 30), ("X1", "X1 a", [0, 0])])


def assert_same(ours, theirs):
    assert ours.source_vocabulary.words == theirs.source_vocabulary.words
    assert ours.target_vocabulary.words == theirs.target_vocabulary.words
    assert [source[1:] for source in ours.sources] == [source[1:] for source in theirs.sources]
    for mine, other in zip((*ours.trie, *ours[4:]), (*theirs.trie, *theirs[4:]), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_compiled_grammar_is_the_grammar(table, tmp_path):
    path = tmp_path / "g.bin"
    num_rules = write_grammar_file(table, path)
    built = build_grammar([GrammarSource(table)])
    assert num_rules == len(built.rules)
    assert is_grammar_file(path)
    assert not is_grammar_file(tmp_path / "missing")
    compiled = read_grammar_file(path)
    assert_same(with_settings(compiled, "", 20), built)
    assert_same(with_settings(compiled, "P", 7), build_grammar([GrammarSource(table, "P", 7)]))
    both = [GrammarSource(each, "", 5) for each in (compiled.table, table)]
    assert_same(build_grammar(both), build_grammar([GrammarSource(table, "", 5)] * 2))


def test_a_cut_or_changed_file_is_refused(table, tmp_path):
    path = tmp_path / "g.bin"
    write_grammar_file(table, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RuleTableError, match=r"bytes where .* should be. Compile the grammar again"):
        read_grammar_file(path)
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    with pytest.raises(RuleTableError, match="do not match their checksum"):
        read_grammar_file(path)


def test_compiled_grammars_translate_as_their_tables_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rules = ["[X] ||| u ||| a ||| First=1 ||| 0-0", "[X] ||| u [X,1] ||| [X,1] b ||| First=0.5"]
    (tmp_path / "t").write_text("\n".join(rules) + "\n")
    (tmp_path / "text").write_text("a b\nb a a\n")
    (tmp_path / "in").write_text("u\nu u u\nv u\n")
    (tmp_path / "w").write_text('{"First": 1, "LanguageModel": 1, "Glue": -1, "PassThrough": -1}')
    assert main(["train-lm", "text", "--order", "2", "--output", "lm", "--quiet"]) == 0
    assert main(["compile-grammar", "t", "--output", "t.bin", "--quiet"]) == 0
    outputs = []
    for name in ("t", "t.bin", "t.bin,max-span=9"):
        arguments = ["--grammar", name, "--lm", "lm", "--weights", "w", "--input", "in", "--nbest", "4"]
        assert main(["translate", *arguments, "--derivations", f"{name}.jsonl", "--quiet"]) == 0
        outputs.append((capsys.readouterr().out, (tmp_path / f"{name}.jsonl").read_text()))
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize(
    "line", ["[X] ||| u ||| a&#10;b ||| ", "[X] ||| u&#10; ||| a ||| ", "[A&#10;] ||| u ||| a ||| "]
)
def test_a_table_that_no_compiled_grammar_can_hold_is_refused(tmp_path, line):
    """Words of such a file stand in lines."""
    (tmp_path / "t").write_text(line + "\n")
    with pytest.raises(RuleTableError, match=r"has a line break. Leave its rules out"):
        write_grammar_file(read_rule_table(tmp_path / "t", labels=True), tmp_path / "g.bin")
    assert not (tmp_path / "g.bin").exists()


def test_a_table_that_cannot_be_compiled_is_called_by_its_own_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text("x [X] ||| y&#10;z [X] ||| 1 ||| 0-0 ||| 1 1 1\n")
    (tmp_path / "w").write_text("{}")
    (tmp_path / "text").write_text("a b\nb a a\n")
    assert main(["train-lm", "text", "--order", "2", "--output", "lm", "--quiet"]) == 0
    (tmp_path / "meanings").write_text("p@1 q@0\n" * 2)
    assert (
        main(
            ["train-expressions", "--source", "text", "--target", "meanings", "--output", "m.json", "--quiet"]
        )
        == 0
    )
    capsys.readouterr()
    models = ["--grammar", "t", "--lm", "lm", "--weights", "w"]
    for command in (
        ["compile-grammar", "t", "--output", "t.bin"],
        ["bundle", *models, "--output", "s"],
        ["bundle-parser", *models, "--expressions", "m.json", "--output", "s"],
    ):
        assert main([*command, "--quiet"]) == 2
        assert r"t: 'y\nz' has a line break. Leave" in capsys.readouterr().err.replace("scfg-decoder: ", "")
    for rules, name in (("t", "t"), (read_rules("t"), "rules")):
        with pytest.raises(RuleTableError, match=rf"^{name}: 'y\\nz' has a line break"):
            decoder.bundle(rules, "lm", "w", "s")


def test_a_damaged_grammar_that_is_to_be_bundled_is_called_by_its_own_name(
    table, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write_grammar_file(table, "g.bin")
    (tmp_path / "g.bin").write_bytes((tmp_path / "g.bin").read_bytes()[:-9])
    (tmp_path / "w").write_text("{}")
    models = ["--grammar", "g.bin", "--lm", "w", "--weights", "w"]
    assert main(["bundle", *models, "--output", "s", "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("scfg-decoder: g.bin: ")


def test_translations_stay_one_a_line_and_characters_whole_whatever_codes_a_table_holds(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text("[X] ||| u ||| a&#10;b ||| F=1\n[X] ||| v ||| a&#55296;b ||| F=1\n")
    (tmp_path / "text").write_text("a b\nb a a\n")
    (tmp_path / "in").write_text("u\nv\n")
    (tmp_path / "w").write_text('{"F": 1, "LanguageModel": 1, "Glue": -1, "PassThrough": -1}')
    assert main(["train-lm", "text", "--order", "2", "--output", "lm", "--quiet"]) == 0
    parts = ["--grammar", "t", "--lm", "lm", "--weights", "w", "--input", "in", "--quiet"]
    capsys.readouterr()
    assert main(["translate", *parts, "--output", "out"]) == 0
    assert main(["translate", *parts, "--output", "list", "--nbest", "1"]) == 0
    assert (tmp_path / "out").read_text() == "a b\na&#55296;b\n"
    rows = (tmp_path / "list").read_text().splitlines()
    assert [row.split(" ||| ")[:2] for row in rows] == [["0", "a b"], ["1", "a&#55296;b"]]
