"""The command `convert` goes there and back, and says what is lost or spelled otherwise."""

from __future__ import annotations

import gzip

import pytest

from scfg_sampler import __version__
from scfg_sampler.commands.convert import add_parser
from scfg_sampler.core.parsers import Parser
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError
from scfg_sampler.formats import FORMATS
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.table import write_rule_table
from scfg_sampler.rules.text import Rule
from tests.formats.test_formats import EXAMPLE
from tests.rules.test_table import key, table_of


def convert(*arguments: str) -> int:
    """Run the command."""
    parser = Parser(prog="scfg-sampler")
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["convert", *map(str, arguments)])
    return options.run(options)


def test_the_command_converts_there_and_back_and_warns_of_losses(tmp_path, capsys):
    write_rule_table(table_of([EXAMPLE], tuple(EXAMPLE.features), "s"), tmp_path / "t")
    convert(tmp_path / "t", "--to", "moses", "--output", tmp_path / "m.gz")
    rule = gzip.decompress((tmp_path / "m.gz").read_bytes())
    (tmp_path / "m").write_bytes(rule + b"<s> [X] ||| <s> [S] ||| 1 ||| 0-0 ||| 0 ||| |||\n")
    convert(tmp_path / "m", "--to", "native", "--output", tmp_path / "n")
    assert "warning: left out: 1 glue rule, which the decoder brings" in capsys.readouterr().err
    before, after = ((tmp_path / name).read_text().split("\n")[1:] for name in "tn")
    assert after == before
    assert key(EXAMPLE).decode() in after[0]


def test_a_native_table_of_what_others_made_says_which_it_was(tmp_path):
    (tmp_path / "m").write_text("das [X] ||| the [X] ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||\n")
    convert(tmp_path / "m", "--to", "native", "--output", tmp_path / "n")
    comment, rule, _ = (tmp_path / "n").read_text().split("\n")
    assert comment == f"# scfg-sampler {__version__}|table:{tmp_path / 'm'}"
    assert rule.startswith("[X] ||| das ||| the ||| ")


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_command_writes_glue_rules_for_decoders_without(tmp_path, file_format):
    write_rule_table(table_of([EXAMPLE], tuple(EXAMPLE.features), "s"), tmp_path / "t")
    arguments = [
        tmp_path / "t",
        "--to",
        file_format,
        "--output",
        tmp_path / "out",
        "--glue",
        tmp_path / "glue",
    ]
    if file_format in ("native", "cdec"):
        with pytest.raises(SettingsError, match="cdec and our decoder bring their own"):
            convert(*arguments)
        return
    convert(*arguments)
    rules = (tmp_path / "glue").read_text()
    (tmp_path / "both").write_text((tmp_path / "out").read_text() + rules)
    table, losses = read_table(tmp_path / "both", file_format)
    assert table.num_rules == 1
    assert losses == {"glue rules, which the decoder brings": rules.count("\n")}


SPELLED = Rule(("a|b", "'s", "[", -1), (-1, "[x]", "&apos;", "'", "[x]"), {})


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (
            ["--to", "moses"],
            "warning: 1 source and 2 target words are spelled otherwise than in texts, such as 'a|b' as "
            "'a&#124;b': spell the input, and the text that the language model is trained on, likewise, with "
            "'convert --to moses --text IN OUT'; if they have the escapes of Moses' tokeniser already, give "
            "--escaped instead\n",
        ),
        (
            ["--to", "moses", "--escaped"],
            "warning: 2 source and 1 target words are spelled otherwise than in texts, such as 'a|b' as "
            "'a&#124;b': spell the input, and the text that the language model is trained on, likewise, with "
            "'convert --to moses --escaped --text IN OUT'\n",
        ),
        (
            ["--to", "joshua"],
            "warning: 2 source and 1 target words are spelled otherwise than in texts, such as 'a|b' as "
            "'a-pipe-b': spell the input, and the text that the language model is trained on, likewise, with "
            "'convert --to joshua --text IN OUT'\n",
        ),
        (["--to", "travatar"], ""),
        (["--to", "native"], ""),
    ],
)
def test_the_command_says_which_words_are_spelled_otherwise(tmp_path, capsys, arguments, note):
    features = dict.fromkeys(("LogForward", "LogBackward", "LexForward", "LexBackward"), -1.0)
    table = table_of([SPELLED._replace(features=features)], tuple(features), "s")
    for vocabulary in table[:2]:
        vocabulary.add("|unused|")
    write_rule_table(table, tmp_path / "t")
    convert(tmp_path / "t", *arguments, "--output", tmp_path / "out")
    assert "".join(line for line in capsys.readouterr().err.splitlines(True) if "warning" in line) == note


