"""Alignments by eflomal number the words as we do, and come out symmetrised."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.files import atomic_output
from scfg_sampler.corpus import word_alignment
from scfg_sampler.corpus.parallel_text import read_alignment
from scfg_sampler.corpus.symmetrise import METHODS

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "data" / "novish-en"


# Stands in for eflomal's program: links words of equal places, in reverse also the next ones.
DIAGONAL = """#!{python}
import sys
from pathlib import Path

given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
texts = [Path(given[side]).read_text() for side in ("-s", "-t")]
Path("{seen}").write_text("|".join(texts))
for side, path in (("forward", given["-f"]), ("reverse", given["-r"])):
    with open(path, "x") as out:
        for one, other in zip(*(text.splitlines() for text in texts), strict=True):
            size = min(len(one.split()), len(other.split()))
            if side == "forward":
                print(*(f"{{i}}-{{i}}" for i in range(size)), file=out)
            else:
                print(*(f"{{i}}-{{i}} {{i}}-{{i + 1}}" for i in range(size - 1)), file=out)
"""


NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory for nobody")


@pytest.fixture
def aligner(monkeypatch, tmp_path):
    """Our own program in place of eflomal's; the path of it."""
    program = tmp_path / "bin" / "eflomal-align"
    program.parent.mkdir()
    program.write_text(DIAGONAL.format(python=sys.executable, seen=tmp_path / "seen"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    return program


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "f").write_text("Das a\u00a0b\u2028 das\n\nx y z\n")
    (tmp_path / "e").write_text("the a b\n\nX Y\n")
    return tmp_path


def align(folder: Path, *more: str) -> int:
    arguments = ["--source", f"{folder}/f", "--target", f"{folder}/e", "--output", f"{folder}/out/made"]
    return main(["align", *arguments, *more])


def test_both_directions_and_their_symmetrisation_are_written(aligner, texts, capsys):
    assert align(texts) == 0
    assert (texts / "out" / "made.fwd").read_text() == "0-0 1-1 2-2\n\n0-0 1-1\n"
    assert (texts / "out" / "made.rev").read_text() == "0-0 0-1 1-1 1-2\n\n0-0 0-1\n"
    # Each link of one direction alone has a free word and a neighbour when its turn comes.
    assert (texts / "out" / "made.gdfa").read_text() == "0-0 1-1 1-2 2-2\n\n0-0 0-1 1-1\n"
    assert "3 pairs aligned by 7 links" in capsys.readouterr().err


def test_draws_have_files_of_their_own(aligner, texts, capsys):
    """The stand-in leaves out the first link from its second call on."""
    aligner.write_text(
        aligner.read_text()
        + f"""
calls = Path("{texts / "calls"}")
number = len(calls.read_text()) if calls.exists() else 0
calls.write_text("x" * (number + 1))
for side in ("-f", "-r"):
    lines = Path(given[side]).read_text().splitlines()
    Path(given[side]).write_text("".join(line[4 * number :] + "\\n" for line in lines))
"""
    )
    assert align(texts, "--draws", "3") == 0
    made = {path.name: path.read_text() for path in (texts / "out").iterdir()}
    names = ["made", "made.2", "made.3"]
    assert sorted(made) == sorted(f"{name}.{ending}" for name in names for ending in ("fwd", "rev", "gdfa"))
    assert [made[f"{name}.fwd"] for name in names] == [
        "0-0 1-1 2-2\n\n0-0 1-1\n",
        "1-1 2-2\n\n1-1\n",
        "2-2\n\n\n",
    ]
    assert [made[f"{name}.rev"] for name in names][1:] == ["0-1 1-1 1-2\n\n0-1\n", "1-1 1-2\n\n\n"]
    assert made["made.2.gdfa"] != made["made.gdfa"]
    said = capsys.readouterr().err
    links = sum(text.count("-") for name, text in made.items() if name.endswith("gdfa"))
    assert f"3 pairs aligned 3 times, by {links} links: " in said
    assert f"{texts}/out/made.3.gdfa" in said


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (0, ""),
        (1, "1 draw of 3 can be used: {made}.union; the same command again makes all anew\n"),
        (
            2,
            "2 draws of 3 can be used: {made}.union, {made}.2.union; the same command again makes all anew\n",
        ),
    ],
)
def test_draws_that_are_whole_when_it_is_stopped_are_named(aligner, texts, monkeypatch, capsys, done, said):
    begun = []
    align_once = word_alignment._align

    def stopped(*arguments):
        begun.append(arguments)
        if len(begun) > done:
            raise KeyboardInterrupt
        return align_once(*arguments)

    monkeypatch.setattr(word_alignment, "_align", stopped)
    assert align(texts, "--draws", "3", "--symmetrise", "union") == 130
    told = capsys.readouterr().err
    assert told.count("can be used") == bool(done)
    assert said.format(made=texts / "out" / "made") in told


