"""The report of a run: strictly well-formed, true, self-contained, and made whatever is missing."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.chains.chain import read_trace
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.oracles.phrase_forest import Sentence
from tests.report.made import NASTY, made_baseline, made_outputs, made_run, nasty_pairs

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"


class Made:
    """A page, read strictly as XML and loosely as a browser would."""

    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")
        self.root = ElementTree.fromstring(self.text)

    def section(self, name: str) -> ElementTree.Element:
        found = self.root.find(f".//{XHTML}section[@id='{name}']")
        assert found is not None, name
        return found

    def names(self) -> list[str]:
        return [each.get("id") for each in self.root.findall(f"./{XHTML}body/{XHTML}main/{XHTML}section")]

    def said(self, name: str) -> str:
        return "".join(self.section(name).itertext())

    def rows(self, name: str, caption: str = "") -> list[list[str]]:
        """The rows of the tables of a section whose captions begin so."""
        found = []
        for table in self.section(name).iter(f"{XHTML}table"):
            shown = "".join("".join(each.itertext()) for each in table.findall(f"{XHTML}caption"))
            if shown.startswith(caption):
                rows = table.findall(f"{XHTML}tbody/{XHTML}tr")
                found += [["".join(cell.itertext()) for cell in row] for row in rows]
        return found


def report(*arguments) -> int:
    return main(["report", *map(str, arguments), "--quiet"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of two chains, the baseline, and a report with everything."""
    directory = tmp_path_factory.mktemp("report")
    run, options = made_run(directory, "--chains", "2")
    hiero = made_baseline(directory, options)
    page = directory / "report.html"
    assert report(run, "--output", page, "--baseline", hiero, *made_outputs(directory), "--states", "10") == 0
    return directory


@pytest.fixture(scope="module")
def made(folder) -> Made:
    return Made(folder / "report.html")


def test_sections_are_all_there_and_the_links_above_lead_to_them(made):
    names = ["run", "traces", "scores", "grammar", "rules", "baseline", "pairs", "tuning", "translations"]
    assert made.names() == names
    links = made.root.findall(f".//{XHTML}nav//{XHTML}a")
    assert [link.get("href") for link in links] == [f"#{name}" for name in names]


def test_page_loads_nothing_and_runs_nothing(made):
    tags = Counter(re.sub("{.*}", "", each.tag) for each in made.root.iter())
    assert not tags.keys() & {"script", "img", "link", "iframe", "object", "form", "video", "base"}
    for each in made.root.iter():
        for name, value in each.attrib.items():
            assert not name.startswith("on"), (each.tag, name)
            assert name not in ("src", "srcset", "data", "action"), (each.tag, name)
            if name == "href":
                assert value.startswith("#")
            if name == "style":
                assert "url" not in value
    style = made.root.find(f".//{XHTML}style").text
    assert "url(" not in style
    assert "@import" not in style
    assert "://" not in re.sub(r"http://www\.w3\.org/(1999/xhtml|2000/svg)", "", made.text)


def test_words_of_the_corpus_are_text_wherever_they_stand(made):
    """A browser finds the same elements as a strict parser, and the words as they are."""
    started: Counter[str] = Counter()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            started[tag] += 1

        handle_startendtag = handle_starttag

    Reader().feed(made.text)
    strict = Counter(re.sub("{.*}", "", each.tag) for each in made.root.iter())
    assert started == Counter({tag.lower(): number for tag, number in strict.items()})
    shown = "".join(made.root.itertext())
    for word in NASTY.values():
        assert word in shown
    for name in ("rules", "pairs", "translations", "tuning", "scores"):
        assert NASTY["f0"] in made.said(name), name


