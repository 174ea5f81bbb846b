"""Weights of other decoders, against values worked out by hand."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from decoder.cli import main
from decoder.translation.imported_weights import import_weights

LN10 = 2.302585092994046

CDEC = """# tuned
EgivenFCoherent -2.302585092994046
MaxLexFgivenE -0.5
IsSingletonF 0.25
LanguageModel 1
LanguageModel_OOV -3
WordPenalty -2.302585092994046
Glue -0.1
PassThrough -10
"""
JOSHUA = """tm = thrax -owner pt -maxspan 12 -path grammar.gz
feature-function = LanguageModel -lm_type kenlm -lm_order 5 -lm_file lm.gz
mark_oovs=false
lm_0 2
lm_1 7
tm_pt_0 -2.5
tm_pt_16 0.5
e_given_f_phrase -0.3
tm_glue_0 1
WordPenalty -3
OOVPenalty 0.5
"""
MOSES = """[feature]
UnknownWordPenalty
PhraseDictionaryMemory name=TM0 num-features=5 path=rules.gz
PhraseDictionaryMemory name=TM1 num-features=1 path=glue
KENLM name=LM0 factor=0 path=en.arpa order=3
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -0.5
TM0= 0.1 0.2 0.3 0.4 0.6
TM0_LogPosterior= 0.25
TM1= 2
LM0= 0.5
Distortion0= 1
"""
TRAVATAR = """[tm_file]
rules.gz
[weight_vals]
egfp=0.3
fgel=0.1
lm=1
lmunk=-4
w=0.2
p=0.5
unk=-2
glue=-0.1
"""
EXPECTED = {
    "cdec": (
        CDEC,
        {"LogForward": 1.0, "LexBackward": 0.5 / LN10, "IsSingletonF": 0.25, "LanguageModel": 1 / LN10}
        | {"LanguageModel_OOV": -3, "TargetWords": 1.0, "Glue": -0.1, "PassThrough": -9.0, "Abstract": 0.0}
        | {"LogCount": 0.0},
        0.0,
        0,
    ),
    "joshua": (
        JOSHUA,
        {
            "LanguageModel": 2 / LN10,
            "PhraseModel_0": 2.5,
            "PhraseModel_16": -0.5,
            "LogForward": 0.3,
            "Glue": 1.0,
        }
        | {"TargetWords": 3 / LN10, "PassThrough": -50 + 3 / LN10, "Abstract": 0.0, "LogCount": 0.0},
        1.0 + 6 / LN10,
        1,
    ),
    "moses": (
        MOSES,
        {"LogBackward": 0.1, "LexBackward": 0.2, "LogForward": 0.3, "LexForward": 0.4, "Score_4": 0.6}
        | {"LanguageModel": 0.5, "TargetWords": 0.5, "PassThrough": -99.5, "LogCount": 0.0, "Abstract": 0.0}
        | {"Glue": 2 * math.log(2.718), "LogPosterior": 0.25},
        2 * math.log(2.718) + 1.0,
        1,
    ),
    "travatar": (
        TRAVATAR,
        {"LogForward": 0.3, "LexBackward": 0.1, "LanguageModel": 1 / LN10, "LanguageModel_OOV": -4.0}
        | {"TargetWords": 0.2, "PassThrough": -2.0, "Glue": -0.1, "LogCount": 0.0, "Abstract": 0.0},
        0.0,
        1,
    ),
}


@pytest.mark.parametrize("decoder", EXPECTED)
def test_weights_have_our_names_signs_and_logarithms(tmp_path, decoder):
    text, weights, constant, num_warnings = EXPECTED[decoder]
    (tmp_path / "theirs").write_text(text)
    found = import_weights(tmp_path / "theirs", decoder)
    assert found.weights == pytest.approx(weights, abs=1e-12)
    assert found.constant == pytest.approx(constant, abs=1e-12)
    assert len(found.warnings) == num_warnings


@pytest.mark.parametrize(
    ("decoder", "text"),
    [
        ("cdec", "LanguageModel 1\nLanguageModel_1 3\nLanguageModel_1_OOV -3\n"),
        (
            "joshua",
            "feature-function = LanguageModel -lm_file a\nfeature-function = LanguageModel -lm_file b\n"
            "lm_0 1\nlm_1 3\nlm_1_oov -3\nlm_2 5\n",
        ),
        (
            "joshua",
            "lm = kenlm 5 true false 100 a\nfeature_function = LanguageModel -lm_file b\n"
            "lm_0 1\nlm_1 3\nlm_1_oov -3\nlm_2 0\n",
        ),
        ("moses", f"[weight]\nLM0= {1 / LN10}\nLM1= {3 / LN10} -3\n"),
    ],
)
def test_every_language_model_has_its_weight(tmp_path, decoder, text):
    (tmp_path / "theirs").write_text(text)
    found = import_weights(tmp_path / "theirs", decoder)
    models = {name: value for name, value in found.weights.items() if name.startswith("LanguageModel")}
    expected = {"LanguageModel": 1 / LN10, "LanguageModel_1": 3 / LN10, "LanguageModel_1_OOV": -3.0}
    assert models == pytest.approx(expected, abs=1e-12)
    spare = ["lm_2 is left out: no language model in the file has it"] if "lm_2 5" in text else []
    assert found.warnings == spare


TABLES = {
    "joshua": (
        "tm = hiero -owner b -path b.gz\ntm = thrax -owner pt -path a.gz\ntm=thrax -owner glue -path g\n"
        "tm_b_0 1\ntm_pt_0 2\ntm_c_0 3\ntm_glue_0 4\nWordPenalty 1\n",
        {"PhraseModel_0": -1.0, "pt.PhraseModel_0": -2.0, "c.PhraseModel_0": -3.0, "Glue": 4.0}
        | dict.fromkeys(("TargetWords", "PassThrough", "pt.TargetWords", "c.TargetWords"), -1 / LN10)
        | dict.fromkeys(("Abstract", "pt.Abstract", "c.Abstract", "LanguageModel"), 0.0)
        | dict.fromkeys(("LogCount", "pt.LogCount", "c.LogCount"), 0.0),
        ["pt", "c"],
    ),
    "moses": (
        "[feature]\nPhraseDictionaryMemory name=A num-features=4 path=a\nPhraseDictionaryMemory name=G "
        "num-features=1 path=g\nPhraseDictionaryMemory name=B num-features=4 path=b\n[weight]\n"
        "A= 1 2 3 4\nB= 5 6 7 8\nB_LogCount= 9\nA_Own= 10\nWordPenalty0= -1\n",
        dict(zip(("LogBackward", "LexBackward", "LogForward", "LexForward"), range(1, 5), strict=True))
        | dict(
            zip(("B.LogBackward", "B.LexBackward", "B.LogForward", "B.LexForward"), range(5, 9), strict=True)
        )
        | {"B.LogCount": 9, "Own": 10, "TargetWords": 1, "B.TargetWords": 1, "PassThrough": 1}
        | dict.fromkeys(("Abstract", "B.Abstract", "LogCount", "Glue", "LanguageModel"), 0),
        ["B"],
    ),
}


@pytest.mark.parametrize(
    ("features", "weights"),
    [
        ("KENLM name=MyLM factor=0 path=a", f"MyLM= {1 / LN10}"),
        ("SRILM factor=0 path=a", f"SRILM0= {1 / LN10}"),
        ("KENLM name=LM1 path=a", f"LM1= {1 / LN10}"),
    ],
)
def test_the_language_model_of_moses_may_have_any_name(tmp_path, features, weights):
    (tmp_path / "theirs").write_text(f"[feature]\n{features}\n[weight]\n{weights} -2\n")
    found = import_weights(tmp_path / "theirs", "moses")
    models = {name: value for name, value in found.weights.items() if name.startswith("LanguageModel")}
    assert models == pytest.approx({"LanguageModel": 1 / LN10, "LanguageModel_OOV": -2.0})
    assert not found.warnings


def test_several_language_models_of_moses_are_numbered_as_their_lines_are(tmp_path):
    """FeatureFunction.cpp, ParseLine: without a name, the class and how many such lines were before."""
    features = "IRSTLM path=a\nKENLM name=LM0 path=b\nKENLM path=c\nKENLM lazyken=1 path=d"
    weights = "LM0= 2\nKENLM1= 4\nLM3= 9\nIRSTLM0= 1\nKENLM0= 3"
    (tmp_path / "theirs").write_text(f"[weight]\n{weights}\n[feature]\n{features}\n")
    found = import_weights(tmp_path / "theirs", "moses")
    models = {name: value for name, value in found.weights.items() if name.startswith("LanguageModel")}
    named = ("LanguageModel", "LanguageModel_1", "LanguageModel_2", "LanguageModel_3")
    assert models == dict(zip(named, (1, 2, 3, 4), strict=True))
    assert found.warnings == [
        "LM3 is left out: there is no such feature here",
        "its language models are IRSTLM0, LM0, KENLM0, KENLM1: give them in this order",
    ]


def test_tables_of_moses_without_a_name_are_called_as_moses_calls_them(tmp_path):
    features = "PhraseDictionaryMemory num-features=4 path=a\nPhraseDictionaryMemory num-features=1 path=g"
    weights = "PhraseDictionaryMemory0= 1 2 3 4\nPhraseDictionaryMemory1= 5"
    (tmp_path / "theirs").write_text(f"[feature]\n{features}\n[weight]\n{weights}\n")
    found = import_weights(tmp_path / "theirs", "moses")
    kept = {name: value for name, value in found.weights.items() if value}
    expected = {"LogBackward": 1, "LexBackward": 2, "LogForward": 3, "LexForward": 4}
    assert kept == pytest.approx(expected | {"Glue": 5 * math.log(2.718)})
    assert not found.warnings


def test_tables_of_joshua_are_known_by_how_they_were_named_before(tmp_path):
    """JoshuaConfiguration.java, readConfigFile: `tm = TYPE OWNER MAXSPAN PATH`."""
    tables = "tm = thrax pt 20 a.gz\ntm = hiero b 20 b.gz\ntm = thrax glue -1 g\n"
    (tmp_path / "theirs").write_text(f"{tables}tm_pt_0 1\ntm_b_0 2\ntm_glue_0 3\n")
    found = import_weights(tmp_path / "theirs", "joshua")
    kept = {name: value for name, value in found.weights.items() if value}
    assert kept == {"PhraseModel_0": -1.0, "b.PhraseModel_0": -2.0, "Glue": 3.0}


@pytest.mark.parametrize("decoder", TABLES)
def test_every_table_has_weights_of_its_own(tmp_path, decoder):
    text, weights, further = TABLES[decoder]
    (tmp_path / "theirs").write_text(text)
    found = import_weights(tmp_path / "theirs", decoder)
    assert found.weights == pytest.approx(weights, abs=1e-12)
    told = "the features of {0} begin with {0}.: give it as TABLE,prefix={0}."
    assert found.warnings == [told.format(name) for name in further]


def test_command_writes_weights_and_tells_the_constant(tmp_path, capsys):
    (tmp_path / "joshua.config").write_text(JOSHUA)
    arguments = [f"{tmp_path}/joshua.config", "--from", "joshua", "--output", f"{tmp_path}/w.json"]
    assert main(["import-weights", *arguments]) == 0
    assert json.loads((tmp_path / "w.json").read_text())["PhraseModel_0"] == 2.5
    assert "those of translate +3.605767" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "decoder", "complaint"),
    [
        ("Glue 1\nPassThrough\n", "cdec", "theirs:2: 'PassThrough' is no weight"),
        ("Glue x\n", "cdec", "theirs:1: 'Glue x' is no weight"),
        ("lm_0 1 2\n", "joshua", "theirs:1: lm_0 has 2 values"),
        ("[weight]\nLM0= nan\n", "moses", "theirs:2: 'LM0 nan' is no weight"),
        ("[weight]\nLM0= 1 2 3\n", "moses", "theirs:2: LM0 has 3 values. A language model has"),
        ("[weights]\n", "travatar", "theirs: has no weights"),
        ("Glue 1\nWordPenalty 2\nGlue 2\n", "cdec", "theirs:3: gives the weight of line 1 again"),
        ("Glue 1\nLanguageModel 1e40\n", "cdec", "theirs:2: 'LanguageModel 1e40' is no weight. Weights are"),
        (
            "[weight_vals]\nlm=-2e30\n",
            "travatar",
            "theirs:2: 'lm -2e30' is no weight. Weights are numbers fr",
        ),
        ("OOVPenalty 1e29\n", "joshua", "theirs: the weight of PassThrough would be -1e+31. Weights are"),
        ("[weight]\nLM0= 1\nLM0= 1\n", "moses", "theirs:3: gives the weight of line 2 again"),
    ],
)
def test_what_is_no_weight_is_named(tmp_path, text, decoder, complaint, capsys):
    (tmp_path / "theirs").write_text(text)
    arguments = [f"{tmp_path}/theirs", "--from", decoder, "--output", f"{tmp_path}/w"]
    assert main(["import-weights", *arguments]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(4))
def test_the_first_of_several_repeated_weights_is_named(tmp_path, seed):
    """Whatever the hashes of their names, which are others in each process."""
    (tmp_path / "theirs").write_text("A 1\nB 1\nC 1\nA 2\nB 2\nC 2\n")
    outcome = subprocess.run(
        [sys.executable, "-m", "decoder", "import-weights", "theirs", "--from", "cdec", "--output", "ours"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 2
    assert "theirs:4: gives the weight of line 1 again" in outcome.stderr
