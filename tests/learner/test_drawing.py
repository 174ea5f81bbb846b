"""Pictures hold all there is, boxes of a row do not overlap, and any text can be drawn."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from scfg_sampler.cli import main
from scfg_sampler.forest.explicit import ForestBuilder, forest_edges
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.learner.drawing import draw_alignment, draw_derivation, draw_forest, readable
from tests.forest.test_explicit import random_sentence
from tests.learner.corpora import corpus_of
from tests.oracles.phrase_forest import Sentence
from tests.rules.test_text import WORDS

SVG = "{http://www.w3.org/2000/svg}"


def boxes(root: ElementTree.Element) -> list[list[float]]:
    return [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iter(f"{SVG}rect")]


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text") if text.get("class") == kind]


def test_forests_have_a_box_for_each_phrase_and_a_dot_for_each_edge(rng):
    pairs = [random_sentence(rng) for _ in range(20)]
    builder = ForestBuilder(corpus_of(pairs))
    for number, pair in enumerate(pairs):
        forest = builder.build(number)
        root = ElementTree.fromstring(draw_forest(pair.source, pair.target, forest))
        found = boxes(root)
        edges = list(forest_edges(forest))
        assert len(found) == len(forest.trees)
        assert len(list(root.iter(f"{SVG}circle"))) == len(edges)
        assert len(list(root.iter(f"{SVG}line"))) == sum(len(tails) for _, tails, _ in edges)
        for one, other in itertools.combinations(found, 2):
            assert one[1] != other[1] or one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
        for head, tails, _ in edges:
            assert all(found[tail][1] > found[head][1] for tail in tails), "tails are below"
        assert texts(root, "source") == list(pair.source)


def test_a_phrase_is_drawn_over_its_words_with_its_own_edges(rng):
    """Edge by edge: the boxes of a row are the phrases of one edge."""
    pairs = [random_sentence(rng) for _ in range(10)]
    builder = ForestBuilder(corpus_of(pairs))
    for number, pair in enumerate(pairs):
        forest = builder.build(number)
        for of in range(len(forest.trees)):
            root = ElementTree.fromstring(draw_forest(pair.source, pair.target, forest, of=of))
            own = [tails for head, tails, _ in forest_edges(forest) if head == of]
            begin, end = forest.spans[of, :2].tolist()
            assert texts(root, "source") == list(pair.source[begin:end])
            assert len(list(root.iter(f"{SVG}circle"))) == len(own)
            rows = [len(list(row)) for _, row in itertools.groupby(boxes(root), key=lambda box: box[1])]
            assert rows == [*filter(None, map(len, reversed(own))), 1], "drawn from below"


def test_lines_lie_in_front_of_the_boxes_that_they_pass(rng):
    """What is drawn later lies in front: the lines of a phrase behind all boxes in the rows below it."""
    for pair in [random_sentence(rng) for _ in range(10)]:
        root = ElementTree.fromstring(
            draw_forest(pair.source, pair.target, ForestBuilder(corpus_of([pair])).build(0))
        )
        drawn = [each for each in root.iter() if each.tag in (f"{SVG}rect", f"{SVG}line")]
        for at, each in enumerate(drawn):
            if each.tag == f"{SVG}line":
                below = [other for other in drawn[at:] if other.tag == f"{SVG}rect"]
                assert all(float(box.get("y")) < float(each.get("y1")) for box in below)


def test_the_colour_of_a_phrase_is_the_share_of_trees_that_have_it(rng):
    """Counted tree by tree; of the monotone pair, words are part of several phrases."""
    monotone = Sentence(tuple("abcd"), tuple("ABCD"), frozenset((at, at) for at in range(4)))
    for pair in [monotone, *[random_sentence(rng) for _ in range(10)]]:
        forest = ForestBuilder(corpus_of([pair])).build(0)
        edges: dict[int, list[list[int]]] = {}
        for head, tails, _ in forest_edges(forest):
            edges.setdefault(head, []).append(tails)

        def trees(node: int, edges=edges) -> list[set[int]]:
            found = []
            for tails in edges[node]:
                for parts in itertools.product(*(trees(tail) for tail in tails)):
                    found.append({node}.union(*parts))
            return found

        listed = trees(len(forest.trees) - 1)
        tips = [
            title.text or ""
            for title in ElementTree.fromstring(draw_forest(*pair[:2], forest)).iter(f"{SVG}title")
        ]
        for at, (begin, end, first, last) in enumerate(forest.spans.tolist()):
            share = sum(at in tree for tree in listed) / len(listed)
            place = f"source {begin}–{end}, target {first}–{last}, "
            assert any(place in tip and tip.endswith(f"in {share:.1%} of all trees") for tip in tips)


def test_phrases_may_be_shaded_by_the_states_of_a_run():
    pair = long_pair(3)
    forest = ForestBuilder(corpus_of([pair])).build(0)
    shares = [round(0.125 * (1 + at), 3) for at in range(len(forest.trees))]
    for of in (None, len(forest.trees) - 1):
        root = ElementTree.fromstring(draw_forest(*pair[:2], forest, of=of, shares=shares))
        tips = [title.text or "" for title in root.iter(f"{SVG}title")]
        begin, end, first, last = forest.spans[-1].tolist()
        place = f"source {begin}–{end}, target {first}–{last}, "
        (tip,) = [each for each in tips if place in each]
        assert tip.endswith(f"in {shares[-1]:.1%} of the states of the run")


def long_pair(words: int) -> Sentence:
    return Sentence(
        tuple(f"word{at}" for at in range(words)),
        tuple(f"a-long-translation{at}" for at in range(words)),
        frozenset((at, at ^ 1) for at in range(words) if at ^ 1 < words),
    )


def test_a_large_forest_shows_the_edges_of_the_phrase_that_is_pointed_at():
    pair = long_pair(22)
    forest = ForestBuilder(corpus_of([pair])).build(0)
    svg = draw_forest(pair.source, pair.target, forest)
    root = ElementTree.fromstring(svg)
    width = float(root.get("width") or "0")
    assert width < 22 * 110, "target words do not widen the columns"
    assert "; point at a phrase to see its edges" in svg
    assert any(line.endswith("…") for line in texts(root, "target"))
    siblings = list(root)
    assert all(each.get("class") != "joints" for each in siblings)
    folded = [at for at, each in enumerate(siblings) if each.get("class") == "folded"]
    assert len(folded) == len({head for head, _, _ in forest_edges(forest)})
    assert all(siblings[at - 1].get("tabindex") == "0" for at in folded)
    small = draw_forest(*long_pair(4)[:2], ForestBuilder(corpus_of([long_pair(4)])).build(0))
    assert 'class="folded"' not in small
    assert 'class="joints"' in small


def test_alignments_have_a_filled_square_for_each_link(rng):
    pair = random_sentence(rng)
    root = ElementTree.fromstring(draw_alignment(pair.source, pair.target, pair.links))
    filled = [box for box in root.iter(f"{SVG}rect") if box.get("fill") != "#ffffff"]
    assert len(filled) == len(pair.links)
    assert len(boxes(root)) == len(pair.source) * len(pair.target)
    tips = {title.text.partition("(")[2].rstrip(")") for title in root.iter(f"{SVG}title")}
    assert {f"{i}-{j}" for i, j in pair.links} <= tips
    assert {(width, height) for _, _, width, height in boxes(root)} == {(22.0, 22.0)}


def test_phrases_frame_the_cells_of_their_spans(rng):
    pair = random_sentence(rng)
    spans = [phrase[:4] for phrase in ForestBuilder(corpus_of([pair])).build(0).spans.tolist()]
    root = ElementTree.fromstring(draw_alignment(pair.source, pair.target, pair.links, phrases=spans))
    cells, frames = boxes(root)[: -len(spans)], boxes(root)[-len(spans) :]
    for (begin, end, first, last), (x, y, width, height) in zip(spans, frames, strict=True):
        inside = {(i, j) for i in range(begin, end) for j in range(first, last)}
        width_of = len(pair.source)
        for at, (left, top, size, _) in enumerate(cells):
            covered = (
                x - 3 < left and left + size < x + width + 3 and y - 3 < top and top + size < y + height + 3
            )
            assert covered == (divmod(at, width_of)[::-1] in inside)


def test_pictures_take_the_colour_of_the_page_but_in_boxes():
    svg = draw_derivation(["a"], ["A"], Derivation((0, 1), (0, 1), "a ||| A", []))
    style = next(ElementTree.fromstring(svg).iter(f"{SVG}style")).text
    assert "fill:currentColor" in style
    assert ".scfg :where(g) text{fill:#111}" in style, "letters in boxes, which are light, are dark"
    assert ".scfg:root{background:#fff;color:#111}" in style, "a file of its own is on white"


def test_derivations_have_a_box_for_each_rule():
    inner = Derivation((2, 3), (0, 1), "c ||| C", [])
    tree = Derivation((0, 3), (0, 2), "a → [X,1] ||| [X,1] &#91;A&#93;", [inner])
    root = ElementTree.fromstring(draw_derivation(["a", "→", "c"], ["C", "[A]"], tree))
    assert len(boxes(root)) == 2
    assert texts(root, "source") == ["a → ①", "c", "a", "→", "c"]
    assert texts(root, "target") == ["C [A]", "① [A]", "C"]


@given(WORDS, WORDS)
@settings(max_examples=50)
def test_any_words_can_be_drawn_and_are_told_from_nonterminals(one, other):
    pair = Sentence((one, other), (other, one), frozenset([(0, 1), (1, 0)]))
    forest = ForestBuilder(corpus_of([pair])).build(0)
    for svg in (draw_forest(*pair[:2], forest), draw_alignment(*pair)):
        ElementTree.fromstring(svg)
    rules = [readable(rule) for _, _, rule in forest_edges(forest)]
    assert rules[:2] == [f"{one} → {one}", f"{other} → {other}"]
    assert rules[2:] == ["① ② → ② ①"]


@pytest.fixture
def corpus(tmp_path):
    for name, text in (("f", "a b\nc\n"), ("e", "A B\nC\n"), ("a", "0-0 1-1\n\n")):
        (tmp_path / name).write_text(text)
    return [
        f"--alignment={tmp_path / 'a'}",
        f"--source={tmp_path / 'f'}",
        f"--target={tmp_path / 'e'}",
    ]


def test_the_command_draws_one_forest(corpus, tmp_path, capsys):
    output = f"--output={tmp_path / 'x.svg'}"
    assert main(["forest", *corpus, "--format", "svg", "--sentence", "0", output]) == 0
    assert len(boxes(ElementTree.parse(tmp_path / "x.svg").getroot())) == 3
    phrase = ["--format", "svg", "--sentence", "0", "--phrase"]
    assert main(["forest", *corpus, *phrase, "0", output]) == 0
    assert len(boxes(ElementTree.parse(tmp_path / "x.svg").getroot())) == 1
    assert main(["forest", *corpus, *phrase, "3"]) == 2
    assert "--phrase is 3; the forest has phrases 0 to 2" in capsys.readouterr().err
    assert main(["forest", *corpus, "--phrase", "0"]) == 2
    assert "--phrase is for a picture" in capsys.readouterr().err
    assert main(["forest", *corpus, "--format", "svg"]) == 2
    assert "say which with --sentence" in capsys.readouterr().err
    assert main(["forest", *corpus, "--format", "svg", "--sentence", "1"]) == 2
    assert "sentence 1 has no links" in capsys.readouterr().err