def test_settings_versions_files_and_skipped_pairs_are_told(made, folder):
    record = json.loads((folder / "run" / "run.json").read_text())
    said = made.said("run")
    for digest in record["corpus"]["sha256"].values():
        assert digest in said
    assert f"{record['corpus']['source_words']:,}" in said
    rows = made.rows("run")
    settings = dict(rows)
    assert settings["seed"] == "1"
    assert settings["max-cut-span"] == "7"
    assert settings["memory"] == "1,024 MB"
    assert settings["version of numba"] == record["versions"]["numba"]
    assert [str(len(nasty_pairs()) - 1), "no links"] in rows


def test_curves_are_the_traces(made, folder):
    figures = made.section("traces").findall(f".//{SVG}svg")
    joint = next(each for each in figures if each.get("aria-label") == "log joint by sweep")
    lines = joint.findall(f".//{SVG}polyline")
    assert len(lines) == 2
    for line, chain in zip(lines, ("chain-1", "chain-2"), strict=True):
        trace = read_trace(folder / "run" / chain / "trace.tsv")["log_joint"]
        drawn = np.array([float(pair.split(",")[1]) for pair in line.get("points").split()])
        assert len(drawn) == len(trace)
        assert abs(np.corrcoef(drawn, trace)[0, 1] + 1.0) < 1e-3


