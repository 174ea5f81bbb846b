"""Answers about pairs, rules and translations, against what commands and other modules say of them."""

from __future__ import annotations

import gzip
import json
import re
import shutil

import pytest

from decoder.cli import main as decoder
from scfg_sampler.cli import main
from scfg_sampler.errors import ScfgError
from scfg_sampler.explore.questions import MOST_WORDS, Question, QuestionError
from scfg_sampler.explore.server import answers
from scfg_sampler.explore.sources import Sources, described, open_sources
from scfg_sampler.report.grammar import rule_text
from scfg_sampler.report.shapes import shapes
from scfg_sampler.rules.table import read_rule_table
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.oracles import phrase_forest
from tests.report.made import NASTY, made_run, nasty_pairs

MONOTONE = {"source": "a b c", "target": "A B C", "alignment": "0-0 1-1 2-2"}


@pytest.fixture(scope="module")
def ask(sources):
    paths = answers(sources)
    return lambda path, **fields: paths[path](Question(fields))


def test_pair_is_that_of_the_run(ask, explored_directory):
    path = explored_directory / "sample" / "derivations.jsonl.gz"
    stored = list(map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines()))
    for number in (0, 7, len(nasty_pairs()) - 1):
        pair, answer = nasty_pairs()[number], ask("/pair", number=number)
        assert (answer["source"], answer["target"]) == (list(pair.source), list(pair.target))
        assert sorted(map(tuple, answer["links"])) == sorted(pair.links)
        assert answer["skipped"] == stored[number]["skipped"]
        found, expected = answer["derivation"], stored[number]["derivation"]
        assert without(found, "shown") == expected
        assert answer["grid"].count("linked") == len(pair.links)


def without(node, name):
    if node is None:
        return None
    kept = {
        key: list(value) if isinstance(value, tuple) else value for key, value in node.items() if key != name
    }
    return kept | {"parts": [without(part, name) for part in node["parts"]]}


def test_phrases_and_edges_are_those_of_the_forest(ask):
    answer = ask("/pair", **MONOTONE)
    assert answer["trees"] == "2"
    assert [tuple(each["source"]) for each in answer["phrases"]] == [
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 2),
        (1, 3),
        (0, 3),
    ]
    goal = ask("/forest", **MONOTONE)
    assert (goal["phrase"], goal["above"]) == (5, [])
    assert sorted(edge["parts"] for edge in goal["edges"]) == [[0, 4], [3, 2]]
    assert goal["edges"][0]["rule"] == "[X,1] [X,2] ||| [X,1] [X,2]"
    assert goal["picture"].count("<circle") == 2
    word = ask("/forest", **MONOTONE, phrase=1)
    assert word["above"] == [3, 4]
    assert word["edges"] == [{"parts": [], "rule": "b ||| B", "shown": "b → B"}]


def test_number_of_edges_is_that_of_another_implementation(ask):
    for number in range(0, 40, 5):
        pair = nasty_pairs()[number]
        answer = ask("/pair", number=number)
        expected = sum(len(phrase_forest.edges(pair, node)) for node in phrase_forest.phrases(pair))
        edges = [ask("/forest", number=number, phrase=k)["edges"] for k in range(len(answer["phrases"]))]
        assert answer["edges"] == sum(map(len, edges)) == expected


def test_steps_are_the_same_for_the_same_seed_and_begin_with_the_last_state(ask):
    one, other, third = (ask("/steps", number=3, sweeps=4, seed=seed) for seed in (1, 1, 2))
    assert one == other
    assert one != third
    assert one["first"] == ask("/pair", number=3)["derivation"]
    assert len(one["begins"]) == 4
    assert one["complete"]
    for choice in one["choices"]:
        assert sum(option["share"] for option in choice["options"]) == pytest.approx(1)
        assert (choice["derivation"] is None) == (choice["before"] == choice["chosen"])


