"""What cannot be plugged in is told in one line, and leaves nothing behind."""

from __future__ import annotations

import gzip
import json

import pytest

from scfg_sampler.cli import main
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.table import write_rule_table
from scfg_sampler.rules.text import Rule
from tests.plugs.directories import ARPA, FEATURES, SIGNATURE, TABLES, WEIGHTS, complaint, plug, some_rules
from tests.rules.test_table import as_rules, table_of


def test_every_feature_has_a_weight_and_every_weight_a_feature(folder, capsys):
    for missing in ("LogPosterior", "Glue"):
        weights = {name: value for name, value in WEIGHTS.items() if name != missing}
        (folder / "w.json").write_text(json.dumps(weights))
        assert f"w.json: no weight for '{missing}'" in complaint(folder, capsys)
    (folder / "w.json").write_text(json.dumps(WEIGHTS | {"Rarity": 0.5, "Unused": 0.0}))
    said = complaint(folder, capsys)
    assert f"has weights for 'Rarity', which the table {folder / 'table.gz'} lacks" in said
    (folder / "w.json").write_text(json.dumps(WEIGHTS | {"Unused": 0.0}))
    assert plug(folder, "cdec", "--quiet") == 0


@pytest.mark.parametrize(
    ("decoder", "name", "said"),
    [
        ("cdec", "PassThrough_3", "cdec cannot have a feature of rules called 'PassThrough_3'"),
        ("cdec", "CountEF", "cdec's tables have another meaning for a feature called 'CountEF'"),
        ("joshua", "tm_pt_0", "Joshua cannot have a feature of rules called 'tm_pt_0'"),
        ("joshua", "count", "Joshua's tables have another meaning for a feature called 'count'"),
        ("joshua", "rarity;1", "Joshua cannot have a feature of rules called 'rarity;1'"),
        ("cdec", "LanguageModel_2_OOV", "cdec cannot have a feature of rules called 'LanguageModel_2_OOV'"),
        ("travatar", "lm1unk", "Travatar cannot have a feature of rules called 'lm1unk'"),
        ("travatar", "p", "Travatar cannot have a feature of rules called 'p'"),
        ("travatar", "egfp", "Travatar's tables have another meaning for a feature called "),
    ],
)
def test_features_that_would_be_taken_for_others_are_refused(folder, rng, capsys, decoder, name, said):
    entries = [entry._replace(features={**entry.features, name: 1.5}) for entry in some_rules(rng)]
    write_rule_table(table_of(entries, (*FEATURES, name), SIGNATURE), folder / "table.gz")
    (folder / "w.json").write_text(json.dumps(WEIGHTS | {name: 0.5}))
    assert said in complaint(folder, capsys, decoder)


@pytest.mark.parametrize("name", ["TargetWords", "Abstract"])
def test_counts_that_are_none_are_refused(folder, rng, capsys, name):
    entries = some_rules(rng)
    entries[3].features[name] += 1.0
    write_rule_table(table_of(entries, FEATURES, SIGNATURE), folder / "table.gz")
    assert f"{name} of 1 rule is not what is counted in the rule" in complaint(folder, capsys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"the house\n", "lm.arpa: has no \\data\\"),
        (ARPA.encode().replace(b"\\end\\\n", b""), "lm.arpa: ends without \\end\\"),
        (ARPA.encode().replace(b"-0.9\t", b""), "lm.arpa:11: '[b\\t-0.125' where a number, 1 word"),
        (
            ARPA.encode().replace(b"-1.2\t</s>\n", b""),
            "lm.arpa:14: no </s> among the 1-grams. KenLM asks for it",
        ),
        (
            ARPA.encode().partition(b"\\2-")[0].replace(b"ngram 2=2\n", b"") + b"\\end\\\n",
            "lm.arpa:5: a model of order 1. KenLM takes none below order 2",
        ),
        (
            ARPA.encode().replace(b"ngram 2", b"2-grams"),
            "lm.arpa:4: '2-grams=2' where 'ngram N=COUNT' should be",
        ),
        (ARPA.encode().replace(b"-0.2\t", b"-O.2\t"), "lm.arpa:16: '-O.2\\t<s> the' where a number, 2 words"),
        (ARPA.encode().replace(b"-1.1\t'", b"0.5\t'"), "lm.arpa:12: log probability 0.5. It is a logarithm"),
        (ARPA.encode().replace(b"-1.1\t'", b"nan\t'"), "lm.arpa:12: log probability nan. It is a logarithm"),
        (ARPA.encode().replace(b"-0.25", b"inf"), "lm.arpa:10: back-off inf. It is a logarithm to base 10"),
        (ARPA.encode().replace(b"-0.25", b"-1e5"), "lm.arpa:10: back-off -1e5. It is a logarithm to base"),
        (
            ARPA.encode().replace(b"2=2", b"2=3"),
            "lm.arpa:19: 2 2-grams where the header promises 3. Correct the header",
        ),
        (
            ARPA.encode().replace(b"-1.1\t'\n", b""),
            "lm.arpa:14: 6 1-grams where the header promises 7. Correct the header",
        ),
        (
            ARPA.encode().replace(b"the [b", b"the bed"),
            "lm.arpa:17: the word 'bed' is not among the 1-grams. Every word",
        ),
        (
            ARPA.encode().replace(b"2-grams:", b"3-grams:"),
            "lm.arpa:15: the 3-grams where the 2-grams should follow. Correct the header",
        ),
        (
            ARPA.encode().partition(b"\\2-")[0] + b"\\end\\\n",
            "lm.arpa:15: the end where the 2-grams should follow. Correct the header",
        ),
        (
            ARPA.encode().replace(b"ngram 2=2", b"ngram 3=2"),
            "lm.arpa:4: 'ngram 3=2' where 'ngram N=COUNT' should be",
        ),
        (b"mmap lm http://kheafield.com/code format version 5\n\0", "lm.arpa: is a compiled language model"),
        (ARPA.encode("utf-16"), "lm.arpa:1: is UTF-16, not UTF-8. Convert the file"),
        (ARPA.encode("utf-16-le"), "lm.arpa:1: has bytes of 0, as UTF-16 without its mark has them. Convert"),
    ],
)
def test_what_is_no_language_model_is_told(folder, capsys, text, said):
    (folder / "lm.arpa").write_bytes(text)
    assert said in complaint(folder, capsys)


