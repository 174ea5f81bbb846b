"""Trees of a grammar as lists of rules, as bracketed text, and as spans.

A tree is the sequence of the rules of its nodes in preorder (`tree_draws.Trees`), which is also its leftmost
derivation. As text it is `(S (NP the dog) (VP barks))`, one tree a line; symbols are separated by spaces and
brackets. A bracket within a symbol is written -LRB- or -RRB-, as in the Penn Treebank, and read back; a space
within one cannot be written. Labels are those of the treebank: '' where a grammar has %27%27 for it.

The fact a newcomer would get wrong: a bracketed tree is read with the grammar. A token is a word where a rule
has it as a terminal; nothing in the text tells words from nonterminals without children.
"""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.encoded_text import read_encoded_lines
from monolingual.pcfg.grammar import Grammar, heads, num_rules, rule_symbols
from monolingual.pcfg.grammar_text import meant
from monolingual.pcfg.tree_draws import Trees
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.jit import kernel
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, TreeError

__all__ = [
    "TOP",
    "Sentences",
    "Spans",
    "escaped",
    "format_tree",
    "read_sentences",
    "read_trees",
    "spans",
    "yields",
]

TOP = "TOP"
"""What stands above the roots of a treebank, whether its trees have it or not; no score counts it."""
_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)  # A no-break space is a part of a word.


class Sentences(NamedTuple):
    """Sentences as numbers of the grammar's terminals.

    Attributes
    ----------
    words : int32
    start : int64, shape (sentences + 1,)
        Sentence i is words[start[i]:start[i + 1]].
    lines : int64, shape (sentences,)
        The line of each in its file, from 1.
    last_line : int
        The number of the file's last line, empty or not.
    """

    words: np.ndarray
    start: np.ndarray
    lines: np.ndarray
    last_line: int

    def blank_lines(self, number: int) -> int:
        """How many empty lines stand between a sentence and the one before, or behind the last one."""
        before = int(self.lines[number - 1]) if number > 0 else 0
        following = int(self.lines[number]) if number < len(self.lines) else self.last_line + 1
        return following - before - 1


class Spans(NamedTuple):
    """The nodes of trees and what they span.

    Attributes
    ----------
    tree, label, begin, end : int32, shape (nodes,)
        Node k is a nonterminal `label` of tree `tree` over words begin … end − 1. Trees in order, nodes in
        preorder.
    """

    tree: np.ndarray
    label: np.ndarray
    begin: np.ndarray
    end: np.ndarray


def read_sentences(
    path: PathLike, grammar: Grammar, *, skip_unknown: bool = False, encoding: str = "utf-8"
) -> Sentences:
    """The sentences of a file, one a line, words separated by spaces; empty lines are skipped.

    With `skip_unknown`, words that are no terminals get the number −1 instead of an error.

    Raises
    ------
    InputError
        Names the line with a word that is no terminal of the grammar; or there is no sentence.
    """
    ids = {name: at for at, name in enumerate(grammar.terminals)}
    words, start, lines = array("i"), array("q", [0]), array("q")
    number = 0
    for number, line in enumerate(read_encoded_lines(path, encoding), start=1):
        tokens = split_words(line)
        if not tokens:
            continue
        for token in tokens:
            if token not in ids and not skip_unknown:
                raise InputError(path, number, f"{token!r} is not a terminal of the grammar", "Add its rule")
        words.extend(ids.get(token, -1) for token in tokens)
        start.append(len(words))
        lines.append(number)
    if not lines:
        raise InputError(path, None, "holds no sentence", "Write one sentence a line")
    return Sentences(
        np.frombuffer(words, np.int32),
        np.frombuffer(start, np.int64),
        np.frombuffer(lines, np.int64),
        number,
    )


def read_trees(path: PathLike, grammar: Grammar, *, encoding: str = "utf-8") -> Trees:
    """The trees of a file, one a line; empty lines are skipped.

    An outer bracket without a label, as in the Penn Treebank, is the start symbol's if what stands within is
    not, and one of the symbol's rules begins with that; else it is left out. TOP may be left out.

    Raises
    ------
    TreeError
        Names the line of a tree that is not closed, has another root than the start symbol, or uses a rule
        that the grammar does not have; or there is no tree.
    """
    index = _rule_index(grammar)
    root = _label(grammar.nonterminals[0])
    below = {children[0] for parent, *children in index if parent == root and children} - {root}
    rules, start = array("i"), array("q", [0])
    for number, line in enumerate(read_encoded_lines(path, encoding), start=1):
        tokens = _TOKENS.findall(line)
        if not tokens:
            continue
        if tokens[:2] == ["(", "("] and tokens[-1] == ")":
            tokens = ["(", root, *tokens[1:]] if tokens[2] in below else tokens[1:-1]
        elif root == TOP and not below.isdisjoint(tokens[1:2]):
            tokens = ["(", TOP, *tokens, ")"]
        rules.extend(_tree_rules(path, number, tokens, grammar, index))
        start.append(len(rules))
    if len(start) == 1:
        raise TreeError(path, None, "holds no tree", "Write one bracketed tree a line")
    return Trees(np.frombuffer(start, np.int64), np.frombuffer(rules, np.int32))


