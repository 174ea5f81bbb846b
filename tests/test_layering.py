"""Import directions: every module imports only from layers below its own.

Add a new module to `LAYERS`, in the lowest row that is above everything it imports. Modules of one row do not
import each other. The rules between packages are in `MAY_IMPORT`, those for other people's packages in
`OUTSIDE`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGES = ("scfg_sampler", "decoder", "monolingual")

# From the lowest layer to the highest, one layer a line; `package:` heads the names of its modules, "." is
# the package itself and "*" all its other modules.
LAYERS = """
scfg_sampler: . errors

scfg_sampler.core:
    . jit files console svg
    array_file
    draws normal_draws blocks ragged interner word_pool vocabulary hypergraph kernel fragment
    semiring restaurant slice_sampler fragment_tree checkpoint diagnostics external run_directory
    fragment_rules chain derivations restaurant_density shards
    fragment_sampler
    fragment_rejection fragment_types

scfg_sampler:
    corpus segmentation rule_pool rule_text rule_parser rule_writer
    text_filter
    rule_counts symmetrise
    word_alignment
    rule_table lexical forest
    rule_mixing
    filters forest_trees
    rule_model features pruning hiero_baseline collector phrase_forest
    sweep type_sweep hyperparameters baseline_table
    settings
    sampler
    derivations
    run drawing
    grammar chains report
    curves
scfg_sampler.formats:
    . escapes tables
    bracketed moses travatar
    conversion
scfg_sampler.notebook: . shown
scfg_sampler.notebook: pairs
scfg_sampler.notebook: rules
scfg_sampler.notebook: runs
scfg_sampler.commands: .
scfg_sampler.commands: sample grammar
scfg_sampler.commands: *
scfg_sampler:
    cli
    __main__

decoder:
    . growth arpa weights bleu_statistics
    ngram_counts lm_table
    lm_estimation
    lm
    grammar_trie
    chart workspace grammar_file
    cube
    forest
    kbest mbr mira
    translate evaluate
    tune derivations
    drawing
decoder.commands: .
decoder.commands: *
decoder:
    cli
    __main__

monolingual: . multinomials
monolingual: learners
monolingual: units hmm
monolingual: normal_priors normal_copies dirichlet_em
monolingual: shared_copies
monolingual: experts
monolingual: logistic_normal
monolingual.dmv:
    . layout evaluation treebank
    chart model
    decode initial tag_families plots smoothing
    gibbs
    training
    parsing
monolingual.dmv.commands: .
monolingual.dmv.commands: parse
monolingual.dmv.commands: *
monolingual.tsg:
    . settings trees plots
    transforms score
    packed preparation
    annotation treebank
    forest model corpus
    cache
    blocks
    sweep hyperparameters
    sampler fragments
    run grammar chart statistics
    parser
monolingual.tsg.commands: .
monolingual.tsg.commands: train
monolingual.tsg.commands: *
monolingual.pcfg:
    . grammar
    grammar_text graph
    partition
    tightness chart_grammar posterior
    chart model
    outside tree_draws
    gibbs trees
    collapsed scores tally forest simulate training dependency_grammar
    settings
    summary
    run comparison
monolingual.pcfg.commands: .
monolingual.pcfg.commands: sample
monolingual.pcfg.commands: *
monolingual.ot:
    . demotion tableaux
    orderings formats quadrature harmonic
    domination moves
    exact collapsed gla
    grammar gibbs
    summaries
    run
    comparison
    plots
monolingual.ot.commands: .
monolingual.ot.commands: sample
monolingual.ot.commands: *
monolingual:
    cli
    __main__
