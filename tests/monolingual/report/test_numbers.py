"""What reports of the four models say is what their files hold, counted again here."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.tsg.run import read_derivations
from monolingual.tsg.trees import Tree
from scfg_sampler.core.chains.chain import read_trace
from tests.monolingual.report.made import SCRIPT, call, made_ot, made_page, made_pcfg, made_tsg
from tests.report.test_report import SVG, XHTML, Made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with all runs and their reports."""
    directory = tmp_path_factory.mktemp("reports")
    for model in ("tsg", "pcfg", "ot", "dmv"):
        made_page(directory, model)
    return directory


def charts(made: Made, section: str) -> dict[str, list[np.ndarray]]:
    """The heights of the points of each curve, by what the chart is called."""
    found = {}
    for each in made.section(section).findall(f".//{SVG}svg"):
        lines = [
            np.array([float(pair.split(",")[1]) for pair in line.get("points").split()])
            for line in each.findall(f".//{SVG}polyline")
        ]
        found[each.get("aria-label")] = lines
    return found


# ---- Tree substitution grammars --------------------------------------------------------------------


def fragments_of(run) -> list[tuple[float, str]]:
    lines = gzip.decompress((run / "grammar.tsg.gz").read_bytes()).decode().splitlines()
    return [(float(line.split("\t")[0]), line.split("\t")[1]) for line in lines]


def depth_of(text: str) -> int:
    """Edges on the longest way down, by counting brackets."""
    deepest = here = 0
    before = ""
    for token in re.findall(r"[()]|[^\s()]+", text):
        here += {"(": 1, ")": -1}.get(token, 0)
        is_word = token not in "()" and before != "("
        deepest = max(deepest, here if is_word else here - 1)
        before = token
    return deepest


def test_curves_of_every_run_are_its_trace(folder):
    drawn = charts(Made(folder / "tsg.html"), "traces")["log joint by sweep"]
    assert len(drawn) == 2
    for line, seed in zip(drawn, (1, 2), strict=True):
        trace = read_trace(folder / f"tsg-{seed}" / "trace.tsv")["log_joint"]
        assert len(line) == len(trace)
        assert np.corrcoef(line, trace)[0, 1] == pytest.approx(-1.0, abs=1e-3)


def test_elementary_trees_are_counted_by_depth(folder):
    counted = fragments_of(folder / "tsg-1")
    expected = Counter(depth_of(text) for _, text in counted)
    uses = sum(count for count, _ in counted)
    rows = {int(row[0].rstrip("–")): row for row in Made(folder / "tsg.html").rows("sizes", "depth")}
    assert {depth: int(row[2]) for depth, row in rows.items()} == dict(expected)
    for depth, row in rows.items():
        share = sum(count for count, text in counted if depth_of(text) == depth) / uses
        assert float(row[3]) == pytest.approx(100 * share, abs=0.051)


def test_tree_used_most_is_drawn_first_with_all_its_labels(folder):
    deep = [(count, text) for count, text in fragments_of(folder / "tsg-1") if depth_of(text) > 1]
    most = max(count for count, _ in deep)
    figure = Made(folder / "tsg.html").section("trees").find(f".//{XHTML}figure")
    caption = "".join(figure.find(f"{XHTML}figcaption").itertext())
    assert caption == ("once" if most == 1 else f"{most:g} times")
    first = Made(folder / "tsg.html").section("trees").find(f".//{XHTML}div").findall(f"{XHTML}figure")
    spelt = sorted(each.find(f".//{SVG}title").text for each in first)
    counts = {text: count for count, text in deep}
    assert len(spelt) == min(12, len(deep))
    assert sorted(counts[text] for text in spelt) == sorted(counts.values())[-len(spelt) :]
    drawn = Counter(each.text for each in figure.iter(f"{SVG}text"))
    spelt = figure.find(f".//{SVG}title").text
    assert (most, spelt) in deep
    assert drawn == Counter(re.findall(r"[^\s()]+", spelt))
    assert len(figure.findall(f".//{SVG}rect")) == len(re.findall(r"\([^\s()]+ *\)", spelt))


