"""The bundled Novish–English corpus is what its generator makes, and holds what its description promises."""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import math
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from scfg_sampler import cli

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "data" / "novish-en"
PARTS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def generate():
    """The generator, as a module."""
    spec = importlib.util.spec_from_file_location("novish_generate", CORPUS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def lines(name: str, directory: Path = CORPUS) -> list[str]:
    return gzip.decompress((directory / name).read_bytes()).decode().splitlines()


def links(line: str) -> list[tuple[int, int]]:
    return [tuple(map(int, link.split("-"))) for link in line.split()]


@pytest.fixture(scope="module")
def pairs():
    """Part name → (Novish words, English words, links) of each sentence pair."""
    return {
        part: [
            (source.split(), target.split(), links(alignment))
            for source, target, alignment in zip(
                lines(f"{part}.novish.gz"),
                lines(f"{part}.en.gz"),
                lines(f"{part}.novish-en.gold.gz"),
                strict=True,
            )
        ]
        for part in PARTS
    }


def test_generator_makes_the_committed_text(generate, tmp_path):
    # Texts are compared, not gzip files: another zlib may compress the same text differently.
    generate.write_corpus(generate.corpus(generate.load_grammar()), tmp_path)
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.gz"))
    assert made == sorted(str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*.gz"))
    for name in made:
        assert lines(name, tmp_path) == lines(name), name


def test_raw_edition_is_the_corpus_with_capitals_and_dirt(pairs):
    texts = [
        gzip.decompress((CORPUS / "raw" / f"{side}.gz").read_bytes()).decode() for side in ("novish", "en")
    ]
    assert texts[0].startswith("\ufeff")
    assert texts[1].count("\r\n") == texts[1].count("\n") == texts[0].count("\n")
    raw = list(zip(texts[0].removeprefix("\ufeff").split("\n"), texts[1].split("\r\n"), strict=True))[:-1]

    def tokens(text):
        return tuple(re.sub(r"([.,?]|'s\b)", r" \1", text).lower().split(" "))

    told = [(tokens(source), tokens(target)) for source, target in raw]
    expected = [(tuple(source), tuple(target)) for part in PARTS for source, target, _ in pairs[part]]
    found = iter(told)
    assert all(pair in found for pair in expected)  # All of them, in their order.
    assert 80 < len(raw) - len(expected) < 150
    assert max(len(target) for _, target in raw) == 10_000
    assert ("", "") in raw
    assert sum(1 for source, target in raw if source == target != "") > 0
    assert len(set(raw)) < len(raw)
    clean = dict(zip(told, raw, strict=True))
    source, target = clean[expected[1]]
    assert (source, target) == (
        "Hi har min klok op Nora no hav lit o gesiet.",
        "He has seen Nora's small garden on my watch.",
    )


def test_another_seed_makes_another_corpus(generate):
    grammar = generate.load_grammar()
    one, other = (generate.derive(grammar, random.Random(seed)) for seed in (1, 2))
    assert one != other
    assert one == generate.derive(grammar, random.Random(1))


def test_corpus_has_its_announced_size(pairs):
    assert {part: len(pairs[part]) for part in PARTS} == {"train": 3000, "dev": 200, "test": 200}
    assert sum(path.stat().st_size for path in CORPUS.iterdir() if path.is_file()) < 300_000


def test_links_are_sorted_unique_and_inside_their_sentences(pairs):
    for part in PARTS:
        for source, target, aligned in pairs[part]:
            assert aligned == sorted(set(aligned))
            assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in aligned)


def test_no_novish_sentence_occurs_twice(pairs):
    sentences = [tuple(source) for part in PARTS for source, _, _ in pairs[part]]
    assert len(set(sentences)) == len(sentences)


def test_both_sides_of_every_rule_have_the_same_nonterminals(generate):
    for _, rules in generate.load_grammar().values():
        for rule in rules:
            source, target = (
                sorted(symbol for symbol in side if symbol.link) for side in (rule.source, rule.target)
            )
            assert source == target, rule.text


def test_every_nonterminal_has_rules(generate):
    grammar = generate.load_grammar()
    used = {
        symbol.name
        for _, rules in grammar.values()
        for rule in rules
        for symbol in rule.source
        if symbol.link
    }
    assert used - grammar.keys() == set()


def test_articles_agree_with_the_next_word(pairs):
    for _, target, _ in pairs["train"]:
        for word, following in itertools.pairwise(target):
            if word in ("a", "an"):
                assert (word == "an") == (following[0] in "aeiou"), " ".join(target)


# Word order and idioms: Novish pattern, English pattern, and how many training pairs show both at least.
PHENOMENA = {
    "negation around the verb phrase": (r"\bne .+ pas\b", r"\bnot\b", 300),
    "never": (r"\bne .+ jams\b", r"\bnever\b", 50),
    "verb last in subordinate clauses": (r"\b(ven|fordi|for|etter|dat) .* o \w+(en|t|te|ten|e) ", r".", 200),
    "auxiliary with the participle last": (r"\bha[rn]? .*\bge\w+", r"\bha(s|ve)\b", 300),
    "relative clause before its noun": (r" ki \w+", r"\b(who|that)\b", 150),
    "separable verb, particle at the end": (r"\bstel(t|en|e|te|ten) .* for\b", r"\bintroduced?s?\b", 20),
    "separable verb, joined": (r"\bfor(ge)?stel\w+", r"\bintroduced?s?\b", 20),
    "idiom to kick the bucket": (r"\bskef\b", r"\bkick\w* the bucket\b", 20),
    "idiom with a gap": (r"\bop arm\b", r"\bpull\w* .* 's leg\b", 20),
    "possessor first": (r"\bno\b", r"( 's | of )", 300),
    "postposition": (r"\b(in|op|under|med|bi|til|fra)\b", r"\b(in|at|on|under|with|near|to|from)\b", 500),
}


@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_training_text_shows(phenomenon, pairs):
    novish, english, at_least = PHENOMENA[phenomenon]
    found = sum(
        bool(re.search(novish, " ".join(source)) and re.search(english, " ".join(target)))
        for source, target, _ in pairs["train"]
    )
    assert found >= at_least


def test_some_words_are_ambiguous_unaligned_or_new(pairs):
    translations: dict[str, Counter] = {}
    unaligned_source = unaligned_target = 0
    for source, target, aligned in pairs["train"]:
        unaligned_source += len(source) - len({i for i, _ in aligned})
        unaligned_target += len(target) - len({j for _, j in aligned})
        for i, j in aligned:
            translations.setdefault(source[i], Counter())[target[j]] += 1
    assert translations["slot"].keys() >= {"castle", "lock"}
    assert translations["bank"].keys() >= {"bank", "bench"}
    assert unaligned_source > 2000
    assert unaligned_target > 2000
    known = {word for source, _, _ in pairs["train"] for word in source}
    assert 5 <= sum(word not in known for source, _, _ in pairs["test"] for word in source) <= 40


def documented_rules() -> dict[str, float]:
    """Rule → expected count, as docs/bundled-corpus.md says."""
    text = (ROOT / "docs" / "bundled-corpus.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+) → (.+)` \| ([\d.]+) \|", text, re.MULTILINE)
    return {f"{source} ||| {target}": float(count) for source, target, count in rows}


@pytest.mark.slow
def test_sampler_finds_the_documented_rules(tmp_path):
    names = {"source": "novish", "target": "en", "alignment": "novish-en.gold"}
    files = [part for option, name in names.items() for part in (f"--{option}", f"{CORPUS}/train.{name}.gz")]
    run, table = str(tmp_path / "run"), str(tmp_path / "table.gz")
    assert (
        cli.main(["sample", *files, "--output", run, "--iterations", "60", "--burn-in", "20", "--quiet"]) == 0
    )
    assert cli.main(["grammar", run, "--output", table, "--from", "marginal", "--quiet"]) == 0
    found = {}
    for line in lines("table.gz", tmp_path)[1:]:
        source, target, features = line.split(" ||| ")[1:4]
        found[f"{source} ||| {target}"] = math.exp(float(re.search(r"LogCount=(\S+)", features)[1]))
    documented = documented_rules()
    assert len(documented) >= 25
    for rule, count in documented.items():
        # The same seed gives the same chain until a change to the sampler draws in another order.
        assert count / 2 < found.get(rule, 0.0) < count * 2, rule