def test_the_command_writes_texts_as_a_decoder_spells_them_and_back(tmp_path):
    (tmp_path / "f").write_text("a|b 's [x] [\n\n  c  &apos; \n")
    (tmp_path / "e").write_text("|\n")
    out = [tmp_path / name for name in ("f.moses", "e.moses", "f.back")]
    convert("--to", "moses", "--text", tmp_path / "f", out[0], "--text", tmp_path / "e", out[1])
    assert out[0].read_text() == "a&#124;b 's &#91;x] [\n\nc &#38;apos;\n"
    assert out[1].read_text() == "&#124;\n"
    convert("--from", "moses", "--to", "native", "--text", out[0], out[2])
    assert out[2].read_text() == "a|b 's [x] [\n\nc &apos;\n"
    convert("--to", "moses", "--escaped", "--text", tmp_path / "f", out[0])
    assert out[0].read_text() == "a&#124;b 's &#91;x&#93; &#91;\n\nc &apos;\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "neither TABLE nor --text says what to convert"),
        (["t"], "TABLE and --output go together"),
        (["--output", "o", "--text", "f", "g"], "TABLE and --output go together"),
    ],
)
def test_commands_without_anything_to_convert_are_refused(arguments, message):
    with pytest.raises(SettingsError, match=message):
        convert(*arguments, "--to", "moses")


def test_the_command_offers_every_format(capsys):
    with pytest.raises(SystemExit):
        convert("--help")
    assert "{" + ",".join(FORMATS) + "}" in "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--to", "moses", "--dense"], "--dense is for Joshua; what is given is native, and --to is moses"),
        (["--to", "cdec", "--escaped"], "--escaped is for Moses, whose tokeniser escapes words"),
    ],
)
def test_a_spelling_of_a_decoder_that_has_no_part_in_it_is_refused(tmp_path, more, told):
    write_rule_table(table_of([EXAMPLE], tuple(EXAMPLE.features), "s"), tmp_path / "t")
    with pytest.raises(SettingsError) as refusal:
        convert(tmp_path / "t", *more, "--output", tmp_path / "out")
    assert str(refusal.value) == told
    assert not (tmp_path / "out").exists()


def test_features_that_dense_tables_have_no_names_for_are_warned_of(tmp_path, capsys):
    write_rule_table(table_of([EXAMPLE], tuple(EXAMPLE.features), "s"), tmp_path / "t")
    told = "warning: 1 feature stands without a name, behind the 7 usual ones: LogPosterior\n"
    convert(tmp_path / "t", "--to", "joshua", "--dense", "--output", tmp_path / "dense")
    assert told in capsys.readouterr().err
    convert(tmp_path / "dense", "--to", "native", "--dense", "--output", tmp_path / "back")
    assert "PhraseModel_7=-1.5" in (tmp_path / "back").read_text()
    convert(tmp_path / "t", "--to", "joshua", "--output", tmp_path / "named")
    assert "without a name" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file_format", "names"),
    [
        ("travatar", ("p", "w", "lfreq")),
        ("joshua", ("count", "target_word_count")),
        ("cdec", ("CountEF", "MaxLexEgivenF", "abstract")),
        ("moses", ()),
    ],
)
def test_features_that_are_called_as_others_of_a_format_are_warned_of(tmp_path, capsys, file_format, names):
    """They come back as those others, or not at all; all others come back as they were."""
    rules = ["[X] ||| a ||| b ||| LogForward=-1 LogBackward=-1 LexForward=-1 LexBackward=-1 LogCount=1"]
    rules.append(rules[0].replace("a |||", "c |||") + " TargetWords=1 Abstract=0 other=2 WT_a\u3000b=1")
    rules += [rules[1].replace("c |||", f"{name} |||") + f" {name}=0.5" for name in names]
    (tmp_path / "t").write_text("".join(f"{rule} ||| 0-0\n" for rule in rules))
    convert(tmp_path / "t", "--to", file_format, "--from", "native", "--output", tmp_path / "u")
    told = "with a feature called '{}', which is another one in this format"
    said = capsys.readouterr().err
    assert [name for name in (*names, "other", "LogCount") if told.format(name) in said] == list(names)
    table, _ = read_table(tmp_path / "u", file_format)
    assert {"other", "WT_a\u3000b"} <= {*table.feature_names, *table.sparse_names}
    if file_format != "moses":
        assert "warning: " + counted(len(rules), "rule") in said
