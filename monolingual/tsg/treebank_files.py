"""Treebanks in other formats than brackets: export, Tiger XML, discbracket.

- export (NeGra's, versions 3 and 4): sentences from `#BOS` to `#EOS`, a line for each word and constituent:
  form, lemma (version 4), tag, morphology, edge label, parent; constituents are `#500`, `#501`, …, the root
  is 0;
- Tiger XML: `<s>` with `<t>` and `<nt>`, edges by `idref`;
- discbracket: brackets whose leaves are `number=word`, perhaps with a comment behind a tab, or numbers with
  the words behind a tab; words stand where their numbers say.

Nodes are gathered with their children whatever the order of the words, and put in the order of their first
words. A constituent is *discontinuous* if its words have a gap. Brackets cannot hold it: it is refused, or
made continuous by raising, from the leaves up: a constituent keeps, of its children, the run of neighbours
that holds its head (edge label HD, or the longest run), and the others go to the constituent above.

The fact a newcomer would get wrong: in export punctuation hangs from the root, which is what makes most
sentences discontinuous; raising never touches those that are not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.parsers import expat

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import TreeError

__all__ = ["GraphNode", "SentenceGraph", "continuous", "escaped", "gaps", "kind_of", "read_graphs"]

_TOPS = ("TOP", "ROOT", "VROOT")
_BRACKETS = {"(": "-LRB-", ")": "-RRB-"} | dict.fromkeys(" \t\n\r\f\v", "\u00a0")
_OF_DISC = {"#LRB#": "(", "#RRB#": ")"}
"""Brackets in words as disco-dop writes them."""
_WORD_OF_DISC = re.compile(r"([0-9]{1,9})(?:=(.+))?$", re.DOTALL)
_TAGS_OF_DISC = "Give each word a label of its own: (S (A 0=a) (B 1=b))"
_NUMBERING = "Number the words 0, 1, 2, …, each once"
_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)  # A no-break space is a part of a word.
_NUMBERED = re.compile(r"(?<=[^\s()] )[^\s()]+(?=[\s)])", re.ASCII)


class GraphNode(NamedTuple):
    """A constituent or a word of a sentence.

    Attributes
    ----------
    label : str
        Its category, or the word's tag.
    edge : str
        What it is to its parent, e.g. HD; empty if nothing says so.
    children : tuple of GraphNode
        Empty for a word.
    words : tuple of int
        The positions of its words, ascending.
    """

    label: str
    edge: str
    children: tuple[GraphNode, ...]
    words: tuple[int, ...]


class SentenceGraph(NamedTuple):
    """A sentence: its words, its root, the line of its file that it begins on."""

    forms: tuple[str, ...]
    root: GraphNode
    line: int


def kind_of(first: str) -> str:
    """The format of a file whose first line is this: export, tiger, disc or brackets."""
    text = first.strip()
    if text.startswith(("#BOS", "#FORMAT", "#BOT")):
        return "export"
    if text.startswith(("<?xml", "<corpus", "<s ", "<subcorpus", "\ufeff<")):
        return "tiger"
    leaves = _NUMBERED.findall(text.split("\t")[0])
    numbered = [_WORD_OF_DISC.match(leaf) for leaf in leaves]
    if text.startswith("(") and leaves and all(numbered):
        has_words = all(match and match[2] is not None for match in numbered)
        if has_words or "\t" in text:
            return "disc"
    return "brackets"


def read_graphs(path: PathLike, kind: str, lines: Iterable[tuple[int, str]]) -> Iterator[SentenceGraph]:
    """The sentences of numbered lines in one of the formats of `kind_of` but brackets.

    Raises
    ------
    TreeError
        Names the line of what is no sentence.
    """
    readers = {"export": _read_export, "tiger": _read_tiger, "disc": _read_disc}
    yield from readers[kind](path, lines)


def gaps(root: GraphNode) -> list[GraphNode]:
    """The constituents whose words are not neighbours."""
    found, pending = [], [root]
    while pending:
        node = pending.pop()
        if node.words[-1] - node.words[0] >= len(node.words):
            found.append(node)
        pending.extend(reversed(node.children))
    return found


def continuous(root: GraphNode) -> GraphNode:
    """The tree made continuous by raising; the same if it is already."""
    results: list[list[GraphNode]] = [[]]  # What each open node's children have become.
    pending: list[tuple[GraphNode, bool]] = [(root, False)]
    while pending:
        node, is_done = pending.pop()
        if not is_done:
            pending.append((node, True))
            if node.children:
                results.append([])
                pending.extend((child, False) for child in reversed(node.children))
            continue
        if not node.children:
            results[-1].append(node)
            continue
        children = sorted(results.pop(), key=lambda child: child.words)
        runs = _runs(children)
        kept = _kept_run(runs)  # The root has all words, hence a single run.
        for number, run in enumerate(runs):
            if number == kept:
                results[-1].append(_node(node.label, node.edge, run))
            else:
                results[-1].extend(run)
    (whole,) = results[0]
    return whole


def _runs(children: Sequence[GraphNode]) -> list[list[GraphNode]]:
    """Children in order, in runs whose words are neighbours."""
    runs: list[list[GraphNode]] = []
    for child in children:
        if runs and child.words[0] == runs[-1][-1].words[-1] + 1:
            runs[-1].append(child)
        else:
            runs.append([child])
    return runs


def _kept_run(runs: Sequence[Sequence[GraphNode]]) -> int:
    """The run with the head, else the one with the most words, the first of several."""
    for number, run in enumerate(runs):
        if any(child.edge == "HD" for child in run):
            return number
    return max(range(len(runs)), key=lambda number: sum(len(child.words) for child in runs[number]))


def _node(label: str, edge: str, children: Sequence[GraphNode]) -> GraphNode:
    """A constituent of children, in the order of their first words."""
    ordered = tuple(sorted(children, key=lambda child: child.words))
    return GraphNode(label, edge, ordered, tuple(sorted(word for child in ordered for word in child.words)))


# ---------------------------------------------------------------- graphs from parents


class _Entry(NamedTuple):
    """A word or a constituent of a table of parents."""

    line: int
    label: str
    edge: str
    parent: str


def _assembled(
    path: PathLike, line: int, forms: list[str], words: list[_Entry], inner: dict[str, _Entry], root: str
) -> SentenceGraph:
    """The sentence whose words and constituents name their parents; `root` is the name of the top.

    The top becomes a node of the label TOP, unless all it has is a constituent that is a top itself.
    """
    below: dict[str, list[GraphNode]] = {}
    for position, word in enumerate(words):
        below.setdefault(word.parent, []).append(GraphNode(word.label, word.edge, (), (position,)))
    order = _bottom_up(path, line, words, inner, root)
    for name in order:
        entry = inner[name]
        if name not in below:
            raise TreeError(path, entry.line, f"the constituent {name} has no children", "Remove it")
        below.setdefault(entry.parent, []).append(_node(entry.label, entry.edge, below[name]))
    top = below[root]
    is_top = len(top) == 1 and bool(top[0].children) and top[0].label in _TOPS
    whole = top[0] if is_top else _node(_TOPS[0], "", top)
    return SentenceGraph(tuple(forms), whole, line)


def _bottom_up(
    path: PathLike, line: int, words: list[_Entry], inner: dict[str, _Entry], root: str
) -> list[str]:
    """The names of constituents, those below first; raises unless all lead to the root."""
    if not words:
        raise TreeError(path, line, "a sentence without words", "Remove it")
    depth: dict[str, int] = {root: 0}
    for entry in [*words, *inner.values()]:
        path_up: list[str] = []
        name = entry.parent
        while name not in depth:
            if name not in inner:
                raise TreeError(path, entry.line, f"the parent {name} does not exist", "Mend the sentence")
            if name in path_up:
                raise TreeError(path, entry.line, f"{name} is above itself", "Make it a tree")
            path_up.append(name)
            name = inner[name].parent
        for step, above in enumerate(reversed(path_up), start=1):
            depth[above] = depth[name] + step
    return sorted(inner, key=lambda name: -depth.get(name, 0))


def escaped(word: str) -> str:
    """A word or a label as brackets hold it: STTS has a tag `$(`, and Tiger XML has words such as `20 000`.

    White space, at which brackets are torn, becomes a no-break space, which is a part of a word.
    """
    return "".join(_BRACKETS.get(character, character) for character in word)


# ---------------------------------------------------------------- export


def _has_lemma(columns: Sequence[str]) -> bool:
    """Whether a line without #FORMAT has a lemma: its parent, a number, stands one column later."""
    return len(columns) > 5 and not columns[4].isdecimal() and columns[5].isdecimal()