def test_diagnosis_is_that_of_diagnose(made, folder, capsys):
    assert main(["diagnose", str(folder / "run"), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["log_joint"]
    row = next(row for row in made.rows("traces") if row[0] == "log joint")
    assert float(row[1]) == pytest.approx(expected["rhat"], abs=5e-4)
    assert float(row[2]) == pytest.approx(expected["ess"], abs=0.05)
    assert f"R̂ of the log joint is {expected['rhat']:.3f}" in made.said("traces")


def rules_of(path) -> list[tuple[list[str], list[str], float]]:
    """The rules of a table as text, read without the project."""
    rules = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]:
        fields = line.split(" ||| ")
        count = next(each for each in fields[3].split() if each.startswith("LogCount="))
        rules.append((fields[1].split(" "), fields[2].split(" "), float(np.exp(float(count[9:])))))
    return rules


def test_numbers_of_the_grammar_are_those_of_the_files(made, folder):
    ours, theirs = rules_of(folder / "run" / "counts" / "marginal.gz"), rules_of(folder / "hiero.gz")
    rows = {row[0]: row[2:] for row in made.rows("grammar", "symbols on the source side")}
    for length in {len(source) for source, _, _ in (*ours, *theirs)}:
        label = str(length) if length < 10 else "10–"
        for column, rules in enumerate((ours, theirs)):
            here = [count for source, _, count in rules if len(source) == length]
            if length < 10:
                assert rows[label][2 * column] == f"{len(here):,}"
                total = sum(count for _, _, count in rules)
                assert float(rows[label][2 * column + 1]) == pytest.approx(100 * sum(here) / total, abs=0.051)
    first, second = ({(tuple(s), tuple(t)) for s, t, _ in rules} for rules in (ours, theirs))
    shared = {row[0]: row[1:] for row in made.rows("baseline") if len(row) == 5}
    assert shared["in both"][0] == shared["in both"][2] == f"{len(first & second):,}"
    assert shared["in the sample alone"][0] == f"{len(first - second):,}"
    assert shared["in the baseline alone"][2] == f"{len(second - first):,}"
    both = first & second
    parts = (
        (ours, both, "in both", 1),
        (theirs, both, "in both", 3),
        (ours, first - both, "in the sample alone", 1),
    )
    for rules, some, name, column in (*parts, (theirs, second - both, "in the baseline alone", 3)):
        uses = sum(count for source, target, count in rules if (tuple(source), tuple(target)) in some)
        share = 100 * uses / sum(count for *_, count in rules)
        assert float(shared[name][column]) == pytest.approx(share, abs=0.051)


def test_most_frequent_rule_heads_its_shape(made, folder):
    words = [
        rule for rule in rules_of(folder / "run" / "counts" / "marginal.gz") if "[X," not in "".join(rule[0])
    ]
    best = max(words, key=lambda rule: rule[2])
    rows = made.rows("rules", "w → w:")
    uses = sum(count for *_, count in rules_of(folder / "run" / "counts" / "marginal.gz"))
    share = 100 * sum(count for *_, count in words) / uses
    assert f"w → w: {len(words):,} rules, {share:.1f} % of the uses" in made.said("rules")
    assert float(rows[0][1]) == pytest.approx(best[2], abs=0.051)
    counts = [float(row[1]) for row in rows]
    assert counts == sorted(counts, reverse=True)


def test_pairs_are_drawn_with_their_links_and_derivations(made):
    pairs = nasty_pairs()
    panels = made.section("pairs").findall(f"{XHTML}section")
    assert len(panels) == 12
    assert "more than 7 source words (--max-cut-span)" in made.said("pairs")
    for panel in panels:
        pair = pairs[int(panel.get("id").removeprefix("pair-"))]
        cells = [each for each in panel.iter(f"{SVG}rect") if (each.get("class") or "").startswith("cell")]
        assert len(cells) == len(pair.source) * len(pair.target)
        assert sum(each.get("class") == "cell linked" for each in cells) == len(pair.links)
        shares = [each.text for each in panel.iter(f"{XHTML}span") if each.get("class") == "share"]
        assert shares[0] == "100%"
        assert all(0 <= int(share.rstrip("%")) <= 100 for share in shares)


def test_linked_cells_stand_where_their_words_are(tmp_path):
    pairs = [*some_pairs()[:3]]
    run = tmp_path / "run"
    assert sample(write_corpus(tmp_path, pairs), run, "--iterations", "3") == 0
    assert report(run, "--output", tmp_path / "r.html", "--pairs", "3", "--states", "2") == 0
    for panel in Made(tmp_path / "r.html").section("pairs").findall(f"{XHTML}section"):
        pair = pairs[int(panel.get("id").removeprefix("pair-"))]
        cells = [each for each in panel.iter(f"{SVG}rect") if (each.get("class") or "").startswith("cell")]
        places = [sorted({float(each.get(side)) for each in cells}) for side in ("x", "y")]
        found = {
            (places[0].index(float(each.get("x"))), places[1].index(float(each.get("y"))))
            for each in cells
            if each.get("class") == "cell linked"
        }
        assert found == set(pair.links)


@pytest.mark.parametrize(("length", "is_drawn"), [(9, True), (10, False)])
def test_pairs_too_long_to_be_drawn_are_told_so(tmp_path, monkeypatch, length, is_drawn):
    """A cell for every two words is most of what such a page would be."""
    monkeypatch.setattr("scfg_sampler.report.pairs._MOST_DRAWN", 9)
    links = frozenset((i, i) for i in range(9))
    pair = Sentence(tuple(f"f{i}" for i in range(9)), tuple(f"e{i}" for i in range(length)), links)
    run = tmp_path / "run"
    assert sample(write_corpus(tmp_path, [pair]), run, "--iterations", "3") == 0
    assert report(run, "--output", tmp_path / "r.html", "--states", "2") == 0
    made = Made(tmp_path / "r.html")
    assert len(list(made.section("pairs").iter(f"{SVG}svg"))) == is_drawn
    told = f"A grid of 9 by {length} words is too large to be drawn: 9 on a side are the most."
    assert (told in made.said("pairs")) != is_drawn
    assert any(each.get("class") == "share" for each in made.section("pairs").iter(f"{XHTML}span"))


@pytest.mark.parametrize("choose", ["none", "sentence"])
def test_pairs_under_several_alignments_are_counted_once_and_told_apart(tmp_path, choose):
    pairs = some_pairs()
    number = len(pairs)
    options = write_corpus(tmp_path, pairs)
    (tmp_path / "other").write_text("".join("0-0\n" for _ in pairs))
    run, page = tmp_path / "run", tmp_path / "r.html"
    assert sample([*options, str(tmp_path / "other")], run, "--iterations", "3", "--choose", choose) == 0
    assert report(run, "--output", page, "--pairs", str(2 * number), "--states", "2") == 0
    made = Made(page)
    told = made.said("run")
    assert f"{number}sentence pairs2alignments of each{sum(len(pair.source) for pair in pairs)}source" in told
    titles = [each.text for each in made.section("pairs").iter(f"{XHTML}h3")]
    if choose == "none":
        assert titles[1] == "Pair 1: 1 of the text, under alignment 1"
        assert titles[-1] == f"Pair {2 * number - 1}: {number - 1} of the text, under alignment 2"
    else:
        assert titles == [f"Pair {sentence}" for sentence in range(number)]
    assert ("All pairs under the first alignment come first" in made.said("pairs")) == (choose == "none")


def test_scores_and_rounds_are_those_of_the_files(made):
    rows = [row for row in made.rows("scores") if len(row) == 5]
    assert rows[0] == ["ours", "BLEU", "31.25", "28.50 – 33.50", "–"]
    assert rows[1] == ["ours", "chrF2", "50.00 ± 0.25, 3 tunings", "–", "−1.50 against 32.75, p = 0.0400"]
    assert "ours: 10.50 at first, 12.25 in round 1" in made.said("tuning")
    assert made.rows("tuning") == [[NASTY["f0"], "+0.2500", "−0.5000"]]


def test_translations_are_ordered_by_the_words_to_change(made):
    section = made.section("translations")
    assert "0 of 3 translations are the same" in made.said("translations")
    assert "ours is nearer to the reference in 2 sentences, theirs in 1" in made.said("translations")
    panels = section.findall(f"{XHTML}section")
    assert [panel.find(f"{XHTML}h3").text for panel in panels] == ["Sentence 0", "Sentence 1", "Sentence 2"]
    marked = ["".join(each.itertext()) for each in panels[2].iter() if each.get("class") == "changed"]
    assert marked == ["E F"]


def test_a_third_system_is_said_to_be_left_out(made, folder):
    assert "not shown" not in made.said("translations")
    texts = [f"{name}={folder / 'ours.txt'}" for name in ("a", "b", "c")]
    test = ["--source", folder / "test.f", "--references", folder / "test.e"]
    page = folder / "three.html"
    assert report(folder / "run", "--output", page, "--translations", *texts, *test, "--pairs", "0") == 0
    said = Made(page).said("translations")
    assert "3 of 3 translations are the same. a is nearer to the reference in 0 sentences, b in 0" in said
    assert "The first two systems are compared; not shown: c." in said


def test_derivations_of_translations_are_nested(folder):
    only = ["--translations", f"ours={folder / 'ours.txt'}", "--derivations", f"ours={folder / 'ours.jsonl'}"]
    test = ["--source", folder / "test.f", "--references", folder / "test.e"]
    page = folder / "one.html"
    assert report(folder / "run", "--output", page, *only, *test, "--pairs", "0") == 0
    panels = Made(page).section("translations").findall(f"{XHTML}section")
    assert len(panels) == 3
    inner = panels[1].findall(f".//{XHTML}details//{XHTML}li//{XHTML}li")
    assert ["".join(each.itertext()) for each in inner] == ["b → B"]


def test_runs_that_differ_stand_side_by_side(folder, tmp_path):
    other, _ = made_run(tmp_path, "--seed", "7")
    page = tmp_path / "both.html"
    assert report(folder / "run", other, "--output", page, "--pairs", "2", "--states", "2") == 0
    both = Made(page)
    rows = {row[0]: row[1:] for row in both.rows("run") if len(row) == 3}
    assert rows["seed"] == ["1", "7"]
    bold = {"".join(each.itertext()) for each in both.section("run").iter(f"{XHTML}b")}
    assert "7" in bold
    assert rows["max-cut-span"][0] not in bold - {"7"}
    assert len(both.section("traces").find(f".//{SVG}svg").findall(f".//{SVG}polyline")) == 3


def test_same_inputs_make_the_same_page(folder, tmp_path):
    for name in ("a", "b"):
        assert report(folder / "run", "--output", tmp_path / name, "--pairs", "3", "--states", "5") == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_report_leaves_the_run_as_it_was(folder, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(folder / "run", run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert report(run, "--output", tmp_path / "r.html", "--states", "2") == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_run_without_its_corpus_has_a_report_without_pairs(tmp_path):
    run, _ = made_run(tmp_path)
    (tmp_path / "train.e").rename(tmp_path / "elsewhere")
    assert report(run, "--output", tmp_path / "r.html") == 0
    made = Made(tmp_path / "r.html")
    assert "No derivations can be shown" in made.said("pairs")
    assert "train.e" in made.said("pairs")
    assert "w → w" in made.said("rules")


@pytest.mark.parametrize("kind", ["types", "labels"])
def test_run_with_other_nonterminals_has_a_report_without_its_rules(tmp_path, kind):
    options = write_corpus(tmp_path, some_pairs())
    (tmp_path / "labels").write_text("".join("0-1:NP\n" for _ in some_pairs()))
    more = {"types": ["--types", "2"], "labels": ["--labels", str(tmp_path / "labels")]}[kind]
    run, page = tmp_path / "run", tmp_path / "r.html"
    assert sample(options, run, "--iterations", "3", *more) == 0
    assert report(run, "--output", page) == 0
    made = Made(page)
    assert "Rules of this run have nonterminals other than X" in made.said("grammar")
    assert made.names()[:2] == ["run", "traces"]
    assert made.section("pairs").findall(f".//{SVG}svg")


def test_run_that_has_only_begun_has_a_report_that_says_so(tmp_path):
    run, _ = made_run(tmp_path)
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "finished": False, "sweeps": 0}))
    shutil.rmtree(run / "counts")
    (run / "checkpoint.npz").unlink()
    (run / "trace.tsv").unlink()
    assert report(run, "--output", tmp_path / "r.html") == 0
    made = Made(tmp_path / "r.html")
    assert "is not finished: 0 of 24 sweeps" in made.said("run")
    assert "There is no trace yet" in made.said("traces")
    assert "no counts yet" in made.said("grammar")
    assert "no checkpoint yet" in made.said("pairs")