def test_long_pair_has_as_many_steps_as_are_recorded_at_a_time(ask):
    words = [f"w{k}" for k in range(MOST_WORDS)]
    pair = {
        "source": " ".join(words),
        "target": " ".join(words),
        "alignment": " ".join(f"{k}-{k}" for k in range(MOST_WORDS)),
    }
    answer = ask("/steps", **pair, sweeps=50)
    assert (len(answer["choices"]), answer["complete"]) == (4000, False)


def test_pair_of_words_nobody_knows_is_sampled_in_the_run(ask):
    answer = ask("/steps", source="new f1x", target="NEW words", alignment="0-0 1-1", sweeps=2)
    assert answer["choices"]


def test_pairs_with_words_are_found(ask):
    script = NASTY["f0"]
    answer = ask("/pairs", words=f"{script} {NASTY['e0']}")
    expected = [
        number
        for number, pair in enumerate(nasty_pairs())
        if script in pair.source and NASTY["e0"] in pair.target
    ]
    assert answer["found"] == len(expected) > 0
    assert [pair["number"] for pair in answer["pairs"]] == expected[:25]
    assert [pair["number"] for pair in ask("/pairs", **{"from": 40})["pairs"]] == list(range(40, 46))
    assert ask("/pairs", words="nowhere")["found"] == ask("/pairs", words="nowhere")["left"] == 0


def test_pages_of_a_list_say_how_many_pairs_are_left(ask):
    for begin, left in ((0, 21), (20, 1), (21, 0), (25, 0), (46, 0)):
        answer = ask("/pairs", **{"from": begin})
        assert (answer["found"], answer["left"]) == (46, left)
        assert len(answer["pairs"]) == 46 - begin - left


def test_rules_are_found_by_words_and_shape(ask):
    script = NASTY["f0"]
    everything = ask("/grammar", number=200)
    assert everything["found"] == everything["of"]
    counts = [rule["count"] for rule in everything["rules"]]
    assert counts == sorted(counts, reverse=True)
    found = ask("/grammar", source=script, shape="w 1 -> 1 w", number=200)
    assert found["rules"]
    for rule in found["rules"]:
        assert re.fullmatch(r"[^\[]+ \[X,1\] \|\|\| \[X,1\] [^\[]+", rule["rule"])
        assert script in rule["shown"]
        assert rule["features"]["TargetWords"] == len(rule["rule"].split(" ||| ")[1].split()) - 1
    assert ask("/grammar", source="nowhere")["found"] == 0
    rest = ask("/grammar", **{"from": 3, "number": 2})["rules"]
    assert rest == everything["rules"][3:5]


def test_rules_of_a_system_have_the_counts_of_its_table(ask, explored_directory):
    table = read_rule_table(explored_directory / "grammar.gz")
    assert len(set(table.count.tolist())) > 3
    expected = {rule_text(table, row): count for row, count in enumerate(table.count.tolist())}
    answer = ask("/grammar", of=1, number=200)
    found = [(each["rule"], each["count"]) for each in answer["rules"]]
    assert answer["counted"]
    assert [count for _, count in found] == sorted(expected.values(), reverse=True)[:200]
    assert dict(found).items() <= expected.items()
    uses = {each.text: each.uses for each in shapes(table, 60)}
    assert {each["shape"]: each["uses"] for each in ask("/shapes", of=1)["shapes"]} == uses


@pytest.mark.parametrize(
    ("features", "counted", "first"),
    [
        (["F=0", "F=1"], False, [("a → A", 1.0), ("b → B", 1.0)]),
        (["LogCount=0", "LogCount=5000"], True, [("b → B", 1e200), ("a → A", 1.0)]),
    ],
    ids=["none", "out of range"],
)
def test_rules_of_a_system_may_have_no_counts_or_any(tmp_path, explored_directory, features, counted, first):
    lines = [
        f"[X] ||| {word} ||| {word.upper()} ||| {each}\n" for word, each in zip("ab", features, strict=True)
    ]
    (tmp_path / "table").write_text("".join(lines))
    names = [features[0].partition("=")[0], "LanguageModel", "Glue", "PassThrough"]
    (tmp_path / "w.json").write_text(json.dumps(dict.fromkeys(names, 0.5)))
    options = ["--grammar", tmp_path / "table", "--lm", explored_directory / "lm.arpa"]
    options += ["--weights", tmp_path / "w.json", "--output", tmp_path / "system"]
    assert decoder(["bundle", *map(str, options), "--quiet"]) == 0
    paths = answers(open_sources([tmp_path / "system"]))
    answer = paths["/grammar"](Question({}))
    assert answer["counted"] is counted
    assert [(each["shown"], each["count"]) for each in answer["rules"]] == first
    json.dumps([answer, paths["/shapes"](Question({}))], allow_nan=False)