def pieces(tree: Tree, cuts: Iterator[bool], found: list[str]) -> str:
    """How an elementary tree is spelled that begins at a node; those below it are added to what was found."""
    parts = []
    for child in tree.children:
        if isinstance(child, str):
            parts.append(child)
        elif next(cuts):
            found.append(pieces(child, cuts, found))
            parts.append(f"({child.label} )")
        else:
            parts.append(pieces(child, cuts, found))
    return f"({tree.label} {' '.join(parts)})"


def test_whole_trees_are_split_into_the_elementary_trees_of_the_grammar(folder):
    found: list[str] = []
    splits = read_derivations(folder / "tsg-1")
    for tree, each in splits:
        cuts = iter(each)
        assert next(cuts)
        found.append(pieces(tree, cuts, found))
        assert list(cuts) == []
    assert Counter(found) == {text: count for count, text in fragments_of(folder / "tsg-1")}
    assert len(set(found)) < len(found)


def test_whole_trees_are_drawn_with_a_box_at_each_cut_and_colours_for_what_is_deep(folder):
    figures = Made(folder / "tsg.html").section("whole").findall(f".//{XHTML}figure")
    splits = [each for each in read_derivations(folder / "tsg-1") if len(each.words) >= 5]
    assert len(figures) == min(6, len(splits)) > 1
    for figure, split in zip(figures, splits, strict=True):
        assert figure.find(f".//{SVG}title").text == " ".join(split.words)
        assert len(figure.findall(f".//{SVG}rect")) == sum(split.cuts)
        found: list[str] = []
        cuts = iter(split.cuts[1:])
        found.append(pieces(split.tree, cuts, found))
        lines = Counter(bool(line.get("style")) for line in figure.findall(f".//{SVG}line"))
        sizes = Counter()
        for text in found:
            sizes[depth_of(text) > 1] += len(re.findall(r"[^\s()]+", text)) - 1
        assert lines == sizes


def test_as_many_whole_trees_are_drawn_as_are_asked_for(folder, capsys):
    page = folder / "shown.html"
    assert call("tsg", "report", folder / "tsg-1", "--shown", "1", "--output", page) == 0
    assert len(Made(page).section("whole").findall(f".//{XHTML}figure")) == 1
    assert call("tsg", "report", folder / "tsg-1", "--shown", "-1", "--output", page) == 2
    assert "--shown is -1; it must be at least 0" in capsys.readouterr().err


def test_cuts_are_those_of_the_marginals(folder):
    record = json.loads((folder / "tsg-1" / "marginals.json").read_text())
    cuts = [node["cut"] for tree in record["trees"] for node in tree["nodes"]]
    rows = Made(folder / "tsg.html").rows("cuts")
    assert sum(int(row[2]) for row in rows) == len(cuts)
    assert int(rows[0][2]) == sum(cut < 0.1 for cut in cuts)
    assert int(rows[-1][2]) == sum(cut >= 0.9 for cut in cuts)


def test_a_run_that_was_stopped_has_the_sweeps_of_its_checkpoint_and_no_time(tmp_path):
    """As it is left: the record is that of the beginning."""
    run = made_tsg(tmp_path, iterations=40)
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"sweeps": 0, "seconds": 0.0, "finished": False}))
    assert call("tsg", "report", run, "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("run")
    assert "the treebank40sweeps" in said
    assert "sampling" not in said
    assert "processor-seconds" not in said


def test_a_pcfg_run_tells_how_long_it_took_only_if_it_was_not_stopped(tmp_path):
    run = made_pcfg(tmp_path)
    for is_finished in (True, False):
        record = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(record | {"seconds": 61.5, "finished": is_finished}))
        assert call("pcfg", "report", run, "--output", tmp_path / "page.html") == 0
        assert ("61.5 ssampling" in Made(tmp_path / "page.html").said("run")) == is_finished


@pytest.mark.parametrize(("rhat", "is_told"), [(1.004, False), (1.2, True), (None, False)])
def test_means_on_which_chains_disagree_are_told_whatever_the_log_joint_says(tmp_path, rhat, is_told):
    run = made_ot(tmp_path)
    record = json.loads((run / "summary.json").read_text())
    names = list(record["constraints"])
    for name in names:
        record["constraints"][name]["rhat"] = 1.0
    record["constraints"][names[1]]["rhat"] = rhat
    (run / "summary.json").write_text(json.dumps(record))
    assert call("ot", "report", run, "--output", tmp_path / "page.html") == 0
    said = Made(tmp_path / "page.html").said("traces")
    told = f"The chains have not come to agree on 1 of {len(names)} means: split R̂ is above 1.01, for "
    assert (f"{told}{names[1]} 1.200." in said) == is_told
    assert ("not come to agree on" in said) == is_told


