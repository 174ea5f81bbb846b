"""Which tags of a treebank are punctuation: recognised by the tag set, or named by the user.

Attachment scores of unsupervised parsers leave punctuation out, and every tag set spells it differently:
Universal Dependencies `PUNCT`, Penn `,` `.` `:` and quotes and brackets, STTS `$,` `$.` `$(`, the Chinese
treebank `PU`. A tag set is recognised if four words in five have one of its tags, in the coarse column or in
the fine one; Universal Dependencies goes before the others, because its coarse column decides in words such
as the hyphen whether they are punctuation.

The fact a newcomer would get wrong: `$` and `#` are no punctuation of Penn's. They are read aloud.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from monolingual.dmv.tag_sets import PENN, UNIVERSAL
from scfg_sampler.errors import SettingsError

__all__ = ["AUTOMATIC", "TAG_SETS", "Recognised", "TagSet", "named_tags", "recognise"]

AUTOMATIC = "auto"
"""The value of --punctuation that leaves it to `recognise`."""

_SHARE = 0.8
_NO_PUNCTUATION = ("$", "#", "_", "*", "%")


class TagSet(NamedTuple):
    """A tag set.

    Attributes
    ----------
    title : str
        What it is called in messages.
    words : frozenset of str
        Its tags of words.
    punctuation : frozenset of str
        Its tags of punctuation.
    """

    title: str
    words: frozenset[str]
    punctuation: frozenset[str]


class Recognised(NamedTuple):
    """What a treebank's tags are.

    Attributes
    ----------
    title : str or None
        Of the tag set; None if it is none that is known.
    punctuation : tuple of str
        The tags of punctuation that occur, the most frequent first.
    """

    title: str | None
    punctuation: tuple[str, ...]


def _tag_set(title: str, words: str, punctuation: str) -> TagSet:
    return TagSet(title, frozenset(words.split()), frozenset(punctuation.split()))


TAG_SETS: dict[str, TagSet] = {
    "universal": _tag_set("Universal Dependencies", " ".join(UNIVERSAL), "PUNCT"),
    "penn": _tag_set(
        "Penn",
        " ".join(PENN) + " #",
        ", . : `` '' \" ( ) -LRB- -RRB- -LCB- -RCB- -LSB- -RSB- HYPH NFP",
    ),
    "stts": _tag_set(
        "STTS",
        "ADJA ADJD ADV APPR APPRART APPO APZR ART CARD FM ITJ KOUI KOUS KON KOKOM NN NE PDS PDAT PIS PIAT "
        "PIDAT PPER PPOSS PPOSAT PRELS PRELAT PRF PWS PWAT PWAV PAV PROAV PTKZU PTKNEG PTKVZ PTKANT PTKA "
        "TRUNC VVFIN VVIMP VVINF VVIZU VVPP VAFIN VAIMP VAINF VAPP VMFIN VMINF VMPP XY",
        "$, $. $( $[ $*LRB* $*RRB*",
    ),
    "chinese": _tag_set(
        "Chinese treebank",
        "VA VC VE VV NR NT NN LC PN DT CD OD M AD P CC CS DEC DEG DER DEV AS SP ETC MSP IJ ON JJ FW LB SB "
        "BA X",
        "PU",
    ),
    "eagles": _tag_set(
        "EAGLES",
        "aq ao cc cs da dd de di dn dp dr dt i nc np pd pe pi pn pp pr pt px p0 rg rn sn sp va vm vs w z zm "
        "zp zd zu zn x y AQ AO CC CS DA DD DE DI DN DP DR DT I NC NP PD PE PI PN PP PR PT PX P0 RG RN SN SP "
        "VA VM VS W Z Zm Zp Zd Zu X Y",
        "Fa Fc Fd Fe Fg Fh Fi Fp Fs Ft Fx Fz Faa Fat Fia Fit Fpa Fpt Fca Fct Fla Flt Fra Frc",
    ),
    "petrov": _tag_set(
        "universal (Petrov and others 2012)", "NOUN VERB ADJ ADV PRON DET ADP NUM CONJ PRT X", "."
    ),
}
"""Tag sets by the names that --punctuation knows; the first one goes before the others."""


def recognise(pairs: Sequence[tuple[str, str]]) -> Recognised:
    """Which tag set a treebank has, and which of its tags are punctuation.

    Of a tag set that is not known, tags that spell "punct" or hold neither letter nor digit are punctuation.

    Parameters
    ----------
    pairs : sequence of (coarse tag, fine tag)
        Of every word.
    """
    columns = [Counter(pair[at] for pair in pairs) for at in (0, 1)]
    both = columns[0] + columns[1]
    shares = []
    for rank, (name, known) in enumerate(TAG_SETS.items()):
        every = known.words | known.punctuation
        share = max(sum(column[tag] for tag in every) for column in columns) / max(len(pairs), 1)
        occurs = any(both[tag] for tag in known.punctuation)
        shares.append((rank == 0, occurs, share, name))
    fitting = [entry for entry in shares if entry[2] >= _SHARE]
    if not fitting:
        return Recognised(None, _sorted(both, [tag for tag in both if _looks_like_punctuation(tag)]))
    # A tag set without punctuation in it (the coarse column of some files) leaves the word to another.
    found = TAG_SETS[max(fitting, key=lambda entry: (entry[1], entry[0], entry[2]))[3]]
    return Recognised(found.title, _sorted(both, [tag for tag in found.punctuation if both[tag]]))


def _sorted(counts: Counter[str], tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(tags, key=lambda tag: (-counts[tag], tag)))


def _looks_like_punctuation(tag: str) -> bool:
    name = tag.lower()
    if name.startswith(("punc", "ponct", "punt")):
        return True
    return bool(tag) and tag not in _NO_PUNCTUATION and not any(letter.isalnum() for letter in tag)


def named_tags(text: str) -> tuple[str, ...]:
    """The tags that an option names: a tag set, or tags parted by spaces, or by commas.

    Parts between spaces are tags as they stand, so that `, . :` names three; a comma behind a tag of letters
    parts as well. Without a space commas part, and `,` alone is the tag.

    Raises
    ------
    SettingsError
        Two commas follow each other: is one of them a tag?

    >>> named_tags(", . $, PUNCT")
    (',', '.', '$,', 'PUNCT')
    >>> named_tags("PUNCT,NFP")
    ('PUNCT', 'NFP')
    """
    if text in TAG_SETS:
        return tuple(sorted(TAG_SETS[text].punctuation))
    if text.strip() in ("", ","):
        return tuple(text.split())
    if not any(letter.isspace() for letter in text):
        if "" in (parts := text.split(",")):
            raise SettingsError(
                f"--punctuation is {text!r}; put spaces between tags if the comma is one, as in ', . :'"
            )
        return tuple(parts)
    tags: list[str] = []
    for part in text.split():
        tags += part.split(",") if part[:1].isalnum() or part[:1] == "-" else [part]
    return tuple(tag for tag in tags if tag)
