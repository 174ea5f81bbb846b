"""The tags of words in two tag sets, with the family of each.

The twelve families are those that Cohen, Gimpel and Smith (2008) name but do not list; `PENN` is our reading
of them, with determiners among the pronouns, and `UNIVERSAL` the same families over the tags of Universal
Dependencies.

The fact a newcomer would get wrong: punctuation is in neither (see `punctuation.py`).
"""

from __future__ import annotations

__all__ = ["PENN", "UNIVERSAL"]

PENN: dict[str, str] = {
    tag: family
    for family, tags in {
        "adjective": "JJ JJR JJS AFX",
        "adverb": "RB RBR RBS WRB",
        "conjunction": "CC",
        "foreign": "FW",
        "interjection": "UH",
        "noun": "NN NNS GW",
        "number": "CD LS $ SYM",
        "particle": "RP POS",
        "preposition": "IN TO",
        "pronoun": "PRP PRP$ WP WP$ EX DT PDT WDT",
        "proper": "NNP NNPS ADD",
        "verb": "VB VBD VBG VBN VBP VBZ MD",
    }.items()
    for tag in tags.split()
}

UNIVERSAL: dict[str, str] = {
    tag: family
    for family, tags in {
        "adjective": "ADJ",
        "adverb": "ADV",
        "conjunction": "CCONJ SCONJ",
        "foreign": "X",
        "interjection": "INTJ",
        "noun": "NOUN",
        "number": "NUM SYM",
        "particle": "PART",
        "preposition": "ADP",
        "pronoun": "PRON DET",
        "proper": "PROPN",
        "verb": "VERB AUX",
    }.items()
    for tag in tags.split()
}