def test_labels_have_their_parameters(folder):
    lines = (folder / "tsg-1" / "parameters.tsv").read_text().splitlines()[1:]
    known = {line.split("\t")[0]: [float(each) for each in line.split("\t")[1:]] for line in lines}
    rows = [row for row in Made(folder / "tsg.html").rows("roots") if len(row) == 5]
    assert {row[0] for row in rows} == {text[1:].split()[0] for _, text in fragments_of(folder / "tsg-1")}
    for row in rows:
        assert float(row[4]) == pytest.approx(known[row[0]][1], abs=5.1e-4)


# ---- Grammars that need not be tight ---------------------------------------------------------------


def test_rule_probabilities_are_those_of_the_draws(folder):
    samples = np.load(folder / "pcfg" / "samples.npz")
    rows = {row[0]: [float(each) for each in row[1:5]] for row in Made(folder / "pcfg.html").rows("rules")}
    assert len(rows) == 2
    for name, column in zip(samples["rules"].tolist(), samples["probabilities"].T, strict=True):
        low, high = np.percentile(column, [2.5, 97.5])
        assert rows[name] == pytest.approx([column.mean(), column.std(), low, high], abs=5.1e-5)


def test_the_share_of_tight_draws_is_that_of_the_summary_which_is_of_all_of_them(tmp_path):
    (tmp_path / "grammar").write_text("S -> S S | 'a'\n")
    (tmp_path / "text").write_text("a a\na a a a\n")
    told = [
        "--sentences",
        tmp_path / "text",
        "--reweight",
        "--iterations",
        1001,
        "--output",
        tmp_path / "run",
    ]
    assert call("pcfg", "sample", tmp_path / "grammar", *told) == 0
    assert call("pcfg", "report", tmp_path / "run", "--output", tmp_path / "page.html") == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    said = Made(tmp_path / "page.html").said("tightness")
    assert f"Of 1,001 draws, {100 * summary['tight']:.1f} % are tight. What follows is of 334 draws" in said


def test_tightness_is_that_of_the_closed_form(folder):
    """Of S → S S with probability p and S → a else, finite trees have min(1, (1 − p)/p)."""
    samples = np.load(folder / "pcfg" / "samples.npz")
    p = samples["probabilities"][:, samples["rules"].tolist().index("S -> S S")]
    made = Made(folder / "pcfg.html")
    row = next(row for row in made.rows("tightness", "Probability of finite trees") if row[0] == "S")
    mean = p.mean()
    assert float(row[1]) == pytest.approx(min(1.0, (1 - mean) / mean), abs=1e-5)
    assert float(row[4]) == pytest.approx(2 * mean, abs=1e-3)
    assert len(p) <= 400
    assert float(row[2]) == pytest.approx(np.median(np.minimum(1.0, (1 - p) / p)), abs=1e-5)
    assert f"{100 * np.mean(p <= 0.5):.1f} % are tight" in made.said("tightness")
    counts = [int(row[2]) for row in made.rows("tightness", "Probability of the finite trees of S,")]
    assert sum(counts) == len(p)
    assert counts[-1] == np.sum((1 - p) / p >= 0.9)


def test_trees_stand_with_their_shares(folder):
    summary = json.loads((folder / "pcfg" / "summary.json").read_text())
    shares = summary["tree_frequencies"]
    figures = Made(folder / "pcfg.html").section("trees").findall(f".//{XHTML}figure")
    assert len(figures) == len(shares) == 3
    for figure in figures:
        text = figure.find(f".//{SVG}title").text
        said = "".join(figure.find(f"{XHTML}figcaption").itertext())
        assert said.startswith(f"{100 * shares[text]:.2f} %")
        others = summary["reweighted"]["only-tight"]["tree_frequencies"]
        assert f"only-tight {100 * others[text]:.2f} %" in said
        words = [each.text for each in figure.iter(f"{SVG}text") if each.get("class") == "target"]
        assert words == [SCRIPT] * len(words)
        assert len(figure.findall(f".//{SVG}line")) == text.count("(") - 1 + len(words)


