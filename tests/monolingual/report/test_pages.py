"""Reports of all models: strictly well-formed, self-contained, escaped; refused in one line."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

from monolingual.pcfg.report import _Draws, _tell_rules
from tests.monolingual.report.made import SCRIPT, SHALOM, call, made_page, made_pcfg, made_tsg
from tests.report.test_report import XHTML, Made

SECTIONS = {
    "tsg": ["run", "traces", "sizes", "trees", "roots", "whole", "cuts"],
    "pcfg": ["run", "traces", "rules", "tightness", "trees"],
    "ot": ["run", "traces", "constraints", "ranking", "fit", "tableaux"],
    "dmv": ["model", "traces", "accuracy", "tags", "covariances", "sentences"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("monolingual-reports")


@pytest.fixture(scope="module", params=SECTIONS)
def page(request, folder):
    """The name of a model, and its report."""
    return request.param, made_page(folder, request.param)


def test_sections_are_all_there_and_the_links_above_lead_to_them(page):
    model, path = page
    made = Made(path)
    assert made.names() == SECTIONS[model]
    links = made.root.findall(f".//{XHTML}nav//{XHTML}a")
    assert [link.get("href") for link in links] == [f"#{name}" for name in SECTIONS[model]]


def test_page_loads_nothing_and_runs_nothing(page):
    root = Made(page[1]).root
    tags = Counter(re.sub("{.*}", "", each.tag) for each in root.iter())
    assert not tags.keys() & {"script", "img", "link", "iframe", "object", "form", "video", "base"}
    for each in root.iter():
        for name, value in each.attrib.items():
            assert not name.startswith("on"), (each.tag, name)
            assert name not in ("src", "srcset", "data", "action"), (each.tag, name)
            assert "url(" not in value
            assert name != "href" or value.startswith("#")
    text = re.sub(r"http://www\.w3\.org/(1999/xhtml|2000/svg)", "", path_text(page))
    assert "://" not in text
    assert "@import" not in text
    assert len(text) < 5_000_000


def path_text(page) -> str:
    return page[1].read_text(encoding="utf-8")


def test_words_are_text_wherever_they_stand(page):
    started: Counter[str] = Counter()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            started[tag] += 1

        handle_startendtag = handle_starttag

    Reader().feed(path_text(page))
    root = Made(page[1]).root
    strict = Counter(re.sub("{.*}", "", each.tag) for each in root.iter())
    assert started == Counter({tag.lower(): number for tag, number in strict.items()})
    shown = "".join(root.itertext())
    assert SCRIPT in shown
    assert page[0] == "pcfg" or SHALOM in shown


def test_every_id_stands_once(page):
    ids = [each.get("id") for each in Made(page[1]).root.iter() if each.get("id")]
    assert len(ids) == len(set(ids))


def test_same_run_makes_the_same_page(folder, tmp_path):
    made_page(tmp_path, "tsg")
    assert call("tsg", "report", tmp_path / "tsg-1", "--output", tmp_path / "again.html") == 0
    first = (tmp_path / "again.html").read_bytes()
    assert call("tsg", "report", tmp_path / "tsg-1", "--output", tmp_path / "again.html") == 0
    assert (tmp_path / "again.html").read_bytes() == first


def test_a_double_dop_grammar_has_no_sweeps_and_shortens_no_chain(tmp_path):
    """Its settings have a burn-in of 500, which is none of a chain of 60 sweeps that is shown beside it."""
    chain, found, page = made_tsg(tmp_path), tmp_path / "2dop", tmp_path / "page.html"
    assert call("tsg", "train", tmp_path / "trees.mrg", "--method", "2dop", "--output", found) == 0
    assert call("tsg", "report", found, "--output", page) == 0
    assert Made(page).names() == ["run", "sizes", "trees", "roots"]
    assert "sweeps" not in Made(page).said("run")
    assert call("tsg", "report", found, chain, "--output", page) == 0
    assert "Sweeps before 30, shaded, are burn-in" in Made(page).said("traces")


def test_run_that_has_only_begun_has_a_report_that_says_so(tmp_path):
    tsg, pcfg = made_tsg(tmp_path), made_pcfg(tmp_path)
    for run, lost in ((tsg, ("grammar.tsg.gz", "marginals.json")), (pcfg, ("samples.npz", "summary.json"))):
        record = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps({**record, "finished": False}))
        for name in lost:
            (run / name).unlink()
        for trace in run.glob("trace*.tsv"):
            trace.write_text(trace.read_text().splitlines(keepends=True)[0])
    assert call("tsg", "report", tsg, "--output", tmp_path / "tsg.html") == 0
    made = Made(tmp_path / "tsg.html")
    assert f"scfg-monolingual tsg resume {tsg}" in made.said("run")
    assert "There is no trace yet" in made.said("traces")
    assert "has no grammar yet" in made.said("trees")
    assert call("pcfg", "report", pcfg, "--output", tmp_path / "pcfg.html") == 0
    made = Made(tmp_path / "pcfg.html")
    assert f"scfg-monolingual pcfg resume {pcfg}" in made.said("run")
    assert "no draws yet" in made.said("rules")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tsg", "report", "nowhere"], "nowhere: is not a run directory"),
        (["tsg", "report", "RUN", "RUN"], "is named twice"),
        (["tsg", "report", "OTHER"], "other/run.json"),
        (["pcfg", "report", "nowhere"], "nowhere: is not a run directory"),
        (["pcfg", "report", "RUN"], "is damaged, or not that of 'pcfg sample'"),
        (["ot", "report", "nowhere"], "nowhere: has no summary.json"),
        (["dmv", "report", "nowhere"], "nowhere"),
        (["dmv", "report", "MODEL", "--head", "A"], "--head is of --covariances; give them"),
        (["dmv", "report", "MODEL", "--shown", "-1"], "--shown is -1; it must be at least 0"),
        (["dmv", "report", "MODEL", "--covariances", "TEXT"], "holds no covariances"),
        (["dmv", "report", "MODEL", "--trace", "TEXT"], "no column 'sweep'"),
        (["dmv", "report", "MODEL", "--trace", "TRACE"], "has no column 'job'"),
        (["dmv", "report", "MODEL", "--trace", "a=TEXT", "a=TEXT"], "--trace has two files called a"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_written(tmp_path, capsys, arguments, message):
    places = {name: str(tmp_path / name.lower()) for name in ("RUN", "OTHER", "MODEL", "TEXT", "TRACE")}
    if "RUN" in arguments:
        made_tsg(tmp_path).rename(tmp_path / "run")
    if "OTHER" in arguments:
        made_pcfg(tmp_path).rename(tmp_path / "other")
    (tmp_path / "model").write_text("root A 1\n")
    (tmp_path / "text").write_text("no\n")
    (tmp_path / "trace").write_text("sweep\tlog_joint\n0\t1\n")
    capsys.readouterr()
    for name, path in places.items():
        arguments = [re.sub(rf"\b{name}\b", path, each) for each in arguments]
    assert call(*arguments, "--output", tmp_path / "r.html") == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("nonterminals", "told"), [(25, "most probable."), (27, "and none of 2 further nonterminals.")]
)
def test_nonterminals_whose_rules_find_no_room_are_counted(nonterminals, told, rng):
    rules = [f"N{at} -> 'w{k}'" for at in range(nonterminals) for k in range(9)]
    draws = _Draws(rules, rng.random((9, len(rules))), np.ones(9, np.int64), np.zeros(9), np.zeros(9))
    shown = "".join(map(str, _tell_rules(draws, {"convergence": {}})))
    assert f"200 of {9 * nonterminals} rules are shown, of each nonterminal the most probable" in shown
    assert told in shown
