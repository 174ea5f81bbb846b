"""Which tags are punctuation: tag sets recognised, tags named, and what is said of it."""

from __future__ import annotations

import pytest

from monolingual.cli import main
from monolingual.dmv.punctuation import TAG_SETS, named_tags, recognise
from scfg_sampler.errors import SettingsError

PENN = [
    ("The", "DT"),
    ("dog", "NN"),
    (",", ","),
    ("barks", "VBZ"),
    ("-RRB-", "-RRB-"),
    ("$", "$"),
    (".", "."),
]


def conll(rows, coarse=lambda fine: fine):
    """A file of ten columns in which each word but the first depends on the first."""
    lines = [
        f"{at}\t{form}\t_\t{coarse(fine)}\t{fine}\t_\t{int(at > 1)}\t_\t_\t_"
        for at, (form, fine) in enumerate(rows, start=1)
    ]
    return "\n".join(lines) + "\n\n"


@pytest.mark.parametrize(
    ("coarse", "fine", "title", "punctuation"),
    [
        ("DT NN , VBZ -RRB- $ .", "DT NN , VBZ -RRB- $ .", "Penn", {",", "-RRB-", "."}),
        ("DET NOUN PUNCT VERB", "DT NN , VBZ", "Universal Dependencies", {"PUNCT"}),
        # The coarse column decides: a hyphen between words is no PUNCT here, a colon for a range neither.
        ("NOUN SYM NOUN PUNCT", "NN : NN .", "Universal Dependencies", {"PUNCT"}),
        ("NOUN SYM NOUN PUNCT odd", "NN : NN . NN", "Universal Dependencies", {"PUNCT"}),
        ("ART NN $, VVFIN $.", "ART NN $, VVFIN $.", "STTS", {"$,", "$."}),
        ("NN VV PU NN PU", "_ _ _ _ _", "Chinese treebank", {"PU"}),
        ("DET NOUN VERB . ADP CONJ", "a b c d e f", "universal (Petrov and others 2012)", {"."}),
        ("DET NOUN VERB", "DT NN VBZ", "Universal Dependencies", set()),
        ("d n F s n F", "da nc Fc sp np Fp", "EAGLES", {"Fc", "Fp"}),
        ("D N F V F", "DA NC Fit VM Fp", "EAGLES", {"Fit", "Fp"}),
        ("IZE PUNT ADI", "IZE_ARR PUNT_KOMA ADI_SIN", None, {"PUNT", "PUNT_KOMA"}),
        ("Subst Verb Punc", "S V Fz", None, {"Punc"}),
        ("S V -- Z", "S V ... $", None, {"--", "..."}),
        ("S V Z", "S V Fz", None, set()),
    ],
)
def test_tag_set_is_recognised(coarse, fine, title, punctuation):
    found = recognise(list(zip(coarse.split(), fine.split(), strict=True)))
    assert (found.title, set(found.punctuation)) == (title, punctuation)


def test_tags_are_words_or_punctuation():
    for known in TAG_SETS.values():
        assert not known.words & known.punctuation


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("PUNCT,NFP", ("PUNCT", "NFP")),
        ("PUNCT, NFP", ("PUNCT", "NFP")),
        (",", (",",)),
        ("", ()),
        (", . : ``", (",", ".", ":", "``")),
        ("$, $. $(", ("$,", "$.", "$(")),
        ("-LRB-, -RRB- ,", ("-LRB-", "-RRB-", ",")),
        ("chinese", ("PU",)),
    ],
)
def test_tags_are_named_commas_too(text, tags):
    assert named_tags(text) == tags


def test_doubled_comma_is_asked_about():
    with pytest.raises(SettingsError, match="put spaces between tags if the comma is one"):
        named_tags("PUNCT,,")


def evaluated(tmp_path, capsys, text, *options):
    (tmp_path / "gold.conll").write_text(text, encoding="utf-8")
    model = "root NN 1\n" + "".join(
        f"stop NN {side} {near} 0.5\n" for side in ("left", "right") for near in ("adjacent", "further")
    )
    (tmp_path / "m.txt").write_text(model, encoding="utf-8")
    arguments = ["dmv", "evaluate", str(tmp_path / "m.txt"), str(tmp_path / "gold.conll"), *options]
    assert main(arguments) == 0
    said = capsys.readouterr()
    return int(next(line for line in said.out.splitlines() if "all" in line).split()[2]), said.err


def test_penn_punctuation_is_left_out_and_said(tmp_path, capsys):
    words, said = evaluated(tmp_path, capsys, conll(PENN))
    assert words == 4
    assert "Penn tags; punctuation, left out: , -RRB- ." in said
    assert "gold.conll: Penn" not in evaluated(tmp_path, capsys, conll(PENN), "--quiet")[1]


@pytest.mark.parametrize(
    ("options", "words", "warning"),
    [
        (["--punctuation", "PUNCT"], 7, "no word has a tag of --punctuation (PUNCT)"),
        (["--punctuation", ""], 7, None),
        (["--punctuation", ", ."], 5, None),
        (["--punctuation", "penn"], 4, None),
    ],
)
def test_punctuation_is_what_the_option_names(options, words, warning, tmp_path, capsys):
    found, said = evaluated(tmp_path, capsys, conll(PENN), *options)
    assert found == words
    assert (warning or "--punctuation") in said or warning is None
    assert ("--punctuation" in said) == (warning is not None)


def test_unknown_tag_set_is_warned_of(tmp_path, capsys):
    words, said = evaluated(tmp_path, capsys, conll([("a", "S"), ("b", "Z")]))
    assert words == 2
    assert "warning" in said
    assert "name them with --punctuation" in said


def test_punctuation_in_three_columns_stays_with_a_warning(tmp_path, capsys):
    words, said = evaluated(tmp_path, capsys, "DT NN .\t2 0 2\tthe dog .\n")
    assert words == 3
    assert "the tags . look like punctuation" in said
    assert "look like" not in evaluated(tmp_path, capsys, "DT NN\t2 0\tthe dog\n")[1]