@pytest.mark.parametrize("ending", ["rev", "gdfa"])
def test_files_of_two_draws_are_not_mixed(aligner, texts, monkeypatch, ending):
    """It is stopped while it writes one of them: no other has become that of the new draw."""
    (texts / "out").mkdir()
    names = [f"made.{each}" for each in ("fwd", "rev", "gdfa")]
    for name in names:
        (texts / "out" / name).write_text("older\n")

    @contextlib.contextmanager
    def stopped(path, **options):
        with atomic_output(path, **options) as stream:
            if str(path).endswith(f"made.{ending}"):
                monkeypatch.setattr(stream, "writelines", interrupt)
            yield stream

    def interrupt(lines):
        raise KeyboardInterrupt

    monkeypatch.setattr(word_alignment, "atomic_output", stopped)
    assert align(texts) == 130
    assert {path.name: path.read_text() for path in (texts / "out").iterdir()} == dict.fromkeys(
        names, "older\n"
    )


def test_no_draws_are_refused(aligner, texts, capsys):
    assert align(texts, "--draws", "0") == 2
    assert "--draws is 0; it must be from 1 to 65536" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("out/", "out/: is a directory, and not what names of files begin with. Add what they begin with"),
        ("out/..", "out/..: is a directory"),
        ("train.f/made", "train.f: cannot be written (Not a directory)"),
        pytest.param("/proc/made", "/proc: cannot be written (", marks=NEEDS_PROC),
    ],
)
def test_what_cannot_be_written_is_said_before_aligning(aligner, texts, capsys, prefix, message):
    aligner.write_text(f"#!/bin/sh\ntouch {texts}/begun\nexit 1\n")
    command = ["align", "--source", str(texts / "f"), "--target", str(texts / "e"), "--output"]
    (texts / "train.f").write_text("")
    assert main([*command, prefix if prefix.startswith("/") else f"{texts}/{prefix}"]) == 2
    assert message in capsys.readouterr().err
    assert not (texts / "begun").exists()


# Stands in for eflomal's script, which runs another program.
ENDLESS = """#!/bin/sh
sleep 300 &
echo $! >{seen}.part
mv {seen}.part {seen}
wait
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_nothing_that_eflomal_has_started_outlives_the_command(aligner, texts, sent):
    aligner.write_text(ENDLESS.format(seen=texts / "seen"))
    path = {"PATH": f"{aligner.parent}{os.pathsep}{os.defpath}"}
    arguments = [f"--source={texts}/f", f"--target={texts}/e", f"--output={texts}/made"]
    command = [sys.executable, "-m", "scfg_sampler", "align", *arguments]
    with subprocess.Popen(command, env={**os.environ, **path}, stderr=subprocess.PIPE) as process:
        while not (texts / "seen").exists():
            assert process.poll() is None
            time.sleep(0.02)
        program = int((texts / "seen").read_text())
        process.send_signal(sent)
        assert process.wait(timeout=60) == 128 + sent
    for _ in range(500):
        if not is_running(program):
            break
        time.sleep(0.02)
    assert not is_running(program)
    assert not list(texts.glob("made*"))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_while_eflomal_is_started_ends_it_as_well(aligner, texts, sent):
    """The program may run for some time before whoever started it goes on: where all are busy, seconds."""
    aligner.write_text("#!/bin/sh\nexec sleep 300\n")
    statement = f"""
        import os, subprocess, sys
        from scfg_sampler.cli import main
        def start(*arguments, started=subprocess.Popen, **options):
            child = started(*arguments, **options)
            print(child.pid, flush=True)
            os.kill(os.getpid(), {int(sent)})
            return child
        subprocess.Popen = start
        sys.exit(main(["align", "--source=f", "--target=e", "--output=made"]))
    """
    command = [sys.executable, "-c", textwrap.dedent(statement)]
    path = f"{aligner.parent}{os.pathsep}{os.defpath}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    child = subprocess.run(command, cwd=texts, env=environment, capture_output=True, text=True, timeout=60)
    assert child.returncode == 128 + sent, child.stderr
    assert not is_running(int(child.stdout))
    assert not list(texts.glob("made*"))


def is_running(process: int) -> bool:
    """Whether there is such a process, and not only its exit status."""
    command = ["ps", "-o", "stat=", "-p", str(process)]
    found = subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, text=True)
    return found.stdout.strip()[:1] not in ("", "Z")


def test_words_are_numbers_to_eflomal_whatever_they_hold(aligner, texts):
    align(texts, "--quiet")
    assert (texts / "seen").read_text() == "0 1 0\n\n2 3 4\n|0 1 2\n\n3 4\n"


# Stands in for eflomal's other program: notes what it is given.
PRIORS = """#!{python}
import sys
from pathlib import Path

