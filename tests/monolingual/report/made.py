"""Small runs of the four models, over words that would break a page that does not escape them."""

from __future__ import annotations

from pathlib import Path

from monolingual.cli import main

SCRIPT = "<script>alert/**/</script>"
QUOTE = '"onload="x'
SHALOM = "שלום"

TREES = f"""
(S (NP (D the) (N dog)) (VP (V barks)))
(S (NP (D the) (N cat)) (VP (V sleeps)))
(S (NP (D a) (N dog)) (VP (V sees) (NP (D the) (N cat))))
(S (NP (D the) (N {SCRIPT})) (VP (V gives) (NP (D the) (N cat)) (NP (D a) (N {SHALOM}))))
(S (NP (D the) (N {SCRIPT})) (VP (V gives) (NP (D a) (N dog)) (NP (D a) (N {SHALOM}))))
(S (NP (D the) (N dog)) (VP (V barks)))
(S (NP (D the) (N {QUOTE})) (VP (V sees) (NP (D the) (N {SCRIPT}))))
"""

GRAMMAR = f"S -> S S [0.5] | '{SCRIPT}' [0.5]\n"

TABLEAUX = f"""input\toutput\tfrequency\tMax\t*Coda\t{SCRIPT}
pat\tpa\t60\t1\t0\t0
pat\tpat\t30\t0\t1\t0
pat\t{QUOTE}\t0\t0\t0\t2
{SCRIPT}\t{SHALOM}\t12\t0\t0\t1
{SCRIPT}\tta\t8\t5\t0\t0
"""

TAGGED = (
    f"DT NN VB\t2 3 0\tthe {SCRIPT} barks\nNN VB\t2 0\tdogs bark\n"
    f"NN VB DT NN\t2 0 4 2\tdogs see a {SHALOM}\nUH\t0\tyes\n"
    f"NN {SCRIPT} VB DT NN\t3 1 0 5 3\tdogs < see a cat\n"
)


def call(*arguments: object) -> int:
    """The exit status of a command of `scfg-monolingual`."""
    return main([str(argument) for argument in (*arguments, "--quiet")])


def made_tsg(folder: Path, seed: int = 1, iterations: int = 60) -> Path:
    (folder / "trees.mrg").write_text(TREES)
    run = folder / f"tsg-{seed}"
    told = ("--iterations", iterations, "--seed", seed, "--unknown", "none", "--marginals")
    assert call("tsg", "train", folder / "trees.mrg", "--output", run, *told) == 0
    return run


def made_pcfg(folder: Path, *more: object) -> Path:
    (folder / "grammar").write_text(GRAMMAR)
    (folder / "sentences").write_text(f"{' '.join([SCRIPT] * 3)}\n{SCRIPT}\n")
    run = folder / "pcfg"
    data = ("--sentences", folder / "sentences", "--output", run)
    told = ("--iterations", 200, "--burn-in", 50, "--chains", 2, *more)
    assert call("pcfg", "sample", folder / "grammar", *data, *told) == 0
    return run


def made_ot(folder: Path) -> Path:
    (folder / "tableaux.tsv").write_text(TABLEAUX)
    run = folder / "ot"
    told = ("--iterations", 80, "--chains", 2, "--pilot", 8)
    assert call("ot", "sample", folder / "tableaux.tsv", "--output", run, *told) == 0
    return run


def made_dmv(folder: Path) -> tuple[Path, list[str]]:
    """A model, and the options of its report."""
    (folder / "tagged").write_text(TAGGED * 3)
    model = folder / "model.txt"
    beside = {"--covariances": folder / "model.npz", "--trace": folder / "rounds.tsv"}
    told = [str(each) for pair in beside.items() for each in pair]
    learnt = ("--method", "vb-em-logistic-normal", "--rounds", 6, "--heldout", folder / "tagged")
    assert call("dmv", "train", folder / "tagged", "--output", model, *learnt, *told) == 0
    return model, [*told, "--treebank", str(folder / "tagged")]


def made_page(folder: Path, model: str) -> Path:
    """A report of one of the models with all that it can tell."""
    page = folder / f"{model}.html"
    if model == "tsg":
        arguments: list[object] = [made_tsg(folder, 1), made_tsg(folder, 2)]
    elif model == "pcfg":
        arguments = [made_pcfg(folder, "--reweight")]
    elif model == "ot":
        arguments = [made_ot(folder), "--inputs", 1]
        assert call("ot", "maxent", folder / "tableaux.tsv", "--output", folder / "maxent") == 0
        arguments += ["--beside", folder / "maxent"]
    else:
        found, told = made_dmv(folder)
        arguments = [found, *told]
    assert call(model, "report", *arguments, "--output", page) == 0
    return page