def format_tree(grammar: Grammar, rules) -> str:
    """A tree as bracketed text.

    Parameters
    ----------
    grammar : Grammar
    rules : sequence of int
        In preorder.
    """
    lhs = heads(grammar)
    pieces: list[str] = []
    pending: list[object] = [0]
    following = iter(rules)
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        rule = int(next(following))
        pieces.append(f" ({_label(grammar.nonterminals[lhs[rule]])}")
        pending.append(")")
        for symbol in reversed(rule_symbols(grammar, rule)):
            pending.append(f" {escaped(grammar.terminals[symbol])}" if symbol >= 0 else symbol)
    return "".join(pieces).lstrip()


def yields(grammar: Grammar, trees: Trees) -> tuple[np.ndarray, np.ndarray]:
    """The words of trees: terminals as int32, and int64 of shape (trees + 1,), where each tree's begin."""
    _, words, start = _walk(grammar.rhs_start, grammar.rhs, heads(grammar), *trees)
    return words, start


def spans(grammar: Grammar, trees: Trees) -> Spans:
    """All nodes of trees with what they span."""
    found, _, _ = _walk(grammar.rhs_start, grammar.rhs, heads(grammar), *trees)
    return Spans(*(np.ascontiguousarray(column) for column in found.T))


def _rule_index(grammar: Grammar) -> dict[tuple, int]:
    """Rules by the names of their symbols as trees have them; terminals are in a tuple of their own."""
    lhs = heads(grammar)
    found: dict[tuple, int] = {}
    # A terminal -LRB- is itself before it is a bracket.
    for label, word in ((_label, escaped), (str, str)):
        for rule in range(num_rules(grammar)):
            right = [
                (word(grammar.terminals[s]),) if s >= 0 else label(grammar.nonterminals[-1 - s])
                for s in rule_symbols(grammar, rule)
            ]
            found[label(grammar.nonterminals[lhs[rule]]), *right] = rule
    return found


def escaped(name: str) -> str:
    """A symbol as trees have it."""
    return name.replace("(", "-LRB-").replace(")", "-RRB-")


def _label(nonterminal: str) -> str:
    """A nonterminal as trees have it."""
    return escaped(meant(nonterminal))


def _tree_rules(path: PathLike, number: int, tokens: list[str], grammar: Grammar, index: dict) -> list[int]:
    """The rules of one tree in preorder."""
    rules: list[int] = []
    stack: list[tuple[int, list]] = []  # of open nodes: where their rule is to stand, label and children
    done = False
    for at, token in enumerate(tokens):
        if done or (token != "(" and not stack):
            raise TreeError(path, number, f"{token!r} stands outside of the tree", "One tree a line")
        if token == "(":
            if at + 1 == len(tokens) or tokens[at + 1] in "()":
                raise TreeError(path, number, "a bracket without a label", "Write (S (A a) (B b))")
            stack.append((len(rules), []))
            rules.append(-1)
        elif token == ")":
            place, parts = stack.pop()
            rule = index.get(tuple(parts))
            if rule is None:
                spelled = " ".join(f"'{p[0]}'" if isinstance(p, tuple) else p for p in parts[1:])
                found = f"the grammar has no rule {parts[0]} -> {spelled}"
                raise TreeError(path, number, found, "Add the rule, or take another grammar")
            rules[place] = rule
            if stack:
                stack[-1][1].append(parts[0])
            done = not stack
        else:
            node = stack[-1][1]
            node.append((token,) if node else token)
            start = grammar.nonterminals[0]
            if len(node) == 1 and len(stack) == 1 and token not in (start, _label(start)):
                found = f"the root is {token}, the start symbol {_label(start)}"
                raise TreeError(path, number, found, "Name the start symbol with a line %start")
    if stack:
        raise TreeError(
            path, number, f"{counted(len(stack), 'bracket is', 'brackets are')} not closed", "One tree a line"
        )
    return rules


@kernel
def _walk(rhs_start, rhs, lhs, tree_start, rules):
    """Label and span of every node, and the words of every tree."""
    nodes = np.empty((len(rules), 4), dtype=np.int32)
    size = 0
    for rule in rules:
        size += rhs_start[rule + 1] - rhs_start[rule]
    words = np.empty(size, dtype=np.int32)
    starts = np.zeros(len(tree_start), dtype=np.int64)
    num_words = 0
    stack = np.empty((len(rules) + 1, 2), dtype=np.int64)  # open nodes, and the next symbol of their rules
    for tree in range(len(tree_start) - 1):
        first_word = num_words
        following, depth = tree_start[tree], 0
        while following < tree_start[tree + 1] or depth > 0:
            if depth == 0:
                child = -1 - lhs[rules[following]]
            else:
                node, at = stack[depth - 1, 0], stack[depth - 1, 1]
                if at == rhs_start[rules[node] + 1]:
                    nodes[node, 3] = num_words - first_word
                    depth -= 1
                    if depth == 0:
                        break
                    continue
                child = rhs[at]
                stack[depth - 1, 1] += 1
            if child >= 0:
                words[num_words] = child
                num_words += 1
                continue
            nodes[following, 0], nodes[following, 1] = tree, lhs[rules[following]]
            nodes[following, 2] = num_words - first_word
            stack[depth, 0], stack[depth, 1] = following, rhs_start[rules[following]]
            depth += 1
            following += 1
        starts[tree + 1] = num_words
    return nodes, words[:num_words].copy(), starts
