"""`pcfg induce`: the grammar of a treebank."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from monolingual.tsg.markov import BINARISE
from monolingual.tsg.preparation import Preparation
from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

if TYPE_CHECKING:
    from monolingual.tsg.trees import Tree

__all__ = ["add_parser", "count_rules", "run"]

_Rule = tuple[str, tuple[tuple[str, bool], ...]]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "induce",
        help="the grammar of a treebank",
        description="Read off the rules of a treebank, with their relative frequencies as probabilities: the "
        "maximum-likelihood PCFG, which is always tight. Labels that NLTK's format cannot hold, such as '', "
        "are written as %27%27 in the grammar; trees have them as they are. Trees are cleaned as 'tsg train' "
        "does, and their labels may name siblings and ancestors.",
        epilog="examples:\n  scfg-monolingual pcfg induce train.mrg --output grammar.txt\n"
        "  scfg-monolingual pcfg induce train.mrg --tags-only --binarise head \\\n"
        "    --horizontal 1 --vertical 2 --output grammar.txt",
    )
    plain = Preparation(binarise="none", unknown="none")
    parser.add_argument("trees", metavar="TREES", help="bracketed trees; .gz is read, - is standard input")
    parser.add_argument("--output", metavar="GRAMMAR", default="-", help="the grammar")
    parser.add_argument("--format", choices=("nltk", "johnson"), default="nltk", help="of the grammar")
    parser.add_argument(
        "--tags-only", dest="tags", action="store_true", help="preterminals are the terminals, without words"
    )
    parser.add_argument("--rare", metavar="N", type=int, help="words seen at most N times become signatures")
    parser.add_argument("--binarise", choices=BINARISE, default=plain.binarise, help="see 'tsg train'")
    parser.add_argument(
        "--horizontal", metavar="N", type=int, default=plain.horizontal, help="siblings that labels name"
    )
    parser.add_argument(
        "--vertical", metavar="N", type=int, default=plain.vertical, help="labels upwards that labels name"
    )
    parser.add_argument("--heads", metavar="FILE", default=plain.heads, help="rules for --binarise head")
    parser.add_argument(
        "--keep-annotation", action="store_true", help="leave empty elements, function tags and indices"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Count, and write."""
    import numpy as np

    from monolingual.pcfg.grammar import build_grammar, families, weight_sums
    from monolingual.pcfg.grammar_text import spellable, write_grammar
    from monolingual.priors.multinomials import normalise
    from monolingual.tsg.corpus import gather
    from monolingual.tsg.settings import Sources

    _warn_of_idle(options)
    preparation = Preparation(
        binarise=options.binarise,
        horizontal=options.horizontal,
        vertical=options.vertical,
        heads=options.heads,
        unknown="none" if options.rare is None else "signature",
        rare=0 if options.rare is None else options.rare,
        keep_annotation=options.keep_annotation,
    )
    corpus, _ = gather(Sources(trees=options.trees), preparation)
    start, rules = count_rules(corpus.trees, tags=options.tags)
    if options.format == "nltk":
        start, rules = spellable(start), _spelled(rules)
    grammar, place = build_grammar(start, list(rules))
    counts = np.empty(len(rules))
    counts[place] = list(rules.values())
    write_grammar(options.output, grammar, normalise(families(grammar), counts), style=options.format)
    assert (weight_sums(grammar, counts) > 0.0).all()
    console.say(
        f"{counted(len(corpus.trees), 'tree')}, {counted(len(rules), 'rule')}, "
        f"{counted(len(grammar.nonterminals), 'nonterminal')}, "
        f"{counted(len(grammar.terminals), 'terminal')}, start symbol {start}"
    )


def _warn_of_idle(options: argparse.Namespace) -> None:
    """Warn of what was given, but does nothing beside the other options."""
    plain = Preparation()
    if options.heads != plain.heads and options.binarise != "head":
        console.warn("--heads does nothing without --binarise head")
    if options.horizontal != plain.horizontal and options.binarise == "none":
        console.warn("--horizontal does nothing without --binarise right, left or head")
    if options.rare is not None and options.tags:
        console.warn("--rare does nothing with --tags-only, which leaves out all words")


def _spelled(rules: Counter[_Rule]) -> Counter[_Rule]:
    """The rules with labels that NLTK's format can hold."""
    from monolingual.pcfg.grammar_text import spellable

    found: Counter[_Rule] = Counter()
    for (label, children), count in rules.items():
        held = tuple((name if is_word else spellable(name), is_word) for name, is_word in children)
        found[spellable(label), held] += count
    return found


def count_rules(trees: Iterable[Tree], *, tags: bool = False) -> tuple[str, Counter[_Rule]]:
    """The start symbol of a treebank and how often each rule occurs.

    Parameters
    ----------
    trees : iterable of Tree
        At least one.
    tags : bool
        Constituents over one word become terminals of the name of their label.

    Returns
    -------
    (str, Counter of (label, ((symbol, is terminal), …)))
        The roots' label if they have one in common; otherwise TOP, above those that have another, with
        underlines if there are constituents within trees that are called so.
    """
    from monolingual.pcfg.trees import TOP

    rules: Counter[_Rule] = Counter()
    roots: Counter[str] = Counter()
    within: set[str] = set()
    for tree in trees:
        roots[tree.label] += 1
        pending = [tree]
        while pending:
            node = pending.pop()
            children = [(c, True) if isinstance(c, str) else _symbol(c, tags) for c in node.children]
            rules[node.label, tuple(children)] += 1
            within.update(child for child, is_terminal in children if not is_terminal)
            pending.extend(
                child
                for child, (_, is_terminal) in zip(node.children, children, strict=True)
                if not isinstance(child, str) and not is_terminal
            )
    if len(roots) == 1:
        return next(iter(roots)), rules
    start = TOP
    while start in within:
        start += "_"
    others = {(start, ((root, False),)): n for root, n in roots.items() if root != start}
    return start, Counter(others) + rules


def _symbol(child: Tree, tags: bool) -> tuple[str, bool]:
    """What a constituent is on the right-hand side of a rule."""
    return child.label, tags and len(child.children) == 1 and isinstance(child.children[0], str)
