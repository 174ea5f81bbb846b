"""What a table was made with comes back from beside it, from every format and by every reader."""

from __future__ import annotations

import json

import pytest

from decoder.cli import main as decoder
from decoder.grammar.file import read_grammar_file
from scfg_sampler.cli import main
from scfg_sampler.core.files import read_lines
from scfg_sampler.errors import InputError
from scfg_sampler.formats import FORMATS
from scfg_sampler.formats.conversion import read_table, write_table
from scfg_sampler.rules.record import read_signature, require_record_place, write_record
from scfg_sampler.rules.table import read_rule_table, write_rule_table
from scfg_sampler.rules.text import Rule
from tests.rules.test_table import table_of

MADE = "scfg-sampler 9|model:hiero|text:f\u00fcr"
FEATURES = dict.fromkeys(("LogForward", "LogBackward", "LexForward", "LexBackward"), -1.0)
FEATURES |= {"LogCount": 0.0, "TargetWords": 1.0, "Abstract": 0.0}
TABLE = table_of([Rule(("a",), ("b",), FEATURES)], tuple(FEATURES), MADE)


@pytest.mark.parametrize("file_format", FORMATS)
def test_signatures_come_back_from_every_format(tmp_path, file_format):
    out = tmp_path / "t.gz"
    assert not write_table(TABLE, out, file_format)
    assert (tmp_path / "t.gz.json").exists() == (file_format != "native")
    if file_format != "native":
        record = json.loads((tmp_path / "t.gz.json").read_text(encoding="utf-8"))
        assert record == {"signature": MADE, "format": file_format}
    assert read_table(out, file_format)[0].signature == MADE


@pytest.mark.parametrize("file_format", FORMATS[1:])
def test_the_commands_keep_the_signature_on_the_way(tmp_path, file_format):
    write_rule_table(TABLE, tmp_path / "t")
    for origin, to in (("t", file_format), (file_format, "native")):
        options = [f"--to={to}", f"--output={tmp_path / to}", "--quiet"]
        assert main(["convert", str(tmp_path / origin), *options]) == 0
    assert (tmp_path / "native").read_text(encoding="utf-8") == (tmp_path / "t").read_text(encoding="utf-8")
    options = [str(tmp_path / file_format), f"--output={tmp_path / 'compiled'}"]
    assert decoder(["compile-grammar", *options]) == 0
    assert read_grammar_file(tmp_path / "compiled").table.signature == MADE


def test_a_comment_line_counts_for_more_than_what_lies_beside(tmp_path):
    write_rule_table(TABLE, tmp_path / "native")
    write_record(tmp_path / "native", "left over", "cdec")
    assert read_rule_table(tmp_path / "native").signature == MADE
    (tmp_path / "cdec").write_text("# old\n[X] ||| a ||| b ||| CountEF=1\n")
    write_record(tmp_path / "cdec", "left over", "cdec")
    assert read_table(tmp_path / "cdec")[0].signature == "old"


def test_a_later_comment_is_no_signature(tmp_path):
    (tmp_path / "t").write_text("# made here\n[X] ||| a ||| b ||| F=1\n# a note\n[X] ||| c ||| d ||| F=1\n")
    for file_format in ("cdec", "native"):
        assert read_table(tmp_path / "t", file_format)[0].signature == "made here"


def test_a_table_without_signature_takes_over_none(tmp_path):
    write_record(tmp_path / "t", "left over", "cdec")
    write_table(TABLE._replace(signature=""), tmp_path / "t", "cdec")
    assert read_table(tmp_path / "t")[0].signature == ""


@pytest.mark.parametrize("name", ["t", "grammar.17.gz"])
def test_a_native_table_without_signature_has_a_comment_only_against_what_lies_beside(tmp_path, name):
    (tmp_path / "origin").write_text("[X] ||| a ||| b ||| LogForward=-1 ||| 0-0\n")
    command = ["convert", str(tmp_path / "origin"), f"--output={tmp_path / name}", "--to=native", "--quiet"]
    assert main(command) == 0
    assert next(read_lines(tmp_path / name)).startswith("[X] ||| a ||| b ||| ")
    write_record(tmp_path / name.removesuffix(".17.gz"), "left over", "cdec")
    assert main(command) == 0
    first, rule = read_lines(tmp_path / name)
    assert (first, rule[:8]) == ("# ", "[X] ||| ")
    assert read_rule_table(tmp_path / name).signature == ""


def test_tables_for_sentences_share_a_record(tmp_path):
    write_record(tmp_path / "grammar", MADE, "cdec")
    assert read_signature(tmp_path / "grammar.17.gz") == MADE
    assert read_signature(tmp_path / "other.gz") == ""
    write_record(tmp_path / "grammar.17.gz", "its own", "cdec")
    assert read_signature(tmp_path / "grammar.17.gz") == "its own"


def test_files_of_others_are_neither_believed_nor_overwritten(tmp_path):
    beside = tmp_path / "t.json"
    for text in ('{"signature": "x"}', '["signature", "format"]', '{"signature": 1, "format": "cdec"}'):
        beside.write_text(text)
        assert read_signature(tmp_path / "t") == ""
        with pytest.raises(InputError, match=r"t\.json: exists, and is no record of a rule table"):
            write_table(TABLE, tmp_path / "t", "cdec")
        assert beside.read_text() == text
        assert not (tmp_path / "t").exists()
    require_record_place(tmp_path / "u")
    require_record_place("-")


@pytest.mark.parametrize("content", [b"{", b"\xff"])
def test_damaged_records_are_named(tmp_path, content):
    (tmp_path / "t").write_text("[X] ||| a ||| b ||| CountEF=1\n")
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.json: is not JSON .* remove it, or write the table again"):
        read_table(tmp_path / "t")


def test_standard_output_has_nothing_beside_it(tmp_path, capsys):
    write_rule_table(TABLE, tmp_path / "t")
    assert main(["convert", str(tmp_path / "t"), "--to=cdec", "--output=-"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("[X] ||| a ||| b ||| EgivenFCoherent=")
    assert "warning: 1 signature is not written, as nothing can lie beside standard output" in said.err
    assert read_signature("-") == ""
