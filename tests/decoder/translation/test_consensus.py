"""The translation that is most like what several systems say."""

import io
from itertools import product

import numpy as np
import pytest

from decoder.cli import main
from decoder.commands.consensus import _num_sentences
from decoder.translation.consensus import consensus, sentences_of
from decoder.translation.nbest import Listed


def listed(*translations):
    return [Listed(tuple(text.split()), score) for text, score in translations]


def bleu_plus_one(one, other):
    """BLEU+1 of one against the other, by sacrebleu: of sentences that have four words or more."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, effective_order=False, force=True)
    return metric.sentence_score(" ".join(one), [" ".join(other)]).score / 100


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_one_with_the_highest_expected_bleu(seed):
    """Of three systems, whose scores have scales and features of their own, added up pair by pair."""
    rng = np.random.default_rng(seed)
    texts = [tuple(text) for text in product("ab", repeat=4)] + [("a", "b", "a", "b", "a")]
    lists = []
    for scale in (0.1, 3.0, 200.0):
        chosen = rng.choice(len(texts), size=rng.integers(1, 6))  # The same words twice, too.
        lists.append([Listed(texts[at], scale * rng.normal()) for at in chosen])
    probs = dict.fromkeys(texts, 0.0)
    for each in lists:
        weights = [np.exp(0.7 * one.score) for one in each]
        for one, weight in zip(each, weights, strict=True):
            probs[one.words] += weight / sum(weights) / 3
    among = {one.words for each in lists for one in each}
    expected = {
        one: sum(probs[other] * bleu_plus_one(one, other) for other in texts if probs[other]) for one in among
    }
    assert expected[consensus(lists, 0.7)] == pytest.approx(max(expected.values()), rel=1e-9)


def test_no_system_need_have_it_first():
    """Each system's best is alone; what all have second is most like all of them."""
    lists = [listed((f"{word} b c d", 0.0), ("a b c d", -0.1)) for word in ("x", "y", "z")]
    assert consensus(lists) == ("a", "b", "c", "d")
    assert consensus(lists, 1e6) == ("x", "b", "c", "d")  # Equally good ones: the first.


def test_a_system_has_one_vote_however_long_its_list_and_high_its_scores():
    one, other = listed(("a b c d", 1e5)), listed(("p q r s", -3.0), ("p q r t", -3.0), ("p q r u", -3.0))
    assert consensus([one, other])[0] == "a"
    assert consensus([one, other, other])[0] == "p"
    assert consensus([one, one, other, other])[0] == "a"


def test_who_has_nothing_leaves_it_to_the_others():
    assert consensus([[], listed(("a", -1.0)), []]) == ("a",)
    assert consensus([[], []]) == ()
    assert consensus([listed(("", -1.0), ("a", -9.0))]) == ()


def test_a_system_that_has_but_a_translation_without_words_has_nothing():
    """So Joshua writes that it found none, and `join-lists`. It is like nothing but itself, and would win."""
    nothing = listed(("", 0.0))
    assert consensus([nothing, nothing, listed(("a b", -1.0), ("a c", -1.0))]) == ("a", "b")
    assert consensus([nothing, nothing]) == ()


RAW = [f"0 ||| {text} ||| F=1 ||| 0\n" for text in ("己庚", "甲乙丙丁", "甲乙丙戊")]


def test_raw_text_is_compared_by_its_words(files, capsys):
    """Each text is one word between blanks, and has nothing in common with another one; two begin alike."""
    assert consensus([listed((line.split(" ||| ")[1], 0.0)) for line in RAW]) == ("己庚",)
    for name, line in zip(("one", "two", "three"), RAW, strict=True):
        (files / name).write_text(line)
    assert run(files, "@/one", "@/two", "@/three", "--tokenize", "char", "--quiet") == 0
    assert capsys.readouterr().out == "甲乙丙丁\n"
    assert run(files, "@/one", "@/two", "@/three") == 0
    assert capsys.readouterr().out == "己庚\n"


def test_lists_go_along_by_their_numbers():
    one, two = listed(("a", -1.0), ("b", -2.0)), listed(("c", -1.0))
    systems = [[(0, one), (3, two)], [(1, two), (3, one)]]
    assert list(sentences_of(systems)) == [[one, []], [[], two], [[], []], [two, one]]
    assert list(sentences_of(systems, 1)) == [[one[:1], []], [[], two], [[], []], [two, one[:1]]]


ONE = "0 ||| a b c d ||| F=1 ||| -1\n0 ||| a b c e ||| F=1 ||| -1\n1 ||| w ||| F=1 ||| 0\n"
TWO = "0 ||| a b c e ||| G=1 ||| 7\n0 ||| x y z v ||| G=1 ||| 6\n1 ||| &#124;&#124;&#124; ||| G=1 ||| 0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one").write_text(ONE)
    (tmp_path / "two").write_text(TWO)
    return tmp_path


def run(files, *arguments: str) -> int:
    return main(["consensus", *(word.replace("@/", f"{files}/") for word in arguments)])