def test_sweeps_of_blocks_are_numbered_as_sweeps(folder):
    trace = read_trace(folder / "pcfg" / "trace.1.tsv")
    assert trace["sweeps"][-1] == 200
    drawn = charts(Made(folder / "pcfg.html"), "traces")["log joint by sweep"]
    assert len(drawn) == 2
    assert len(drawn[0]) == len(trace["sweep"])


# ---- Optimality Theory -----------------------------------------------------------------------------


def test_tableau_has_the_frequencies_predicted_and_observed(folder):
    predicted = json.loads((folder / "ot" / "predictions.json").read_text())
    other = json.loads((folder / "maxent" / "predictions.json").read_text())
    made = Made(folder / "ot.html")
    tables = made.section("tableaux").findall(f".//{XHTML}table")
    assert len(tables) == 1
    wrong = [
        sum(abs(each["observed"] - each["predicted"]) for each in entry["candidates"])
        for entry in predicted["inputs"]
    ]
    worst = wrong.index(max(wrong))
    entry, beside = predicted["inputs"][worst], other["inputs"][worst]
    rows = made.rows("tableaux", entry["input"])
    assert "predicted worst, 1 of 2" in made.said("tableaux")
    for row, candidate, another in zip(rows, entry["candidates"], beside["candidates"], strict=True):
        assert row[0].removeprefix("☞ ") == candidate["output"]
        numbers = [candidate["observed"], candidate["predicted"], another["predicted"]]
        assert [float(each) for each in row[2:5]] == pytest.approx(numbers, abs=5.1e-4)
    best = max(entry["candidates"], key=lambda each: each["predicted"])["output"]
    assert [row[0] for row in rows if row[0].startswith("☞")] == [f"☞ {best}"]


def test_violations_stand_under_their_constraints(folder):
    assert call("ot", "report", folder / "ot", "--output", folder / "all.html") == 0
    tables = Made(folder / "all.html").section("tableaux").findall(f".//{XHTML}table")
    assert len(tables) == 2
    lines = [line.split("\t") for line in (folder / "tableaux.tsv").read_text().splitlines()]
    given = {
        (line[0], line[1]): dict(zip(lines[0][3:], map(int, line[3:]), strict=True)) for line in lines[1:]
    }
    for table in tables:
        form = "".join(table.find(f"{XHTML}caption").itertext())
        header = ["".join(each.itertext()) for each in table.findall(f"{XHTML}thead//{XHTML}th")]
        for row in table.findall(f"{XHTML}tbody/{XHTML}tr"):
            cells = ["".join(each.itertext()) for each in row]
            violations = given[form, cells[0].removeprefix("☞ ")]
            assert header[4:]
            for name, cell in zip(header[4:], cells[4:], strict=True):
                number = violations.pop(name)
                assert cell == ("*" * number if number < 4 else f"*×{number}")
            # What no candidate of the input violates has no column.
            assert not any(violations.values())


def test_intervals_are_those_of_the_summary(folder):
    summary = json.loads((folder / "ot" / "summary.json").read_text())["constraints"]
    made = Made(folder / "ot.html")
    rows = {row[0]: row for row in made.rows("constraints")}
    assert set(rows) == set(summary)
    order = list(rows)
    assert order == sorted(order, key=lambda name: -summary[name]["median"])
    for name, row in rows.items():
        low, high = (float(each.replace("−", "-")) for each in row[4].split(" to "))
        assert [low, high] == pytest.approx(summary[name]["interval"], abs=5.1e-3)
    chart = made.section("constraints").find(f".//{SVG}svg")
    lines = [each for each in chart.iter(f"{SVG}line") if each.get("class") == "interval"]
    ends = [float(line.get(side)) for line in lines for side in ("x1", "x2")]
    expected = [end for name in order for end in summary[name]["interval"]]
    assert np.corrcoef(ends, expected)[0, 1] == pytest.approx(1.0, abs=1e-4)


