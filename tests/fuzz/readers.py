"""The readers of the project, each with files that it reads.

A reader is a function of a path; what it may raise is a `ScfgError`. Its seeds are the bytes that mutations
begin with. The fact a newcomer would get wrong: a reader that gives an iterator has read nothing yet.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.made_readers import MADE

__all__ = ["READERS", "Reader"]


class Reader:
    """A function that reads a file, and contents that can be read, made when they are first asked for."""

    def __init__(
        self, read: Callable[[Path], Any], seeds: tuple[bytes, ...] | Callable[[], tuple[bytes, ...]]
    ):
        self.read, self._seeds = read, seeds

    @functools.cached_property
    def seeds(self) -> tuple[bytes, ...]:
        return self._seeds() if callable(self._seeds) else self._seeds

    def warm(self) -> tuple[bytes, ...]:
        """The seeds, each of them read, so that nothing is compiled or imported any more. All can be read."""
        for seed in self.seeds:
            with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
                (Path(place) / "input").write_bytes(seed)
                self.read(Path(place) / "input")
        return self.seeds


_RULES = b"""# scfg-sampler 0.2.0|model:hiero
[X] ||| a ||| b ||| LogForward=-0.5 LogCount=1.1 TargetWords=1 ||| 0-0
[X] ||| [X,1] c [X,2] ||| [X,2] d\\u0020x [X,1] ||| LogForward=-1e-3 Sparse_c=1 ||| 1-1
"""
_JOSHUA = (
    b"[X] ||| a [X,1] ||| b [X,1] ||| 0.5 0.25 1 2 0.3 1 0 ||| 0-0\n"
    b"[X] ||| a ||| b ||| count=2 rarity=0.5 p=1\n"
)
_MOSES = b"a [X][X] b [X] ||| c [X][X] [X] ||| 0.5 0.25 1 0.125 ||| 0-0 1-1 ||| 4 2 1 ||| s 1 |||\n"
_TRAVATAR = b'"a" x0:X @ X ||| x0:X "b" @ X ||| p=1 egfp=-0.5 ||| 2 3 4 ||| 0-0\n'
_ARPA = b"""\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1\t<unk>
-99\t<s>\t-0.3
-0.7\t</s>
-0.5\ta\t-0.2

\\2-grams:
-0.3\t<s> a
-0.4\ta </s>

\\end\\
"""
_OT = b"input\toutput\tfrequency\tMax\t*Coda\npat\tpa\t60\t1\t0\npat\tpat\t40\t0\t1\n"
_OTSOFT = b"\t\t\tMax\t*Coda\n\t\t\tM\tC\npat\tpa\t60\t1\t\n\tpat\t40\t\t1\n"
_OTOVERT = b"input\toutput\tovert\tfrequency\tTr\tIa\nLL\t(S L)\tSL\t6\t0\t1\nLL\t(L S)\tLS\t4\t1\t0\n"
_OTCSV = b'Input,Output,Frequency,"Max, or so",*Coda\npat,pa,60,1,\n,pat,40,,1\n,pat,2,,1\n'
_PRAAT = b"""File type = "ooTextFile"
Object class = "OTGrammar 2"
<OptimalityTheory> 0
2 constraints
constraint [1]: "Max" 100 100 1
constraint [2]: "Coda" 90 90 1
0 fixed rankings
1 tableau
input [1]: "pat" 2
   candidate [1]: "pa" 1 0
   candidate [2]: "pat" 0 1
"""
_CONLLU = b"""# text = the dog barks
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tbarks\tbark\tVERB\tVBZ\t_\t0\troot\t_\t_