def test_rules_with_labels_say_what_they_make(tmp_path, explored_directory):
    rules = ["[NP] ||| a [N,1] ||| A [N,1] ||| F=2", "[N] ||| b ||| B ||| F=1", "[NP] ||| b ||| B ||| F=1"]
    (tmp_path / "table").write_text("".join(f"{each}\n" for each in rules))
    weights = {"F": 1, "LanguageModel": 0.1, "Glue": -1, "PassThrough": -1}
    (tmp_path / "w.json").write_text(json.dumps(weights))
    options = ["--grammar", tmp_path / "table", "--lm", explored_directory / "lm.arpa"]
    options += ["--weights", tmp_path / "w.json", "--output", tmp_path / "system"]
    assert decoder(["bundle", *map(str, options), "--quiet"]) == 0
    paths = answers(open_sources([tmp_path / "system"]))
    found = paths["/grammar"](Question({}))["rules"]
    assert {each["rule"]: each["shown"] for each in found} == {
        "[NP] ||| a [N,1] ||| A [N,1]": "NP: a N① → A N①",
        "[N] ||| b ||| B": "N: b → B",
        "[NP] ||| b ||| B": "NP: b → B",
    }
    answer = paths["/translate"](Question({"text": "a b", "details": True}))
    assert [each["shown"] for each in answer["derivation"]["nodes"]][2:] == ["NP: a ① → A ①", "N: b → B"]
    spans = {(*each["span"], rule["shown"]) for each in answer["spans"] for rule in each["rules"]}
    assert {(0, 2, "NP: a ① → A ①"), (1, 2, "N: b → B"), (1, 2, "NP: b → B")} <= spans


def test_shapes_are_shapes(ask):
    shapes = ask("/shapes")["shapes"]
    for shape in shapes[:5]:
        assert ask("/grammar", shape=shape["shape"])["found"] == shape["rules"]


def test_rule_comes_from_the_pairs_whose_derivations_use_it(ask):
    used = {}
    for number in range(len(nasty_pairs())):
        stack = [ask("/pair", number=number)["derivation"]]
        while stack:
            node = stack.pop()
            if node:
                used.setdefault(node["rule"], {}).setdefault(number, []).append(list(node["source"]))
                stack += node["parts"]
    rule, expected = max(used.items(), key=lambda item: len(item[1]) * ("[X,1]" in item[0]))
    answer = ask("/rule", rule=rule)
    found = {
        each["number"]: sorted(list(p["source"]) for p in each["places"]) for each in answer["sentences"]
    }
    assert found == {number: sorted(spans) for number, spans in sorted(expected.items())[:20]}


def test_rule_is_told_with_how_many_pairs_were_looked_at(ask, monkeypatch):
    rule = ask("/grammar", shape="w -> w", number=1)["rules"][0]["rule"]
    whole = ask("/rule", rule=rule)
    numbers = [each["number"] for each in whole["sentences"]]
    assert 1 < len(numbers) < 20
    assert whole["looked_at"] == whole["candidates"]
    monkeypatch.setattr("scfg_sampler.explore.grammar._LOOKED_AT", 1)
    part = ask("/rule", rule=rule)
    assert (part["candidates"], part["looked_at"]) == (whole["candidates"], 1)
    monkeypatch.setattr("scfg_sampler.explore.grammar._SENTENCES", 1)
    monkeypatch.setattr("scfg_sampler.explore.grammar._LOOKED_AT", whole["candidates"])
    first = ask("/rule", rule=rule)
    assert [each["number"] for each in first["sentences"]] == numbers[:1]
    assert 1 <= first["looked_at"] < whole["candidates"]


