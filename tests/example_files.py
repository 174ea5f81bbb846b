"""Small files under the names that the examples of `--help` use, made by the programs themselves.

Of each group of commands that share names, one directory; examples are run in copies of it.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoder.cli import main as decoder
from monolingual.cli import main as monolingual
from monolingual.ot.formats import write_tableaux
from scfg_sampler.cli import main as sampler
from scfg_sampler.core.chains import driver
from tests.explore.made import WEIGHTS
from tests.monolingual.ot.examples import tableaux
from tests.monolingual.tsg.test_treebank_files import EXPORT
from tests.test_docs import ROOT

__all__ = ["MAKERS", "make_files"]

_DATA = ROOT / "data" / "novish-en"
_PAIRS = {"train": 60, "dev": 8, "test": 6}

_TREES = """(TOP (S (NP (DT the) (NN dog)) (VP (VB barks))))
(TOP (S (NP (DT a) (NN cat)) (VP (VB sees) (NP (DT the) (NN dog)))))
(TOP (S (NP (DT the) (NN cat)) (VP (VB sleeps))))
"""
_TAGS = "DT NN VB\t2 3 0\tthe dog barks\nNN VB\t2 0\tdogs bark\nNN VBD DT NN\t2 0 4 2\tdogs saw a cat\n"
_CONLLU = (
    "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\tbarked\tbark\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
    "1\tdogs\tdog\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tbarked\tbark\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
)
_FUNQL = "answer(river(loc_2(stateid('texas'))))\nanswer(capital(loc_2(stateid('utah'))))\n"
_FEATURES = "LogForward=-1 LanguageModel=-1 Glue=0 PassThrough=0 ExpressionModel=-1 SymbolLexicon=1"
_QUESTIONS = "which rivers are in texas\nwhat is the capital of utah\n"


def _run(main: Callable[[list[str]], int], line: str) -> None:
    """A command in the present directory; it must succeed."""
    assert main([*line.split(), "--quiet"]) == 0, line


def _texts(folder: Path) -> None:
    """The bundled corpus, some of it: training, development and test sets, raw pairs, alignments."""
    for part, pairs in _PAIRS.items():
        for name, as_named in (("novish", "de"), ("en", "en"), ("novish-en.gold", "align")):
            lines = gzip.decompress((_DATA / f"{part}.{name}.gz").read_bytes()).decode().splitlines()[:pairs]
            (folder / f"{part}.{as_named}").write_text("".join(f"{line}\n" for line in lines))
    for copy in ("train.fwd", "train.rev"):
        shutil.copy(folder / "train.align", folder / copy)
    raw = {}
    for name, as_named in (("novish", "de"), ("en", "en")):
        raw[as_named] = (
            gzip.decompress((_DATA / "raw" / f"{name}.gz").read_bytes()).decode().splitlines()[:600]
        )
        (folder / f"corpus.{as_named}").write_text("".join(f"{line}\n" for line in raw[as_named]))
    pairs = list(zip(raw["de"], raw["en"], strict=True))
    (folder / "pairs.tsv").write_text("".join(f"{en}\t{de}\n" for de, en in pairs if "\t" not in de + en))
    units = "".join(
        f'<tu><tuv xml:lang="fr"><seg>mot {at} ici.</seg></tuv>'
        f'<tuv xml:lang="en"><seg>word {at} here.</seg></tuv></tu>'
        for at in range(40)
    )
    memory = f'<tmx version="1.4"><header/><body>{units}</body></tmx>'
    (folder / "memory.tmx.gz").write_bytes(gzip.compress(memory.encode()))
    for name in ("raw.de", "new.de", "raw.txt"):
        (folder / name).write_text("".join(f"{line}\n" for line in raw["de"][:3]))


def _translation(folder: Path) -> None:
    """What scfg-sampler and scfg-decoder leave: runs, tables, a language model, systems, outputs, scores."""
    _texts(folder)
    corpus = "--source train.de --target train.en --alignment train.align"
    _run(sampler, f"sample {corpus} --output run --iterations 12 --burn-in 4 --marginals")
    for number in "1234":
        shutil.copytree("run", f"run{number}")
    _run(sampler, "grammar run --output grammar.gz")
    _run(sampler, f"extract {corpus} --output hiero.gz")
    _run(decoder, "train-lm train.en --order 3 --output en.arpa")
    _run(sampler, "classes train.en --number 9 --output train.classes.en --words en.classes")
    _run(decoder, "train-lm train.classes.en --order 3 --output classes.arpa")
    (folder / "weights.json").write_text(json.dumps(WEIGHTS))
    _run(
        sampler,
        "prepare --source corpus.de --target corpus.en --segment subwords:150 --dev 9 --test 9 --output data",
    )
    for system, more in (("old/system", ""), ("new/system", ""), ("system", "--preparation data")):
        Path(system).parent.mkdir(exist_ok=True)
        given = "--grammar grammar.gz --lm en.arpa --weights weights.json"
        _run(decoder, f"bundle {given} {more} --output {system}")
    for kind in ("sampled", "hiero"):
        shutil.copytree("system", f"system-{kind}")
    shutil.copytree("old/system", "runs/fr-en/system")
    shutil.copytree("run", "runs/quickstart/sample")
    shutil.copytree("new/system", "runs/quickstart/system")
    given = "--system new/system --input test.de"
    _run(decoder, f"translate {given} --derivations derivations.jsonl --output out.en")
    for copy in ("old.en", "other.en", *(f"{age}-{k}.en" for age in ("new", "old") for k in "123")):
        shutil.copy("out.en", copy)
    shutil.copy("train.en", "translations.words")
    for name in ("sampled", "hiero"):
        (folder / f"{name}.json").write_text(
            json.dumps({"bleu": {"name": "BLEU", "score": 20.0, "signature": "s"}})
        )
    for number, name in enumerate(("ours", "hiero", "run1", "run2", "run3", "raw1", "raw2")):
        lines = f"0 ||| the man ||| F=1 ||| -1\n0 ||| man {number} ||| F=1 ||| -2\n"
        (folder / f"{name}.list").write_text(lines)
    (folder / "joshua.config").write_text("tm_glue_0 1.0\nlm_0 0.5\nPhraseModel_LogForward 0.25\n")


def _expressions(folder: Path) -> None:
    """Questions and what they mean."""
    (folder / "train.funql").write_text(_FUNQL)
    (folder / "train.en").write_text(_QUESTIONS)
    (folder / "phrases.en").write_text("texas\n")
    (folder / "phrases.funql").write_text("stateid('texas')\n")
    for name in ("train", "phrases"):
        _run(decoder, f"linearise {name}.funql --output {name}.mr")
    shutil.copy("train.mr", "out.mr")
    shutil.copy("train.en", "test.en")
    trees = (folder / "train.mr").read_text().splitlines()
    for part in range(1, 6):
        _write_lists(folder / f"part.{part}", trees, len(trees[part - 1 :: 5]))
    for name in ("test.list", "hiero.list"):
        _write_lists(folder / name, trees, len(trees))
    given = "--source train.en --target train.mr"
    _run(decoder, f"train-expressions {given} --output model.json")
    _run(
        decoder,
        f"train-ranker {given} --expressions model.json --lists {' '.join(f'part.{k}' for k in range(1, 6))} "
        "--output ranker.json",
    )
    rules = [("which", "answer@1"), ("texas", "stateid@1 'texas'@0"), ("river X1", "river@1 loc_2@1 X1")]
    lines = [f"[X] ||| {f} ||| {e} ||| LogForward=-1 ||| \n".replace("X1", "[X,1]") for f, e in rules]
    (folder / "typed.gz").write_bytes(gzip.compress("".join(lines).encode()))
    features = ("LogForward", "LanguageModel", "Glue", "PassThrough", "ExpressionModel", "SymbolLexicon")
    (folder / "w.json").write_text(json.dumps(dict.fromkeys(features, 0.5)))
    _run(decoder, "train-lm train.mr --order 2 --output lm.arpa")
    shutil.copy("train.en", "questions.txt")
    given = "--grammar typed.gz --lm lm.arpa --weights w.json --expressions model.json --letters 5"
    _run(decoder, f"bundle-parser {given} --ranker ranker.json --output parser")


def _write_lists(path: Path, trees: list[str], number: int) -> None:
    """The same list of expressions for each of so many sentences."""
    lines = [f"{at} ||| {tree} ||| {_FEATURES} ||| 0\n" for at in range(number) for tree in trees]
    path.write_text("".join(lines))


def _dmv(folder: Path) -> None:
    """Dependency trees, and models."""
    for name in ("train", "dev", "test", "parsed"):
        (folder / f"{name}.conllu").write_text(_CONLLU)
    (folder / "tags.txt").write_text(_TAGS)
    given = "--method vb-em-logistic-normal --covariance families --rounds 3"
    (folder / "vbd.txt").write_text("DT NN VBD\t2 3 0\tthe dog barked\n" + _TAGS)
    _run(
        monolingual,
        f"dmv train vbd.txt {given} --output model.txt --covariances model.npz --trace rounds.tsv",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "run_chain", _stopped(driver.run_chain))
        arguments = "dmv train tags.txt --output model.txt --overwrite --quiet"
        assert monolingual(arguments.split()) == 130


def _stopped(run_chain: Callable[..., Any]) -> Callable[..., Any]:
    """Chains whose user presses Ctrl-C after two sweeps."""

    def stopped(*arguments: Any, **options: Any) -> Any:
        chain = run_chain(*arguments, **options)
        for done, sweep in enumerate(chain, start=1):
            yield sweep
            if done == 2:
                chain.close()
                raise KeyboardInterrupt

    return stopped


def _ot(folder: Path) -> None:
    """Tableaux, grammars and what was heard."""
    rows = (("uba", "ubita", 10, "0101"), ("uba", "ubasita", 2, "1000"), ("mar", "mari", 5, "0010"))
    example = tableaux("DEP-IO MAX-IO ALIGN IDENT", *rows, ("mar", "mar", 5, "0001"))
    write_tableaux(example, folder / "tableaux.tsv")
    _run(monolingual, "ot sample tableaux.tsv --output run --iterations 40 --chains 2 --pilot 8")
    _run(monolingual, "ot fit tableaux.tsv --output ml --restarts 2")
    _run(monolingual, "ot gla tableaux.tsv --seeds 2 --trials 400 --output gla")
    _run(monolingual, "ot maxent tableaux.tsv --output maxent")
    _run(monolingual, f"ot maxent tableaux.tsv --without {example.constraints[0]} --output smaller")
    given = "--output-pairs heard.PairDistribution --values gla"
    _run(monolingual, f"ot convert tableaux.tsv --to praat --output learnt.OTGrammar {given}")


def _pcfg(folder: Path) -> None:
    """A grammar that is not tight, sentences and trees of it; a treebank."""
    (folder / "grammar.txt").write_text("S -> S S [0.6] | 'a' [0.4]\n")
    (folder / "text.txt").write_text("a a a a a\na a a a\na\n")
    four = "(S (S a) (S (S a) (S (S a) (S a))))"
    (folder / "trees.txt").write_text(f"(S (S a) {four})\n{four}\n(S a)\n")
    (folder / "train.mrg").write_text(_TREES)
    (folder / "train.len10.tagdep.gz").write_bytes(gzip.compress(_TAGS.encode()))
    given = "--sentences text.txt --prior 0.1 --iterations 10 --gold trees.txt --chains 3"
    for approach, name in (("only-tight", "run"), ("only-tight", "run.tight"), ("sink", "run.sink")):
        _run(monolingual, f"pcfg sample grammar.txt {given} --approach {approach} --output {name}")


def _tsg(folder: Path) -> None:
    """Treebanks, a run, sentences."""
    for name in ("trees.mrg", "toy.mrg", "gold.mrg", "parsed.mrg"):
        (folder / name).write_text(_TREES)
    (folder / "negra.export").write_text(EXPORT, encoding="utf-8")
    (folder / "sentences.txt").write_text("the dog sleeps\na cat sees the dog\n")
    (folder / "tags.txt").write_text("A B C\nA C\nB B\n")
    _run(monolingual, "tsg train trees.mrg --output run --iterations 20 --concentration 1 --stop 0.95")
    for number in "123":
        shutil.copytree("run", f"seed{number}")


MAKERS = {
    "translation": _translation,
    "expressions": _expressions,
    "dmv": _dmv,
    "ot": _ot,
    "pcfg": _pcfg,
    "tsg": _tsg,
}


def make_files(group: str, folder: Path) -> Path:
    """A directory with the files of a group; the present directory is that one meanwhile."""
    import contextlib

    folder.mkdir()
    with contextlib.chdir(folder):
        MAKERS[group](folder)
    return folder