given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
Path(given["-p"]).write_text("|".join(Path(given[name]).read_text() for name in ("-s", "-t", "-f", "-r")))
"""


def test_a_text_in_parts_is_put_together_again(aligner, texts):
    for name in "fe":
        # Line k has k words, so that the alignment tells which line it was made of.
        lines = [" ".join(f"{name}{k}" for k in range(number + 1)) for number in range(8)]
        (texts / name).write_text("".join(line + "\n" for line in lines))
    assert align(texts, "--quiet") == 0
    whole = [(texts / "out" / f"made.{name}").read_text() for name in ("fwd", "rev", "gdfa")]
    program = aligner.with_name("eflomal-makepriors")
    program.write_text(PRIORS.format(python=sys.executable))
    program.chmod(0o755)
    note = (
        f"open('{texts / 'priors'}', 'a').write(Path(given['-p']).read_text() if '-p' in given else 'none')"
    )
    aligner.write_text(f"{aligner.read_text()}\n{note}")
    assert align(texts, "--parts", "3", "--quiet") == 0
    assert [(texts / "out" / f"made.{name}").read_text() for name in ("fwd", "rev", "gdfa")] == whole
    # The first part has no priors; the others have those of its texts and links: of lines 1, 4 and 7.
    text = "0\n0 1 2 3\n0 1 2 3 4 5 6\n"
    links = [
        "".join(" ".join(line) + "\n" for line in lines)
        for lines in (
            [[f"{i}-{i}" for i in range(size)] for size in (1, 4, 7)],
            [[f"{i}-{i} {i}-{i + 1}" for i in range(size - 1)] for size in (1, 4, 7)],
        )
    ]
    assert (texts / "priors").read_text() == "none" + 2 * "|".join([text, text, *links])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("0", "--parts is 0; it must be from 1 to 65536"),
        ("4", "f has 3 sentence pairs"),
    ],
)
def test_parts_that_make_no_sense_are_refused(aligner, texts, capsys, parts, message):
    aligner.with_name("eflomal-makepriors").write_text("#!/bin/sh\n")
    aligner.with_name("eflomal-makepriors").chmod(0o755)
    assert align(texts, "--parts", parts) == 2
    assert message in capsys.readouterr().err


def test_parts_that_eflomal_has_cut_are_noticed(aligner, texts, capsys):
    aligner.with_name("eflomal-makepriors").write_text("#!/bin/sh\n")
    aligner.with_name("eflomal-makepriors").chmod(0o755)
    cut = aligner.read_text().replace("(text.splitlines() for", "(text.splitlines()[:1] for")
    aligner.write_text(cut)
    assert align(texts, "--parts", "2") == 2
    assert "eflomal aligned 2 of 3 sentence pairs" in capsys.readouterr().err


@pytest.mark.parametrize("method", METHODS[:-1])
def test_other_methods_name_their_file(aligner, texts, method):
    assert align(texts, "--symmetrise", method, "--quiet") == 0
    read = [read_alignment(texts / "out" / f"made.{name}")[1].tolist() for name in ("fwd", "rev", method)]
    assert (texts / "out" / f"made.{method}").exists()
    assert not (texts / "out" / "made.gdfa").exists()
    assert len(read[2]) == {"intersect": 3, "union": 8}.get(method, 7)


def test_long_pairs_are_warned_of(aligner, texts, capsys):
    for name in "fe":
        (texts / name).write_text("a " * 1024 + "\n")
    assert align(texts, "--quiet") == 0
    assert capsys.readouterr().err == "warning: no links for 1 pair with more than 1023 words on a side\n"


def test_a_missing_eflomal_is_named_with_how_to_get_it(monkeypatch, texts, capsys):
    monkeypatch.setenv("PATH", str(texts))
    monkeypatch.setattr(sys, "executable", str(texts / "python"))
    assert align(texts) == 2
    assert "eflomal, which is not installed: pip install 'scfg-sampler[align]'" in capsys.readouterr().err


def test_eflomal_is_found_beside_python(aligner, texts, monkeypatch):
    monkeypatch.setenv("PATH", str(texts))
    monkeypatch.setattr(sys, "executable", str(aligner.parent / "python"))
    assert align(texts, "--quiet") == 0


def test_eflomal_is_never_imported(aligner, texts, monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    assert align(texts, "--quiet") == 0


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "echo loading >&2; echo 'no space left' >&2; exit 1",
            "eflomal failed on it (no space left). Is there",
        ),
        ("exit 3", "eflomal failed on it (status 3)"),
    ],
)
def test_an_eflomal_that_fails_leaves_no_files(aligner, texts, capsys, program, message):
    aligner.write_text(f"#!/bin/sh\n{program}\n")
    assert align(texts) == 2
    assert message in capsys.readouterr().err
    assert not (texts / "out").exists()


def test_an_eflomal_that_cannot_be_run_is_named(aligner, texts, capsys):
    aligner.write_text("#!/no/such/python\n")
    assert align(texts) == 2
    assert (
        "eflomal-align cannot be run (No such file or directory): install eflomal again"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [("a\nb\n", "A\n", "ends after 1 line"), ("\n", "\n", "has no words"), ("", "", "has no words")],
)
def test_texts_that_cannot_be_aligned_are_named(aligner, texts, capsys, source, target, message):
    (texts / "f").write_text(source)
    (texts / "e").write_text(target)
    assert align(texts) == 2
    assert message in capsys.readouterr().err


def error_rate(found: list[set], sure: list[set], possible: list[set]) -> float:
    """The alignment error rate (Och and Ney 2003, eq. 10)."""
    hits = sum(len(a & s) + len(a & p) for a, s, p in zip(found, sure, possible, strict=True))
    return 1 - hits / sum(len(a) + len(s) for a, s in zip(found, sure, strict=True))


def links_of(path: Path) -> list[set[tuple[int, int]]]:
    start, links = read_alignment(path)
    pairs = [tuple(link) for link in links.tolist()]
    return [set(pairs[a:b]) for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]


def test_error_rate_by_hand():
    assert error_rate([{(0, 0), (1, 1)}], [{(0, 0)}], [{(0, 0), (0, 1)}]) == pytest.approx(1 - 2 / 3)


@pytest.mark.slow
def test_the_bundled_corpus_is_aligned_well(tmp_path):
    """By eflomal itself, without a seed: its error rate was 0.053 and 0.048 in two runs."""
    if not shutil.which("eflomal-align"):
        pytest.skip("needs eflomal: pip install 'scfg-sampler[align]'")
    for name, side in (("f", "novish"), ("e", "en")):
        (tmp_path / name).write_bytes(gzip.decompress((CORPUS / f"train.{side}.gz").read_bytes()))
    assert align(tmp_path, "--quiet") == 0
    gold = links_of(CORPUS / "train.novish-en.gold.gz")
    assert error_rate(links_of(tmp_path / "out" / "made.gdfa"), gold, gold) < 0.2


def test_text_that_is_not_tokenised_is_remarked_on(aligner, texts, capsys):
    (texts / "f").write_text("Das Haus, das, wo.\n")
    (texts / "e").write_text("the house\n")
    assert align(texts) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "tokenised" in line]
    assert said == [
        f"warning: {texts}/f: 75% of the words end in a mark; is the text tokenised? See 'prepare'"
    ]