def test_translation_is_that_of_the_command(ask, explored_directory, tmp_path, capsys):
    lines = [" ".join(pair.source) for pair in nasty_pairs()[:6]]
    (tmp_path / "in").write_text("".join(line + "\n" for line in lines))
    system = ["--system", str(explored_directory / "system"), "--input", str(tmp_path / "in"), "--quiet"]
    assert decoder(["translate", *system, "--nbest", "3"]) == 0
    rows = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    for number, line in enumerate(lines):
        expected = [row for row in rows if row[0] == str(number)]
        answer = ask("/translate", text=line, nbest=3, details=True)
        assert [each["translation"] for each in answer["nbest"]] == [row[1] for row in expected]
        assert answer["score"] == pytest.approx(float(expected[0][3]), abs=1e-5)
        weights = ask_weights(ask, explored_directory)
        total = sum(weights[name] * value for name, value in answer["features"].items())
        assert total == pytest.approx(answer["score"], abs=1e-6)
    assert ask("/translate", texts=lines)["translations"] == [
        next(row[1] for row in rows if row[0] == str(number)) for number in range(6)
    ]


def ask_weights(ask, directory):
    return json.loads((directory / "w.json").read_text()) | {"PassThrough": -1.0, "Glue": -1.0}


def test_other_weights_give_what_a_system_with_them_gives(ask):
    line = " ".join(nasty_pairs()[0].source) + " unknown"
    own = ask("/translate", text=line)
    moved = ask("/translate", text=line, weights={"PassThrough": 5.0, "Glue": 1.0})
    assert moved == ask("/translate", text=line, system=1)
    assert moved["score"] != own["score"]
    assert ask("/translate", text=line) == own


def test_spans_say_what_was_tried(ask):
    line = " ".join(nasty_pairs()[0].source)
    answer = ask("/translate", text=line, details=True)
    spans = {tuple(each["span"]): each for each in answer["spans"]}
    for node in answer["derivation"]["nodes"]:
        if node["symbol"] == "X":
            span = spans[tuple(node["span"])]
            (entry,) = [each for each in span["rules"] if each["shown"] == node["shown"]]
            assert entry["posterior"] == pytest.approx(node["posterior"])
            assert span["matching"] >= 1
    for span in spans.values():
        shares = [each["posterior"] for each in span["rules"]]
        assert shares == sorted(shares, reverse=True)
        assert len(span["rules"]) == min(15, span["kept"])


