"""EVALB's figures on hand-worked cases."""

from __future__ import annotations

import json

import pytest

from monolingual.cli import main
from monolingual.tsg.categories import NONE, by_category
from monolingual.tsg.score import PARAMETERS, compared, score_sentence, total
from tests.monolingual.tsg.treebanks import tree_of

GOLD = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly))) (. .)))"


def counts(gold, test, **options):
    score = score_sentence(tree_of(gold), tree_of(test), **options)
    return score.matched, score.gold, score.test, score.crossing


def test_a_tree_matches_itself():
    assert counts(GOLD, GOLD) == (4, 4, 4, 0)
    assert score_sentence(tree_of(GOLD), tree_of(GOLD)).is_exact


def test_deleted_punctuation_does_not_move_brackets():
    """The full stop inside the VP, and a comma that gold has elsewhere, change nothing."""
    test = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly)) (. .))))"
    assert counts(GOLD, test) == (4, 4, 4, 0)


def test_a_constituent_of_punctuation_alone_is_no_bracket():
    assert counts("(S (A (B b)) (X (. .)))", "(S (A (B b)) (. .))") == (2, 2, 2, 0)


def test_root_labels_top_do_not_count_but_s_does():
    assert counts("(TOP (S (A a)))", "(TOP (A a))") == (0, 1, 0, 0)


def test_equal_labels_and_function_tags():
    assert counts("(S (PRT (RP up)) (NP-SBJ=2 (PRP it)))", "(S (ADVP (RP up)) (NP (PRP it)))") == (3, 3, 3, 0)


def test_each_bracket_of_gold_matches_once():
    assert counts("(S (NP (NN a)) (B b))", "(S (NP (NP (NN a))) (B b))") == (2, 2, 3, 0)
    assert counts("(S (NP (NP (NN a))) (B b))", "(S (NP (NP (NN a))) (B b))") == (3, 3, 3, 0)


def test_labels_are_scored_and_confused_one_by_one():
    """NP is called XP, VP is called QP, PP is missed, and two PPs over other words are invented."""
    gold = "(S (NP (DT the) (NN dog)) (VP (VB runs) (PP (IN to) (NN me))))"
    test = "(S (XP (DT the) (NNS dog)) (QP (PP (PP (VB runs) (IN to))) (NN me)))"
    pair = compared(tree_of(gold), tree_of(test), parameters="collins", mismatch="error")
    found = by_category([pair, pair])
    assert {entry.label: entry[1:] for entry in found.categories} == {
        "S": (2, 2, 2),
        "NP": (0, 2, 0),
        "PP": (0, 2, 4),
        "VP": (0, 2, 0),
        "XP": (0, 0, 2),
        "QP": (0, 0, 2),
    }
    assert found.labels == {
        ("NP", "XP"): 2,
        ("VP", "QP"): 2,
        ("PP", NONE): 2,
        (NONE, "PP"): 4,
    }
    assert found.tags == {("NN", "NNS"): 2}
    pp = next(entry for entry in found.categories if entry.label == "PP")
    assert (pp.precision, pp.recall, pp.f1) == (0.0, 0.0, 0.0)
    half = by_category([(pair[0], pair[0]), pair]).categories
    np_score = next(entry for entry in half if entry.label == "NP")
    assert (np_score.precision, np_score.recall) == (100.0, 50.0)
    assert np_score.f1 == pytest.approx(200 / 3)


