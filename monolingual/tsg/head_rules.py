"""Which child is the head of a constituent: rules for English, or those of a file.

A rule gives, for a label, directions and groups of labels in turn; the head is the first child, in the
direction, whose label is in the group, and if no group has any, the first child in the last direction::

    PP right IN/TO VBG VBN left NP
    *  left

The rules for English treebanks are after Collins (1999), appendix A, with its special rule for NP written as
groups. `*` is for labels without a rule; without it the head is the last child.

The fact a newcomer would get wrong: groups are tried one after the other, children within a group in their
order. `NP right NN/NNS` takes the last of either, `NP right NN NNS` any NN before the last NNS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.errors import InputError

__all__ = ["ENGLISH", "Search", "find_head", "parse_rules", "read_rules"]


class Search(NamedTuple):
    """One step of a rule.

    Attributes
    ----------
    from_left : bool
        The direction.
    labels : frozenset of str
        The group; empty where the direction alone is to say which child it is, if it comes to that.
    """

    from_left: bool
    labels: frozenset[str]


_ENGLISH = """
ADJP left NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP right CC RB IN
FRAG right
INTJ left
LST right LS :
NAC left NN/NNS NNP/NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NML right NN/NNP/NNPS/NNS/NX/JJR left NML NP right $/ADJP/PRN CD JJ/JJS/RB/QP
NP right POS/NN/NNP/NNPS/NNS/NX/JJR left NP right $/ADJP/PRN CD JJ/JJS/RB/QP
NX right NN/NNP/NNPS/NNS/NX/JJR left NP right $/ADJP/PRN CD JJ/JJS/RB/QP
PP right IN TO VBG VBN RP FW
PRN left
PRT right RP
QP left $ IN NNS NN JJ RB DT CD QP JJR JJS
RRC right VP NP ADVP ADJP PP
S left TO IN VP S SBAR ADJP UCP NP
SBAR left WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ left SQ S SINV SBARQ FRAG
SINV left VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ left VBZ VBD VBP VB MD VP SQ
UCP right
VP left TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP left CC WRB JJ ADJP
WHADVP right CC WRB
WHNP left WDT WP WP$ WHADJP WHPP WHNP
WHPP right IN TO FW
* left
"""


def find_head(rules: Mapping[str, Sequence[Search]], label: str, children: Sequence[str]) -> int:
    """Which child is the head, from 0.

    Parameters
    ----------
    rules : mapping
        From labels, and `*`, to steps.
    label : str
    children : sequence of str
        Labels; at least one.

    >>> find_head(ENGLISH, "NP", ["DT", "NN", "NN", "PP"])
    2
    """
    steps = rules.get(label, rules.get("*", (Search(False, frozenset()),)))
    for from_left, labels in steps:
        order = range(len(children)) if from_left else range(len(children) - 1, -1, -1)
        for at in order:
            if children[at] in labels:
                return at
    return 0 if steps[-1].from_left else len(children) - 1


def parse_rules(path: PathLike, lines: Iterable[str]) -> dict[str, tuple[Search, ...]]:
    """Rules in lines of text; blank ones, and those that begin with `%`, are skipped.

    Raises
    ------
    InputError
        Names the line without a direction behind its label, or with a label that has a rule already.
    """
    rules: dict[str, tuple[Search, ...]] = {}
    same: dict[Search, Search] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields or fields[0].startswith("%"):
            continue
        if len(fields) < 2 or fields[1] not in ("left", "right"):
            hint = "Write LABEL left|right and groups of labels, e.g. PP right IN/TO VBG left NP"
            raise InputError(path, number, f"{line.strip()!r} is no rule for heads", hint)
        if fields[0] in rules:
            raise InputError(path, number, f"{fields[0]} has a rule already", "Keep one of them")
        rules[fields[0]] = tuple(same.setdefault(step, step) for step in _steps(fields[1:]))
    return rules


def _steps(fields: Sequence[str]) -> tuple[Search, ...]:
    steps, from_left, is_new = [], True, False
    for field in fields:
        if field in ("left", "right"):
            from_left, is_new = field == "left", True
            continue
        steps.append(Search(from_left, frozenset(field.split("/"))))
        is_new = False
    # A direction with nothing behind it is that of the last resort.
    return (*steps, Search(from_left, frozenset())) if is_new else tuple(steps)


def read_rules(path: PathLike) -> dict[str, tuple[Search, ...]]:
    """The rules of a file.

    Raises
    ------
    InputError
        As `parse_rules`; or there is none.
    """
    rules = parse_rules(path, read_lines(path))
    if not rules:
        raise InputError(path, None, "holds no rule for heads", "Write e.g. PP right IN/TO VBG left NP")
    return rules


ENGLISH = parse_rules("the rules for English", _ENGLISH.splitlines())
"""Rules for Penn's labels."""
