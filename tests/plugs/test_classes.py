"""Language models of classes of words, which cdec looks up words of a translation in."""

from __future__ import annotations

import json
import re
import shlex
import subprocess

import pytest

from decoder.cli import main as decode
from scfg_sampler.cli import main
from tests.plugs.test_spelled_models import WORDS, scores, write_parts

CLASS_OF = {"&#91;": "B", "[": "A", "&#124;": "[b]", "|": "A", "-lsb-": "A", "<s>": "B", "&#124;x": "B"}
CLASSES_ARPA = """
\\data\\
ngram 1=6
ngram 2=4

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.3
-1.2\t</s>
-0.7\tA\t-0.25
-0.9\tB\t-0.5
-1.3\t[b]\t-0.125

\\2-grams:
-0.2\t<s> A
-0.4\t<s> [b]
-0.9\tB </s>
-0.7\tA </s>

\\end\\
"""


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A table of words that are spelled otherwise elsewhere, a model of them, and one of their classes."""
    write_parts(tmp_path)
    weights = json.loads((tmp_path / "w.json").read_text())
    models = {"LanguageModel_1": 0.7, "LanguageModel_1_OOV": -0.4, "LanguageModel_OOV": 0.1}
    for name in ("w.json", "all.json"):
        (tmp_path / name).write_text(json.dumps(json.loads((tmp_path / name).read_text()) | weights | models))
    (tmp_path / "c.arpa").write_text(CLASSES_ARPA)
    (tmp_path / "words").write_text("".join(f"{word}\t{label}\n" for word, label in CLASS_OF.items()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plug(*options, to="cdec", lms=("lm.arpa", "c.arpa")):
    models = [f"--lm={lm}" for lm in lms]
    return main(
        ["plug", "table.gz", "--to", to, *models, "--weights=w.json", "--output=dir", "--quiet", *options]
    )


def test_scores_by_classes_are_ours(parts, capsys):
    assert plug("--classes=words") == 0
    assert ", and 6 of the language models, are spelled otherwise" in capsys.readouterr().err
    assert re.findall(r"^feature_function=(.*)$", (parts / "dir/cdec.ini").read_text(), re.MULTILINE) == [
        "KLanguageModel lm.arpa",
        "KLanguageModel -m classes -n LanguageModel_1 lm.1.arpa",
    ]
    lines = [line.split(" ") for line in (parts / "dir/classes").read_text().splitlines()]
    assert [(label, number) for label, _, number in lines] == [
        (label, "0") for word, label in CLASS_OF.items() if word != "<s>"
    ]
    assert [word for _, word, _ in lines] == [
        "&#38;#91;",
        "&#91;",
        "&#38;#124;",
        "&#124;",
        "-lsb-",
        "&#38;#124;x",
    ]
    readme = (parts / "dir/README").read_text()
    of_classes, compiling = re.findall(r"^    (awk .*|scfg-decoder compile-lm .*)$", readme, re.MULTILINE)
    subprocess.run(["bash", "-c", of_classes], cwd="dir", check=True)
    assert decode(["compile-lm", "c.arpa", "--classes=words", "--output=c.bin"]) == 0
    ours = scores(parts, "--grammar=table.gz", "--lm=lm.arpa", "--lm=c.bin", "--weights=all.json")
    assert len({round(score, 4) for score in ours[: len(WORDS)]}) == len(WORDS)
    given = re.search(r"--grammar (\S+) (--lm .*) --weights", readme)
    models = [each if each == "--lm" else f"dir/{each}" for each in shlex.split(given[2])]
    compiled = shlex.split(compiling)[2:]
    assert decode(["compile-lm", *(each if each[0] == "-" else f"dir/{each}" for each in compiled)]) == 0
    theirs = ["--grammar", f"dir/{given[1]}", *models, "--weights=all.json", "--input-words=plain"]
    assert scores(parts, *theirs) == pytest.approx(ours)


def test_the_only_model_may_be_of_classes(parts, capsys):
    weights = {name: w for name, w in json.loads((parts / "w.json").read_text()).items() if "_1" not in name}
    (parts / "w.json").write_text(json.dumps(weights))
    assert plug("--classes=words", lms=["c.arpa"]) == 0
    assert ", and 5 of the language models, are spelled otherwise" in capsys.readouterr().err
    assert "\nfeature_function=KLanguageModel -m classes lm.arpa\n" in (parts / "dir/cdec.ini").read_text()
    assert "A &#91; 0\n" in (parts / "dir/classes").read_text()
    assert "\t[b]\t" in (parts / "dir/lm.arpa").read_text()
    assert plug(lms=["lm.arpa"]) == 0
    assert "\nfeature_function=KLanguageModel lm.arpa\n" in (parts / "dir/cdec.ini").read_text()
    assert not (parts / "dir/classes").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--classes=words", "--to=moses"],
            "--classes is for cdec; the others do not look up the class of a",
        ),
        (["--classes=none"], "none: cannot be read (No such file"),
        (["--classes=w.json"], "w.json:1: "),
        (["--classes=other"], "other:1: the language model does not have Q, the class of cat"),
        (["--classes=ends"], "ends:1: the language model does not have </s>, the class of cat"),
        (["--classes=-"], "-: "),
    ],
)
def test_what_cannot_be_looked_up_is_refused(parts, options, message, capsys):
    (parts / "other").write_text("cat Q\n")
    (parts / "ends").write_text("cat </s>\n")
    assert plug(*options) == 2
    assert message in capsys.readouterr().err
    assert not (parts / "dir").exists()


def test_compiled_models_are_refused_by_name(parts, capsys):
    assert decode(["compile-lm", "c.arpa", "--classes=words", "--output=c.bin"]) == 0
    assert decode(["compile-lm", "lm.arpa", "--output=lm.bin"]) == 0
    capsys.readouterr()
    for lms, end in (
        (
            ("lm.arpa", "c.bin"),
            "c.bin: is a compiled language model. Give the ARPA file it was made from, and ",
        ),
        (("lm.bin", "c.arpa"), "lm.bin: is a compiled language model. Give the ARPA file it was made from: "),
    ):
        assert plug(lms=lms) == 2
        assert end in capsys.readouterr().err