def test_categories_and_confusion_are_printed(tmp_path, capsys):
    (tmp_path / "g").write_text("(S (NP (N a)) (VP (V b)))\n")
    (tmp_path / "t").write_text("(S (XP (N a)) (VP (N b)))\n")
    arguments = ["tsg", "score", str(tmp_path / "g"), str(tmp_path / "t"), "--categories", "--confusion", "1"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "NP                     1       0       0.00     0.00     0.00" in shown
    assert "       1  NP → XP" in shown
    assert "       1  V → N" in shown
    assert main([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["confused_labels"] == [["NP", "XP", 1]]
    assert {entry["label"]: entry["f1"] for entry in record["categories"]}["VP"] == 100.0
    assert main([*arguments[:-1], "0"]) == 2
    assert "--confusion is 0" in capsys.readouterr().err


def test_brackets_cross_to_the_left_and_to_the_right():
    left, right = "(S (X (A a) (B b)) (C c))", "(S (A a) (X (B b) (D c)))"
    for gold, test in ((left, right), (right, left)):
        score = score_sentence(tree_of(gold), tree_of(test))
        assert (score.matched, score.crossing, score.words, score.tags) == (1, 1, 3, 2)
        assert not score.is_exact


def test_brackets_that_share_an_end_or_lie_within_do_not_cross():
    gold = "(S (X (A a) (B b)) (Y (C c) (D d)))"
    for test in ("(S (Z (A a) (B b) (C c)) (D d))", "(S (A a) (Z (B b) (C c) (D d)))"):
        assert counts(gold, test) == (1, 3, 2, 1)
    for test in ("(S (Z (A a)) (B b) (Z (C c)) (Z (D d)))", "(S (Z (A a) (B b)) (C c) (D d))"):
        assert counts(gold, test)[3] == 0


def test_empty_elements_are_deleted_and_do_not_count_for_the_length():
    gold = "(S (NP (-NONE- *T*)) (VP (VB go)))"
    score = score_sentence(tree_of(gold), tree_of("(S (VP (VB go)))"))
    assert score.is_exact
    assert score.length == 1


def test_disagreement_on_punctuation_is_an_error_or_goes_by_gold():
    gold, test = tree_of("(S (A a) (B b) (. .))"), tree_of("(S (A a) (B b) (NN .))")
    assert score_sentence(gold, test).is_error
    assert score_sentence(gold, test, mismatch="gold").is_exact
    assert score_sentence(gold, tree_of("(S (A a) (B c) (. .))"), mismatch="gold").is_error


def test_gold_is_asked_where_it_has_empty_elements_that_parses_do_not_have():
    """As of Penn's own files, or the other way round; with a word too few, nobody is asked."""
    gold = tree_of("(S (NP (-NONE- *)) (VP (V go) (X (. .) (-NONE- 0)) (NP (N home))))")
    flat, empty = tree_of("(S (V go) (V .) (V home))"), tree_of("(S (-NONE- *) (V go) (V .) (V home))")
    for test in (flat, empty):
        score = score_sentence(gold, test, mismatch="gold")
        assert (score.matched, score.gold, score.test, score.words, score.tags) == (1, 3, 1, 2, 1)
        assert score_sentence(test, gold, mismatch="gold").words == 3
    assert score_sentence(gold, tree_of("(S (V go) (V .))"), mismatch="gold").is_error


def test_sentences_without_a_word_that_counts_are_skipped():
    """As by EVALB, of whose figures they are not a part: neither right nor wrong."""
    dots, word = tree_of("(TOP (S (. .)))"), tree_of("(TOP (NP (NN .)))")
    skipped = score_sentence(dots, dots)
    assert (skipped.is_skipped, skipped.is_error, skipped.is_exact, skipped.length) == (True, False, False, 1)
    assert score_sentence(word, dots).is_skipped
    assert score_sentence(dots, word).is_error
    whole = score_sentence(tree_of(GOLD), tree_of(GOLD))
    wrong = whole._replace(matched=3, crossing=1)
    found = total([skipped, whole, wrong])
    assert (found.sentences, found.skipped, found.errors) == (3, 1, 0)
    assert (found.exact, found.no_crossing, found.crossing) == (50.0, 50.0, 0.5)


def test_tags_are_compared_whole_and_labels_without_functions():
    gold = tree_of("(S-X (NP-SBJ (NN-A a) (.-B .) (RP-C c)) (PRT (PRT d)))")
    test = tree_of("(S (NP (NN a) (.-B .) (RP-C c)) (ADVP (ADVP d)))")
    score = score_sentence(gold, test)
    assert score.is_exact
    assert (score.words, score.tags) == (4, 3)


def test_new_parameters_delete_more():
    assert counts("(S1 (S (A a) (! !)))", "(S1 (S (A a) (! !)))") == (2, 2, 2, 0)
    assert counts("(S1 (S (A a) (! !)))", "(S1 (S (A a) (! !)))", parameters="new") == (1, 1, 1, 0)


def test_deleted_labels_are_those_of_the_parameter_files():
    """The DELETE_LABEL lines of COLLINS.prm and new.prm as EVALB distributes them."""
    collins = {"TOP", "-NONE-", ",", ":", "``", "''", "."}
    assert {"collins": collins, "new": collins | {"S1", "?", "!"}} == PARAMETERS


def test_totals_are_over_all_brackets_and_the_cutoff_is_inclusive():
    """8 of 10 gold and 8 of 9 test brackets: F1 = 2·8 / 19."""
    first = score_sentence(tree_of(GOLD), tree_of(GOLD))._replace(matched=5, gold=6, test=5, length=40)
    second = first._replace(matched=3, gold=4, test=4, length=41, crossing=3)
    both = total([first, second])
    assert both.precision == pytest.approx(800 / 9)
    assert both.recall == pytest.approx(80.0)
    assert both.f1 == pytest.approx(100 * 16 / 19)
    assert (both.crossing, both.no_crossing, both.two_or_less_crossing) == (1.5, 50.0, 50.0)
    assert total([first, second], 40).sentences == 1
    assert total([first._replace(crossing=2)]).two_or_less_crossing == 100.0
    assert total([first._replace(words=8, tags=6)]).tagging == 75.0


@pytest.fixture
def files(tmp_path):
    gold, test = tmp_path / "gold.mrg", tmp_path / "test.mrg"
    gold.write_text(f"{GOLD}\n(S (A a) (. .))\n")
    test.write_text(f"{GOLD}\n(S (A a) (B .))\n")
    return str(gold), str(test)


def test_command_prints_json(files, capsys):
    assert main(["tsg", "score", *files, "--json", "--detailed"]) == 0
    output = capsys.readouterr()
    record = json.loads(output.out)
    assert (record["f1"], record["exact"], record["sentences"], record["errors"]) == (100.0, 100.0, 2, 1)
    assert len(record["detailed"]) == 2
    assert "over other words than gold, which are left out: 1; --mismatch gold scores those" in output.err


def test_command_says_what_is_skipped(tmp_path, capsys):
    (tmp_path / "g").write_text(f"{GOLD}\n(TOP (. .))\n")
    assert main(["tsg", "score", str(tmp_path / "g"), str(tmp_path / "g"), "--detailed", "--categories"]) == 0
    output = capsys.readouterr()
    assert "sentences without a tree or a word that counts, which are left out: 1" in output.err
    assert output.out.splitlines()[2].endswith("0  skipped: no tree, or no word counts")


@pytest.mark.parametrize("nothing", ["", "(())", "()"])
def test_a_line_without_a_tree_is_skipped_as_by_evalb(nothing, tmp_path, capsys):
    """EVALB 20080701 gives status 2 to both, and leaves the sentence out; gold may take several lines."""
    (tmp_path / "g").write_text("(S (A a)\n (B b))\n(S (A c) (B d))\n(S (A e) (B f))\n")
    (tmp_path / "t").write_text(f"(S (A a) (B b))\n{nothing}\n(S (X (A e) (B f)))\n")
    assert main(["tsg", "score", str(tmp_path / "g"), str(tmp_path / "t"), "--detailed", "--json"]) == 0
    output = capsys.readouterr()
    assert "sentences without a tree or a word that counts, which are left out: 1" in output.err
    record = json.loads(output.out)
    assert [record[name] for name in ("sentences", "errors", "skipped")] == [3, 0, 1]
    assert [row["matched"] for row in record["detailed"]] == [1, 0, 1]
    assert record["precision"] == pytest.approx(200 / 3)
    assert record["detailed"][1]["length"] == 2


def test_two_trees_on_a_line_beside_one_without_are_refused(tmp_path, capsys):
    (tmp_path / "g").write_text("(S (A a) (B b))\n(S (A c) (B d))\n")
    (tmp_path / "t").write_text("(S (A a) (B b)) (S (A c) (B d))\n\n")
    assert main(["tsg", "score", str(tmp_path / "g"), str(tmp_path / "t")]) == 2
    assert "t:1: 2 trees. Write one for each gold tree" in capsys.readouterr().err


def test_command_prints_a_table(files, capsys):
    assert main(["tsg", "score", *files, "--mismatch", "gold", "--detailed"]) == 0
    output = capsys.readouterr().out
    assert "f1" in output
    assert output.splitlines()[1].split() == ["1", "5", "4", "4", "4", "0", "4", "4"]


def test_sentences_keep_their_numbers_where_longer_ones_are_left_out(tmp_path, capsys):
    (tmp_path / "g").write_text("(S (A a) (B b) (C c))\n(S (A a))\n(S (A a) (B b) (C c))\n(S (A a) (B b))\n")
    arguments = ["tsg", "score", str(tmp_path / "g"), str(tmp_path / "g"), "--max-length", "2", "--detailed"]
    assert main(arguments) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:3]]
    assert [row[:2] for row in rows] == [["2", "1"], ["4", "2"]]
    assert main([*arguments, "--json"]) == 0
    detailed = json.loads(capsys.readouterr().out)["detailed"]
    assert [(row["sentence"], row["length"]) for row in detailed] == [(2, 1), (4, 2)]


def test_files_of_different_lengths_are_refused(files, tmp_path, capsys):
    short = tmp_path / "short.mrg"
    short.write_text(GOLD)
    assert main(["tsg", "score", files[0], str(short)]) == 2
    assert "ends after 1 tree" in capsys.readouterr().err
    assert main(["tsg", "score", *files, "--max-length", "1"]) == 2
    assert "--max-length 1. Raise it" in capsys.readouterr().err


def test_files_without_trees_are_refused_as_such(tmp_path, capsys):
    (tmp_path / "empty").write_text("\n")
    assert main(["tsg", "score", str(tmp_path / "empty"), str(tmp_path / "empty")]) == 2
    told = "empty: holds no tree. Write one bracketed tree for each sentence\n"
    assert capsys.readouterr().err.endswith(told)