def _read_export(path: PathLike, lines: Iterable[tuple[int, str]]) -> Iterator[SentenceGraph]:
    has_lemma, begin, inside, is_table = False, 0, False, False
    forms: list[str] = []
    words: list[_Entry] = []
    inner: dict[str, _Entry] = {}
    for number, line in lines:
        text = line.rstrip()
        if text.startswith("#BOT"):
            is_table = True
        elif text.startswith("#EOT"):
            is_table = False
        elif text.startswith("#FORMAT"):
            has_lemma = text.split()[-1] == "4"
        elif text.startswith("#BOS") and not is_table:
            begin, inside, forms, words, inner = number, True, [], [], {}
        elif text.startswith("#EOS") and inside:
            inside = False
            if words:
                yield _assembled(path, begin, forms, words, inner, "0")
        elif inside and text and not text.startswith("%%"):
            columns = split_words(text.split("%%")[0])
            at = 2 if has_lemma or _has_lemma(columns) else 1
            if len(columns) < at + 4:
                hint = "Expected form, tag, morphology, edge label and parent; with a lemma after #FORMAT 4"
                raise TreeError(path, number, counted(len(columns), "column"), hint)
            entry = _Entry(number, escaped(columns[at]), columns[at + 2], columns[at + 3])
            if re.fullmatch(r"#[0-9]{3}", columns[0]):
                if columns[0][1:] in inner:
                    found = f"the constituent {columns[0][1:]} stands twice"
                    raise TreeError(path, number, found, "Give each one a number of its own")
                inner[columns[0][1:]] = entry
            else:
                forms.append(escaped(columns[0]))
                words.append(entry)
    if inside:
        raise TreeError(path, begin, "the sentence has no #EOS", "The file is cut off")