"""

# What a package may import of the other packages, besides itself; the longest prefix counts.
MAY_IMPORT = {
    "scfg_sampler.core": ("scfg_sampler", "scfg_sampler.core.*", "scfg_sampler.errors"),
    "scfg_sampler": ("scfg_sampler", "scfg_sampler.*"),
    "decoder": (
        "decoder",
        "decoder.*",
        "scfg_sampler",
        "scfg_sampler.core.*",
        "scfg_sampler.errors",
        "scfg_sampler.rule_table",
        "scfg_sampler.formats.conversion",  # Other decoders' tables are read as they are.
    ),
    "monolingual": (
        "monolingual",
        "monolingual.*",
        "scfg_sampler",
        "scfg_sampler.core.*",
        "scfg_sampler.errors",
    ),
}

# Where packages from outside may be imported; those after the first two only within functions.
OUTSIDE = {
    "numpy": PACKAGES,
    "scipy": PACKAGES,
    "numba": ("scfg_sampler.core.jit",),
    "llvmlite": ("scfg_sampler.core.jit",),
    "rich": ("scfg_sampler.core.console",),
    "arviz_stats": ("scfg_sampler.core.diagnostics",),
    "dask": ("scfg_sampler.core.distributed",),
    "distributed": ("scfg_sampler.core.distributed",),
    "sacrebleu": ("decoder.evaluate",),
    "sentencepiece": ("scfg_sampler.segmentation",),
    "matplotlib": (
        "scfg_sampler.curves",
        "scfg_sampler.report",
        "monolingual.ot.plots",
        "monolingual.tsg.plots",
        "monolingual.dmv.plots",
        "monolingual.pcfg.comparison",
    ),
    "jinja2": ("scfg_sampler.report",),
    "eflomal": ("scfg_sampler.word_alignment",),
}
AT_THE_TOP = ("numpy", "scipy", "numba", "llvmlite")

# Command lines answer --help at once: nothing from outside is imported before a command runs.
COMMAND_LINES = ("cli", "__main__", "commands")


class Import(NamedTuple):
    """One imported module and where it stands."""

    path: Path
    line: int
    text: str
    module: str
    imported: str
    is_at_top: bool

    def complain(self, reason: str) -> str:
        return f"{self.path}:{self.line}: {self.text.strip()}\n    {reason}"


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_files(root: Path) -> dict[str, Path]:
    return {
        module_name(path, root): path
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }


def imports_of(module: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Every import of a module, with `from package import module` resolved to the module."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    top = {id(node) for node in tree.body}
    for statement in tree.body:  # What stands under `if` and `try` is run as well, but not for type checkers.
        for_types = isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
        if isinstance(statement, (ast.If, ast.Try)) and not for_types:
            top.update(id(node) for node in ast.walk(statement))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module if path.stem == "__init__" else module.rpartition(".")[0]
                for _ in range(node.level - 1):
                    package = package.rpartition(".")[0]
                base = f"{package}.{base}".rstrip(".")
            full = [f"{base}.{alias.name}" for alias in node.names]
            names = sorted({name if name in known else base for name in full})
        else:
            continue
        for name in names:
            yield Import(path, node.lineno, lines[node.lineno - 1], module, name, id(node) in top)


def parse_layers(text: str) -> dict[str, int]:
    """The number of the layer of every module."""
    layers, package = {}, ""
    for row, line in enumerate(text.splitlines()):
        if ":" in line:
            package, _, line = line.partition(":")
        for name in line.split():
            layers[package if name == "." else f"{package}.{name}"] = row
    return layers


def layer_of(module: str, layers: dict[str, int]) -> int | None:
    return layers.get(module, layers.get(module.rpartition(".")[0] + ".*"))


def matches(module: str, patterns: tuple[str, ...]) -> bool:
    return any(
        module == pattern or (pattern.endswith(".*") and module.startswith(pattern[:-1]))
        for pattern in patterns
    )


def check(entry: Import, layers: dict[str, int], heavy: dict[str, str]) -> Iterator[str]:
    """What is wrong with an import."""
    if entry.imported.partition(".")[0] in PACKAGES:
        yield from check_inside(entry, layers)
        if is_command_line(entry.module) and entry.is_at_top and entry.imported in heavy:
            yield entry.complain(
                f"{entry.imported} loads {heavy[entry.imported]}: command lines import it within the "
                "function that runs, so that --help is instant"
            )
    else:
        yield from check_outside(entry)


def check_inside(entry: Import, layers: dict[str, int]) -> Iterator[str]:
    package = max((p for p in MAY_IMPORT if (entry.module + ".").startswith(p + ".")), key=len)
    own, other = layer_of(entry.module, layers), layer_of(entry.imported, layers)
    if not matches(entry.imported, MAY_IMPORT[package]):
        yield entry.complain(f"{package} may import only {', '.join(MAY_IMPORT[package])}")
    elif other is None:
        yield entry.complain(f"{entry.imported} is not in LAYERS of tests/test_layering.py: add it")
    elif own is not None and other >= own:
        yield entry.complain(f"{entry.imported} is not in a layer below {entry.module}")


def check_outside(entry: Import) -> Iterator[str]:
    name = entry.imported.partition(".")[0]
    if name in sys.stdlib_module_names:
        return
    allowed = OUTSIDE.get(name)
    if allowed is None:
        yield entry.complain(f"{name} is not in OUTSIDE of tests/test_layering.py")
    elif not any((entry.module + ".").startswith(place + ".") for place in allowed):
        yield entry.complain(f"{name} may be imported only in {', '.join(allowed)}")
    elif entry.is_at_top and (name not in AT_THE_TOP or is_command_line(entry.module)):
        yield entry.complain(f"{name} is imported within the function that needs it, not at the top")


def is_command_line(module: str) -> bool:
    return any(part in COMMAND_LINES for part in module.split("."))


def heavy_modules(imports: list[Import]) -> dict[str, str]:
    """The modules that load something from outside when imported, and what."""
    loads = {}
    at_top = [(entry.module, entry.imported) for entry in imports if entry.is_at_top]
    for module, imported in at_top:
        if imported.partition(".")[0] in OUTSIDE:
            loads.setdefault(module, imported.partition(".")[0])
    for _ in at_top:
        more = {
            module: loads[imported]
            for module, imported in at_top
            if imported in loads and module not in loads
        }
        if not more:
            break
        loads.update(more)
    return loads


def complaints(root: Path, layers: dict[str, int]) -> list[str]:
    known = module_files(root)
    found = [
        f"{path}: {module} is not in LAYERS of tests/test_layering.py: add it"
        for module, path in known.items()
        if layer_of(module, layers) is None
    ]
    imports = [entry for module, path in known.items() for entry in imports_of(module, path, known)]
    heavy = heavy_modules(imports)
    return found + [complaint for entry in imports for complaint in check(entry, layers, heavy)]


def test_every_import_points_to_a_lower_layer(root):
    found = complaints(root, parse_layers(LAYERS))
    assert not found, "\n" + "\n".join(found)


SMALL = """
scfg_sampler: .
scfg_sampler.core: jit
scfg_sampler: corpus
decoder:
    lm evaluate
    chart
