"""Pipes, as <(command) is to a shell, are read as files are; or refused where they would be read again."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
from pathlib import Path

import pytest

import decoder.cli
import monolingual.cli
import scfg_sampler.cli
from scfg_sampler.core.arrays.array_file import has_magic
from scfg_sampler.core.files import file_digest, is_device, is_stream, require_file
from scfg_sampler.corpus.word_alignment import AlignmentReport
from scfg_sampler.errors import InputError
from scfg_sampler.formats import FORMATS

CORPUS = {"source": "a b\nb a\n", "target": "A B\nB A\n", "alignment": "0-0 1-1\n0-0 1-1\n"}
RULES = "".join(
    f"[X] ||| {f} ||| {f.upper()} ||| LogForward=-1 LogCount=0 TargetWords=1 ||| 0-0\n" for f in "abc"
)
WEIGHTS = {"LogForward": 1, "LogCount": 0, "TargetWords": 0, "LanguageModel": 1, "Glue": 0, "PassThrough": -1}
ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-1\t</s>\n-1\tA\n\n\\end\\\n"


@pytest.fixture
def pipe():
    """A function that gives the name of a pipe which has a text in it, and will have no more."""
    opened = []

    def with_text(text: str | bytes) -> str:
        reading, writing = os.pipe()
        opened.append(reading)
        os.write(writing, text.encode() if isinstance(text, str) else text)
        os.close(writing)
        return f"/dev/fd/{reading}"

    if not os.path.exists("/dev/fd"):
        pytest.skip("needs /dev/fd")
    yield with_text
    for each in opened:
        os.close(each)


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, text in {**CORPUS, "table": RULES, "lm.arpa": ARPA}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "w.json").write_text(str(WEIGHTS).replace("'", '"'))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_only_pipes_and_standard_input_are_streams(tmp_path, pipe):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    for path, stream, device in (
        ("-", True, False),
        (pipe(""), True, True),
        (tmp_path / "fifo", True, True),
        (tmp_path / "file", False, False),
        (tmp_path, False, False),
        (tmp_path / "none", False, False),
        (os.devnull, False, True),
    ):
        assert (is_stream(path), is_device(path)) == (stream, device)


def test_looking_whether_there_is_a_pipe_does_not_open_it(tmp_path):
    """Whoever writes into it would be gone when it is read, or wait for ever, as this would."""
    os.mkfifo(tmp_path / "fifo")
    for look in (require_file, lambda path: has_magic(path, b"magic")):
        looking = threading.Thread(target=look, args=(tmp_path / "fifo",), daemon=True)
        looking.start()
        looking.join(timeout=5)
        assert not looking.is_alive()


def test_a_pipe_has_no_digest(pipe):
    """Where one is taken, the text is read besides."""
    with pytest.raises(InputError, match=r"is a pipe, but has to be read more than once\. Write it to a"):
        file_digest(pipe("text\n"))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_tables_are_filtered_out_of_pipes(here, pipe, compress, capsys):
    table = pipe(compress(RULES.encode()))
    options = ["--source", "source", "--quiet", "--output", "found"]
    assert scfg_sampler.cli.main(["filter", table, *options]) == 0
    assert (here / "found").read_text() == "".join(RULES.splitlines(keepends=True)[:2])
    # Of a text in a pipe nobody looks a second time whether it fits.
    options = ["filter", "table", "--source", pipe("no word of it is here\n"), "--output", "none"]
    assert scfg_sampler.cli.main(options) == 0
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize("to", FORMATS)
def test_tables_are_converted_from_pipe_to_pipe(here, pipe, to, capsys):
    arguments = ["convert", "--to", to, "--quiet", "--output"]
    assert scfg_sampler.cli.main([*arguments, "expected", "table"]) == 0
    assert scfg_sampler.cli.main([*arguments, "found", pipe(RULES)]) == 2
    assert "the format of a pipe, /dev/fd/" in capsys.readouterr().err
    os.mkfifo(here / "fifo")
    found = []
    reader = threading.Thread(target=lambda: found.append((here / "fifo").read_bytes()), daemon=True)
    reader.start()
    assert scfg_sampler.cli.main([*arguments, "fifo", pipe(RULES), "--from", "native"]) == 0
    reader.join(timeout=10)
    assert found == [(here / "expected").read_bytes()]
    assert not (here / "fifo.json").exists()


def test_a_table_in_a_pipe_that_is_not_utf8_is_one_line(here, pipe, capsys):
    for wrong in ("B\xff", "\xff"):
        table = pipe(RULES.replace("B", wrong).encode("latin-1"))
        assert scfg_sampler.cli.main(["prune", table, "--keep", "1", "--output", "none", "--quiet"]) == 2
        assert capsys.readouterr().err.endswith(": the table is not UTF-8. Convert it to UTF-8\n")


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_models_are_read_out_of_pipes(here, pipe, compress):
    options = ["translate", "--input", "source", "--weights", "w.json", "--quiet"]
    files = ["--grammar", "table", "--lm", "lm.arpa"]
    assert decoder.cli.main([*options, *files, "--output", "expected"]) == 0
    files = ["--grammar", pipe(compress(RULES.encode())), "--lm", pipe(compress(ARPA.encode()))]
    assert decoder.cli.main([*options, *files, "--output", "found"]) == 0
    assert (here / "found").read_text() == (here / "expected").read_text() == "A B\nB A\n"


def test_what_will_be_read_again_is_refused_before_anything_is_done(here, pipe, capsys):
    for name in CORPUS:
        given = {**{name: name for name in CORPUS}, name: pipe(CORPUS[name])}
        options = [word for name, path in given.items() for word in (f"--{name}", path)]
        assert scfg_sampler.cli.main(["sample", *options, "--output", "run", "--quiet"]) == 2
        assert "is a pipe, but has to be read more than once" in capsys.readouterr().err
        assert not (here / "run").exists()
        with open(given[name]) as unread:
            assert unread.read() == CORPUS[name]
    (here / "grammar").write_text("S -> S S | 'a'\n")
    options = "--approach sink --prior 1 --iterations 8 --quiet --output run --sentences"
    assert monolingual.cli.main(["pcfg", "sample", "grammar", *options.split(), pipe("a a\n")]) == 2
    assert "is a pipe, but has to be read more than once" in capsys.readouterr().err


def test_texts_are_aligned_out_of_pipes(here, pipe, monkeypatch):
    seen = {}

    def align(*texts, **options):
        seen.update({Path(text): Path(text).read_text() for text in texts[:2]})
        return AlignmentReport(2, 4, 0)

    monkeypatch.setattr("scfg_sampler.corpus.word_alignment.align_texts", align)
    texts = [pipe(CORPUS[name]) for name in ("source", "target")]
    given = ["--source", texts[0], "--target", texts[1], "--output", "al", "--quiet"]
    assert scfg_sampler.cli.main(["align", *given]) == 0
    assert list(seen.values()) == [CORPUS["source"], CORPUS["target"]]


def test_a_table_for_each_sentence_of_a_text_in_a_pipe(here, pipe):
    command = ["filter", "table", "--quiet", "--per-sentence", "tables", "--source"]
    assert scfg_sampler.cli.main([*command, "source"]) == 0
    expected = {path.name: path.read_bytes() for path in (here / "tables").iterdir()}
    shutil.rmtree(here / "tables")
    assert scfg_sampler.cli.main([*command, pipe(CORPUS["source"])]) == 0
    found = {path.name: path.read_bytes() for path in (here / "tables").iterdir()}
    assert found.pop("grammar.json") != expected.pop("grammar.json")  # It names the text.
    assert found == expected
    assert "> a b </seg>" in found["input.sgm"].decode()


def test_a_language_model_to_plug_in_is_read_more_than_once(here, pipe, capsys):
    model = pipe(ARPA)
    arguments = ["plug", "table", "--to", "cdec", "--lm", model, "--weights", "w.json", "--output", "plugged"]
    assert scfg_sampler.cli.main([*arguments, "--quiet"]) == 2
    assert "is a pipe, but has to be read more than once" in capsys.readouterr().err
    with open(model) as unread:
        assert unread.read() == ARPA
    assert not (here / "plugged").exists()


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("cdec", "Glue 2\n"),
        ("joshua", "lm_0 2\n"),
        ("moses", "[weight]\nLM0= 2\n"),
        ("travatar", "[weight_vals]\nw=2\n"),
    ],
)
def test_weights_of_other_decoders_are_read_out_of_pipes(here, pipe, program, text):
    (here / "theirs").write_text(text)
    for origin, output in (("theirs", "expected"), (pipe(text), "found")):
        arguments = ["import-weights", origin, "--from", program, "--output", output, "--quiet"]
        assert decoder.cli.main(arguments) == 0
    assert (here / "found").read_text() == (here / "expected").read_text()
