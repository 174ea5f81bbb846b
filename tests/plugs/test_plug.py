"""Directories for other decoders: what they would compute from the files is our score, and all comes back.

Scores are computed from the bytes of the written files, read by `tests.recognisers`, with what each decoder's
source says of its own features; nothing of the code that writes them is used.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from decoder.cli import main as decode
from decoder.translation.imported_weights import import_weights
from scfg_sampler.cli import main
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.table import RuleTable, rule
from scfg_sampler.rules.text import Rule
from tests.plugs.directories import ARPA, READERS, TABLES, WEIGHT_FILES, WEIGHTS, complaint, plug
from tests.recognisers import joshua, moses, travatar

# ---- Scores ---------------------------------------------------------------------------------------


class Derivation(NamedTuple):
    """What a derivation is made of, as far as its score goes.

    rules : rows of the table, with copied words the X that the glue rules join
    parts : how many X they join
    copied, unknown : words that are copied; words that the language model does not know
    log10 : of the translation's probability
    """

    rules: list[int]
    parts: int
    copied: int
    unknown: int
    log10: float


def our_score(table: RuleTable, found: Derivation) -> float:
    total = sum(WEIGHTS[name] * v for k in found.rules for name, v in rule(table, k).features.items())
    total += WEIGHTS["LanguageModel"] * found.log10 * math.log(10)
    total += WEIGHTS["Glue"] * (found.parts - 1) + WEIGHTS["PassThrough"] * found.copied
    return total + WEIGHTS["LanguageModel_OOV"] * found.unknown


def weights_in(text: str, form: str) -> dict[str, list[float]]:
    return {name: list(map(float, values.split())) for name, values in re.findall(form, text, re.MULTILINE)}


FORMS = {
    "cdec": r"^(\S+) (\S+)$",
    "moses": r"^(\w\S*)= (.+)$",
    "joshua": r"^(\w\S*) ([^=\s]+)$",
    "travatar": r"^(\S+)=([^\s=]+)$",
}


def their_score(directory: Path, decoder: str, table: RuleTable, found: Derivation) -> float:
    """What the decoder makes of it, from its files."""
    reader = READERS[decoder]
    text = (directory / WEIGHT_FILES[decoder]).read_text()
    weights = weights_in(text.partition("[weight]\n")[2] if decoder == "moses" else text, FORMS[decoder])
    lines = reader.read_table(unzipped(directory / TABLES[decoder]))
    by_sides = {(line.source, line.target): line for line in lines}
    assert len(by_sides) == table.num_rules
    total, words = 0.0, found.copied
    for row in found.rules:
        line = by_sides[spelled(directory, decoder, rule(table, row))]
        words += sum(isinstance(x, bytes) for x in line.target)
        for name, value in line.features.items():
            if decoder == "moses":
                table_weights = weights["TranslationModel0"]
                weight = (
                    table_weights[int(name)]
                    if name.isdigit()
                    else weights.get(f"TranslationModel0_{name}", [0.0])[0]
                )
            else:
                weight = weights.get(name, [0.0])[0]
            total += weight * value
    parts, copied, unknown, log10 = found.parts, found.copied, found.unknown, found.log10
    if decoder == "cdec":
        assert "WordPenalty" not in weights
        own = {"Glue": parts - 1, "PassThrough": copied, "LanguageModel": log10, "LanguageModel_OOV": unknown}
    elif decoder == "joshua":
        (glue,) = {
            line.features["tm_glue_0"]
            for line in joshua.read_glue((directory / "glue-grammar").read_bytes())
            if len(line.source) == 2 and -2 in line.source
        }
        own = {"tm_glue_0": glue * parts, "OOVPenalty": -100 * copied, "lm_0": log10, "lm_0_oov": unknown}
    elif decoder == "travatar":
        glue = max(
            line.features.get("glue", 0.0)
            for line in travatar.read_glue((directory / "glue-rules").read_bytes())
        )
        own = {"glue": glue * (parts - 1), "unk": copied, "lm": log10, "lmunk": unknown}
    else:
        (glue,) = {
            line.features["0"]
            for line in moses.read_glue((directory / "glue-grammar").read_bytes())
            if len([x for x in line.source if isinstance(x, int)]) == 2
        }
        total += weights["LM0"][0] * log10 * math.log(10) + weights["LM0"][1] * unknown
        own = {"TranslationModel1": glue * parts, "WordPenalty0": -(words + 2)}
        own["UnknownWordPenalty0"] = -100 * copied
    return total + sum(weights[name][0] * value for name, value in own.items())


def unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def spelled(directory: Path, decoder: str, entry: Rule) -> tuple:
    """The sides of a rule as the decoder has them, by way of the texts that `convert` spells."""
    sides = []
    for side in entry[:2]:
        words = [x for x in side if isinstance(x, str)]
        source, out = directory.parent / "one", directory.parent / "other"
        source.write_text(" ".join(words) + "\n", encoding="utf-8")
        assert main(["convert", "--to", decoder, "--text", str(source), str(out), "--quiet"]) == 0
        found = iter(READERS[decoder].read_input(out.read_bytes().removesuffix(b"\n")))
        sides.append(tuple(x if isinstance(x, int) else next(found) for x in side))
    return tuple(sides)


CONSTANTS = {
    "cdec": 0.0,
    "joshua": WEIGHTS["Glue"],
    "moses": WEIGHTS["Glue"] + 2 * WEIGHTS["TargetWords"],
    "travatar": 0.0,
}


@pytest.mark.parametrize("decoder", READERS)
def test_scores_of_derivations_are_ours_and_the_constant(folder, table, rng, decoder, capsys):
    assert plug(folder, decoder) == 0
    told = capsys.readouterr().err
    assert json.loads((folder / decoder / "plug.json").read_text())["constant"] == pytest.approx(
        CONSTANTS[decoder], abs=1e-12
    )
    assert (f"{CONSTANTS[decoder]:+.6f} for each sentence" in told) == bool(CONSTANTS[decoder])
    readme = (folder / decoder / "README").read_text()
    assert (f" and {CONSTANTS[decoder]:+.6f} for each sentence" in readme) == bool(CONSTANTS[decoder])
    for parts in (1, 2, 5):
        rows = rng.choice(table.num_rules, 8, replace=False).tolist()
        found = Derivation(rows, parts, *rng.integers(0, 4, 2).tolist(), -float(rng.exponential(20.0)))
        theirs = their_score(folder / decoder, decoder, table, found)
        assert theirs == pytest.approx(our_score(table, found) + CONSTANTS[decoder], abs=2e-5)


# ---- The way back ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", READERS)
def test_table_and_weights_come_back(folder, table, decoder):
    assert plug(folder, decoder, "--quiet") == 0
    back, left_out = read_table(folder / decoder / TABLES[decoder])
    assert not left_out
    assert back.signature == table.signature
    assert set(back.feature_names) == set(table.feature_names)
    wanted = {entry[:2]: entry for entry in (rule(table, row) for row in range(table.num_rules))}
    assert back.num_rules == len(wanted)
    for row in range(back.num_rules):
        entry = rule(back, row)
        assert entry.alignment == wanted[entry[:2]].alignment
        assert entry.features == pytest.approx(wanted[entry[:2]].features, rel=1e-6, abs=1e-7)
    found = import_weights(folder / decoder / WEIGHT_FILES[decoder], decoder)
    assert not found.warnings
    assert found.weights == pytest.approx(WEIGHTS, abs=1e-12)
    assert found.constant == pytest.approx(CONSTANTS[decoder], abs=1e-12)


@pytest.mark.parametrize("decoder", READERS)
def test_convert_takes_the_table_back_to_the_same_file(folder, decoder):
    """Native, to the decoder, native: the same bytes, and so from one decoder to the next."""
    assert plug(folder, decoder, "--quiet") == 0
    out = folder / "back.gz"
    arguments = [f"--from={decoder}", "--to=native", f"--output={out}", "--quiet"]
    assert main(["convert", str(folder / decoder / TABLES[decoder]), *arguments]) == 0
    lines, wanted = (sorted_features(unzipped(path)) for path in (out, folder / "table.gz"))
    assert lines == wanted


def sorted_features(data: bytes) -> list[str]:
    """The lines of a native table, the features of each in order of their names."""
    lines = []
    for line in data.decode().splitlines():
        fields = line.split(" ||| ")
        if len(fields) > 3:
            fields[3] = " ".join(sorted(fields[3].split()))
        lines.append(" ||| ".join(fields))
    return lines


# ---- The directory --------------------------------------------------------------------------------

NAMED = {  # How a configuration names files.
    "cdec": ("cdec.ini", r"(?:grammar=|weights=|KLanguageModel )(\S+)"),
    "moses": ("moses.ini", r"path=(\S+)"),
    "joshua": ("joshua.config", r"(?:-path|-lm_file) (\S+)"),
    "travatar": ("travatar.ini", r"^([\w.-]+)$(?<!word)(?<!fsm)(?<!cp)(?<![0-9])"),
}


@pytest.mark.parametrize("decoder", READERS)
def test_configuration_names_files_that_are_there_wherever_it_is(folder, decoder):
    assert plug(folder, decoder, "--quiet") == 0
    (folder / decoder).rename(folder / "moved")
    configuration, form = NAMED[decoder]
    text = (folder / "moved" / configuration).read_text()
    named = re.findall(form, text, re.MULTILINE)
    assert len(named) == 3
    assert all("/" not in name and (folder / "moved" / name).is_file() for name in named)
    assert TABLES[decoder] in named


@pytest.mark.parametrize("decoder", READERS)
def test_limits_are_those_that_are_given(folder, decoder):
    assert plug(folder, decoder, "--pop-limit", "77", "--max-span", "13", "--quiet") == 0
    text = (folder / decoder / NAMED[decoder][0]).read_text()
    limits = {
        "cdec": ("scfg_max_span_limit=13\n", "cubepruning_pop_limit=77\n"),
        "moses": (
            "[max-chart-span]\n13\n100000\n",
            "[cube-pruning-pop-limit]\n77\n",
            "table-limit=100000\n",
            "order=2 ",
        ),
        "joshua": (
            "-owner pt -maxspan 13 ",
            "pop-limit = 77\n",
            "num-translation-options = 0\n",
            "maxlen = 100000\n",
        ),
        "travatar": ("[hiero_span_limit]\n13\n100000\n", "[pop_limit]\n77\n", "[chart_limit]\n0\n"),
    }
    assert all(limit in text for limit in limits[decoder])
    assert decoder != "joshua" or "-lm_order 2 " in text


@pytest.mark.parametrize("decoder", READERS)
def test_words_of_the_language_model_are_spelled_as_in_the_table(folder, decoder, capsys):
    assert plug(folder, decoder) == 0
    copied = (folder / decoder / "lm.arpa").read_text(encoding="utf-8")
    spelled_b, spelled_apos = {
        "cdec": ("&#91;b", "&apos;"),
        "moses": ("[b", "&#38;apos;"),
        "joshua": ("-lsb-b", "&apos;"),
        "travatar": ("[b", "&apos;"),
    }[decoder]
    assert copied == ARPA.lstrip().replace("[b", spelled_b).replace("&apos;", spelled_apos)
    words = {"cdec": 1, "moses": 1, "joshua": 1, "travatar": 0}[decoder]
    assert f"and {words} of the language models, are spelled otherwise" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "behind"),
    [("\n", "\r\n"), ("\n", " \n"), ("\nngram ", "\nngram\t"), ("\n\\", "\n \\"), ("=", " = ")],
    ids=["Windows", "blanks", "tab", "before", "equals"],
)
def test_blanks_that_kenlm_does_not_take_are_not_copied(folder, before, behind):
    """It compares `\\data\\`, `ngram N=` and the like with whole lines (lm/read_arpa.cc)."""
    text = ARPA.replace("[b", "b").replace("&apos;", "c")  # Words that are not spelled otherwise.
    (folder / "lm.arpa").write_bytes(text.replace(before, behind).encode())
    assert plug(folder, "cdec", "--quiet") == 0
    copied = (folder / "cdec" / "lm.arpa").read_bytes().decode()
    assert copied == text.lstrip()


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("\n\\data\\", "\nA model of seven words, of\nthe usual kind\n\\data\\"),
        ("\t", " "),
        ("the b\n", "the b\t\n"),
        ("the b\n", "the b\t-0.5\n"),
        ("\n\n\\", "\n\\"),
        ("\\data\\\n", "\\data\\\n\n"),
        ("\nngram 2", "\n\nngram 2"),
        ("\\2-grams", "\\02-grams"),
        ("\\end\\\n", "\\end\\\n\nmade by hand\n"),
        ("-99", "-inf"),
    ],
)
def test_layouts_that_kenlm_does_not_take_are_not_copied(folder, before, behind):
    """Our reader takes them all, and −inf for −99; KenLM ends, or scores otherwise (lm/read_arpa.cc)."""
    text = ARPA.replace("[b", "b").replace("&apos;", "c")
    assert before in text
    (folder / "lm.arpa").write_text(text.replace(before, behind))
    assert plug(folder, "cdec", "--quiet") == 0
    assert (folder / "cdec" / "lm.arpa").read_text() == text.lstrip()


@pytest.mark.parametrize(
    ("before", "behind", "copied"),
    [("-0.2\t<s>", "0.00001\t<s>", "0\t<s>"), ("the\t-0.25", "the\t-inf", "the\t-99")],
)
def test_numbers_that_kenlm_does_not_take_are_copied_as_they_are_read_here(folder, before, behind, copied):
    (folder / "lm.arpa").write_text(ARPA.replace(before, behind))
    assert plug(folder, "travatar", "--quiet") == 0
    assert (folder / "travatar" / "lm.arpa").read_text() == ARPA.lstrip().replace(before, copied)


@pytest.mark.parametrize("decoder", READERS)
def test_a_word_that_kenlm_takes_for_unknown_ones_is_spelled_otherwise(folder, decoder):
    """KenLM reads `<UNK>` as `<unk>` (lm/vocab.cc), and has the probability of the later of the two."""
    word = "-1.4\t<UNK>\t-0.5\n"
    for before, behind in (("", word), (word, "")):
        text = ARPA.replace("ngram 1=7", "ngram 1=8").replace(
            "-1.5\t<unk>\n", before + "-1.5\t<unk>\n" + behind
        )
        text = text.replace("ngram 2=2", "ngram 2=3").replace("the [b\n", "the [b\n-0.3\t<UNK> the\n")
        (folder / "lm.arpa").write_text(text)
        assert plug(folder, decoder, "--quiet") == 0
        copied = (folder / decoder / "lm.arpa").read_text()
        assert "-1.4\t&#60;UNK>\t-0.5\n" in copied
        assert "-0.3\t&#60;UNK> the\n" in copied
        assert "-1.5\t<unk>\n" in copied
    (folder / "lm.arpa").write_text(ARPA.replace("<unk>", "<UNK>"))
    assert plug(folder, decoder, "--quiet") == 0
    assert "-1.5\t<UNK>\n" in (folder / decoder / "lm.arpa").read_text()


def test_words_that_are_escaped_already_stay_so_for_moses(folder):
    """Of the language model as of the table."""
    assert plug(folder, "moses", "--escaped", "--quiet") == 0
    assert "-1.3\t&apos;\n" in (folder / "moses" / "lm.arpa").read_text()
    assert plug(folder, "cdec", "--escaped") == 2


def test_an_older_directory_is_replaced_and_nothing_else(folder, capsys):
    assert plug(folder, "cdec", "--quiet") == 0
    (folder / "cdec" / "grammar.gz").write_bytes(b"")
    assert plug(folder, "cdec", "--quiet") == 0
    assert (folder / "cdec" / "grammar.gz").stat().st_size > 0
    assert not list(folder.glob(".cdec*"))
    (folder / "moses").mkdir()
    (folder / "moses" / "thesis.tex").write_text("important")
    assert plug(folder, "moses") == 2
    assert (
        "moses: exists and is no directory that plug made. Name another directory\n"
        in capsys.readouterr().err
    )
    assert [path.name for path in (folder / "moses").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("decoder", READERS)
def test_results_in_an_older_directory_are_not_lost(folder, decoder, capsys):
    """Whatever decoder it was for, and with several language models."""
    for older in READERS:
        assert plug_two(folder, older, f"--output={folder / decoder}", "--quiet") == 0
    (folder / decoder / "test.out").write_text("kept")
    capsys.readouterr()
    assert plug_two(folder, decoder) == 2
    found = "holds test.out, which is no part of a directory that plug made. Move it,"
    assert f"{folder / decoder}: {found} or name another directory\n" in capsys.readouterr().err
    assert (folder / decoder / "test.out").read_text() == "kept"


@pytest.mark.parametrize("decoder", READERS)
def test_commands_of_the_readme_translate_as_from_our_own_files(folder, decoder, monkeypatch):
    """Also words that look like escapes, and lines without words."""
    assert plug(folder, decoder, "--quiet") == 0
    text, out, spelled = (
        "&#91; das &apos; \U0001f600\n\n&#38; <s> -lsb-\n",
        folder / "out",
        folder / "spelled",
    )
    (folder / "in").write_text(text)
    monkeypatch.chdir(folder / decoder)
    commands = Path("README").read_text().replace("\\\n", " ").replace("INPUT", f"{folder / 'in'}")
    commands = commands.replace("SPELLED", str(spelled)).replace("OUTPUT", str(out))
    for form, run in ((r"scfg-sampler (convert --to .*)", main), (r"scfg-decoder (import.*)", decode)):
        assert run([*shlex.split(re.search(form, commands)[1]), "--quiet"]) == 0
    arguments = shlex.split(re.search("scfg-decoder (translate.*)", commands)[1])
    files = {"<": "--input", ">": "--output"}
    arguments = [files.get(argument, argument) for argument in arguments]
    assert decode([*arguments, "--quiet", "--threads=1"]) == 0
    found = out.read_text()
    ours = ["--grammar=../table.gz", "--lm=../lm.arpa", "--weights=../w.json", "--max-targets=0"]
    ours += ["--copy=any"] * ("any" in arguments)
    ours += [f"--input={folder / 'in'}", f"--output={out}", "--quiet", "--threads=1"]
    assert decode(["translate", *ours]) == 0
    assert found == out.read_text()


# ---- Several language models -----------------------------------------------------------------------

SECOND = """
\\data\\
ngram 1=4
ngram 2=1
ngram 3=1