def killed(run, sweeps=0):
    """Make a run one that was killed after so many sweeps, by what its record says."""
    record = json.loads((run / "run.json").read_text())
    told = {**record, "finished": False, "sweeps": sweeps, "seconds": 0.0}
    (run / "run.json").write_text(json.dumps(told))


def lasted(trace, seconds):
    """Make a trace that of a chain that took so long."""
    rows = [row.split("\t") for row in trace.read_text().splitlines()]
    rows[-1][rows[0].index("seconds")] = seconds
    trace.write_text("".join("\t".join(row) + "\n" for row in rows))


def test_run_that_was_killed_says_how_many_sweeps_its_checkpoint_keeps(tmp_path):
    run, _ = made_run(tmp_path)
    killed(run)
    lasted(run / "trace.tsv", "61.5")
    assert report(run, "--output", tmp_path / "r.html", "--pairs", "0") == 0
    said = Made(tmp_path / "r.html").said("run")
    assert "is not finished: 24 of 24 sweeps. To go on" in said
    assert "24sweeps" in said
    assert "61.5 s" in said
    assert "processor-seconds" not in said
    assert "peak-memory" not in said
    (run / "checkpoint.npz").write_bytes(b"nothing")
    killed(run, 11)
    assert report(run, "--output", tmp_path / "r.html", "--pairs", "0") == 0
    assert "is not finished: 11 of 24 sweeps" in Made(tmp_path / "r.html").said("run")


