"""Grammar induction from one language on the core of `scfg_sampler`.

What the commands do, as functions, each loaded when it is first asked for::

    run = monolingual.train_tsg("trees.mrg", "run")
    run.parse(["the dog barks"])
    monolingual.read_pcfg(["S -> S S [0.6] | 'a' [0.4]"]).check()
    monolingual.sample_ot("tableaux.tsv", "run.ot").intervals
    monolingual.train_dmv("train.conllu").parse(["DT NN VB"])

See `monolingual.notebook`, docs/look-up/python.md and docs/models-in-a-notebook.md.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monolingual.notebook.dependencies import DependencyModel, DependencyTree, load_dmv, train_dmv
    from monolingual.notebook.probabilistic import Pcfg, PcfgRun, open_pcfg, read_pcfg, sample_pcfg
    from monolingual.notebook.rankings import (
        OtGrammar,
        OtRun,
        learn_ot,
        open_ot,
        read_tableaux,
        sample_ot,
    )
    from monolingual.notebook.substitution import TsgRun, open_tsg, train_tsg
    from monolingual.notebook.trees import ShownTree

_HOME = {
    "DependencyModel": "dependencies",
    "DependencyTree": "dependencies",
    "OtGrammar": "rankings",
    "OtRun": "rankings",
    "Pcfg": "probabilistic",
    "PcfgRun": "probabilistic",
    "ShownTree": "trees",
    "TsgRun": "substitution",
    "learn_ot": "rankings",
    "load_dmv": "dependencies",
    "open_ot": "rankings",
    "open_pcfg": "probabilistic",
    "open_tsg": "substitution",
    "read_pcfg": "probabilistic",
    "read_tableaux": "rankings",
    "sample_ot": "rankings",
    "sample_pcfg": "probabilistic",
    "train_dmv": "dependencies",
    "train_tsg": "substitution",
}

__all__ = [
    "DependencyModel",
    "DependencyTree",
    "OtGrammar",
    "OtRun",
    "Pcfg",
    "PcfgRun",
    "ShownTree",
    "TsgRun",
    "learn_ot",
    "load_dmv",
    "open_ot",
    "open_pcfg",
    "open_tsg",
    "read_pcfg",
    "read_tableaux",
    "sample_ot",
    "sample_pcfg",
    "train_dmv",
    "train_tsg",
]


def __getattr__(name: str):
    """What programs use, without its taking time where nobody asks for it."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"monolingual.notebook.{_HOME[name]}"), name)
    raise AttributeError(f"module 'monolingual' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
