"""The recipe from alignments to BLEU takes the right steps, each once, and goes on where it was stopped.

The programs are a stand-in (`recipe_calls`); `.ci/run` runs the recipe with the real ones.
"""

from __future__ import annotations

import gzip
import re
import shutil

import pytest

from tests.recipe_calls import (
    ALIGNMENTS_TO_BLEU,
    RECIPES,
    Finished,
    bleu_recipe,
    calls,
    planned_seconds,
    run,
    small_data,
    unrecorded,
    up_to,
    write_stand_in,
)

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    stand_in = write_stand_in(tmp_path_factory.mktemp("made"))
    small_data(stand_in / "data")
    return Finished(stand_in, recipe)


@pytest.fixture
def finished(made):
    """A run of the recipe that has come to its end."""
    return made.restored()


def recipe(stand_in, *options):
    return bleu_recipe(stand_in, stand_in / "data", *options)


def test_recipe_prints_one_table_and_the_run_directory(finished):
    outcome, stand_in = finished.outcome, finished.stand_in
    table = outcome.stdout.splitlines()
    assert re.fullmatch(
        r"grammar +rules +learning s +decoding sent/s +dev BLEU +test BLEU", table[0].strip()
    ), outcome.stdout
    assert set(table[1]) == {"-", " "}
    assert re.match(r"hiero +1 +\d+\.\d +33\.5 +61\.25 +61\.25$", table[2])
    assert re.match(r"hiero-loose +1 +\d+\.\d +33\.5 +61\.25 +61\.25$", table[3])
    assert re.match(r"sampled +1 +2000\.\d +33\.5 +61\.25 +61\.25$", table[4])
    assert len({len(line) for line in table[:5]}) == 1
    assert "sampled − hiero: +0.50 BLEU, p = 0.0000 (paired bootstrap)" in table
    assert "sampled − hiero-loose: +0.50 BLEU, p = 0.0000 (paired bootstrap)" in table
    assert "BLEU: tok" in table
    assert table[-4:-1] == [
        f"report: {stand_in / 'run dir' / 'report.html'}",
        f"to translate: scfg-decoder translate --system '{stand_in / 'run dir' / 'system'}'",
        f"to look into it: scfg-sampler explore '{stand_in / 'run dir'}'",
    ]
    assert table[-1] == f"run directory: {stand_in / 'run dir'}"
    assert (stand_in / "run dir" / "table.txt").read_text() == outcome.stdout


def test_recipe_takes_files_as_well_as_a_directory(stand_in):
    """Of any names, gzipped or not, with several references."""
    data = small_data(stand_in / "data")
    for name in ("dev.en", "train.xx"):
        (data / f"{name}.gz").write_bytes(gzip.compress((data / name).read_bytes()))
        (data / name).unlink()
    (data / "more").write_text("another one\n")
    files = ("--source", data / "train.xx.gz", "--target", data / "train.en")
    files += (
        "--alignment",
        data / "train.xx-en.hand",
        "--dev",
        data / "dev.xx",
        data / "dev.en.gz",
        data / "more",
    )
    files += ("--test", data / "test.xx", data / "test.en", "--no-baseline", "--output", stand_in / "run dir")
    outcome = run(ALIGNMENTS_TO_BLEU, *files, SCFG_PYTHON=str(stand_in / "python"))
    assert outcome.returncode == 0, outcome.stderr
    assert "this takes about" in outcome.stderr
    assert "left)" in outcome.stderr
    noted = calls(stand_in)
    by_command = {line.split()[1]: line for line in noted}
    links = stand_in / "run dir" / "files"
    sampled = f"--source {links}/train.xx.gz --target {links}/train.en --alignment {data}/train.xx-en.hand"
    assert sampled in by_command["sample"]
    references = f"--source {links}/dev.xx --references {links}/dev.en.ref0.gz {links}/dev.en.ref1"
    assert references in by_command["tune"]
    assert (links / "dev.en.ref1").read_text() == "another one\n"
    # Of the two evaluations, side by side, either may come first.
    evaluations = [line for line in noted if line.startswith("decoder evaluate")]
    assert sum(f"--references {links}/test.en.ref0" in line for line in evaluations) == 1


def test_recipe_says_beforehand_that_it_has_to_compile(stand_in):
    data, python = small_data(stand_in / "data"), str(stand_in / "python")
    arguments = (data, "xx", "en", "--no-baseline", "--output", stand_in / "run dir", "--overwrite")

    def with_cache(stand_in, cache):
        return run(ALIGNMENTS_TO_BLEU, *arguments, SCFG_PYTHON=python, SCFG_SAMPLER_CACHE=str(cache))

    told = "the first step compiles for this machine, which takes some minutes, and happens once"
    seconds = []
    for cache in (stand_in / "no cache", stand_in):
        outcome = up_to("sample", with_cache, stand_in, cache)
        assert (told in outcome.stderr) == (cache != stand_in)
        seconds.append(planned_seconds(outcome))
    assert seconds[0] - seconds[1] >= 120


