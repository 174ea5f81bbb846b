"""`pcfg dependencies`: a dependency treebank as a PCFG, sentences and gold brackets."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console
from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "dependencies",
        help="write a dependency grammar over tags as a PCFG, with sentences and gold brackets",
        description="Write the dependency model with valence over the tags of a treebank as a PCFG "
        "(PREFIX.grammar), its tag sequences (PREFIX.sentences), and its trees as brackets (PREFIX.gold): "
        "each head with all its dependents. In the PCFG such constituents are the nodes with labels N_.*, in "
        "which a tag such as '' is %27%27; in trees it is itself.",
        epilog="example:\n  scfg-monolingual pcfg dependencies train.len10.tagdep.gz --output train\n"
        "  scfg-monolingual pcfg sample train.grammar --sentences train.sentences --prior 0.1 \\\n"
        "    --gold train.gold --bracket-labels 'N_.*' --output run",
    )
    parser.add_argument("treebank", metavar="FILE", help="tags, heads and words, separated by tabs")
    parser.add_argument("--output", metavar="PREFIX", required=True, help="beginning of the files' names")
    parser.add_argument("--max-length", metavar="N", type=int, default=10, help="leave out longer sentences")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.writes_beginning("--output", (".grammar", ".sentences", ".gold"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the three files."""
    from monolingual.pcfg.dependency_grammar import dependency_grammar, format_brackets, read_tagged
    from monolingual.pcfg.grammar_text import write_grammar
    from scfg_sampler.core.files import atomic_output
    from scfg_sampler.errors import InputError

    sentences = list(read_tagged(options.treebank, max_length=options.max_length))
    if not sentences:
        raise InputError(
            options.treebank, None, "holds no sentence that is short enough", "Raise --max-length"
        )
    grammar = dependency_grammar(tag for sentence in sentences for tag in sentence.tags)
    write_grammar(f"{options.output}.grammar", grammar)
    with atomic_output(f"{options.output}.sentences") as stream:
        stream.writelines(" ".join(sentence.tags) + "\n" for sentence in sentences)
    with atomic_output(f"{options.output}.gold") as stream:
        stream.writelines(format_brackets(sentence) + "\n" for sentence in sentences)
    rules = len(grammar.rhs_start) - 1
    console.say(
        f"{counted(len(sentences), 'sentence')}, {counted(len(grammar.terminals), 'tag')}, "
        f"{counted(rules, 'rule')}"
    )