def test_nothing_has_no_translation(ask):
    assert ask("/translate", text=" ")["translation"] == ""
    for fields in ({}, {"nbest": 1}, {"details": True}):
        empty, other = (ask("/translate", text=text, **fields) for text in ("", "a"))
        assert set(empty) == set(other)
    assert (empty["derivation"], empty["picture"], empty["spans"]) == (None, None, [])


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        ("/pair", {"number": 1000}, "number is 1000; it must be from 0 to 45"),
        ("/pair", {"source": "a"}, "target is missing"),
        ("/pair", {"source": " ", "target": "A"}, "source has no words"),
        ("/pair", {"source": "a", "target": ""}, "target has no words"),
        ("/pair", MONOTONE | {"alignment": "0-3"}, "link 0-3 points past the end of a 3-word target"),
        ("/pair", MONOTONE | {"alignment": "0:0"}, "'0:0' is not a link"),
        ("/pair", {"source": "a " * 101, "target": "b"}, "source has 101 words; at most 100"),
        ("/pair", {"number": 0} | MONOTONE, "source has no meaning beside number; leave out one of them"),
        ("/pair", {"number": 0, "sweeps": 1}, "there is no field 'sweeps'"),
        ("/pair", {"number": 0, "run": 1}, "run is 1; it must be from 0 to 0"),
        ("/forest", {"number": 0, "phrase": 10**6}, "phrase is 1000000; it must be from 0"),
        ("/forest", MONOTONE | {"alignment": ""}, "the pair has no links"),
        ("/steps", {"number": 45}, "no links"),
        ("/steps", {"number": 0, "sweeps": 51}, "sweeps is 51; it must be from 1 to 50"),
        ("/grammar", {"shape": "x"}, "'x' is no shape"),
        ("/grammar", {"of": 3}, "of is 3; it must be from 0 to 2"),
        ("/rule", {"rule": "a"}, "'a' is no rule; give both sides"),
        ("/rule", {"rule": "a ||| [X,1]"}, "is no rule"),
        ("/rule", {"rule": "a ||| b", "of": 1}, "does not say where its rules come from"),
        ("/translate", {}, "text is missing"),
        ("/translate", {"text": "a", "weights": {"No": 1}}, "there is no feature 'No'; there are LogForward"),
        ("/translate", {"text": "a " * 101}, "text has 101 words"),
        ("/translate", {"texts": ["a"] * 201}, "texts has 201 lines; at most 200"),
        ("/translate", {"texts": ["a", "a " * 101]}, "line 2 of texts has 101 words or pieces of words"),
        ("/translate", {"texts": ["a"], "text": "b"}, "text has no meaning beside texts"),
        ("/translate", {"texts": ["a"], "nbest": 2}, "nbest has no meaning beside texts"),
        ("/translate", {"texts": ["a"], "details": True}, "details has no meaning beside texts"),
        ("/translate", {"text": "", "details": 1}, "details is neither true nor false"),
        ("/translate", {"text": "a", "nbest": 101}, "nbest is 101"),
        ("/translate", {"text": "a", "system": 2}, "system is 2; it must be from 0 to 1"),
    ],
)
def test_question_without_an_answer_is_told_why(ask, path, fields, message):
    with pytest.raises(ScfgError, match=re.escape(message)):
        ask(path, **fields)


def test_run_alone_has_no_translations_and_a_system_alone_no_run(sources):
    run, system = (
        answers(Sources(sources.runs, [])),
        answers(Sources([], sources.systems)),
    )
    with pytest.raises(QuestionError, match="there is no system"):
        run["/translate"](Question({"text": "a"}))
    for path in ("/pairs", "/pair"):
        with pytest.raises(QuestionError, match="there is no run"):
            system[path](Question({"number": 0} if path == "/pair" else {}))
    answer = system["/steps"](Question(MONOTONE | {"sweeps": 2}))
    assert answer["choices"]
    assert system["/grammar"](Question({}))["found"] > 10


def test_run_and_system_are_opened_by_themselves(explored_directory):
    alone = open_sources([explored_directory / "sample"]), open_sources([explored_directory / "system"])
    assert [(len(each.runs), len(each.systems)) for each in alone] == [(1, 0), (0, 1)]


def test_systems_of_one_name_are_told_apart_by_where_they_are(explored_directory, tmp_path):
    for place in ("old", "new"):
        shutil.copytree(explored_directory / "system", tmp_path / place / "system")

    def names(*paths):
        return [each.name for each in open_sources(paths).systems]

    assert names(tmp_path / "old" / "system", tmp_path / "new" / "system") == ["old/system", "new/system"]
    assert names(tmp_path / "old" / "system") == ["system"]
    assert names(tmp_path / "old", tmp_path / "new") == ["old", "new"]
    assert names(*[tmp_path / "old" / "system"] * 2) == ["system", "system"]


def test_two_systems_of_a_recipe_that_agree_are_both_shown(explored_directory, tmp_path):
    for kind in ("hiero", "sampled"):
        shutil.copytree(explored_directory / "system", tmp_path / "run" / f"system-{kind}")
    found = open_sources([tmp_path / "run"])
    assert [each.name for each in found.systems] == ["run/system-sampled", "run/system-hiero"]


def test_run_that_has_counted_nothing_yet_says_so(tmp_path):
    from tests.learner.test_commands import sample, write_corpus

    options = write_corpus(tmp_path, nasty_pairs())
    assert sample(options, tmp_path / "run", "--iterations", "4", "--burn-in", "1") == 0
    for path in (tmp_path / "run" / "counts").iterdir():
        path.unlink()
    found = answers(open_sources([tmp_path / "run"]))
    assert found["/pair"](Question({"number": 0}))["derivation"]
    with pytest.raises(QuestionError, match="has no counts yet"):
        found["/grammar"](Question({}))


