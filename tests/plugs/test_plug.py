"""Directories for other decoders: what they would compute from the files is our score, and all comes back.

Scores are computed from the bytes of the written files, read by `tests.recognisers`, with what each decoder's
source says of its own features; nothing of the code that writes them is used.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from decoder.translation.imported_weights import import_weights
from scfg_sampler.cli import main
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.table import RuleTable, rule, write_rule_table
from scfg_sampler.rules.text import Rule
from tests.recognisers import cdec, joshua, moses, travatar
from tests.rules.test_table import table_of

READERS = {"cdec": cdec, "moses": moses, "joshua": joshua, "travatar": travatar}
NAMES = {"cdec": "cdec", "moses": "Moses", "joshua": "Joshua", "travatar": "Travatar"}
TABLES = {"cdec": "grammar.gz", "moses": "rule-table.gz", "joshua": "grammar.gz", "travatar": "rules.gz"}
WEIGHT_FILES = {
    "cdec": "weights",
    "moses": "moses.ini",
    "joshua": "joshua.config",
    "travatar": "travatar.ini",
}
FEATURES = ("LogForward", "LogBackward", "LexForward", "LexBackward", "LogCount", "TargetWords", "Abstract")
FEATURES += ("LogPosterior", "domain.Seen")
WEIGHTS = {
    **dict(zip(FEATURES, (0.31, 0.27, -0.13, 0.19, 0.07, 0.41, -0.33, 0.05, -0.7), strict=True)),
    **{"LanguageModel": 0.9, "Glue": -0.21, "PassThrough": -3.7, "LanguageModel_OOV": -1.3},
}
WORDS = [
    "haus",
    "das",
    "'s",
    "a[b]",
    "[X,1]",
    "|||",
    "&apos;",
    "<s>",
    "-lsb-",
    "x|y",
    "&#91;",
    "ü",
    "[",
    "\\",
]
SIGNATURE = "scfg-sampler|made by hand"
ARPA = """
\\data\\
ngram 1=7
ngram 2=2

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.3
-1.2\t</s>
-0.7\tthe\t-0.25
-0.9\t[b\t-0.125
-1.1\t'
-1.3\t&apos;

\\2-grams:
-0.2\t<s> the
-0.4\tthe [b

\\end\\
"""


def some_rules(rng: np.random.Generator) -> list[Rule]:
    """Rules of all shapes, with any words, and numbers that float32 holds to seven digits."""
    entries = {}
    while len(entries) < 60:
        arity = int(rng.integers(0, 3))
        sides: list[list] = [list(rng.choice(WORDS, int(rng.integers(not arity, 4)))) for _ in range(2)]
        for side, order in zip(sides, (range(arity), rng.permutation(arity)), strict=True):
            places = sorted(rng.integers(0, len(side) + 1, arity).tolist())
            for place, k in reversed(list(zip(places, order, strict=True))):
                side.insert(place, -1 - int(k))
        words = [[i for i, x in enumerate(side) if isinstance(x, str)] for side in sides]
        links = {(i, j) for i in words[0] for j in words[1] if rng.random() < 0.3}
        values = [*(-rng.exponential(3.0, 4)), math.log(rng.integers(1, 40)), len(words[1])]
        values += [float(not words[0] and not words[1]), -rng.exponential(), int(rng.integers(0, 3))]
        features = {name: float(f"{value:.7g}") for name, value in zip(FEATURES, values, strict=True)}
        source, target = (tuple(x if isinstance(x, int) else str(x) for x in side) for side in sides)
        entries[source, target] = Rule(source, target, features, tuple(sorted(links)))
    return list(entries.values())


@pytest.fixture
def table(rng) -> RuleTable:
    return table_of(some_rules(rng), FEATURES, SIGNATURE)


@pytest.fixture
def folder(tmp_path, table) -> Path:
    write_rule_table(table, tmp_path / "table.gz")
    (tmp_path / "lm.arpa").write_text(ARPA, encoding="utf-8")
    (tmp_path / "w.json").write_text(json.dumps(WEIGHTS))
    return tmp_path


def plug(folder: Path, decoder: str, *more: str) -> int:
    files = [f"--lm={folder / 'lm.arpa'}", f"--weights={folder / 'w.json'}", f"--output={folder / decoder}"]
    return main(["plug", str(folder / "table.gz"), "--to", decoder, *files, *more])


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
            "[max-chart-span]\n13\n1000\n",
            "[cube-pruning-pop-limit]\n77\n",
            "table-limit=0\n",
            "order=2 ",
        ),
        "joshua": ("-owner pt -maxspan 13 ", "pop-limit = 77\n", "num-translation-options = 0\n"),
        "travatar": ("[hiero_span_limit]\n13\n1000\n", "[pop_limit]\n77\n", "[chart_limit]\n0\n"),
    }
    assert all(limit in text for limit in limits[decoder])
    assert decoder != "joshua" or "-lm_order 2 " in text


@pytest.mark.parametrize("decoder", READERS)
def test_command_is_printed_and_kept(folder, decoder, capsys):
    (folder / "a b").mkdir()
    files = [f"--lm={folder / 'lm.arpa'}", f"--weights={folder / 'w.json'}"]
    out = folder / "a b" / "c"
    assert main(["plug", str(folder / "table.gz"), "--to", decoder, *files, f"--output={out}"]) == 0
    (command,) = capsys.readouterr().out.splitlines()
    assert command.startswith(f"(cd '{out}' && ")
    assert command.endswith(") < INPUT > OUTPUT")
    readme = (out / "README").read_text()
    assert command.replace(f"'{out}'", "DIR") in readme
    assert readme.startswith(f"For {NAMES[decoder]}, written by scfg-sampler ")
    assert f"--grammar {TABLES[decoder]},format={decoder} " in readme
    assert (" --copy any " in readme) == (decoder in ("cdec", "joshua"))


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
    assert copied == ARPA.replace("[b", spelled_b).replace("&apos;", spelled_apos)
    words = {"cdec": 1, "moses": 1, "joshua": 1, "travatar": 0}[decoder]
    assert f"and {words} of the language models, are spelled otherwise" in capsys.readouterr().err


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
    assert "moses: exists and is no directory of plug. Name another" in capsys.readouterr().err
    assert [path.name for path in (folder / "moses").iterdir()] == ["thesis.tex"]


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
    assert (directory / "lm.1.arpa").read_text() == SECOND.replace("[c", spelled_c)
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


# ---- What cannot be plugged in --------------------------------------------------------------------


def complaint(folder: Path, capsys, decoder: str = "cdec", *more: str) -> str:
    """The one line that is said; nothing is left behind."""
    assert plug(folder, decoder, *more) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert not (folder / decoder).exists()
    assert not list(folder.glob(f".{decoder}*"))
    return said


def test_every_feature_has_a_weight_and_every_weight_a_feature(folder, capsys):
    for missing in ("LogPosterior", "Glue"):
        weights = {name: value for name, value in WEIGHTS.items() if name != missing}
        (folder / "w.json").write_text(json.dumps(weights))
        assert f"w.json: no weight for '{missing}'" in complaint(folder, capsys)
    (folder / "w.json").write_text(json.dumps(WEIGHTS | {"Rarity": 0.5, "Unused": 0.0}))
    said = complaint(folder, capsys)
    assert f"has weights for 'Rarity', which the table {folder / 'table.gz'} lacks" in said
    (folder / "w.json").write_text(json.dumps(WEIGHTS | {"Unused": 0.0}))
    assert plug(folder, "cdec", "--quiet") == 0


@pytest.mark.parametrize(
    ("decoder", "name", "said"),
    [
        ("cdec", "PassThrough_3", "cdec cannot have a feature of rules called 'PassThrough_3'"),
        ("cdec", "CountEF", "cdec's tables have another meaning for a feature called 'CountEF'"),
        ("joshua", "tm_pt_0", "Joshua cannot have a feature of rules called 'tm_pt_0'"),
        ("joshua", "count", "Joshua's tables have another meaning for a feature called 'count'"),
        ("joshua", "rarity;1", "Joshua cannot have a feature of rules called 'rarity;1'"),
        ("cdec", "LanguageModel_2_OOV", "cdec cannot have a feature of rules called 'LanguageModel_2_OOV'"),
        ("travatar", "lm1unk", "Travatar cannot have a feature of rules called 'lm1unk'"),
        ("travatar", "p", "Travatar cannot have a feature of rules called 'p'"),
        ("travatar", "egfp", "Travatar's tables have another meaning for a feature called "),
    ],
)
def test_features_that_would_be_taken_for_others_are_refused(folder, rng, capsys, decoder, name, said):
    entries = [entry._replace(features={**entry.features, name: 1.5}) for entry in some_rules(rng)]
    write_rule_table(table_of(entries, (*FEATURES, name), SIGNATURE), folder / "table.gz")
    (folder / "w.json").write_text(json.dumps(WEIGHTS | {name: 0.5}))
    assert said in complaint(folder, capsys, decoder)


@pytest.mark.parametrize("name", ["TargetWords", "Abstract"])
def test_counts_that_are_none_are_refused(folder, rng, capsys, name):
    entries = some_rules(rng)
    entries[3].features[name] += 1.0
    write_rule_table(table_of(entries, FEATURES, SIGNATURE), folder / "table.gz")
    assert f"{name} of 1 rules is not what is counted in the rule" in complaint(folder, capsys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"the house\n", "lm.arpa: has no \\data\\"),
        (ARPA.encode().replace(b"\\end\\\n", b""), "lm.arpa: ends without \\end\\"),
        (ARPA.encode().replace(b"-0.9\t", b""), "lm.arpa:11: '[b\\t-0.125' where a number, 1 words"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0", "lm.arpa: is a compiled language model"),
    ],
)
def test_what_is_no_language_model_is_told(folder, capsys, text, said):
    (folder / "lm.arpa").write_bytes(text)
    assert said in complaint(folder, capsys)


def test_an_empty_table_is_told(folder, capsys):
    (folder / "table.gz").write_bytes(gzip.compress(b"# made by hand\n"))
    assert "table.gz: has no rules. Is it the table that was meant?" in complaint(folder, capsys)


def test_wrong_calls_are_told(folder, capsys):
    for limit in ("--pop-limit", "--max-span"):
        assert f"{limit} is 0; it is at least 1" in complaint(folder, capsys, "cdec", limit, "0")
    (folder / "lm.arpa").unlink()
    assert "lm.arpa: cannot be read" in complaint(folder, capsys)


def test_moses_is_told_of_probabilities_that_it_cannot_read(folder, rng, capsys):
    entries = some_rules(rng)
    for k in (2, 5, 6):
        entries[k].features["LexForward"] = -90.0 - k
    write_rule_table(table_of(entries, FEATURES, SIGNATURE), folder / "table.gz")
    assert plug(folder, "moses") == 0
    assert "3 rules have a probability below exp(-87)" in capsys.readouterr().err
