"""Outputs that cannot be written: one line that names them, status 2, and nothing lost."""

from __future__ import annotations

import os
import stat

import pytest

import decoder.cli
import monolingual.cli
import scfg_sampler.cli

TEXTS = {
    "train.f": "a b\nb a\n",
    "train.e": "A B\nB A\n",
    "train.a": "0-0 1-1\n0-0 1-1\n",
    "table": "[X] ||| a ||| A ||| LogForward=-1 LogCount=0\n",
    "trees": "(S (A a) (B b))\n(S (A a) (B c))\n",
    "tableaux.tsv": "input\toutput\tfrequency\tA\tB\nx\ta\t3\t0\t1\nx\tb\t2\t1\t0\n",
    "grammar": "S -> S S | 'a'\n",
    "sentences": "a a a\n",
}
CORPUS = "--source train.f --target train.e --alignment train.a"
TO_FILES = {
    "extract": (scfg_sampler.cli.main, f"extract {CORPUS} --quiet --output"),
    "convert": (scfg_sampler.cli.main, "convert table --to moses --quiet --output"),
    "filter": (scfg_sampler.cli.main, "filter table --source train.f --quiet --output"),
    "train-lm": (decoder.cli.main, "train-lm train.e --order 2 --quiet --output"),
    "compile-grammar": (decoder.cli.main, "compile-grammar table --quiet --output"),
}
TO_DIRECTORIES = {
    "sample": (scfg_sampler.cli.main, f"sample {CORPUS} --iterations 3 --quiet --output"),
    "chains": (scfg_sampler.cli.main, f"sample {CORPUS} --iterations 3 --chains 2 --quiet --output"),
    "tsg": (monolingual.cli.main, "tsg train trees --iterations 3 --burn-in 1 --quiet --output"),
    "ot": (monolingual.cli.main, "ot sample tableaux.tsv --iterations 8 --burn-in 2 --quiet --output"),
    "maxent": (monolingual.cli.main, "ot maxent tableaux.tsv --quiet --output"),
    "pcfg": (
        monolingual.cli.main,
        "pcfg sample grammar --sentences sentences --approach sink --prior 1 --iterations 8 --quiet --output",
    ),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "file").write_text("kept\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(main, options, output, capsys) -> None:
    assert main([*options.split(), output]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("warning: ")]
    assert len(said) == 1
    assert output.split("/")[0] in said[0]


@pytest.mark.parametrize("place", ["file/out", "file/deep/out"])
@pytest.mark.parametrize(
    ("main", "options"),
    [*TO_FILES.values(), *TO_DIRECTORIES.values()],
    ids=[*TO_FILES, *TO_DIRECTORIES],
)
def test_place_below_a_file_is_one_line(here, capsys, main, options, place):
    refused(main, options, place, capsys)
    assert (here / "file").read_text() == "kept\n"


@pytest.mark.parametrize(
    ("main", "options"),
    [*TO_FILES.values(), *TO_DIRECTORIES.values()],
    ids=[*TO_FILES, *TO_DIRECTORIES],
)
def test_an_empty_place_is_refused_before_any_work(here, capsys, main, options):
    """As of a variable that is not set; it is not the directory where one is, with all that lies there."""
    there = sorted(here.iterdir())
    with pytest.raises(SystemExit, match="2"):
        main([*options.split(), ""])
    assert "--output: is empty, and names no place; is a variable not set?" in capsys.readouterr().err
    assert sorted(here.iterdir()) == there


def test_an_empty_directory_for_the_tables_of_sentences_is_refused(here, capsys):
    with pytest.raises(SystemExit, match="2"):
        scfg_sampler.cli.main(["filter", "table", "--source", "train.f", "--per-sentence", ""])
    assert "--per-sentence: is empty" in capsys.readouterr().err


def test_an_empty_name_of_a_file_can_be_seen(here, capsys):
    assert scfg_sampler.cli.main(["prune", "", "--keep", "1", "--output", "out", "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("scfg-sampler: '': cannot be read")


@pytest.mark.parametrize(("main", "options"), TO_DIRECTORIES.values(), ids=TO_DIRECTORIES)
def test_file_instead_of_a_run_directory_is_one_line(here, capsys, main, options):
    refused(main, options, "file", capsys)
    assert (here / "file").read_text() == "kept\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(("main", "options"), TO_FILES.values(), ids=TO_FILES)
def test_full_device_is_one_line_and_stays(here, capsys, main, options):
    (here / "full").symlink_to("/dev/full")
    refused(main, options, "full", capsys)
    assert stat.S_ISCHR(os.stat(here / "full").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(("main", "options"), TO_DIRECTORIES.values(), ids=TO_DIRECTORIES)
def test_full_device_instead_of_a_run_directory_is_one_line(here, capsys, main, options):
    (here / "full").symlink_to("/dev/full")
    refused(main, options, "full", capsys)


@pytest.mark.parametrize(
    ("program", "command", "kept", "reader"),
    [
        (scfg_sampler.cli.main, "extract --source f --target e --alignment a --output f", "f", "--source"),
        (
            scfg_sampler.cli.main,
            "extract --source f --target e --alignment a b --output ./b",
            "b",
            "--alignment",
        ),
        (scfg_sampler.cli.main, "symmetrise --forward a --reverse b --output a", "a", "--forward"),
        (scfg_sampler.cli.main, "classes e --output e", "e", "TEXT"),
        (decoder.cli.main, "train-lm e --output e", "e", "TEXT"),
        (decoder.cli.main, "tune --grammar g --lm l --source f --references e --output g", "g", "--grammar"),
        (
            decoder.cli.main,
            "translate --grammar g --lm l --weights w --input f --output link",
            "f",
            "--input",
        ),
        (monolingual.cli.main, "pcfg induce t --output t", "t", "TREES"),
        (monolingual.cli.main, "dmv train t --output m --trace t", "t", "TAGS"),
        (monolingual.cli.main, "dmv train t --output m --heldout e --covariances e", "e", "--heldout"),
        (monolingual.cli.main, "dmv parse t e --posteriors t", "t", "MODEL"),
        (monolingual.cli.main, "dmv parse t e --picture e", "e", "DATA"),
        (monolingual.cli.main, "dmv covariances t --head V --plot ./t", "t", "FILE"),
        (monolingual.cli.main, "pcfg compare t e --plot e", "e", "RUN"),
        (monolingual.cli.main, "tsg statistics t --plot t", "t", "RUN"),
        (decoder.cli.main, "show f --sentence 0 --svg link", "f", "FILE"),
        (monolingual.cli.main, "pcfg check t --tighten t", "t", "GRAMMAR"),
        (scfg_sampler.cli.main, "convert t --to moses --output o --glue t", "t", "TABLE"),
        (
            decoder.cli.main,
            "translate --grammar g --lm l --weights w --input f --derivations l",
            "l",
            "--lm",
        ),
    ],
)
def test_what_is_read_is_not_written_over(program, command, kept, reader, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in "feabglwt":
        (tmp_path / name).write_text("as it was\n")
    (tmp_path / "link").symlink_to("f")
    with pytest.raises(SystemExit, match="2"):
        program(command.split())
    assert f", which {reader} reads, and would be lost; name another file. Try" in capsys.readouterr().err
    assert (tmp_path / kept).read_text() == "as it was\n"


@pytest.mark.parametrize(
    ("program", "command", "kept", "reader"),
    [
        (decoder.cli.main, "join-lists Ours=a.list Hiero=b --output ./a.list", "a.list", "NAME=LIST"),
        (scfg_sampler.cli.main, "grammar run --add add.gz:0.5 --output add.gz", "add.gz", "--add"),
        (scfg_sampler.cli.main, "grammar run --add a:b.gz --output a:b.gz", "a:b.gz", "--add"),
        (scfg_sampler.cli.main, "report run --scores ours=s.json --output s.json", "s.json", "--scores"),
        (monolingual.cli.main, "dmv report m --trace a=t.tsv --output t.tsv", "t.tsv", "--trace"),
        (scfg_sampler.cli.main, "align --source x.gdfa --target e --output x", "x.gdfa", "--source"),
        (
            scfg_sampler.cli.main,
            "align --source f --target x.union --symmetrise union --output x",
            "x.union",
            "--target",
        ),
        (
            scfg_sampler.cli.main,
            "align --source x.2.fwd --target e --draws 2 --output x",
            "x.2.fwd",
            "--source",
        ),
    ],
)
def test_what_is_read_by_a_part_of_a_value_is_not_written_over(
    program, command, kept, reader, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / kept).write_text("as it was\n")
    with pytest.raises(SystemExit, match="2"):
        program(command.split())
    assert f", which {reader} reads, and would be lost; name another file. Try" in capsys.readouterr().err
    assert (tmp_path / kept).read_text() == "as it was\n"


@pytest.mark.parametrize(
    ("program", "command"),
    [
        (decoder.cli.main, "join-lists there=a.list b=b.list --output there"),
        (scfg_sampler.cli.main, "grammar run --add add.gz:5 --output there"),
        (scfg_sampler.cli.main, "align --source there --target e --draws 2 --output there"),
        (scfg_sampler.cli.main, "align --source there.gdfa --target e --symmetrise union --output there"),
    ],
)
def test_what_is_a_part_of_a_value_and_no_file_that_is_read_may_be_written_over(
    program, command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in ("there", "there.gdfa"):
        (tmp_path / name).write_text("as it was\n")
    assert program(command.split()) == 2  # The next thing that is missing.
    assert "would be lost" not in capsys.readouterr().err


@pytest.mark.parametrize("place", ["there", "there/", "new/", "link"])
@pytest.mark.parametrize(
    ("program", "command"),
    [
        (decoder.cli.main, "tune --grammar g --lm l --source s --references r --output"),
        (decoder.cli.main, "train-lm text --output"),
        (decoder.cli.main, "translate --grammar g --lm l --weights w --derivations"),
        (monolingual.cli.main, "dmv train text --output"),
        (monolingual.cli.main, "dmv train text --output m --covariances"),
        (monolingual.cli.main, "dmv train text --output m --trace"),
        (monolingual.cli.main, "pcfg train g --sentences s --output"),
        (scfg_sampler.cli.main, "extract --source s --target t --alignment a --output"),
        (scfg_sampler.cli.main, "convert --to moses --text s"),
    ],
)
def test_a_file_that_has_the_name_of_a_directory_is_refused_at_once(
    program, command, place, tmp_path, monkeypatch, capsys
):
    """Before anything is read, as all work would be lost at the end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    with pytest.raises(SystemExit, match="2"):
        program([*command.split(), place])
    name = "--text" if command.startswith("convert") else command.split()[-1]
    assert f": {name} is {place}, a directory; name a file. Try" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there"]


@pytest.mark.parametrize(
    ("program", "command"),
    [
        (scfg_sampler.cli.main, "sample --source s --target t --alignment a --output there/"),
        (scfg_sampler.cli.main, "align --source s --target t --output there"),
        (scfg_sampler.cli.main, "filter g --source s --per-sentence there/"),
        (decoder.cli.main, "bundle --grammar g --lm l --weights w --output there/"),
        (decoder.cli.main, "translate --grammar g --lm l --weights w --hypergraph there"),
    ],
)
def test_outputs_of_several_files_may_be_directories(program, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert program(command.split()) == 2  # The next thing that is missing.
    assert "a directory; name a file" not in capsys.readouterr().err


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("names", "other"), [("--derivations ./o", "--output"), ("--hypergraph o", "--output")]
)
def test_two_results_are_not_written_to_one_file(names, other, there, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if there:
        (tmp_path / "o").write_text("as it was\n")
    with pytest.raises(SystemExit, match="2"):
        decoder.cli.main(["translate", "--grammar", "g", "--lm", "l", "--output", "o", *names.split()])
    told = f"{names.replace(' ', ' is ')}, which --output writes, too; name another file. Try"
    assert told in capsys.readouterr().err
    assert (tmp_path / "o").exists() == there


@pytest.mark.parametrize("output", ["", "--output -"])
def test_two_results_are_not_mixed_on_standard_output(output, capsys):
    """Whoever read the translations had the lines of the trees between them."""
    command = f"translate --grammar g --lm l {output} --derivations -"
    with pytest.raises(SystemExit, match="2"):
        decoder.cli.main(command.split())
    told = "--derivations is -, standard output, as --output is; name a file for one of them"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "command", "told"),
    [
        ("translate", "--output each/0.json --hypergraph each", "--output is each/0.json"),
        ("translate", "--derivations each/12.json --hypergraph each/", "--derivations is each/12.json"),
        ("translate", "--derivations ./0.json --hypergraph .", "--derivations is ./0.json"),
        ("filter", "table --source f --output each/grammar.0.gz --per-sentence ./each", "--output is each"),
        ("filter", "table --source f --output each/input.sgm --per-sentence each", "--output is each"),
        ("filter", "table --source f --output each/grammar.json --per-sentence each", "--output is each"),
    ],
)
def test_two_results_are_not_written_to_one_file_of_a_directory(
    program, command, told, tmp_path, monkeypatch, capsys
):
    """Whether the directory is there already, or comes to be with the first of the two."""
    monkeypatch.chdir(tmp_path)
    main = decoder.cli.main if program == "translate" else scfg_sampler.cli.main
    for _ in range(2):
        with pytest.raises(SystemExit, match="2"):
            main([program, *command.split()])
        said = capsys.readouterr().err
        assert told in said
        assert " writes, too; name another file. Try" in said
        (tmp_path / "each").mkdir(exist_ok=True)
    assert not list((tmp_path / "each").iterdir())


@pytest.mark.parametrize(
    ("program", "command", "told"),
    [
        ("translate", "--grammar each/3.json --hypergraph each", "--grammar is each/3.json, which --hyp"),
        ("translate", "--input link --hypergraph each/", "--input is link, which --hypergraph"),
        ("translate", "--input again/4.json --hypergraph each", "--input is again/4.json, which --hyp"),
        ("translate", "--reference f each/3.json --hypergraph ./each", "--reference is each/3.json"),
        ("filter", "each/grammar.0.gz --source f --per-sentence each", "TABLE is each/grammar.0.gz"),
    ],
)
def test_what_is_read_is_not_written_over_in_a_directory(
    program, command, told, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "each").mkdir()
    for name in ("3.json", "grammar.0.gz"):
        (tmp_path / "each" / name).write_text("as it was\n")
    (tmp_path / "link").symlink_to("each/3.json")
    (tmp_path / "again").symlink_to("each")
    (tmp_path / "each" / "4.json").symlink_to("../elsewhere")
    (tmp_path / "elsewhere").write_text("as it was\n")
    with pytest.raises(SystemExit, match="2"):
        (decoder.cli.main if program == "translate" else scfg_sampler.cli.main)([program, *command.split()])
    said = capsys.readouterr().err
    assert told in said
    assert ", and would be lost; name another directory. Try" in said


def test_other_files_may_stand_in_a_directory_in_which_files_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "each").mkdir()
    (tmp_path / "each" / "w.json").write_text("no JSON")
    files = ["--weights", "each/w.json", "--derivations", "each/d.json", "--output", "each/-0.json"]
    files += ["--input", "each/0.json"]
    assert decoder.cli.main(["translate", "--grammar", "g", "--lm", "l", *files, "--hypergraph", "each"]) == 2
    assert "each/0.json: cannot be read" in capsys.readouterr().err  # The next thing that is missing.


def test_several_results_may_go_to_a_device(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = ["--output", "/dev/null", "--derivations", "/dev/null"]
    assert decoder.cli.main(["translate", "--grammar", "g", "--lm", "l", "--weights", "w", *files]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "kept", "reader"),
    [
        ("grammar run --output run/run.json", "run.json", "RUN"),
        ("grammar link --output run/counts/last.gz", "counts/last.gz", "RUN"),
        ("report run --output run/chain-2/trace.tsv", "chain-2/trace.tsv", "RUN"),
        ("forest --source f --target e --alignment a --run run -o run/lex.f2e", "lex.f2e", "--run"),
        ("segment run --output run/preparation.json", "preparation.json", "DIR"),
    ],
)
def test_what_a_directory_that_is_read_needs_is_not_written_over(
    command, kept, reader, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run" / kept).parent.mkdir(parents=True)
    (tmp_path / "run" / kept).write_text("as it was\n")
    (tmp_path / "link").symlink_to("run")
    with pytest.raises(SystemExit, match="2"):
        scfg_sampler.cli.main(command.split())
    assert f", which {reader} reads, and would be lost; name another file. Try" in capsys.readouterr().err
    assert (tmp_path / "run" / kept).read_text() == "as it was\n"


def test_other_files_in_a_directory_that_is_read_may_be_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "grammar.gz").write_text("")
    assert scfg_sampler.cli.main(["grammar", "run", "--output", "run/grammar.gz"]) == 2
    assert "run: is not a run directory" in capsys.readouterr().err  # The next thing that is missing.


def test_a_table_may_take_the_place_of_what_it_is_made_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = "[X] ||| a ||| b ||| LogForward=-1 LogCount=0 ||| 0-0\n"
    (tmp_path / "table").write_text(rule)
    (tmp_path / "text").write_text("a\n")
    assert scfg_sampler.cli.main(["filter", "table", "--source", "text", "--output", "table"]) == 0
    # A word that is not a name of a file, however a file is called.
    (tmp_path / "moses").write_text("")
    assert scfg_sampler.cli.main(["convert", "table", "--to", "moses", "--output", "moses"]) == 0
    assert (tmp_path / "table").read_text().endswith(rule)


@pytest.mark.parametrize("name", TO_DIRECTORIES)
def test_several_files_do_not_go_to_standard_output(here, name, capsys):
    main, line = TO_DIRECTORIES[name]
    with pytest.raises(SystemExit, match="2"):
        main([*line.split(), "-"])
    told = (
        "argument --output: - is standard output, but several files are written; name a place for them. Try"
    )
    assert told in capsys.readouterr().err
    assert not (here / "-").exists()


@pytest.mark.parametrize("name", TO_DIRECTORIES)
def test_a_file_where_a_directory_is_to_be_made_is_named(here, name, capsys):
    main, line = TO_DIRECTORIES[name]
    (here / "taken").write_text("")
    assert main([*line.split(), "taken"]) == 2
    assert capsys.readouterr().err.endswith(
        "taken: is a file, where a directory is to be made. Name another one\n"
    )


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "convert table --to cdec --output new --text in table",
            "--text is table, which TABLE reads, and would",
        ),
        (
            "convert table --to cdec --output in --text in new",
            "--output is in, which --text reads, and would",
        ),
        (
            "convert table --to cdec --output new --text in new",
            "--text is new, which --output writes, too; name",
        ),
        (
            "convert --to cdec --text in other --text other new",
            "--text is other, which --text reads, and would",
        ),
        ("convert --to cdec --text in new --text other new", "--text is new, which --text writes, too; name"),
        (
            "extract -s p.f2e -t in -a other -o new --lexical p",
            "--lexical writes p.f2e, which --source reads, and",
        ),
        (
            "extract -s in -t in -a other -o p.e2f --lexical p",
            "--lexical writes p.e2f, which --output writes, too",
        ),
    ],
)
def test_texts_and_tables_beside_the_output_are_written_over_nothing_either(
    command, told, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    names = ("table", "in", "other", "p.f2e")
    for name in names:
        (tmp_path / name).write_text(f"{name} as it was\n")
    with pytest.raises(SystemExit, match="2"):
        scfg_sampler.cli.main(command.split())
    assert told in capsys.readouterr().err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        name: f"{name} as it was\n" for name in names
    }


def test_a_text_may_be_spelled_and_a_table_written_in_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table").write_text("[X] ||| a ||| b ||| LogCount=0\n")
    assert scfg_sampler.cli.main(["convert", "table", "--to", "native", "--output", "table", "--quiet"]) == 0
    assert "[X] ||| a ||| b ||| LogCount=0" in (tmp_path / "table").read_text()
    (tmp_path / "text").write_text("a [b\n")
    assert scfg_sampler.cli.main(["convert", "--to", "cdec", "--text", "text", "text", "--quiet"]) == 0
    assert (tmp_path / "text").read_text() == "a &#91;b\n"