def test_recipe_calls_every_command_once_per_grammar(stand_in):
    bleu_recipe(stand_in, small_data(stand_in / "data"), "--iterations", "90", "--order", "4", "--seed", "5")
    noted = calls(stand_in)
    commands = [" ".join(line.split()[:2]) for line in noted]
    per_grammar = [
        "scfg_sampler filter",
        "decoder tune",
        "decoder translate",
        *2 * ["decoder evaluate"],
    ]
    assert sorted(commands) == sorted(
        ["decoder train-lm", "scfg_sampler sample", "scfg_sampler grammar", "scfg_sampler report"]
        + ["decoder bundle"]
        + 2 * ["scfg_sampler extract"]
        + 3 * per_grammar
        + 2 * ["decoder evaluate"]
    )
    extracted = [line for line in noted if line.startswith("scfg_sampler extract")]
    loose = [re.search(r"--loose (\w+)", line)[1] for line in extracted]
    assert loose == ["no", "target"]
    sample = next(line for line in noted if line.startswith("scfg_sampler sample"))
    assert "--iterations 90 --burn-in 30 --seed 5" in sample
    assert any(line.startswith("decoder train-lm") and "--order 4" in line for line in noted)


@pytest.mark.parametrize("tuned_long_ago", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_report_is_made_of_what_the_steps_left(finished, tuned_long_ago):
    stand_in, out, data = (finished.stand_in / name for name in ("", "run dir", "data"))
    if not tuned_long_ago:
        for grammar in ("sampled", "hiero", "hiero-loose"):
            (out / f"{grammar}.weights.json.rounds.tsv").write_text("round\tscore\n")
    (out / "logs" / "report.done").unlink()
    recipe(stand_in)
    (called,) = calls(stand_in)
    assert called.startswith(
        f"scfg_sampler report {out / 'sample'} --output {out / 'report.html'} --title run dir "
    )
    assert f"--baseline {out / 'hiero.gz'} " in called
    assert f"sampled against hiero-loose={out / 'compare-hiero-loose.json'}" in called
    rounds = [f"{out / grammar}.weights.json.rounds.tsv" for grammar in ("sampled", "hiero", "hiero-loose")]
    assert (f" --tunings {' '.join(rounds)} " in called) != tuned_long_ago
    assert f" --references {data / 'test.en'} --translations sampled={out / 'sampled.test.txt'} " in called


def test_everything_is_compiled_before_it_is_timed(finished):
    noted = [line.split()[1] for line in finished.calls]
    begin = noted.index("train-lm", noted.index("train-lm") + 1)
    assert set(noted[begin:]) - set(noted[:begin]) == {"evaluate", "bundle", "report"}  # which are not timed
    assert not (finished.stand_in / "run dir" / "compile").exists()


@pytest.mark.slow
def test_nothing_is_compiled_twice_for_one_cache(stand_in):
    data, cache = small_data(stand_in / "data"), stand_in / "cache"
    counts = []
    for there in (False, True, True, False, True):  # Without a cache nothing can be remembered.
        if not there:
            shutil.rmtree(cache, ignore_errors=True)
        else:
            cache.mkdir(exist_ok=True)
        assert bleu_recipe(stand_in, data, "--overwrite").returncode == 0
        counts.append((stand_in / "calls").read_text().count("/compile/output"))
        calls(stand_in)
    assert counts == [1, 1, 0, 1, 1]


def test_one_of_several_side_by_side_that_fails_ends_the_recipe(stand_in):
    data = small_data(stand_in / "data")
    broken = up_to("evaluate", recipe, stand_in)
    assert "evaluate-hiero failed with status 2" in broken.stderr
    assert bleu_recipe(stand_in, data).returncode == 0


def test_what_is_done_beside_sampling_ends_the_recipe_if_it_fails(stand_in):
    data = small_data(stand_in / "data")
    (stand_in / "broken").write_text("extract")
    broken = bleu_recipe(stand_in, data, "--threads", "2")
    assert broken.returncode == 2
    assert "grammar-hiero failed with status 2" in broken.stderr
    assert "tune" not in broken.stderr
    (stand_in / "broken").unlink()
    calls(stand_in)
    mended = bleu_recipe(stand_in, data, "--threads", "2")
    assert mended.returncode == 0
    assert "sample: done before" in mended.stderr
    assert "lm: done before" in mended.stderr
    assert [line.split()[1] for line in calls(stand_in)].count("extract") == 2


def test_one_thread_does_one_thing_at_a_time(stand_in):
    small_data(stand_in / "data")
    up_to("tune", recipe, stand_in, "--threads", "1")
    learning = [line.split()[1] for line in calls(stand_in)]
    expected = ["sample", "grammar", "filter", "train-lm", "extract", "filter", "extract", "filter"]
    assert learning == expected


def test_second_run_repeats_nothing_unless_forced(finished):
    stand_in = finished.stand_in
    second = recipe(stand_in)
    assert calls(stand_in) == []
    assert second.stdout == finished.outcome.stdout
    assert unrecorded(stand_in / "run dir") == {"input.xx", "table.txt"}
    recipe(stand_in, "--overwrite")
    assert len(calls(stand_in)) == len(finished.noted)


@pytest.mark.parametrize("lost", ["grammar-hiero.seconds", "grammar-sampled.seconds", "sample.seconds"])
def test_a_figure_that_the_table_lacks_ends_the_recipe(finished, lost):
    (finished.stand_in / "run dir" / "logs" / lost).unlink()
    outcome = recipe(finished.stand_in)
    assert outcome.returncode != 0
    assert lost in outcome.stderr
    assert outcome.stdout == ""


def test_changed_input_repeats_exactly_the_steps_that_depend_on_it(finished):
    stand_in = finished.stand_in
    (stand_in / "data" / "test.en").write_text("another reference\n")
    recipe(stand_in)
    assert [line.split()[1] for line in calls(stand_in)] == [*8 * ["evaluate"], "report"]
    recipe(stand_in, "--iterations", "90")
    noted = [line for line in calls(stand_in) if "scfg_sampler report" not in line]
    assert not any(re.search(r"hiero(-loose)?\.gz|train-lm", line) for line in noted)
    assert sum("sampled" in line for line in noted) == len(noted) - 1  # All but `sample` itself.


@pytest.mark.parametrize(
    ("which", "rows"),
    [("tight", ["hiero"]), ("loose", ["hiero-loose"]), ("both", ["hiero", "hiero-loose"]), ("none", [])],
)
def test_recipe_compares_with_the_baselines_that_were_asked_for(stand_in, which, rows):
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data"), "--baseline", which)
    table = outcome.stdout.split("\n\n")[0].splitlines()[2:]
    assert [line.split()[0] for line in table] == [*rows, "sampled"]
    assert outcome.stdout.count("sampled − ") == len(rows)


def test_unknown_baseline_is_refused(stand_in):
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data"), "--baseline", "slack")
    assert outcome.returncode == 2
    assert "--baseline is tight, loose, both or none, not 'slack'" in outcome.stderr


def test_stopped_recipe_goes_on_where_it_was(stand_in):
    data = small_data(stand_in / "data")
    broken = up_to("tune", recipe, stand_in)
    assert "tune-hiero failed with status 2" in broken.stderr
    assert broken.stdout == ""
    done = calls(stand_in)
    assert bleu_recipe(stand_in, data).returncode == 0
    assert not set(done) & set(calls(stand_in))


def stop_sampling(stand_in, left: str | None) -> None:
    """Run the recipe up to a sampler that is stopped, with such a `run.json`, or none, in its directory."""
    small_data(stand_in / "data")
    up_to("sample", recipe, stand_in)
    (stand_in / "run dir" / "sample").mkdir(exist_ok=True)
    if left is not None:
        (stand_in / "run dir" / "sample" / "run.json").write_text(left)
    calls(stand_in)


def learning(stand_in) -> list[str]:
    """Which of `sample` and `resume` were called."""
    return [line.split()[1] for line in calls(stand_in) if line.split()[1] in ("sample", "resume")]


UNFINISHED, FINISHED = (f'{{\n "seconds": 3,\n "finished": {value}\n}}\n' for value in ("false", "true"))


@pytest.mark.parametrize(
    ("change", "left", "called"),
    [
        ((), UNFINISHED, ["resume"]),
        ((), FINISHED, []),
        pytest.param((), None, ["sample"], marks=pytest.mark.slow),
        (("--iterations", "90"), UNFINISHED, ["sample"]),
        pytest.param(("--iterations", "90"), FINISHED, ["sample"], marks=pytest.mark.slow),
        (("--overwrite",), UNFINISHED, ["sample"]),
        pytest.param(("--overwrite",), FINISHED, ["sample"], marks=pytest.mark.slow),
    ],
    ids=["stopped", "just-finished", "not-begun", "other", "other-finished", "forced", "forced-finished"],
)
def test_stopped_sampling_is_resumed_if_it_is_the_same(stand_in, change, left, called):
    stop_sampling(stand_in, left)
    up_to("tune", recipe, stand_in, *change)
    assert learning(stand_in) == called


def test_sampling_that_cannot_be_resumed_is_kept(stand_in):
    stop_sampling(stand_in, UNFINISHED)
    up_to("resume", recipe, stand_in)
    assert learning(stand_in) == []
    assert (stand_in / "run dir" / "sample" / "run.json").read_text() == UNFINISHED


@pytest.mark.slow
def test_a_run_with_other_settings_is_not_taken_for_one_that_was_stopped_at_once(stand_in):
    """The old run is there, the new one was begun and stopped before it wrote anything."""
    stop_sampling(stand_in, FINISHED)
    up_to("sample", recipe, stand_in, "--iterations", "90")
    up_to("tune", recipe, stand_in, "--iterations", "90")
    assert learning(stand_in) == ["sample"]


def test_all_references_are_used_up_to_the_first_missing(stand_in):
    several = ("test.en.ref0", "test.en.ref1", "test.en.ref3")
    data = small_data(stand_in / "data", test_references=several)
    outcome = bleu_recipe(stand_in, data)
    assert outcome.returncode == 0, outcome.stderr
    scored = [line for line in calls(stand_in) if line.startswith("decoder evaluate") and "test.en" in line]
    assert len(scored) == 5
    for line in scored:
        assert re.findall(r"test\.en\.ref\d", line) == ["test.en.ref0", "test.en.ref1"]


@pytest.mark.parametrize(
    ("alignments", "chosen"),
    [
        (("train.xx-en.gold", "train.xx-en.eflomal-gdfa"), "train.xx-en.gold"),
        (("train.xx-en.fwd", "train.xx-en.eflomal-gdfa"), "train.xx-en.eflomal-gdfa"),
        (("train.xx-en.hand",), "train.xx-en.hand"),
        (("train.xx-en.a-gdfa", "train.xx-en.b-gdfa"), None),
        ((), None),
    ],
)
def test_alignment_is_found_when_it_is_clear_which(stand_in, alignments, chosen):
    """In the directory itself, whatever lies in others below it."""
    data = small_data(stand_in / "data", alignments=alignments)
    (data / "backup").mkdir()
    (data / "backup" / "train.xx-en.gold").write_text("0-0\n")
    if chosen is None:
        outcome = recipe(stand_in)
        assert outcome.returncode == 2
        assert "--alignment" in outcome.stderr
    else:
        up_to("tune", recipe, stand_in)
        extract = next(line for line in calls(stand_in) if line.startswith("scfg_sampler extract"))
        assert f"/{chosen} " in extract


def test_further_alignments_and_the_way_of_tuning_can_be_named(stand_in):
    data = small_data(stand_in / "data", alignments=("train.xx-en.gold", "train.xx-en.my"))
    outcome = bleu_recipe(stand_in, data, "--more-alignments", "train.xx-en.my", "--method", "mira")
    assert outcome.returncode == 0, outcome.stderr
    noted = calls(stand_in)
    for line in noted:
        if line.startswith(("scfg_sampler sample", "scfg_sampler extract")):
            assert re.search(r"--alignment \S+/train\.xx-en\.gold \S+/train\.xx-en\.my( |$)", line), line
    assert sum("--method mira" in line for line in noted) == 3


def test_first_test_set_is_the_default_and_another_can_be_chosen(stand_in):
    data = small_data(stand_in / "data")
    for name in ("test2016", "test2017"):
        (data / f"{name}.xx").write_text("a\n")
        (data / f"{name}.en").write_text("a\n")
    (data / "test.xx").unlink()
    (data / "backup").mkdir()
    (data / "backup" / "test.old.xx").write_text("a\n")
    assert "test2016 BLEU" in bleu_recipe(stand_in, data).stdout
    assert "test2017 BLEU" in bleu_recipe(stand_in, data, "--test", "test2017").stdout


def test_table_of_defaults_goes_when_a_step_of_a_row_is_taken_again(tmp_path):
    stand_in = write_stand_in(tmp_path)
    small_data(stand_in / "data")
    given = ("--variants", "exact", "--seed")
    defaults = RECIPES / "defaults.sh"
    assert bleu_recipe(stand_in, stand_in / "data", *given, "1", recipe=defaults).returncode == 0
    table = stand_in / "run dir" / "table.txt"
    assert "exact" in table.read_text()
    (stand_in / "broken").write_text("sample")
    assert bleu_recipe(stand_in, stand_in / "data", *given, "2", recipe=defaults).returncode == 2
    assert not table.exists()


@pytest.mark.parametrize("form", ["--labels {}", "--labels={}"])
def test_files_among_the_options_of_sampling_are_noticed_when_they_change(finished, form):
    labels = finished.stand_in / "labels"
    labels.write_text("0-1:NP\n")

    def samples() -> bool:
        outcome = recipe(finished.stand_in, "--sampling", form.format(labels))
        assert outcome.returncode == 0, outcome.stderr
        return any(" sample " in line for line in calls(finished.stand_in))

    assert samples()
    assert not samples()
    labels.write_text("0-1:VP\n")
    assert samples()