def test_rules_of_another_run_are_not_shown_beside_its_pairs(tmp_path):
    options = write_corpus(tmp_path, some_pairs())
    begin = (options, tmp_path / "run", "--overwrite", "--burn-in", "1", "--iterations")
    assert sample(*begin, "4") == 0
    for change in (
        lambda: sample(*begin, "3"),
        lambda: main(["resume", str(tmp_path / "run"), "--iterations", "6", "--quiet"]),
        lambda: shutil.rmtree(tmp_path / "run"),
    ):
        found, before = (answers(open_sources([tmp_path / "run"])) for _ in range(2))
        assert before["/grammar"](Question({}))["found"] > 0
        assert not change()
        with pytest.raises(QuestionError, match=r"no longer the one whose pairs are shown.*Start explore"):
            found["/grammar"](Question({}))
        assert found["/pair"](Question({"number": 0}))["derivation"]
        assert before["/grammar"](Question({}))["found"] > 0


@pytest.mark.slow
def test_steps_of_a_run_with_free_words_say_where_a_rule_would_lie(tmp_path):
    run, _ = made_run(tmp_path, "--unaligned", "free")
    steps = answers(open_sources([str(run)]))["/steps"]
    found = [steps(Question({"number": number, "sweeps": 3})) for number in range(6)]
    options = [
        option
        for answer in found
        for choice in answer["choices"]
        if choice["kind"] == "cut"
        for option in choice["options"]
    ]
    assert {len(option["rules"]) for option in options if option["place"]} == {2}
    json.dumps(found, allow_nan=False)


def test_pair_says_how_often_phrases_were_in_the_derivations_of_the_run(ask):
    phrases = ask("/pair", number=0)["phrases"]
    assert phrases[-1]["in_tree"] == phrases[-1]["cut"] == 1.0
    assert all(0.0 <= phrase["cut"] <= phrase["in_tree"] <= 1.0 for phrase in phrases)
    assert "of the states of the run" in ask("/forest", number=0)["picture"]
    assert "in_tree" not in ask("/pair", **MONOTONE)["phrases"][0]


def test_steps_of_a_run_that_proposes_show_both_derivations(tmp_path):
    run, _ = made_run(tmp_path, "--operator", "rejection")
    steps = answers(open_sources([str(run)]))["/steps"]
    answer = steps(Question({"number": 0, "sweeps": 3}))
    assert answer["complete"]
    assert answer["begins"] == [0, 1, 2]
    assert [choice["kind"] for choice in answer["choices"]] == ["derivation"] * 3
    old, new = answer["choices"][0]["options"]
    assert old["derivation"] == answer["first"]
    assert old["share"] + new["share"] == pytest.approx(1.0)
    assert new["log_prob"] < 0.0
    assert new["log_proposal"] <= 0.0
    json.dumps(answer, allow_nan=False)


def test_pair_under_one_of_several_alignments_says_which(tmp_path, ask):
    pairs = some_pairs()
    options = write_corpus(tmp_path, pairs)
    (tmp_path / "other").write_text("".join("0-0\n" for _ in pairs))
    assert sample([*options, str(tmp_path / "other")], tmp_path / "run", "--iterations", "2") == 0
    several = open_sources([tmp_path / "run"])
    told = {"name": "run", "pairs": 2 * len(pairs), "alignments": 2}
    assert described(several, "")["runs"] == [told | {"operator": "top-down", "choose": "none"}]
    paths = answers(several)
    found = paths["/pair"](Question({"number": len(pairs) + 3}))
    assert found["place"] == {"pair": 3, "alignment": 2}
    assert (found["source"], found["links"]) == (list(pairs[3].source), [(0, 0)])
    assert paths["/pair"](Question({"number": 3}))["place"] == {"pair": 3, "alignment": 1}
    assert ask("/pair", number=3)["place"] is None