def test_chains_that_were_killed_say_how_many_sweeps_each_checkpoint_keeps(tmp_path):
    run, _ = made_run(tmp_path, "--chains", "2")
    assert "24sweeps of 2 chains each" in told_of(run, tmp_path)
    killed(run)
    killed(run / "chain-1")
    killed(run / "chain-2", 9)
    lasted(run / "chain-1" / "trace.tsv", "61.5")
    lasted(run / "chain-2" / "trace.tsv", "20.25")
    (run / "chain-2" / "checkpoint.npz").unlink()
    said = told_of(run, tmp_path)
    assert "81.8 s" in said  # One after the other.
    assert "is not finished: 24, 9 of 24 sweeps. To go on" in said
    assert "24sweeps of 2 chains at most" in said
    shutil.rmtree(run / "chain-2")
    said = told_of(run, tmp_path)
    assert "is not finished: 24 of 24 sweeps, 1 of 2 chains begun. To go on" in said
    shutil.rmtree(run / "chain-1")
    said = told_of(run, tmp_path)
    assert "is not finished: 0 of 24 sweeps, 0 of 2 chains begun" in said


def told_of(run, folder) -> str:
    """What a page says of what was run."""
    assert report(run, "--output", folder / "r.html", "--pairs", "0") == 0
    return Made(folder / "r.html").said("run")