\\1-grams:
-1\t<unk>
-99\t<s>\t-0.5
-1\t</s>
-0.5\t[c\t-0.5

\\2-grams:
-0.25\t<s> [c\t-0.5

\\3-grams:
-0.125\t<s> [c </s>

\\end\\
"""
SECOND_WEIGHTS = {"LanguageModel_1": 0.375, "LanguageModel_1_OOV": -0.625}
SECOND_LINES = {  # In the configuration, by file, and among the weights, by ours.
    "cdec": (
        "feature_function=KLanguageModel lm.arpa\n"
        "feature_function=KLanguageModel -n LanguageModel_1 lm.1.arpa\n",
        "LanguageModel_1 {log10}\n",
        "LanguageModel_1_OOV -0.625\n",
    ),
    "moses": (
        "KENLM name=LM0 factor=0 path=lm.arpa order=2 oov-feature=1\n"
        "KENLM name=LM1 factor=0 path=lm.1.arpa order=3 oov-feature=1\n",
        "\nLM1= 0.375 -0.625\n",
    ),
    "joshua": (
        "StateMinimizingLanguageModel -lm_type kenlm -lm_order 2 -lm_file lm.arpa -oov_feature\n"
        "feature-function = StateMinimizingLanguageModel -lm_type kenlm -lm_order 3 -lm_file lm.1.arpa "
        "-oov_feature\n",
        "\nlm_1 {log10}\n",
        "\nlm_1_oov -0.625\n",
    ),
    "travatar": (
        "[lm_file]\nlm.arpa\nlm.1.arpa|lm_feat=lm1,lm_unk_feat=lm1unk\n\n",
        "\nlm1={log10}\n",
        "\nlm1unk=-0.625\n",
    ),
}


def plug_two(folder: Path, decoder: str, *more: str) -> int:
    (folder / "second.arpa").write_text(SECOND)
    (folder / "w.json").write_text(json.dumps(WEIGHTS | SECOND_WEIGHTS))
    return plug(folder, decoder, f"--lm={folder / 'second.arpa'}", *more)


@pytest.mark.parametrize("decoder", READERS)
def test_every_language_model_has_its_file_and_its_weights(folder, decoder, capsys):
    assert plug_two(folder, decoder) == 0
    directory = folder / decoder
    texts = {NAMED[decoder][0], WEIGHT_FILES[decoder]}
    text = "".join((directory / name).read_text() for name in sorted(texts))
    for line in SECOND_LINES[decoder]:
        assert line.format(log10=0.375 * math.log(10.0)) in text
    spelled_c = {"cdec": "&#91;c", "joshua": "-lsb-c"}.get(decoder, "[c")
    assert (directory / "lm.1.arpa").read_text() == SECOND.lstrip().replace("[c", spelled_c)
    assert "\tthe\t" in (directory / "lm.arpa").read_text()
    words = {"cdec": 2, "moses": 1, "joshua": 2, "travatar": 0}[decoder]
    assert f"and {words} of the language models, are spelled otherwise" in capsys.readouterr().err
    assert " --lm lm.arpa --lm lm.1.arpa --weights " in (directory / "README").read_text()
    found = import_weights(directory / WEIGHT_FILES[decoder], decoder)
    assert found.weights == pytest.approx(WEIGHTS | SECOND_WEIGHTS, abs=1e-12)
    assert found.constant == pytest.approx(CONSTANTS[decoder], abs=1e-12)


def test_language_models_and_weights_are_as_many(folder, capsys):
    (folder / "w.json").write_text(json.dumps(WEIGHTS | SECOND_WEIGHTS))
    said = complaint(folder, capsys)
    assert "weights for 'LanguageModel_1', 'LanguageModel_1_OOV', and fewer language models are given" in said
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    said = complaint(folder, capsys, "cdec", f"--lm={folder / 'lm.arpa'}")
    assert "w.json: no weight for 'LanguageModel_1'. Add it" in said
    said = complaint(folder, capsys, "cdec", f"--lm={folder / 'none.arpa'}")
    assert "none.arpa: cannot be read" in said


def test_names_of_travatars_language_models_are_those_of_its_configuration(tmp_path):
    """The second model's come first in the list of weights; without names, models share a weight."""
    path = tmp_path / "travatar.ini"
    weights = "[weight_vals]\nb=4.605170185988092\nlm=2.302585092994046\nbu=-1\nlmunk=-2\n"
    path.write_text("[lm_file]\nx.arpa\ny.arpa|factor=0,lm_feat=b,lm_unk_feat=bu\n\n" + weights)
    found = import_weights(path, "travatar").weights
    wanted = {"LanguageModel": 1, "LanguageModel_1": 2, "LanguageModel_OOV": -2, "LanguageModel_1_OOV": -1}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    path.write_text("[lm_file]\nx.arpa y.arpa\n\n[weight_vals]\nlm=2.302585092994046\n")
    found = import_weights(path, "travatar").weights
    assert found["LanguageModel"] == found["LanguageModel_1"] == pytest.approx(1.0)
