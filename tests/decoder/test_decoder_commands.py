"""The decoder's command line, from files to files."""

import gzip
import itertools
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from scfg_sampler.formats.conversion import write_table
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL, REFERENCES, RULES, SOURCES


@pytest.fixture
def models(tmp_path):
    """A directory with a grammar, a language model, weights, and a development set."""
    write_rule_table(small.rule_table(RULES), tmp_path / "grammar.gz")
    write_arpa(random_model(5, 2), tmp_path / "lm.arpa")
    (tmp_path / "w.json").write_text(json.dumps(INITIAL))
    (tmp_path / "source").write_text("".join(" ".join(words) + "\n" for words in SOURCES))
    (tmp_path / "reference").write_text("".join(" ".join(row[0]) + "\n" for row in REFERENCES))
    return tmp_path


def options(models, *more: str) -> list[str]:
    return ["--grammar", f"{models}/grammar.gz", "--lm", f"{models}/lm.arpa", "--quiet", *more]


def translate(models, text: str, *more: str) -> list[str]:
    (models / "input").write_text(text)
    files = ["--weights", f"{models}/w.json", "--input", f"{models}/input", "--output", f"{models}/output"]
    assert main(["translate", *options(models, *files, *more)]) == 0
    lines = (models / "output").read_text().split("\n")
    assert lines[-1] == ""
    return lines[:-1]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_every_line_has_its_translation(models, threads):
    text = "u v\n\n  \n[X,1] ||| <s>\nw\tv \r\nno-newline-at-the-end\u2028 u"
    found = translate(models, text, "--threads", threads)
    assert found == ["b c", "", "", "[X,1] ||| <s>", "a c c", "no-newline-at-the-end\u2028 b"]


def test_empty_input_gives_empty_output(models):
    assert translate(models, "") == []


def test_gzipped_input_is_read(models):
    with gzip.open(models / "text.gz", "wt") as out:
        out.write("u v\n")
    arguments = ["--weights", f"{models}/w.json", "--input", f"{models}/text.gz", "--output", f"{models}/o"]
    assert main(["translate", *options(models, *arguments)]) == 0
    assert (models / "o").read_text() == "b c\n"


def test_nbest_lists_number_the_lines_without_gaps(models):
    found = translate(models, "u v\n\nw\n", "--nbest", "3")
    fields = [line.split(" ||| ") for line in found]
    assert {len(row) for row in fields} == {4}
    assert [row[0] for row in fields] == ["0", "0", "0", "1", "2", "2"]
    assert [row[1] for row in fields][:4] == ["b c", "b b", "a c", ""]
    again = translate(models, "u v\n", "--nbest", "9", "--not-unique")
    assert len(again) == 4


def test_references_have_their_derivations_or_a_reason(models, capsys):
    (models / "ref0").write_text("b b\n\na |||\nb c\n")
    (models / "ref1").write_text("b c\n\n\n\n")
    files = ["--reference", f"{models}/ref0", f"{models}/ref1", "--derivations", f"{models}/trees"]
    found = translate(models, "u v\n\nw\nu v\n", *files)
    best, other = translate(models, "u v\n", "--nbest", "2", "--not-unique")
    assert [line.split(" ||| ")[1] for line in (best, other)] == ["b c", "b b"]
    assert found[0] == best
    assert found[1].startswith("1 |||  ||| ")
    assert found[2] == '2 ||| no derivation: no rule that matches yields 1 "&#124;&#124;&#124;"'
    assert found[3] == "3" + best[1:]
    assert main(["show", f"{models}/trees", "--sentence", "3"]) == 0
    assert "sentence 3: b c" in capsys.readouterr().out
    arguments = [option for option in options(models, "--weights", f"{models}/w.json") if option != "--quiet"]
    arguments += ["--input", f"{models}/input", "--output", f"{models}/o"]
    assert main(["translate", *arguments, "--reference", f"{models}/ref0"]) == 2
    assert "ref0" in capsys.readouterr().err
    (models / "input").write_text("u v\n\nw\nu v\n")
    assert main(["translate", *arguments, "--reference", f"{models}/ref0"]) == 0
    assert "references of 3 of 4 sentences (75.0 %)" in capsys.readouterr().err
    assert main(["translate", *arguments, "--reference", f"{models}/ref0", "--mbr"]) == 2
    assert "--mbr cannot be given beside it" in capsys.readouterr().err


