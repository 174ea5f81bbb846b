"""The readers of the project, each with files that it reads.

A reader is a function of a path; what it may raise is a `ScfgError`. Its seeds are the bytes that mutations
begin with. The fact a newcomer would get wrong: a reader that gives an iterator has read nothing yet.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["READERS", "Reader"]


class Reader(NamedTuple):
    """A function that reads a file, and contents that can be read."""

    read: Callable[[Path], Any]
    seeds: tuple[bytes, ...]


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
_DMV = (
    b"root NN 1\n"
    + b"".join(
        f"stop NN {side} {near} {p}\n".encode()
        for side in ("left", "right")
        for near, p in (("adjacent", 0.5), ("nonadjacent", 1))
    )
    + b"child NN left NN 1\nchild NN right NN 1\n"
)
_JDAGEEM = (
    b"root NN : -0.1\nleftattach NN <- NN : -0.5\nrightattach NN -> NN : 0\nleftstop NN nochild : -1e-1\n"
)
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


def _tsg(path: Path) -> Any:
    """A run directory: its files follow each other after lines of their own."""
    from monolingual.tsg.run import read_grammar

    parts = path.read_bytes().split(b"\n---\n")
    names = ("grammar.tsg.gz", "pcfg.tsg.gz", "parameters.tsv", "run.json")
    for name, part in zip(names, parts + [b""] * 4, strict=False):
        (path.parent / name).write_bytes(gzip.compress(part) if name.endswith(".gz") else part)
    from monolingual.tsg.grammar import flatten, fragment_weights

    learnt = read_grammar(path.parent)
    trees, weights = fragment_weights(
        learnt.fragments,
        learnt.productions,
        str(learnt.settings.get("base", "pcfg")),
        learnt.concentration,
        learnt.stop,
    )
    return flatten(trees, weights)


def _checkpoint() -> bytes:
    out = io.BytesIO()
    np.savez(out, header=np.array(json.dumps({"settings": {}})), values=np.arange(5))
    return out.getvalue()


def _compiled_lm() -> bytes:
    from decoder.lm.arpa import read_arpa
    from decoder.lm.model import build_lm
    from decoder.lm.table import write_lm_file

    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "arpa").write_bytes(_ARPA)
        model = read_arpa(Path(place) / "arpa")
        write_lm_file(build_lm(model), model.words, Path(place) / "lm")
        return (Path(place) / "lm").read_bytes()


_TSG = b"2\t(S (NP (D the) (N )) (VP ))\n1\t(N cat)\n---\n" + (
    b"1\t(S (NP ) (VP ))\n1\t(NP (D ) (N ))\n1\t(D the)\n1\t(N cat)\n---\nlabel\tconcentration\tstop\n"
    b"S\t1\t0.5\nNP\t1\t0.5\nVP\t1\t0.5\nD\t1\t0.5\nN\t1\t0.5\n---\n"
    b'{"version": "0.2.0", "preparation": {}, "settings": {"base": "pcfg"}, "roots": ["S"], "finished": true}'
)

_CORE, _TSG_ROOM, _OT_ROOM = "scfg_sampler.core.chains", "monolingual.tsg", "monolingual.ot"
_TRACE = b"sweep\tlog_joint\n0\t-1.5\n1\t-1\n"
_FRAGMENTS = b"2\t(S (NP ) (VP (V runs)))\n"
_PCFG = b"S -> S S [0.6]\nS -> 'a' [0.4]\n"
_TAGGED = b"DT NN VBZ\t2 3 0\tthe dog barks\n"
_READ = {
    "corpus": (_pairs, b"a b\nc\n---\n0-0 1-1\n0-0\n", "ä ß\n\n---\n1-0\n\n".encode()),
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
    "checkpoint": (_named(f"{_CORE}.checkpoint", "read_checkpoint_header"), _checkpoint()),
    "tsg-trees": (_named(f"{_TSG_ROOM}.trees", "read_trees"), _TREES),
    "tsg-fragments": (_named(f"{_TSG_ROOM}.fragments", "read_fragments"), _FRAGMENTS),
    "tsg-forests": (_named(f"{_TSG_ROOM}.annotation", "read_forests"), _TREES),
    "tsg-run": (_tsg, _TSG),
    "dmv-treebank": (_named("monolingual.dmv.treebank", "read_treebank"), _CONLLU, _TAGGED),
    "dmv-model": (_named("monolingual.dmv.model", "read_model"), _DMV, _JDAGEEM),
    "dmv-families": (_named("monolingual.dmv.tag_families", "read_families"), b"NN\tnoun\nVB\tverb\n"),
    "ot": (_named(f"{_OT_ROOM}.formats", "read_tableaux"), _OT, _OTSOFT, _PRAAT, _OTCSV),
    "ot-grammar": (_named(f"{_OT_ROOM}.praat", "read_grammar"), _PRAAT, _PRAAT.decode().encode("utf-16")),
    "pcfg": (_named("monolingual.pcfg.grammar_text", "read_grammar"), _PCFG, b"0.5 S --> a b\n"),
}
READERS = {name: Reader(read, tuple(seeds)) for name, (read, *seeds) in _READ.items()}