def test_short_chains_are_said_to_be_too_short(tmp_path):
    run = tmp_path / "run"
    assert sample(write_corpus(tmp_path, some_pairs()), run, "--iterations", "4") == 0
    assert report(run, "--output", tmp_path / "r.html", "--pairs", "0") == 0
    made = Made(tmp_path / "r.html")
    assert "Too short to be judged" in made.said("traces")
    assert "pairs" not in made.names()


@pytest.mark.parametrize(
    ("every", "where"), [(0, "nowhere"), (2, "in averaged counts alone"), (5, "nowhere")]
)
def test_burn_in_is_said_to_count_where_it_does(tmp_path, every, where):
    run = tmp_path / "run"
    options = ["--iterations", "6", "--burn-in", "4", "--average-every", str(every)]
    assert sample(write_corpus(tmp_path, some_pairs()), run, *options) == 0
    assert report(run, "--output", tmp_path / "r.html", "--pairs", "0") == 0
    assert f"they count {where}." in Made(tmp_path / "r.html").said("traces")


TEST_SET = ("--source", "TEXT", "--references", "TEXT")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: is not a run directory"),
        (["RUN", "RUN"], "is named twice"),
        (["RUN", "--pairs", "-1"], "--pairs is -1; it must be at least 0"),
        (["RUN", "--states", "0"], "--states is 0; it must be at least 1"),
        (["RUN", "--seed", "-1"], "--seed is -1; it must be at least 0"),
        (["RUN", "--scores", "TEXT"], "is not JSON. Name what 'evaluate --json' wrote"),
        (["RUN", "--scores", "a=TEXT", "a=OTHER"], "--scores has two files called a"),
        (["RUN", "--tunings", "TEXT"], "text:1: no columns 'round' and 'score'"),
        (["RUN", "--translations", "TEXT"], "Name these too, with --source and --references"),
        (["RUN", "--source", "TEXT"], "--source and --references are shown beside translations"),
        (["RUN", "--references", "TEXT"], "--source and --references are shown beside translations"),
        (["RUN", "--derivations", "x=TEXT"], "--derivations x is of no system that --translations names"),
        (
            ["RUN", "--translations", "TEXT", "--source", "OTHER", "--references", "OTHER"],
            "text: has 1 line, but",
        ),
        (
            ["RUN", "--translations", "a=TEXT", "--derivations", "a=TEXT", *TEST_SET],
            "text:1: not a derivation",
        ),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_written(folder, tmp_path, capsys, arguments, message):
    (tmp_path / "text").write_text("no\n")
    (tmp_path / "other").write_text("one\ntwo\n")
    places = {"RUN": str(folder / "run"), "TEXT": str(tmp_path / "text"), "OTHER": str(tmp_path / "other")}
    for name, path in places.items():
        arguments = [each.replace(name, path) for each in arguments]
    assert report(*arguments, "--output", tmp_path / "r.html") == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "r.html").exists()