def test_lines_of_the_hasse_diagram_lead_down_to_what_is_surely_outranked(folder):
    page = folder / "hasse.html"
    assert call("ot", "report", folder / "ot", "--output", page, "--min-probability", "0.6") == 0
    picture = Made(page).section("ranking").find(f".//{SVG}svg")
    draws = [read_trace(folder / "ot" / f"chain-{k}" / "trace.tsv") for k in (1, 2)]
    burn_in = json.loads((folder / "ot" / "run.json").read_text())["run"]["burn_in"]
    means = {
        name.removeprefix("mean "): np.concatenate([trace[name][burn_in:] for trace in draws])
        for name in draws[0]
        if name.startswith("mean ")
    }
    lines = 0
    for group in picture.findall(f"{SVG}g"):
        title, line = group.find(f"{SVG}title"), group.find(f"{SVG}line")
        if line is None:
            continue
        lines += 1
        upper, lower, said = re.fullmatch(r"(.*) above (.*): ([\d.]+)", title.text).groups()
        above = [0.5 * math.erfc(-each / 2) for each in (means[upper] - means[lower])]  # Φ(d/√2)
        assert float(said) == pytest.approx(np.mean(above), abs=5.1e-4)
        assert float(said) >= 0.6
        assert float(line.get("y1")) < float(line.get("y2"))
    assert lines > 0


def test_grammars_that_are_no_posterior_have_a_report_of_what_there_is(folder):
    assert call("ot", "report", folder / "maxent", "--output", folder / "maxent.html") == 0
    made = Made(folder / "maxent.html")
    assert made.names() == ["run", "constraints", "fit", "tableaux"]
    weights = json.loads((folder / "maxent" / "summary.json").read_text())["grammar"]
    rows = {row[0]: float(row[1].replace("−", "-")) for row in made.rows("constraints")}
    assert rows == pytest.approx(weights, abs=5.1e-4)


# ---- Dependency models -----------------------------------------------------------------------------


def test_tags_stand_with_the_probabilities_of_the_model(folder):
    fields = [line.split() for line in (folder / "model.txt").read_text().splitlines() if line[0] != "#"]
    root = {each[1]: float(each[2]) for each in fields if each[0] == "root"}
    stop = {tuple(each[1:4]): float(each[4]) for each in fields if each[0] == "stop"}
    child = {tuple(each[1:4]): float(each[4]) for each in fields if each[0] == "child"}
    rows = Made(folder / "dmv.html").rows("tags")
    assert [row[0] for row in rows] == sorted(root, key=lambda tag: -root[tag])
    for row in rows:
        assert float(row[3]) == pytest.approx(root[row[0]], abs=5.1e-4)
        ends = [stop[row[0], side, place] for side in ("left", "right") for place in ("adjacent", "further")]
        assert [float(each) for each in row[4:]] == pytest.approx(ends, abs=5.1e-4)
        for side, told in zip(("left", "right"), row[1:3], strict=True):
            best, prob = told.split(", ")[0].rsplit(" ", 1)
            expected = {tag: p for (head, where, tag), p in child.items() if (head, where) == (row[0], side)}
            assert float(prob) == pytest.approx(max(expected.values()), abs=5.1e-3)
            assert expected[best] == pytest.approx(max(expected.values()), abs=1e-9)


@pytest.mark.parametrize("valence", [1, 2])
def test_children_that_depend_on_adjacency_are_said_to_be_those_next_to_the_head(tmp_path, valence):
    (tmp_path / "tagged").write_text("DT NN VB\nNN VB\nVB DT DT NN\n" * 3)
    model, page = tmp_path / "model", tmp_path / "page.html"
    told = ("--rounds", 3, "--valence", valence)
    assert call("dmv", "train", tmp_path / "tagged", "--output", model, *told) == 0
    assert call("dmv", "report", model, "--output", page) == 0
    assert ("those next to the head are shown" in page.read_text()) == (valence == 2)


