"""Messages and pages count as people do: `1 line`, not `1 lines`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.test_layering import module_files

NOUNS = """
brackets chains columns components constraints edges fields files iterations kernels languages lines links
nonterminals pairs phrases productions rounds rules samples sentences sweeps tags tokens trees tunings words
workers
"""

# Where the number cannot be 1, what follows is no number of things, or a file's format wants it so.
EXCEPTIONS = """
decoder.commands._progress: words are in no rule
decoder.commands.tune: words are in no rule
decoder.grammar.file: nonterminals, which is more than
decoder.grammar.soundness: nonterminals
decoder.system.verification: files, their digests
monolingual.dmv.commands: tags
monolingual.dmv.simulation: sentences in a row
monolingual.dmv.simulation: words
monolingual.dmv.treebank: words have the head 0
monolingual.ot.commands.compare: tokens no chance
monolingual.ot.praat: constraints
monolingual.ot.praat: pairs
monolingual.ot.typology: languages
monolingual.ot.validation: tokens are too many
monolingual.pcfg.prefixes: rules; look for fewer words
monolingual.pcfg.prefixes: words has more than
monolingual.pcfg.scores: trees
monolingual.pcfg.scores: words
monolingual.pcfg.simulate: rules: the expected size of trees
monolingual.tsg.packed: words
monolingual.tsg.run: trees
monolingual.tsg.settings: sweeps, --burn-in after
scfg_sampler.commands.filter: different words
scfg_sampler.commands.forest: edges, which take about
scfg_sampler.core.arrays.vocabulary: words)
scfg_sampler.core.forests.semiring: edges
scfg_sampler.corpus.sanity: pairs
scfg_sampler.explore.pairs: words; at most
scfg_sampler.explore.questions: words; at most
scfg_sampler.explore.translation: words or pieces of words
scfg_sampler.forest.explicit: words, more than
scfg_sampler.formats.moses: pairs a nonterminal twice
scfg_sampler.formats.words: target words are spelled
scfg_sampler.learner.forest_bank: words
scfg_sampler.learner.grammar: chains were done
scfg_sampler.plugs.plug: target words, and
scfg_sampler.report.pairs: source words (--max-cut-span)
scfg_sampler.report.translations: tunings
"""


def uncounted(source: str) -> Iterator[str]:
    """What stands behind a number in an f-string, and is right of several things alone."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for number, text in zip(node.values, node.values[1:], strict=False):
            if isinstance(number, ast.FormattedValue) and isinstance(text, ast.Constant):
                found = re.match(r" (((?:different|more|source|target) )?(\w+)\b.*)", str(text.value))
                if found and found[3] in NOUNS.split():
                    yield found[1]


def test_whatever_is_counted_is_counted_as_people_do(root):
    """By `counted`, that is, unless it is an exception."""
    exceptions = EXCEPTIONS.strip().splitlines()
    found = [
        f"{module}: {text}"
        for module, path in module_files(root).items()
        for text in uncounted(path.read_text(encoding="utf-8"))
    ]
    complaints = [text for text in found if not text.startswith(tuple(exceptions))]
    assert complaints == [], "see core/wording.py"
    assert [each for each in exceptions if not any(text.startswith(each) for text in found)] == []


def test_a_number_of_several_is_noticed():
    assert list(uncounted('say(f"{n} lines read")')) == ["lines read"]
    assert list(uncounted('say(f"{n:,} source words")')) == ["source words"]
    assert list(uncounted("say(f\"{counted(n, 'line')} read, {name} is there\")")) == []