"""
_NEARLY_CHUNKS = b"-DOCSTART- -X- O\nthe DT B-NP\ncat NN\n"
_JDAGEEM = (
    b"root NN : -0.1\nleftattach NN <- NN : -0.5\nrightattach NN -> NN : 0\nleftstop NN nochild : -1e-1\n"
)
_EXPORT = b"""#FORMAT 4
#BOS 1 0 0 0
Es\tes\tPPER\t--\tSB\t500
geht\tgehen\tVVFIN\t--\tHD\t500
.\t.\t$.\t--\t--\t0
#500\t--\tS\t--\t--\t0
#EOS 1
"""
_TIGER = b"""<?xml version="1.0"?>
<corpus><body><s id="1"><graph root="1_9"><terminals><t id="1_1" word="a" pos="A"/>
<t id="1_2" word="b" pos="B"/></terminals><nonterminals><nt id="1_9" cat="S"><edge idref="1_1" label="HD"/>
<edge idref="1_2" label="x"/></nt>
</nonterminals></graph></s></body></corpus>
"""
_DISC = b"(S (A 0=a) (B 1=b))\n(S (X (A 1=a)) (B 0=b))\n"
_TREES = (
    b"(S (NP (D the) (N cat)) (VP (V sleeps)))\n"
    b"( (S (NP (D a) (N dog)) (VP (V sees) (NP (D the) (N cat)))) )\n"
)
_TMX = b"""<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>a <bpt i="1"/>dog</seg></tuv>
<tuv xml:lang="fr"><seg>un chien &amp; x</seg></tuv></tu>
</body></tmx>
"""


def _pairs(path: Path) -> Any:
    """The text and its alignment, which follows after a line of its own."""
    from scfg_sampler.corpus.parallel_text import read_corpus

    text, _, links = path.read_bytes().partition(b"\n---\n")
    (path.parent / "text").write_bytes(text)
    (path.parent / "links").write_bytes(links)
    return read_corpus(path.parent / "text", path.parent / "text", path.parent / "links")


def _table(file_format: str | None) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        from scfg_sampler.formats.conversion import read_table

        return read_table(path, file_format)

    return read


def _named(module: str, function: str, *arguments: Any) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        import importlib

        found = getattr(importlib.import_module(module), function)(path, *arguments)
        return list(found) if hasattr(found, "__next__") else found

    return read


def _checkpoint() -> bytes:
    from scfg_sampler.core.chains.checkpoint import Checkpoint, save_checkpoint

    with tempfile.TemporaryDirectory() as place:
        rng = np.random.default_rng(1)
        save_checkpoint(Path(place) / "c", Checkpoint(_State(np.arange(5), 1.5), rng, 3, {"seed": 1}))
        return (Path(place) / "c").read_bytes()


class _State(NamedTuple):
    values: np.ndarray
    number: float


def _compiled_lm() -> bytes:
    from decoder.lm.arpa import read_arpa
    from decoder.lm.model import build_lm
    from decoder.lm.table import write_lm_file
    from decoder.lm.vocabulary import LmVocabulary

    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "arpa").write_bytes(_ARPA)
        model = read_arpa(Path(place) / "arpa")
        write_lm_file(build_lm(model), LmVocabulary(model.words), Path(place) / "lm")
        return (Path(place) / "lm").read_bytes()


_CORE, _TSG_ROOM, _OT_ROOM = "scfg_sampler.core.chains", "monolingual.tsg", "monolingual.ot"
_TRACE = b"sweep\tlog_joint\n0\t-1.5\n1\t-1\n"
_FORESTS = b"S#1 -> A#2 B#3\nA#2 -> a\nB#3 -> b\nS#1 -> B#4 B#3\nB#4 -> a\n\nS#1 -> x\n"
_FRAGMENTS = b"2\t(S (NP ) (VP (V runs)))\n"
_NBEST = b"0 ||| (S (A a) (B b))\n0 ||| (S (B a) (B b))\n1 ||| (S (A b))\n"
_PCFG = b"S -> S S [0.6]\nS -> 'a' [0.4]\n"
_TAGGED = b"DT NN VBZ\t2 3 0\tthe dog barks\n"
_JOSHUA_CONFIG = (
    b"feature-function = LanguageModel -lm_order 3 -lm_file lm.gz\nlm_0 1.0\ntm_pt_0 0.5\nWordPenalty -2.8\n"
)
_MOSES_INI = b"""[feature]
KENLM name=LM0 factor=0 path=lm order=3
WordPenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=rules input-factor=0 output-factor=0
[weight]
LM0= 0.5
WordPenalty0= -1
TranslationModel0= 0.2 0.2 0.2 0.2
"""
_TRAVATAR_INI = b"[tm_file]\nrules\n\n[lm_file]\nlm.arpa\n\n[weight_vals]\nlm=0.3\nword=-1\np=0.5\negfp=1\n"


def _lexical(path: Path) -> Any:
    from scfg_sampler.core.arrays.vocabulary import Vocabulary
    from scfg_sampler.rules.lexical import read_lexical

    for side in ("f2e", "e2f"):
        (path.parent / f"lex.{side}").write_bytes(path.read_bytes())
    return read_lexical(path.parent / "lex", Vocabulary(), Vocabulary())


def _marked(path: Path) -> Any:
    from decoder.translation.markup import read_marked
    from scfg_sampler.core.files import read_lines

    return sum(len(read_marked(line, path, number).words) for number, line in enumerate(read_lines(path), 1))


def _expressions(form: str) -> Callable[[Path], Any]:
    """As `linearise` does, there and back."""

    def read(path: Path) -> Any:
        from decoder.expressions.forms import from_linear, parse, to_linear, write
        from scfg_sampler.core.files import read_lines

        for number, line in enumerate(read_lines(path), start=1):
            from_linear(line.split())
            if line.strip():
                found = from_linear(to_linear(parse(line, form, path, number)))
                if found is not None:
                    write(found, form)
        return path

    return read


def _labels(form: str) -> Callable[[Path], Any]:
    """Labels of the spans of two sentences, of two words and of three."""

    def read(path: Path) -> Any:
        from scfg_sampler.corpus.parallel_text import parse_corpus
        from scfg_sampler.corpus.span_labels import read_span_labels

        corpus = parse_corpus(["a b", "a b c"], ["a", "a"], ["0-0", "0-0"])
        return read_span_labels(path, corpus, side="source", form=form, longest=10)

    return read


def _filtered(path: Path) -> Any:
    """The rules of a table for a text; a file for each sentence and the best targets only."""
    from scfg_sampler.rules.text_filter import filter_table

    (path.parent / "text").write_text("a b\nb c\n")
    filter_table(path, source=path.parent / "text", output=path.parent / "some")
    return filter_table(path, source=path.parent / "text", per_sentence=path.parent / "each", max_targets=1)


def _rounds(path: Path) -> Any:
    """A table of rounds, and what a report says of it."""
    from scfg_sampler.report.translations import read_rounds, tell_tuning

    return tell_tuning({"a": read_rounds(path)})


def _record(path: Path) -> Any:
    from scfg_sampler.rules.record import read_signature, require_record_place

    (path.parent / "table.json").write_bytes(path.read_bytes())
    require_record_place(path.parent / "table")
    return read_signature(path.parent / "table")


def _pcfg_data(function: str) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        from monolingual.pcfg import trees
        from monolingual.pcfg.grammar_text import read_grammar

        (path.parent / "grammar").write_bytes(_PCFG)
        return getattr(trees, function)(path, read_grammar(path.parent / "grammar").grammar)

    return read


_UNKNOWN = ("S", "NP"), ("D", "N"), "TOP", 40


def _stored(module: str, function: str, kept_as: str, *arguments: Any) -> Callable[[Path], Any]:
    """What a run of `tsg train` keeps of a file."""

    def read(path: Path) -> Any:
        import importlib

        from monolingual.tsg import stored

        found = getattr(importlib.import_module(f"{_TSG_ROOM}.{module}"), function)(path, *arguments)
        return getattr(stored, kept_as)(item for item, _ in found)

    return read


_READ = {
    "corpus": (_pairs, b"a b\nc\n---\n0-0 1-1\n0-0\n", "ä ß\n\n\n---\n1-0\n\n".encode()),
    "native": (_named("scfg_sampler.rules.table", "read_rule_table"), _RULES, gzip.compress(_RULES)),
    "any-table": (_table(None), _RULES, _JOSHUA, _MOSES, _TRAVATAR),
    "cdec": (_table("cdec"), _RULES, _JOSHUA),
    "joshua": (_table("joshua"), _JOSHUA),
    "moses": (_table("moses"), _MOSES),
    "travatar": (_table("travatar"), _TRAVATAR),
    "arpa": (_named("decoder.lm.arpa", "read_arpa"), _ARPA),
    "lm": (_named("decoder.lm.model", "load_lm"), _ARPA, _compiled_lm()),
    "weights": (_named("decoder.translation.weights", "read_weights"), b'{"LogForward": 1.5, "Glue": -2}'),
    "tsv": (_named("scfg_sampler.preparation.readers", "read_tsv", (1, 2)), b"a b\tc d\nx\ty\n"),
    "tmx": (_named("scfg_sampler.preparation.readers", "read_tmx", ("en", "fr")), _TMX),
    "alignment": (_named("scfg_sampler.corpus.parallel_text", "read_alignment"), b"0-0 1-2\n\n3-1\n"),
    "trace": (_named(f"{_CORE}.chain", "read_trace"), _TRACE),
    "checkpoint": (_named(f"{_CORE}.checkpoint", "load_checkpoint", _State), _checkpoint()),
    "tsg-trees": (_stored("trees", "read_trees", "StoredTrees"), _TREES, _EXPORT, _TIGER, _DISC),
    "tsg-fragments": (_named(f"{_TSG_ROOM}.fragments", "read_fragments"), _FRAGMENTS),
    "tsg-forests": (_stored("annotation", "read_forests", "StoredForests"), _FORESTS),
    "tsg-heads": (_named(f"{_TSG_ROOM}.head_rules", "read_rules"), b"PP right IN/TO VBG left NP\n* left\n"),
    "dmv-treebank": (
        _named("monolingual.dmv.treebank", "read_treebank"),
        _CONLLU,
        _TAGGED,
        _NEARLY_CHUNKS,
    ),
    "dmv-jdageem": (_named("monolingual.dmv.model", "read_model"), _JDAGEEM),
    "dmv-families": (_named("monolingual.dmv.tag_families", "read_families"), b"NN\tnoun\nVB\tverb\n"),
    "ot": (_named(f"{_OT_ROOM}.formats", "read_tableaux"), _OT, _OTSOFT, _PRAAT, _OTCSV, _OTOVERT),
    "ot-grammar": (_named(f"{_OT_ROOM}.praat", "read_grammar"), _PRAAT, _PRAAT.decode().encode("utf-16")),
    "pcfg": (_named("monolingual.pcfg.grammar_text", "read_grammar"), _PCFG, b"0.5 S --> a b\n"),
    "pcfg-trees": (_pcfg_data("read_trees"), b"(S (S a) (S a))\n( (S a) )\n"),
    "pcfg-sentences": (_pcfg_data("read_sentences"), b"a a a\n\na\n"),
    "pcfg-brackets": (_named("monolingual.pcfg.scores", "read_brackets"), _TREES),
    "pcfg-tagged": (_named("monolingual.pcfg.dependency_grammar", "read_tagged"), _TAGGED),
    "tsg-brackets": (
        _stored("annotation", "read_brackets", "StoredForests", *_UNKNOWN),
        b"(? (NP (? the) (N cat)) (? sleeps))\n",
    ),
    "tsg-sentences": (
        _stored("annotation", "read_sentences", "StoredForests", *_UNKNOWN),
        b"the cat sleeps\n",
    ),
    "tsg-nbest": (
        _stored("annotation", "read_nbest", "StoredForests", lambda tree: tree),
        b"0 ||| (S (A a) (B b))\n0 ||| (S (B a) (B b))\n1 ||| (S (A b))\n",
    ),
    "raw-text": (_named("scfg_sampler.corpus.parallel_text", "read_text"), "a b\nç d\n".encode()),
    "lexical": (_lexical, b"a b 0.5\nNULL b 1e-3\nc \\u0020 1\n"),
    "table-record": (_record, b'{"signature": "scfg-sampler 0.2.0|model:hiero", "format": "moses"}'),
    "expressions-funql": (_expressions("funql"), b"a(b, c(loc_2('new york')), 3)\n\nd\n"),
    "expressions-lisp": (_expressions("lisp"), b'(a b (c (loc_2 "new york")) 3)\n\nd\n'),
    "expressions-sql": (
        _expressions("sql"),
        b"SELECT a, max(b) c FROM t, (SELECT d FROM e) AS u WHERE (a = 'x' OR NOT a IN (1, 2.5)) "
        b"AND b - -3 >= 4 GROUP BY a HAVING count(*) > 1 ORDER BY a DESC LIMIT 1 "
        b"UNION SELECT b FROM t LEFT JOIN v ON a = b;\n",
    ),
    "labels-spans": (_labels("spans"), b"0-2:NP 1-2:a:b\n\n"),
    "labels-classes": (_labels("classes"), b"A B\nC D A\n"),
    "labels-trees": (_labels("trees"), b"(S (A a) (B b))\n(TOP (S (A a) (NP (B b) (C c))))\n"),
    "filter": (_filtered, _RULES),
    "rounds": (_rounds, b"round\tscore\tlength\tnew\tGlue\n1\t20.5\t0.9\t80\t-0.1\n2\t21\t1\t9\t1e-3\n"),
    "scores": (
        _named("scfg_sampler.report.translations", "read_scores"),
        b'{"bleu": {"name": "BLEU", "score": 20.1, "signature": "nrefs:1", "confidence_mean": 20.2,'
        b' "confidence_var": 1.5, "difference": -0.5, "against": 19.6, "p_value": 0.04},'
        b' "chrf": {"score": 40, "deviation": 0.5, "scores": [39, 41]}}',
    ),
    "ot-a-priori": (
        _named(f"{_OT_ROOM}.a_priori", "read_a_priori", ("Max", "*Coda"), ("M", "C")),
        b"\tMax\t*Coda\nMax\t\t1\n*Coda\t\t\n",
        b"\tM\tC\r\n\r\nC\tx\r\n",
    ),
    "bias": (_named(f"{_OT_ROOM}.bias", "read_bias", ("Max", "*Coda")), b"Max\t0\t1\n*Coda\t1.5\t1e1\n"),
    "nbest": (
        _named("decoder.translation.nbest", "read_nbest"),
        b"0 ||| a b ||| F=1 ||| -1.5\n0 ||| &#124;&#124;&#124; |||  ||| 0\n2 ||| c ||| L= 1 ||| 2e-3 ||| 0\n",
        b'0 ||| a b ||| -1.5 ||| "x"=1\n',
    ),
    "markup": (_marked, b'a <zone translation="b c">x y</zone> d\n', b"a &lt; b\n"),
    **{
        f"{name}-weights": (_named("decoder.translation.imported_weights", "import_weights", name), *seeds)
        for name, seeds in {
            "cdec": (b"LanguageModel 0.5\nGlue -1\n",),
            "joshua": (_JOSHUA_CONFIG,),
            "moses": (_MOSES_INI,),
            "travatar": (_TRAVATAR_INI,),
        }.items()
    },
}
READERS = {
    **{name: Reader(read, tuple(seeds)) for name, (read, *seeds) in _READ.items()},
    **{name: Reader(read, seeds) for name, (read, seeds) in MADE.items()},
}
