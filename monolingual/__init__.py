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

from scfg_sampler.exports import exports

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
    "DependencyModel": "notebook.dependencies",
    "DependencyTree": "notebook.dependencies",
    "OtGrammar": "notebook.rankings",
    "OtRun": "notebook.rankings",
    "Pcfg": "notebook.probabilistic",
    "PcfgRun": "notebook.probabilistic",
    "ShownTree": "notebook.trees",
    "TsgRun": "notebook.substitution",
    "learn_ot": "notebook.rankings",
    "load_dmv": "notebook.dependencies",
    "open_ot": "notebook.rankings",
    "open_pcfg": "notebook.probabilistic",
    "open_tsg": "notebook.substitution",
    "read_pcfg": "notebook.probabilistic",
    "read_tableaux": "notebook.rankings",
    "sample_ot": "notebook.rankings",
    "sample_pcfg": "notebook.probabilistic",
    "train_dmv": "notebook.dependencies",
    "train_tsg": "notebook.substitution",
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

__getattr__, __dir__ = exports(__name__, _HOME)