TRIGRAMS = ARPA.replace("ngram 2=2", "ngram 2=2\nngram 3=2").replace("\\end\\", "\\3-grams:\n{}\n\n\\end\\")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ("-0.1\t<s> the [b\n-0.1\tthe [b '", ""),
        (
            "-0.1\t<s> the [b\n-0.1\t[b the '",
            "lm.arpa:22: the first 2 words of the 3-gram are no 2-gram. KenLM",
        ),
        (
            "-0.1\tthe <s> [b\n-0.1\tthe [b '",
            "lm.arpa:21: the first 2 words of the 3-gram are no 2-gram. KenLM",
        ),
    ],
)
def test_contexts_that_kenlm_misses_are_told(folder, capsys, entries, said):
    """KenLM of 2025 has said of such: The context of every 3-gram should appear as a 2-gram."""
    (folder / "lm.arpa").write_text(TRIGRAMS.format(entries))
    if said:
        assert said in complaint(folder, capsys)
    else:
        assert plug(folder, "cdec", "--quiet") == 0


def test_an_empty_table_is_told(folder, capsys):
    (folder / "table.gz").write_bytes(gzip.compress(b"# made by hand\n"))
    assert "table.gz: has no rules. Is it the table that was meant?" in complaint(folder, capsys)


def test_a_table_of_which_nothing_can_be_used_is_told(folder, capsys):
    """Rules that make a label of itself alone are left out; these are all there are."""
    (folder / "table.gz").write_bytes(gzip.compress(b"[A] ||| [A,1] ||| [A,1] ||| LogForward=-1\n"))
    said = "table.gz: has only rules that must be left out: 1 rule has a source side of one nonterminal"
    assert said in complaint(folder, capsys)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("source", "target", "links", "fits"),
    [(200, 200, 2000, True), (201, 1, 0, False), (1, 201, 0, False), (11, 200, 2001, False)],
)
def test_rules_that_cdec_has_no_room_for_are_left_out(folder, rng, capsys, source, target, links, fits):
    """cdec f7c4899 crashes as it reads one of 260 symbols or 3,600 links; its arrays have 200 and 2,000."""
    small = some_rules(rng)
    features = small[0].features | {"TargetWords": float(target), "Abstract": 0.0}
    pairs = tuple((at // 200, at % 200) for at in range(links))
    large = Rule(("a",) * source, ("b",) * target, features, pairs)
    write_rule_table(table_of([*small, large], FEATURES, SIGNATURE), folder / "table.gz")
    assert plug(folder, "cdec") == 0
    said = "1 rule has a side of more than 200 symbols, or more than 2000 links; left out, as cdec has"
    assert (said in capsys.readouterr().err) != fits
    table, _ = read_table(folder / "cdec" / "grammar.gz", "cdec")
    assert table.num_rules == len(small) + fits
    main(["convert", str(folder / "table.gz"), "--to", "cdec", f"--output={folder / 'converted'}"])
    assert ("1 rule has a side of more than 200 symbols" in capsys.readouterr().err) != fits


def test_wrong_calls_are_told(folder, capsys):
    for limit in ("--pop-limit", "--max-span"):
        for number in ("0", "2147483648"):
            told = f"{limit} is {number}; it is from 1 to 2147483647"
            assert told in complaint(folder, capsys, "cdec", limit, number)
    (folder / "lm.arpa").unlink()
    assert "lm.arpa: cannot be read" in complaint(folder, capsys)


def test_moses_is_told_of_probabilities_that_it_cannot_read(folder, rng, capsys):
    entries = some_rules(rng)
    for k in (2, 5, 6):
        entries[k].features["LexForward"] = -90.0 - k
    write_rule_table(table_of(entries, FEATURES, SIGNATURE), folder / "table.gz")
    assert plug(folder, "moses") == 0
    assert "probabilities below exp(-87), in so many rules: 3" in capsys.readouterr().err


@pytest.mark.parametrize(("decoder", "number"), [("cdec", 62), ("travatar", 60)])
def test_rules_at_which_travatar_ends_are_left_out(folder, table, capsys, decoder, number):
    """rule-fsm.cc: «Unary cycles are not allowed in CFG grammars»; other decoders leave them unused."""
    features = dict.fromkeys(FEATURES, 0.0) | {"TargetWords": 1.0}
    unary = [Rule((-1,), ("a", -1), features), Rule((-1,), (-1, "b"), features)]
    others = [entry for entry in as_rules(table) if entry.source != (-1,)][:58]
    others += [Rule((word,), ("a",), features) for word in ("one", "two")]
    write_rule_table(table_of([*others, *unary], FEATURES, SIGNATURE), folder / "table.gz")
    assert plug(folder, decoder) == 0
    said = capsys.readouterr().err
    assert ("2 rules have a source side of one nonterminal; left out" in said) == (decoder == "travatar")
    back, _ = read_table(folder / decoder / TABLES[decoder])
    assert back.num_rules == number
    assert f"{number} rules written to" in said
    assert sum(entry.source == (-1,) for entry in as_rules(back)) == number - 60