# ---------------------------------------------------------------- Tiger XML


class _TigerState:
    """What has been read of a sentence that begins on a line."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.terminals: list[tuple[int, str, str, str]] = []  # line, id, word, tag
        self.inner: dict[str, tuple[int, str]] = {}
        self.parent: dict[str, tuple[str, str]] = {}
        self.ids: set[str] = set()
        self.open = ""


def _read_tiger(path: PathLike, lines: Iterable[tuple[int, str]]) -> Iterator[SentenceGraph]:
    parser = expat.ParserCreate("utf-8")  # Whatever the file says it was.
    # A declaration has to stand at the beginning, without blanks before it.
    numbered = itertools.dropwhile(lambda each: not each[1].strip(), lines)
    first, beginning = next(numbered, (1, ""))
    finished: list[SentenceGraph] = []
    state: _TigerState | None = None  # Of the sentence that is open.

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal state
        line = first - 1 + parser.CurrentLineNumber
        if name == "s":
            state = _TigerState(line)
        elif state is not None:
            _take_element(path, line, state, name, given)

    def end(name: str) -> None:
        nonlocal state
        if name == "s" and state is not None:
            if state.terminals:
                finished.append(_tiger_sentence(path, state))
            state = None

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        for _, line in itertools.chain([(first, beginning.lstrip())], numbered):
            parser.Parse((line + "\n").encode("utf-8"), False)
            yield from finished
            finished.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        found = f"is no XML ({expat.ErrorString(error.code)})"
        raise TreeError(path, first - 1 + error.lineno, found, "Mend it") from None
    except KeyError as error:
        hint = "Tiger XML has id, word and pos of words, id and cat of constituents"
        found = f"an element without {error}"
        raise TreeError(path, first - 1 + parser.CurrentLineNumber, found, hint) from None
    yield from finished


def _take_element(path: PathLike, line: int, state: _TigerState, name: str, given: dict[str, str]) -> None:
    """Add to a sentence the word, constituent or edge that an element of it says."""
    if name == "edge":
        if given["idref"] in state.parent:
            raise TreeError(path, line, f"{given['idref']} has two parents", "Make it a tree")
        state.parent[given["idref"]] = (state.open, given.get("label", ""))
    elif name in ("t", "nt"):
        if given["id"] in state.ids:
            raise TreeError(
                path, line, f"the id {given['id']} stands twice", "Give each one an id of its own"
            )
        state.ids.add(given["id"])
        state.open = given["id"]
        if name == "t":
            word, tag = (_not_empty(path, line, kind, given[kind]) for kind in ("word", "pos"))
            state.terminals.append((line, state.open, word, tag))
        else:
            state.inner[state.open] = (line, _not_empty(path, line, "cat", given["cat"]))


def _not_empty(path: PathLike, line: int, kind: str, text: str) -> str:
    """The value of an attribute as brackets hold it; they have no place for an empty one."""
    if not text:
        raise TreeError(path, line, f"an element with an empty {kind}", "Give it one, or leave it out")
    return escaped(text)


def _tiger_sentence(path: PathLike, state: _TigerState) -> SentenceGraph:
    """The sentence that has been read; what has no parent hangs from the top."""
    top = ("", "")
    words = [
        _Entry(line, tag, state.parent.get(name, top)[1], state.parent.get(name, top)[0])
        for line, name, _, tag in state.terminals
    ]
    inner = {
        name: _Entry(line, label, state.parent.get(name, top)[1], state.parent.get(name, top)[0])
        for name, (line, label) in state.inner.items()
    }
    return _assembled(path, state.begin, [word for _, _, word, _ in state.terminals], words, inner, "")


# ---------------------------------------------------------------- discbracket


def _read_disc(path: PathLike, lines: Iterable[tuple[int, str]]) -> Iterator[SentenceGraph]:
    for number, line in lines:
        if not line.strip():
            continue
        tree, tab, sentence = line.partition("\t")
        given = split_words(sentence) if tab else None
        forms: dict[int, str] = {}
        root = _disc_tree(path, number, tree, forms, given)
        if root.words != tuple(range(len(root.words))):
            raise TreeError(path, number, f"the words have the numbers {list(root.words)[:20]}", _NUMBERING)
        yield SentenceGraph(tuple(escaped(_unescaped(forms[word])) for word in root.words), root, number)


def _disc_tree(
    path: PathLike, number: int, text: str, forms: dict[int, str], given: list[str] | None
) -> GraphNode:
    """The root of a tree in brackets; fills in the words."""
    stack: list[tuple[str, list[GraphNode]]] = []
    label_next = False
    tokens = iter(_TOKENS.findall(text))
    for token in tokens:
        if token == "(":
            stack.append(("", []))
            label_next = True
        elif label_next:
            stack[-1] = (token, [])
            label_next = False
            if token == ")":
                raise TreeError(path, number, "a bracket without a label", "Write (S (A 0=a) (B 1=b))")
        elif token == ")" and stack:
            label, children = stack.pop()
            if not children:
                raise TreeError(path, number, f"({label}) has no children", "Write (S (A 0=a) (B 1=b))")
            if not label and stack:
                raise TreeError(path, number, "a bracket without a label", "Only the outermost may have none")
            label = label or _TOPS[0]
            is_tag = children[0].label == ""
            if is_tag and len(children) > 1:
                raise TreeError(path, number, f"({label} …) has a word beside constituents", _TAGS_OF_DISC)
            node = children[0]._replace(label=label) if is_tag else _node(label, "", children)
            if not stack:
                if behind := next(tokens, ""):
                    raise TreeError(path, number, f"{behind!r} stands behind the tree", "One tree a line")
                return node
            stack[-1][1].append(node)
        else:
            found = _WORD_OF_DISC.match(token)
            if found is None or not stack or stack[-1][1]:
                raise TreeError(path, number, f"{token!r} is no number=word", "Write (S (A 0=a) (B 1=b))")
            position = int(found[1])
            if position in forms:
                raise TreeError(path, number, f"the number {position} of a word stands twice", _NUMBERING)
            forms[position] = found[2] or _word_behind(path, number, position, given)
            stack[-1][1].append(GraphNode("", "", (), (position,)))
    raise TreeError(path, number, "brackets are not closed", "One tree a line")


def _word_behind(path: PathLike, number: int, position: int, given: list[str] | None) -> str:
    """The word of a position that stands behind the tab; None: there is no tab."""
    if given is None:
        raise TreeError(path, number, f"the number {position} has no word", "Write (A 0=a)")
    if position >= len(given):
        lacking = f"the number {position} has no word among the {len(given)} behind the tab"
        raise TreeError(path, number, lacking, _NUMBERING)
    return given[position]


def _unescaped(word: str) -> str:
    """A word of discbracket as it was."""
    for shown, bracket in _OF_DISC.items():
        word = word.replace(shown, bracket)
    return word