def test_minimum_risk_gives_a_line_for_every_line(models):
    text = "u v x\n\nw\n"
    assert translate(models, text, "--mbr", "5", "--mbr-scale", "1e6") == translate(models, text)
    found = translate(models, text, "--mbr", "--derivations", f"{models}/trees.jsonl")
    records = [json.loads(line) for line in (models / "trees.jsonl").read_text().splitlines()]
    assert [record["translation"] for record in records] == found
    assert len(found) == 3


@pytest.mark.parametrize("scale", ["1e6", "1", "1e-9"])
@pytest.mark.parametrize("text", ["u u", "v v v", "u w"])
def test_minimum_risk_is_over_probabilities_of_the_given_scale(models, text, scale):
    """p ∝ exp(scale · score), against the scores that the list of translations prints, and sacrebleu."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, effective_order=False, force=True)
    rows = [line.split(" ||| ") for line in translate(models, text, "--nbest", "20")]
    texts, scores = [row[1] for row in rows], np.array([float(row[3]) for row in rows])
    probs = np.exp(float(scale) * (scores - scores.max()))
    expected = [
        sum(p * metric.sentence_score(one, [other]).score for p, other in zip(probs, texts, strict=True))
        for one in texts
    ]
    (found,) = translate(models, text, "--mbr", "20", "--mbr-scale", scale)
    assert expected[texts.index(found)] == pytest.approx(max(expected), rel=1e-6)


def test_derivations_are_trees_whose_scores_add_up(models, capsys):
    translate(models, "u v x\n\n", "--derivations", f"{models}/trees.jsonl")
    records = [json.loads(line) for line in (models / "trees.jsonl").read_text().splitlines()]
    assert [record["translation"] for record in records] == ["b c x", ""]
    nodes = records[0]["nodes"]
    assert sum(node["score"] for node in nodes) == pytest.approx(records[0]["score"])
    for name, value in records[0]["features"].items():
        assert sum(node["features"].get(name, 0.0) for node in nodes) == pytest.approx(value)
    assert sorted(child for node in nodes for child in node["children"]) == list(range(1, len(nodes)))
    for node in nodes:
        spans = [nodes[child]["span"] for child in node["children"]]
        assert all(node["span"][0] <= a < b <= node["span"][1] for a, b in spans)
    assert main(["show", f"{models}/trees.jsonl", "--sentence", "0"]) == 0
    drawn = capsys.readouterr().out
    assert "X [0–1] u → b" in drawn
    assert "X [2–3] x → x" in drawn
    assert drawn.count("GOAL [0–3]") == 1


def test_drawings_have_a_rule_below_the_one_it_is_part_of():
    from decoder.translation.drawing import draw_svg

    def node(symbol, begin, end, children):
        sides = {"source": [1], "target": [1], "score": 0.0}
        return {"symbol": symbol, "span": [begin, end], "children": children, **sides}

    nodes = [node("GOAL", 0, 3, [1]), node("S", 0, 3, [2]), node("X", 0, 3, [3]), node("X", 1, 2, [])]
    record = {"sentence": 0, "source": ["a", "b", "c"], "translation": "A", "score": 0.0, "nodes": nodes}
    boxes = list(ElementTree.fromstring(draw_svg(record)).iter("{http://www.w3.org/2000/svg}rect"))
    outer, inner = (float(box.get("y")) for box in boxes)
    assert inner > outer


def test_drawings_hold_every_rule_in_boxes_that_do_not_overlap(models, capsys):
    translate(models, "u <s>&\x01 v\n\nw\n", "--derivations", f"{models}/trees")
    records = [json.loads(line) for line in (models / "trees").read_text().splitlines()]
    for number, record in enumerate(records):
        arguments = ["show", f"{models}/trees", "--sentence", str(number), "--svg", f"{models}/tree.svg"]
        assert main(arguments) == 0
        root = ElementTree.parse(models / "tree.svg").getroot()
        svg = "{http://www.w3.org/2000/svg}"
        boxes = [
            [float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iter(f"{svg}rect")
        ]
        drawn = [node for node in record["nodes"] if node["symbol"] not in ("GOAL", "S")]
        assert len(boxes) == len(drawn)
        shades = [float(box.get("fill-opacity", 1)) for box in root.iter(f"{svg}rect")]
        assert shades == [max(0.12, round(node["posterior"], 2)) for node in drawn]
        for one, other in itertools.combinations(boxes, 2):
            assert one[1] != other[1] or one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        texts = [text.text for text in root.iter(f"{svg}text")]
        assert next(text for text in texts if text.endswith(")")).startswith(record["translation"][:1])
        for node in drawn:
            assert f"{node['score']:+.3f}" in texts
    assert main(["show", f"{models}/trees", "--svg", f"{models}/tree.svg"]) == 2
    assert "say which with --sentence" in capsys.readouterr().err


def test_tuned_weights_translate_the_development_set(models, capsys):
    arguments = options(models, "--initial", f"{models}/w.json", "--source", f"{models}/source")
    arguments += ["--references", f"{models}/reference", "--output", f"{models}/w.json", "--rounds", "4"]
    arguments.remove("--quiet")
    assert main(["tune", *arguments]) == 0
    said = capsys.readouterr().err
    assert "round   BLEU" in said
    assert "BLEU 100.00" in said
    assert (models / "w.json.state" / "round-000.npz").exists()
    rows = [line.split("\t") for line in (models / "w.json.rounds.tsv").read_text().splitlines()]
    assert rows[0][:4] == ["round", "score", "length", "new"]
    printed = [line.split() for line in said.splitlines() if re.match(r" +\d+ +\d+\.\d\d ", line)]
    assert [row[0] for row in rows[1:]] == [row[0] for row in printed]
    assert [f"{float(row[1]):.2f}" for row in rows[1:]] == [row[1] for row in printed]
    best = max(rows[1:], key=lambda row: float(row[1]))
    written = json.loads((models / "w.json").read_text())
    assert {
        name: pytest.approx(float(x), rel=1e-5) for name, x in zip(rows[0][4:], best[4:], strict=True)
    } == written
    assert translate(models, (models / "source").read_text()) == [" ".join(row[0]) for row in REFERENCES]
    # The same command resumes; other weights to begin with do not fit the saved rounds.
    assert main(["tune", *arguments]) == 2
    assert "tuning was begun with other weights" in capsys.readouterr().err
    assert main(["tune", *arguments, "--method", "pro"]) == 2
    assert "tuning was begun with other interpolation, method, weights. " in capsys.readouterr().err
    assert main(["tune", *arguments, "--overwrite"]) == 0


def test_weights_that_are_written_are_those_of_the_best_round(models, monkeypatch, capsys):
    from decoder.tuning import tune as tuning

    def rounds(decoder, *rest, **options):
        for number, bleu in enumerate([30.0, 50.0, 40.0]):
            yield tuning.Round(number, np.arange(5.0) + number, bleu, 1.0, 1)

    monkeypatch.setattr(tuning, "tune", rounds)
    arguments = ["--initial", f"{models}/w.json", "--source", f"{models}/source", "--references"]
    arguments += [f"{models}/reference", "--output", f"{models}/best.json"]
    assert main(["tune", *options(models, *arguments)]) == 0
    assert sorted(json.loads((models / "best.json").read_text()).values()) == [1, 2, 3, 4, 5]


def test_scores_are_printed_as_one_json_object(models, capsys):
    reference = f"{models}/reference"
    (models / "worse").write_text("\n" * len(SOURCES))
    arguments = [
        "evaluate",
        "--hypothesis",
        reference,
        "--references",
        reference,
        "--against",
        f"{models}/worse",
    ]
    assert main([*arguments, "--json", "--samples", "20"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bleu"]["score"] == 100
    assert found["ter"]["score"] == 0
    assert "tok:none" in found["bleu"]["signature"]
    assert found["difference"] == pytest.approx(100)
    assert 0 < found["p_value"] < 1
    assert main([*arguments, "--samples", "20"]) == 0
    assert "against 0.00, p = " in capsys.readouterr().out


def test_translations_of_several_tunings_are_compared_by_their_means(models, capsys):
    reference, worse = f"{models}/reference", f"{models}/worse"
    (models / "worse").write_text("\n" * len(SOURCES))
    arguments = ["evaluate", "--hypothesis", reference, worse, "--references", reference]
    assert main([*arguments, "--against", worse, "--samples", "20"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^BLEU +50\.00 \(70\.71, mean of 2\)  nrefs", said, re.MULTILINE), said
    assert "+50.00  against 0.00, p = " in said
    assert "two-sided bootstrap over sentences and tunings, 20 samples" in said
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["bleu"]
    assert found["scores"] == [100.0, 0.0]
    assert (found["score"], found["deviation"]) == pytest.approx((50.0, 70.71), abs=0.01)
    assert main([*arguments[:3], *arguments[4:], "--against", worse, "--against", reference, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["bleu"]
    assert (found["against"], found["difference"]) == (50.0, pytest.approx(50.0))
    assert found["test"] == "two-sided bootstrap over sentences and tunings"
    assert (
        main([*arguments[:3], *arguments[4:], "--against", worse, reference, "--json", "--samples", "7"]) == 0
    )
    found = json.loads(capsys.readouterr().out)["bleu"]
    assert (found["p_value"] * 8) % 1 == pytest.approx(0)
    assert main(["evaluate", "--hypothesis", reference, worse, worse, "--references", reference]) == 0
    assert re.search(r"^BLEU +33\.33 \(57\.74, mean of 3\)", capsys.readouterr().out, re.MULTILINE)
    (models / "short").write_text("a\n")
    for wrong in ([*arguments[:3], f"{models}/short"], [*arguments, "--against", worse, f"{models}/short"]):
        assert main([*wrong, *arguments[4:]]) == 2
        assert f"short: has 1 line, but {reference} has {len(SOURCES)}" in capsys.readouterr().err


def test_several_grammars_have_prefixes_and_span_limits(models, capsys):
    write_rule_table(small.rule_table([("u v", "b b b", [9, 0])]), models / "second,odd.gz")
    grammar = f"{models}/second,odd.gz"
    (models / "w.json").write_text(json.dumps({**INITIAL, "x.First": 5.0, "x.Second": 0.0}))
    assert translate(models, "u v\n", "--grammar", f"{grammar},prefix=x.,max-span=2") == ["b b b"]
    assert translate(models, "u v\n", "--grammar", f"{grammar},max-span=1,prefix=x.") == ["b c"]


@pytest.mark.parametrize("file_format", ["native", "cdec", "moses", "joshua", "travatar"])
@pytest.mark.parametrize("told", [False, True])
def test_tables_of_every_decoder_translate_alike(tmp_path, file_format, told):
    features = [-0.5, -0.7, 0.25, 1.0, 0.0]
    names = ("LogForward", "LogBackward", "LogCount", "TargetWords", "Abstract")
    rules = [("u", "a", features), ("v", "b", features), ("u X1", "X1 c", [-0.1, *features[1:]])]
    table = small.rule_table(rules, names)
    weights = dict.fromkeys((*names, "LexForward", "LexBackward", "Glue", "LanguageModel"), 0.25)
    (tmp_path / "w.json").write_text(json.dumps({**weights, "PassThrough": -5.0}))
    write_arpa(random_model(5, 2), tmp_path / "lm.arpa")
    (tmp_path / "in").write_text("u v\n[X,1] u <s> v\n")
    outputs = []
    for form in ("native", file_format):
        write_table(table, tmp_path / f"table.{form}", form)
        grammar = f"{tmp_path}/table.{form}" + (f",format={form}" if told else "")
        files = {"--grammar": grammar, "--lm": "lm.arpa", "--weights": "w.json", "--input": "in"}
        arguments = [word for name, path in files.items() for word in (name, str(tmp_path / path))]
        assert main(["translate", *arguments, "--output", f"{tmp_path}/out", "--nbest", "3", "--quiet"]) == 0
        rows = [line.split(" ||| ") for line in (tmp_path / "out").read_text().splitlines()]
        outputs.append([(row[0], row[1], pytest.approx(float(row[3]), abs=1e-4)) for row in rows])
    assert len(outputs[0]) > 2
    assert [row[:2] for row in outputs[0]] == [row[:2] for row in outputs[1]]
    assert [row[2].expected for row in outputs[0]] == [row[2] for row in outputs[1]]


def test_rules_that_are_not_for_x_are_left_out_of_other_decoders_tables(models, capsys):
    lines = ["[S] ||| [S,1] [X,2] ||| [S,1] [X,2] ||| Glue=1", "[X] ||| u ||| b ||| EgivenFCoherent=0.5"]
    (models / "cdec").write_text("\n".join(reversed(lines)) + "\n")
    weights = {**INITIAL, "LogForward": 1.0, "TargetWords": 0.0, "Abstract": 0.0}
    (models / "w.json").write_text(json.dumps(weights))
    assert translate(models, "u\n", "--grammar", f"{models}/cdec") == ["b"]
    assert "cdec: left out 1 " in capsys.readouterr().err


@pytest.mark.slow
def test_sentences_of_2000_words_are_translated(models):
    text = " ".join(["u v w x"] * 500)
    assert [len(line.split()) for line in translate(models, f"u\n{text}\nv\n")] == [1, 2500, 1]


@pytest.mark.parametrize(
    ("change", "arguments", "complaint"),
    [
        (
            {"w.json": '{"First": 1}'},
            [],
            "w.json: no weight for 'Second', 'LanguageModel', 'Glue', 'PassThrough'",
        ),
        ({"w.json": "{"}, [], "w.json:1: not JSON"),
        ({}, ["--weights", "missing.json"], "missing.json: cannot be read"),
        ({}, ["--grammar", "missing.gz"], "missing.gz: cannot be read"),
        ({}, ["--lm", "missing.arpa"], "missing.arpa: cannot be read"),
        ({}, ["--input", "missing.txt"], "missing.txt: cannot be read"),
        ({}, ["--nbest", "0"], "--nbest is 0"),
        ({}, ["--mbr", "0"], "--mbr is 0"),
        ({}, ["--mbr", "--nbest", "2"], "--mbr gives one translation of a line"),
        ({}, ["--mbr", "--mbr-scale", "0"], "--mbr-scale is 0"),
        ({}, ["--threads", "0"], "--threads is 0"),
        ({}, ["--beam", "-5"], "--beam is -5"),
        ({}, ["--max-span", "0"], "--max-span is 0"),
        ({"t": "[X] a b c\n"}, ["--grammar", "t"], "t:1: has 1 field instead of 4 or 5"),
        (
            {"t": "[X] ||| a ||| b ||| First=nan\n"},
            ["--grammar", "t"],
            "t:1: feature 'First=nan' is not a fin",
        ),
        ({"t": "[X] ||| a ||| b ||| Third=1\n"}, ["--grammar", "t"], "w.json: no weight for 'Third'"),
        ({"t": '"a" @ X ||| b @ X ||| p=1\n'}, ["--grammar", "t"], "t:1: "),
        ({"input": b"u v\n\xff\n"}, [], "input:2: byte 0xff at column 1 is not UTF-8"),
    ],
)
def test_mistakes_are_told_in_one_line(models, change, arguments, complaint, capsys, monkeypatch):
    monkeypatch.chdir(models)
    (models / "input").write_text("u\n")
    for name, content in change.items():
        (models / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    usual = ["--weights", "w.json", "--input", "input", "--output", "output"]
    assert main(["translate", *options(models, *usual, *arguments)]) == 2
    said = capsys.readouterr().err.strip().split("\n")[-1]
    assert said.startswith("scfg-decoder: ")
    assert complaint in said
    assert not (models / "output").exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}\n", "trees:1: not a derivation"),
        ("[\n", "trees:1: not JSON"),
        (
            '{"sentence": 0, "translation": "", "score": 0, "nodes": [{"children": [0]}]}\n',
            "not a derivation",
        ),
    ],
)
def test_files_that_are_no_derivations_are_refused(tmp_path, text, complaint, capsys):
    (tmp_path / "trees").write_text(text)
    assert main(["show", f"{tmp_path}/trees"]) == 2
    assert complaint in capsys.readouterr().err


def test_a_sentence_that_is_not_there_cannot_be_shown(models, capsys):
    translate(models, "u\n", "--derivations", f"{models}/trees")
    assert main(["show", f"{models}/trees", "--sentence", "7"]) == 2
    assert "has no sentence 7 in its 1 line" in capsys.readouterr().err


def test_development_sets_must_fit_together(models, capsys):
    (models / "short").write_text("a\n")
    arguments = options(models, "--source", f"{models}/source", "--output", f"{models}/v.json")
    assert main(["tune", *arguments, "--references", f"{models}/short"]) == 2
    assert f"short: has 1 line, but {models}/source has 5" in capsys.readouterr().err
    (models / "nothing").write_text("")
    arguments = options(models, "--source", f"{models}/nothing", "--output", f"{models}/v.json")
    assert main(["tune", *arguments, "--references", f"{models}/nothing"]) == 2
    assert "nothing: has no lines" in capsys.readouterr().err


def test_derivations_hold_words_and_nonterminals_apart(models):
    rules = [("[X,1] X1", "X1 [X,1]", [0, 0]), ("u", "a", [0, 0])]
    write_rule_table(small.rule_table(rules), models / "grammar.gz")
    (models / "w.json").write_text(json.dumps({**INITIAL, "Glue": -9.0}))
    found = translate(models, "[X,1] u\n", "--derivations", f"{models}/trees")
    assert found == ["a [X,1]"]
    nodes = json.loads((models / "trees").read_text())["nodes"]
    assert ["[X,1]", 1] in [node["source"] for node in nodes]
    assert np.isclose(
        sum(node["score"] for node in nodes), json.loads((models / "trees").read_text())["score"]
    )


def test_workers_translate_as_one_process_does(models, scheduler):
    text = "u v\n\n  \n[X,1] ||| <s>\nw\tv \r\n" * 9 + "no-newline-at-the-end\u2028 u"
    files = ["--derivations", f"{models}/trees", "--hypergraph", f"{models}/graphs"]
    found = []
    for where in (["--threads", "1"], scheduler):
        lists = translate(models, text, "--nbest", "3", *files, *where)
        found.append((lists, (models / "trees").read_bytes(), (models / "graphs").read_bytes()))
    assert found[0] == found[1]


def test_workers_derive_references_as_one_process_does(models, scheduler):
    text = "u v\nx\nw\nv\n" * 5
    (models / "ref").write_text("b c\nq\nc a\nc\n" * 5)
    given = ["--reference", f"{models}/ref"]
    assert translate(models, text, *given, *scheduler) == translate(models, text, *given)


def test_a_bad_line_ends_translation_by_workers_as_in_one_process(models, scheduler, capsys):
    (models / "input").write_text("u v\n" * 20 + '<n translation="a>u</n>\n')
    files = ["--weights", f"{models}/w.json", "--input", f"{models}/input", "--output", f"{models}/output"]
    said = []
    for where in (["--threads", "1"], scheduler):
        assert main(["translate", *options(models, *files, "--markup", "xml", *where)]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert "input:21" in said[0]


def test_workers_tune_as_one_process_does(models, scheduler):
    arguments = ["--initial", f"{models}/w.json", "--source", f"{models}/source", "--references"]
    arguments += [f"{models}/reference", "--rounds", "3", "--nbest", "20"]
    found = []
    for number, where in enumerate((["--threads", "1"], scheduler)):
        place = models / f"{number}.json"
        assert main(["tune", *options(models, *arguments, "--output", str(place), *where)]) == 0
        found.append((place.read_bytes(), (models / f"{number}.json.rounds.tsv").read_bytes()))
    assert found[0] == found[1]
    assert found[0][1].count(b"\n") > 2
