"""Readers of what the programs themselves write: runs, systems, checkpoints, tables of numbers.

Each gets one changed file among the others that belong to it, which the programs make once.

The fact a newcomer would get wrong: most of these files have digests, so that most changes are met there.
What is met when the digest is right too is asked in `tests/test_wrong_checkpoints.py` and
`tests/decoder/test_mapped_files.py`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["MADE", "MADE_BY_OTHERS", "make"]

MADE_BY_OTHERS = "SCFG_FUZZ_MADE"
"""In the environment, a directory that another process has made."""


_EXPRESSIONS = {
    "asked": ["what rivers are in texas", "how big is austin"],
    "meant": ["answer@1 river@1 stateid@1 'texas'@0", "answer@1 size@1 cityid@1 'austin'@0"],
    "list.1": [
        "0 ||| answer@1 river@1 stateid@1 'texas'@0 ||| LogForward=-1 LanguageModel=-1.5 Glue=0 ||| -1.5"
    ],
    "typed": ["[X] ||| rivers ||| river@1 ||| LogForward=-1 ||| "],
    "typed.weights": [
        '{"LogForward": 1, "LanguageModel": 1, "Glue": 0, "PassThrough": -1, "ExpressionModel": 1, '
        '"SymbolLexicon": 1}'
    ],
    "list.2": [
        "0 ||| answer@1 size@1 cityid@1 'austin'@0 ||| LogForward=-1 LanguageModel=-1.5 Glue=0 ||| -1.5"
    ],
    # What a ranker knows of words grows with words, and every value of it is changed in turn.
    "asked.little": ["be", "on"],
    "meant.little": ["river@0", "size@0"],
    "little.1": ["0 ||| river@0 ||| LogForward=-1 LanguageModel=-1.5 Glue=0 ||| -1.5"],
    "little.2": ["0 ||| size@0 ||| LogForward=-1 LanguageModel=-1.5 Glue=0 ||| -1.5"],
}
_EXPRESSION_COMMANDS = [
    ("decoder", "train-expressions --source asked --target meant --output expressions.json --quiet"),
    (
        "decoder",
        "train-ranker --source asked.little --target meant.little --expressions expressions.json "
        "--lists little.1 little.2 --output ranker.json --quiet",
    ),
    ("decoder", "train-lm meant --order 2 --output expressions.arpa --quiet"),
    (
        "decoder",
        "bundle-parser --grammar typed --lm expressions.arpa --weights typed.weights "
        "--expressions expressions.json --ranker ranker.json --output parser --quiet",
    ),
]


@functools.cache
def _made() -> Path:
    """A directory with results of all programs: one that is there, or one that goes when the process ends."""
    if MADE_BY_OTHERS in os.environ:
        return Path(os.environ[MADE_BY_OTHERS])
    place = Path(tempfile.mkdtemp(prefix="scfg-fuzz-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    make(place)
    return place


def make(place: Path) -> None:
    """Put results of all programs into an empty directory."""
    from tests.full_disks import CORPUS, prepare_more

    before = Path.cwd()
    os.chdir(place)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            prepare_more(place)
            for name, lines in _EXPRESSIONS.items():
                Path(name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            for package, options in (
                (
                    "decoder",
                    "bundle --grammar table.gz --lm lm.arpa --weights weights --output system --quiet",
                ),
                (
                    "decoder",
                    "tune --grammar table.gz --lm lm.arpa --source train.f --references train.e "
                    "--rounds 1 --threads 1 --quiet --output tuned",
                ),
                (
                    "decoder",
                    "translate --grammar table.gz --lm lm.arpa --weights weights --quiet "
                    "--input train.f --output out --derivations derivations",
                ),
                (
                    "scfg_sampler",
                    "prepare --source train.f --target train.e --output prepared --segment none "
                    "--dev 5 --test 5 --quiet",
                ),
                (
                    "monolingual",
                    "ot sample tableaux.tsv --iterations 60 --burn-in 5 --chains 1 --output run.ot --quiet",
                ),
                (
                    "monolingual",
                    "pcfg sample grammar --sentences sentences --approach sink --prior 1 "
                    "--iterations 40 --chains 1 --output run.pcfg --quiet",
                ),
                (
                    "monolingual",
                    "dmv train tags.txt --method vb-em-logistic-normal --rounds 3 --output m "
                    "--covariances covariances.npz --quiet",
                ),
                ("scfg_sampler", f"extract {CORPUS} --output table.gz"),
                *_EXPRESSION_COMMANDS,
            ):
                status = importlib.import_module(f"{package}.cli").main(options.split())
                assert status == 0, options
            _keep_share(place)
            _keep_run(place)
    finally:
        os.chdir(before)


def _keep_share(place: Path) -> None:
    """A share of an extraction, and what it is a share of."""
    from scfg_sampler.baseline.extraction import extract
    from scfg_sampler.baseline.settings import HieroSettings
    from scfg_sampler.baseline.shares import Share
    from scfg_sampler.rules.runs import LAST_KEY

    corpus = _corpus(place)
    (place / "shares").mkdir()
    _shares(place, place / "shares").write(0, Share(0, LAST_KEY), extract(corpus, HieroSettings()))


def _keep_run(place: Path) -> None:
    """A run of an extraction that counts fractions."""
    from scfg_sampler.baseline.extraction import extract_run
    from scfg_sampler.baseline.settings import HieroSettings
    from scfg_sampler.rules.runs import leading_ranks

    corpus = _corpus(place)
    rank = leading_ranks(corpus.source_vocabulary, corpus.target_vocabulary)
    sentences = 0, corpus.num_sentences
    records = extract_run(corpus, HieroSettings(counting="fractional"), sentences, rank)
    _shares(place, place / "shares").write_run(0, sentences, records)


def _corpus(place: Path) -> Any:
    from scfg_sampler.corpus.parallel_text import read_corpus

    return read_corpus(place / "train.f", place / "train.e", place / "train.a")


def _shares(place: Path, directory: Path) -> Any:
    from scfg_sampler.baseline.settings import HieroSettings
    from scfg_sampler.baseline.shares import KeptShares

    return KeptShares(directory, _corpus(place), HieroSettings())


def _read_share(directory: Path) -> Any:
    from scfg_sampler.baseline.shares import Share
    from scfg_sampler.rules.runs import LAST_KEY

    return _shares(_made(), directory).read(0, Share(0, LAST_KEY))


def _read_run(directory: Path) -> Any:
    from scfg_sampler.rules.runs import add_records
    from scfg_sampler.rules.store import new_store, stored_rules

    run = _shares(_made(), directory).read_run(0, (0, _corpus(_made()).num_sentences))
    return None if run is None else stored_rules(add_records(new_store(), run.within(0, 1 << 61)))


def _changed(folder: str, name: str, read: Callable[[Path], Any]) -> tuple[Callable[[Path], Any], Any]:
    """A reader of a copy of a directory in which one file has other contents, and those it had."""

    def read_changed(path: Path) -> Any:
        copy = path.parent / "copy"
        shutil.copytree(_made() / folder, copy, dirs_exist_ok=True)
        shutil.copyfile(path, copy / name)
        return read(copy)

    return read_changed, lambda: ((_made() / folder / name).read_bytes(),)


def _alone(name: str, read: Callable[[Path], Any]) -> tuple[Callable[[Path], Any], Any]:
    """A reader of one file, and what it held."""
    return read, lambda: ((_made() / name).read_bytes(),)


def _call(module: str, function: str, *arguments: Any) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        return getattr(importlib.import_module(module), function)(path, *arguments)

    return read


def _resumed(command: str) -> Callable[[Path], Any]:
    """A run is taken up where a command of `scfg-monolingual` does, from its settings to its last sweep."""
    room, folder = {
        "tsg": ("monolingual.tsg.run", "trees.run"),
        "ot": ("monolingual.ot.run", "run.ot"),
    }[command]

    def read(directory: Path) -> Any:
        iterations = json.loads((_made() / folder / "run.json").read_text())["sweeps"] + 1
        return importlib.import_module(room).resume_run(directory, iterations)

    return read


def _verified(directory: Path) -> Any:
    from scfg_sampler.learner.verification import verify_run

    return verify_run(directory)


def _shown(path: Path) -> Any:
    """As `show` does."""
    import decoder.cli

    return _told(decoder.cli.main, "show", str(path))


def _told(main: Callable[[list[str]], int], *options: str) -> int:
    """What a command ends with; its refusal as the error it was."""
    import io

    from scfg_sampler.errors import InputError

    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(list(options))
    if status == 2:
        raise InputError(None, None, said.getvalue().strip())
    return status


def _reported(package: str) -> Callable[[Path], Any]:
    """What `report` tells of a run itself: settings, sizes, files, curves."""

    def read(directory: Path) -> Any:
        page = importlib.import_module(f"{package}.report")
        if package == "scfg_sampler":
            page = importlib.import_module("scfg_sampler.report.runs")
            runs = [page.open_run(directory)]
            return page.tell_runs(runs), page.tell_traces(runs)
        if package == "monolingual.ot":
            inputs = page.ReportInputs(directory)
            shown = page._read(inputs)
            return page._tell_run(inputs, shown), page._tell_traces(shown, shown.posterior)
        if package == "monolingual.pcfg":
            opened = page._open(directory)
            draws = page._read_draws(directory)
            told = page._tell_run(opened), page._tell_traces(opened, draws)
            rules = page._tell_rules(draws, opened.summary)
            trees = page._tell_trees(opened.summary) if "tree_frequencies" in opened.summary else None
            return *told, rules, trees
        opened = [page._open(directory)]
        return page._tell_runs(opened), page._tell_traces(opened)

    return read


def _scored(directory: Path) -> Any:
    """As `grammar` does."""
    from scfg_sampler.learner.grammar import GrammarSettings, write_grammar

    return write_grammar(directory, directory / "scored.gz", GrammarSettings())


def _resumed_pcfg(directory: Path) -> Any:
    """As `pcfg resume` does, which has all its options from the record."""
    import monolingual.cli

    return _told(monolingual.cli.main, "pcfg", "resume", str(directory), "--iterations", "41", "--quiet")


def _parsed(directory: Path) -> Any:
    """The grammar of a run, as far as a parser needs it."""
    from monolingual.tsg.grammar import flatten, fragment_weights
    from monolingual.tsg.learnt import predictive_counts, read_grammar

    learnt = read_grammar(directory)
    base = str(learnt.settings.base)
    fragments, concentration = predictive_counts(learnt)
    return flatten(*fragment_weights(fragments, learnt.productions, base, concentration, learnt.stop))


def _tune_round(path: Path) -> Any:
    import numpy as np

    from decoder.tuning.tune import _Lists, _load
    from scfg_sampler.core.arrays.sparse import no_rows

    with np.load(_made() / "tuned.state" / "round-000.npz") as saved:
        header, arrays = str(saved["header"]), [saved[name] for name in _Lists._fields[:4]]
        num_counts = len(saved["statistics"])
    none = _Lists(np.zeros_like(arrays[0]), *(array[:0] for array in arrays[1:]), no_rows(0))
    return _load(path, header, none, num_counts)


MADE = {
    "compiled-grammar": _alone("system/grammar.bin", _call("decoder.grammar.file", "read_grammar_file")),
    "compiled-lm": _alone("system/lm.bin", _call("decoder.lm.model", "load_lm")),
    "ranking": _changed("system", "ranking.bin", _call("decoder.system.system", "load_system")),
    "system": _changed("system", "system.json", _call("decoder.system.system", "load_system")),
    "parser": _changed("parser", "parser.json", _call("decoder.expressions.parser_files", "load_parser")),
    "preparation": _changed(
        "prepared", "preparation.json", _call("scfg_sampler.preparation.preparation", "load_preparation")
    ),
    "share": _changed("shares", "share-1", _read_share),
    "run of rules": _changed("shares", "run-1", _read_run),
    "tune-round": _alone("tuned.state/round-000.npz", _tune_round),
    "derivations": _alone("derivations", _shown),
    "reported-derivations": _alone("derivations", _call("scfg_sampler.report.translations", "_records")),
    "expressions": _alone("expressions.json", _call("decoder.expressions.files", "read_expressions")),
    "expression-lists": _alone("list.1", _call("decoder.expressions.lists", "read_lists", 1)),
    "ranker": _alone("ranker.json", _call("decoder.expressions.lists", "read_ranker")),
    "run-record": _changed("sampled", "run.json", _verified),
    "run-checkpoint": _changed("sampled", "checkpoint.npz", _verified),
    "run-trace": _changed("sampled", "trace.tsv", _verified),
    "run-lexical": _changed("sampled", "lex.f2e", _verified),
    "reported-record": _changed("sampled", "run.json", _reported("scfg_sampler")),
    "scored-record": _changed("sampled", "run.json", _scored),
    "tsg-reported-record": _changed("trees.run", "run.json", _reported("monolingual.tsg")),
    "ot-reported-record": _changed("run.ot", "run.json", _reported("monolingual.ot")),
    "pcfg-reported-record": _changed("run.pcfg", "run.json", _reported("monolingual.pcfg")),
    "pcfg-reported-summary": _changed("run.pcfg", "summary.json", _reported("monolingual.pcfg")),
    "pcfg-record": _changed("run.pcfg", "run.json", _resumed_pcfg),
    "tsg-record": _changed("trees.run", "run.json", _resumed("tsg")),
    "tsg-checkpoint": _changed("trees.run", "checkpoint.npz", _resumed("tsg")),
    **{
        f"tsg-{name.split('.')[0]}": _changed("trees.run", name, lambda place: _parsed(place))
        for name in ("grammar.tsg.gz", "pcfg.tsg.gz", "parameters.tsv", "known.txt.gz")
    },
    "dmv-model": _alone("tags.model", _call("monolingual.dmv.model", "read_model")),
    "tsg-corpus": _changed("trees.run", "trees.mrg.gz", _resumed("tsg")),
    "ot-record": _changed("run.ot", "run.json", _resumed("ot")),
    "ot-checkpoint": _changed("run.ot", "chain-1/checkpoint.npz", _resumed("ot")),
    "ot-draws": _changed("run.ot", "chain-1/trace.tsv", _call("monolingual.ot.run", "read_draws")),
    "ot-summary": _changed("run.ot", "summary.json", _call("monolingual.ot.grammar", "read_summary")),
    "pcfg-summary": _changed(
        "run.pcfg", "summary.json", _call("monolingual.pcfg.comparison", "read_summary")
    ),
    "pcfg-checkpoint": _changed(
        "run.pcfg", "checkpoint.1.npz", lambda place: _checkpoint(place / "checkpoint.1.npz")
    ),
    "covariances": _alone("covariances.npz", _call("monolingual.dmv.plots", "read_covariances")),
}


def _checkpoint(path: Path) -> Any:
    from scfg_sampler.core.chains.checkpoint import read_checkpoint_header

    return read_checkpoint_header(path)