decoder.commands: *
"""


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("decoder/lm.py", "from decoder.chart import x", "decoder.chart is not in a layer below decoder.lm"),
        ("decoder/lm.py", "from . import chart", "decoder.chart is not in a layer below decoder.lm"),
        ("decoder/lm.py", "def f():\n    import decoder.lm", "decoder.lm is not in a layer below decoder.lm"),
        ("decoder/chart.py", "import decoder.cube", "decoder.cube is not in LAYERS"),
        (
            "decoder/chart.py",
            "import scfg_sampler.corpus",
            "decoder may import only decoder, decoder.*, scfg",
        ),
        ("decoder/chart.py", "from scfg_sampler import corpus", "decoder may import only decoder, decoder.*"),
        ("scfg_sampler/core/jit.py", "import decoder.lm", "scfg_sampler.core may import only scfg_sampler,"),
        ("scfg_sampler/core/jit.py", "import scfg_sampler.corpus", "scfg_sampler.core may import only"),
        (
            "scfg_sampler/corpus.py",
            "from numba import njit",
            "numba may be imported only in scfg_sampler.core.jit",
        ),
        ("scfg_sampler/corpus.py", "import pandas", "pandas is not in OUTSIDE"),
        (
            "decoder/evaluate.py",
            "import sacrebleu",
            "sacrebleu is imported within the function that needs it",
        ),
        (
            "decoder/lm.py",
            "def f():\n    import sacrebleu",
            "sacrebleu may be imported only in decoder.evaluate",
        ),
        ("scfg_sampler/stray.py", "", "scfg_sampler.stray is not in LAYERS"),
        (
            "decoder/commands/query.py",
            "from decoder.lm import x",
            "decoder.lm loads numpy: command lines import",
        ),
        ("decoder/commands/query.py", "import numpy", "numpy is imported within the function"),
        ("decoder/commands/query.py", "if x:\n    import numpy", "numpy is imported within"),
    ],
)
def test_wrong_import_is_reported_with_its_line(tmp_path, module, source, complaint):
    for name in ("corpus", "core/jit"):
        write(tmp_path / f"scfg_sampler/{name}.py", "")
    for name in ("lm", "chart", "evaluate"):
        write(tmp_path / f"decoder/{name}.py", "import numpy\n" if name == "lm" else "")
    path = tmp_path / module
    write(path, source + "\n")
    found = complaints(tmp_path, parse_layers(SMALL))
    assert len(found) == 1, found
    assert complaint in found[0]
    assert found[0].startswith(str(path))
    if source:
        line = source.count("\n") + 1
        assert found[0].startswith(f"{path}:{line}: {source.splitlines()[-1].strip()}\n")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "decoder/chart.py",
            "import math\nimport numpy\nfrom decoder.lm import x\nfrom scfg_sampler.core import jit",
        ),
        ("decoder/chart.py", "from scfg_sampler import __version__"),
        ("decoder/evaluate.py", "def f():\n    import sacrebleu"),
        ("decoder/commands/query.py", "import argparse\ndef f():\n    import numpy\n    import decoder.lm"),
        ("decoder/commands/query.py", "import decoder.lm"),
        ("decoder/commands/query.py", "if TYPE_CHECKING:\n    import numpy"),
    ],
)
def test_right_imports_pass(tmp_path, module, source):
    for name in ("decoder/lm", "scfg_sampler/__init__", "scfg_sampler/core/jit", module.removesuffix(".py")):
        write(tmp_path / f"{name}.py", "")
    write(tmp_path / module, source + "\n")
    assert complaints(tmp_path, parse_layers(SMALL)) == []


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