def test_squares_are_the_stronger_the_more_probable(folder):
    fields = [line.split() for line in (folder / "model.txt").read_text().splitlines()]
    child = {tuple(each[1:4]): float(each[4]) for each in fields if each[0] == "child"}
    seen = 0
    for picture in Made(folder / "dmv.html").section("tags").findall(f".//{SVG}svg"):
        side = "left" if "left" in picture.get("aria-label") else "right"
        for square in picture.findall(f"{SVG}rect"):
            if square.get("class") != "frame":
                head, tag = square.find(f"{SVG}title").text.rsplit(":", 1)[0].split(", ")
                opacity = child[head, side, tag] ** 0.6
                assert float(square.get("fill-opacity")) == pytest.approx(opacity, abs=0.0051)
                seen += 1
    assert seen == sum(prob >= 0.005 for prob in child.values())


def test_correlations_are_those_of_the_covariances(folder):
    arrays = np.load(folder / "model.npz")
    tags, flat = arrays["tags"].tolist(), arrays["covariance"]
    size = len(tags)
    page = folder / "head.html"
    told = ["--covariances", folder / "model.npz", "--head", "VB"]
    assert call("dmv", "report", folder / "model.txt", *told, "--output", page) == 0
    # The root's matrix, those of four stops of each tag, those of the children of each tag on both sides.
    first = size**2 + 4 * size * 4 + 2 * tags.index("VB") * size**2
    matrix = flat[first : first + size**2].reshape(size, size)
    deviations = np.sqrt(np.diagonal(matrix))
    correlation = np.triu(matrix / np.outer(deviations, deviations), 1)
    best = np.unravel_index(np.abs(correlation).argmax(), correlation.shape)
    made = Made(page)
    row = made.rows("covariances")[0]
    assert row[0] == f"{tags[best[0]]}, {tags[best[1]]}"
    assert float(row[1].replace("−", "-")) == pytest.approx(correlation[best], rel=0.06)
    low, high = np.diagonal(matrix).min(), np.diagonal(matrix).max()
    assert f"VB left: variances from {low:.3f} to {high:.3f}" in made.said("covariances")


def test_line_ends_of_windows_leave_nothing_on_the_page(folder, tmp_path):
    (tmp_path / "model.txt").write_bytes((folder / "model.txt").read_bytes().replace(b"\n", b"\r\n"))
    assert call("dmv", "report", tmp_path / "model.txt", "--output", tmp_path / "page.html") == 0
    assert "\ufffd" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_accuracy_is_that_of_evaluate(folder, capsys):
    assert main(["dmv", "evaluate", str(folder / "model.txt"), str(folder / "tagged"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = Made(folder / "dmv.html").rows("accuracy")
    for row, name in zip(rows, ("mbr", "viterbi", "attach_right", "attach_left"), strict=True):
        expected = [found[name][length]["directed"] for length in ("10", "20", "all")]
        assert [float(each) for each in row[1:]] == pytest.approx(expected, abs=0.051)


def test_arcs_are_those_of_parse(folder):
    out = folder / "parsed"
    assert call("dmv", "parse", folder / "model.txt", folder / "tagged", "--output", out) == 0
    parses = [line.split("\t") for line in out.read_text().splitlines()]
    section = Made(folder / "dmv.html").section("sentences")
    numbers = [int(re.search(r"Sentence (\d+)", each.text)[1]) for each in section.findall(f"{XHTML}h3")]
    pictures = section.findall(f".//{SVG}svg")
    assert len(numbers) == len(pictures) == 6
    for number, picture in zip(numbers, pictures, strict=True):
        heads = [int(head) for head in parses[number - 1][1].split()]
        tips = [each.find(f"{SVG}title").text.partition(" → ")[0] for each in picture.findall(f"{SVG}g")]
        shown = [each.text for each in picture.findall(f"{SVG}text")]
        assert len(shown) == len(heads)
        assert tips == ["the root" if head == 0 else shown[head - 1] for head in heads]


def test_trace_has_a_row_for_every_round_and_the_page_the_best(folder):
    lines = (folder / "rounds.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["sweep", "job", "round", "log_joint", "heldout"]
    rows = [[float(each) for each in line.split("\t")] for line in lines[1:]]
    assert [row[2] for row in rows] == list(range(1, len(rows) + 1))
    told = Made(folder / "dmv.html").rows("traces")[0]
    best = [max(row[column] for row in rows) for column in (3, 4)]
    found = [float(each.replace("−", "-").replace(",", "")) for each in told[2:]]
    assert found == pytest.approx(best, abs=5.1e-3)