def test_the_command_prints_a_line_for_each_sentence(files, capsys):
    assert run(files, "@/one", "@/two") == 0
    told = capsys.readouterr()
    assert told.out == "a b c e\nw\n"
    assert "2 sentences, chosen among 6 translations of 2 lists" in told.err
    assert run(files, "@/two", "@/two", "@/one", "--output", "@/out", "--quiet") == 0
    assert (files / "out").read_text() == "a b c e\n|||\n"
    assert capsys.readouterr().err == ""


def test_as_many_of_each_list_are_read_as_one_says(files, capsys):
    assert run(files, "@/one", "--size", "1") == 0
    assert capsys.readouterr().out == "a b c d\nw\n"
    (files / "two").write_text("0 ||| p ||| G=1 ||| -9\n0 ||| q ||| G=1 ||| 1\n")
    assert run(files, "@/two", "--scale", "50") == 0
    assert capsys.readouterr().out == "q\n"
    assert run(files, "@/two", "--scale", "50", "--size", "1") == 0
    assert capsys.readouterr().out == "p\n"


def test_lists_may_come_through_a_pipe(files, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(ONE.encode()))))
    assert run(files, "-", "@/two") == 0
    assert capsys.readouterr().out == "a b c e\nw\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("@/one", "--scale", "0"), "--scale is 0.0; it is a number above 0"),
        (("@/one", "--size", "0"), "--size is 0; it is 1 or more"),
        (
            ("@/one", "@/short"),
            "short: lists of 1 sentence, but @/one has 2. Give lists of the same sentences; if it has none "
            "of the last, end it with '1 ||| ||| ||| 0'",
        ),
        (
            ("@/short", "@/one"),
            "short: lists of 1 sentence, but @/one has 2. Give lists of the same sentences",
        ),
        (("@/one", "@/none"), "none: lists of 0 sentences, but"),
        (("@/one", "@/text"), "text:1: not a line of a list: a b c"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(files, arguments, message, capsys):
    (files / "short").write_text(ONE[: ONE.index("1 ||| w")])
    (files / "none").write_text("")
    (files / "text").write_text("a b c\n")
    assert run(files, *arguments, "--output", "@/out") == 2
    assert message.replace("@/", f"{files}/") in capsys.readouterr().err
    assert not (files / "out").exists()


def test_sentences_that_a_system_has_nothing_for_are_no_mistake(files, capsys):
    (files / "gap").write_text("0 ||| a b c e ||| F=1 ||| -1\n2 ||| v ||| F=1 ||| 0\n")
    (files / "three").write_text(f"{ONE}2 ||| v ||| F=1 ||| 0\n")
    assert run(files, "@/gap", "@/three") == 0
    assert capsys.readouterr().out == "a b c e\nw\nv\n"
    (files / "ended").write_text(f"{ONE}2 ||| ||| ||| 0\n")  # As the hint for what is too short says.
    assert run(files, "@/ended", "@/three") == 0
    assert capsys.readouterr().out == "a b c d\nw\nv\n"


def test_a_list_that_is_too_short_is_noticed_before_anything_is_read(files, capsys, monkeypatch):
    (files / "short").write_text(ONE[: ONE.index("1 ||| w")])
    monkeypatch.setattr("decoder.translation.consensus.sentences_of", None)
    assert run(files, "@/one", "@/short") == 2
    assert f"{files}/short: lists of 1 sentence, but {files}/one has 2" in capsys.readouterr().err


def test_lists_of_other_sentences_are_remarked_on(files, capsys):
    (files / "other").write_text(ONE.replace("a b", "o p").replace("w", "v"))
    assert run(files, "@/one", "@/two", "@/other", "--quiet") == 0
    told = capsys.readouterr().err
    assert (
        f"{files}/other and the others have no translation in common: are they of the same sentences?" in told
    )
    assert told.count("in common") == 1
    (files / "none").write_text("")
    for arguments in (("@/one",), ("@/none", "@/none")):
        assert run(files, *arguments, "--quiet") == 0
        assert capsys.readouterr().err == ""


def test_lists_numbered_from_one_are_remarked_on(files, capsys):
    (files / "from one").write_text("1 ||| a ||| ||| 0\n3 ||| c ||| ||| 0\n")
    (files / "none of 0").write_text("0 ||| ||| ||| 0\n3 ||| c ||| ||| 0\n")
    assert run(files, "@/from one", "@/from one") == 0
    shown = capsys.readouterr()
    assert shown.out == "\na\n\nc\n"
    assert shown.err.count("no list has a translation of sentence 0") == 1
    assert run(files, "@/from one", "@/none of 0") == 0
    assert "sentence 0" not in capsys.readouterr().err


def test_the_last_line_of_a_list_ends_at_a_line_feed_alone(files, capsys):
    """By it lists that number sentences from 1 are told; words may hold other ends of lines."""
    first, second = files / "first", files / "second"
    first.write_text("0 ||| a ||| F=1 ||| 0\n1 ||| a\u2028b ||| F=1 ||| 0\n")
    second.write_text("1 ||| a ||| F=1 ||| 0\n2 ||| a\u2028b ||| F=1 ||| 0\n")
    assert _num_sentences(str(first)) == 2
    assert _num_sentences(str(second)) == 3
