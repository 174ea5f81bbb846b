"""All readers of text refuse what only Python takes for a number."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from decoder.expressions.lists import read_numbered_lists
from decoder.lm.arpa import read_arpa
from decoder.translation.imported_weights import import_weights
from monolingual.dmv.model import read_model
from monolingual.dmv.treebank import read_treebank
from monolingual.ot.bias import read_bias
from monolingual.ot.formats import read_tableaux
from monolingual.ot.praat import read_grammar as read_praat
from monolingual.pcfg.dependency_grammar import read_tagged
from monolingual.pcfg.grammar_text import read_grammar
from monolingual.tsg.fragments import read_fragments
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.corpus.parallel_text import read_alignment
from scfg_sampler.errors import InputError
from scfg_sampler.rules.lexical import read_lexical
from scfg_sampler.rules.table import read_rule_table


class Reader(NamedTuple):
    """A reader, and a text in which @ stands where `number` may stand."""

    read: Any
    text: str
    number: str


def lexical(path):
    for side in ("f2e", "e2f"):
        path.with_name(f"lex.{side}").write_bytes(path.read_bytes())
    return read_lexical(path.with_name("lex"), Vocabulary(["a"]), Vocabulary(["b"]))


ARPA = (
    "\\data\\\nngram 1=5\nngram 2={}\n\n"
    "\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.5\n{}\t</s>\n-0.5\ta\t{}\n-0.5\tb\n\n"
    "\\2-grams:\n-0.25\t<s> a\n{}\ta b\n\n\\end\\\n"
)
PRAAT = '"ooTextFile"\n"OTGrammar 1"\n<OptimalityTheory>\n{}\n"A" {} 6\n0\n1\n"x" {}\n"a" {}\n'
CONLL = "{}\ta\ta\tN\tN\t_\t{}\t_\t_\t_\n{}\tb\tb\tV\tV\t_\t{}\t_\t_\t_\n"


def places(read, template: str, *numbers: str) -> list[Reader]:
    """One reader for each {} of a text."""
    readers = []
    for k, number in enumerate(numbers):
        shown = [*numbers[:k], "@", *numbers[k + 1 :]]
        readers.append(Reader(read, template.format(*shown), number))
    return readers


READERS = {
    "alignment": places(read_alignment, "0-{} {}-1\n", "1", "0"),
    "rule table": places(read_rule_table, "[X] ||| a ||| A ||| LogForward={} ||| 0-{}\n", "1", "0"),
    "lexical": places(lexical, "a b {}\n", "1"),
    "trace": places(read_trace, "sweep\tlog_joint\n{}\t{}\n", "0", "1"),
    "arpa": places(read_arpa, ARPA, "2", "-1", "-1", "-1"),
    "heads": places(lambda path: list(read_treebank(path)), "N V\t{} {}\n", "2", "0"),
    "conll": places(lambda path: list(read_treebank(path)), CONLL, "1", "2", "2", "0"),
    "tagged": places(lambda path: list(read_tagged(path)), "N V\t{} {}\ta b\n", "2", "0"),
    "dmv": places(read_model, "root N {}\n", "1"),
    "fragments": places(read_fragments, "{}\t(S a)\n", "1"),
    "tableaux": places(read_tableaux, "input\toutput\tfrequency\tA\nx\ta\t{}\t{}\n", "1", "2"),
    "praat": places(read_praat, PRAAT, "1", "5", "1", "2"),
    "jdageem": places(read_model, "root N : {}\n", "-1"),
    "bias": places(lambda path: read_bias(path, ["A"]), "A\t{}\t{}\n", "0", "1"),
    "expressions": places(read_numbered_lists, "{} ||| a@0 ||| A={} ||| 0\n", "1", "2"),
    "weights of cdec": places(lambda path: import_weights(path, "cdec"), "A {}\n", "1"),
    "weights of joshua": places(lambda path: import_weights(path, "joshua"), "A {}\n", "1"),
    "weights of moses": places(lambda path: import_weights(path, "moses"), "[weight]\nA= 1 {}\n", "1"),
    "weights of travatar": places(
        lambda path: import_weights(path, "travatar"), "[weight_vals]\nA={}\n", "1"
    ),
    "grammar": places(read_grammar, "S -> S S [{}] | 'a' [{}]\n", "0.5", "0.5"),
}
EACH = [(f"{name} {k}", reader) for name, readers in READERS.items() for k, reader in enumerate(readers)]


def write(tmp_path, text: str):
    path = tmp_path / "text"
    path.write_text(text, encoding="utf-8")
    return path


EVERY = pytest.mark.parametrize("reader", [reader for _, reader in EACH], ids=[name for name, _ in EACH])


@EVERY
@pytest.mark.parametrize("foreign", ["{}_0", "{}\N{ARABIC-INDIC DIGIT ZERO}", "\N{FULLWIDTH DIGIT ONE}"])
def test_numbers_are_those_of_every_program(tmp_path, reader, foreign):
    reader.read(write(tmp_path, reader.text.replace("@", reader.number)))
    wrong = foreign.format(reader.number)
    assert float(wrong) is not None  # Python reads it.
    with pytest.raises(InputError):
        reader.read(write(tmp_path, reader.text.replace("@", wrong)))
