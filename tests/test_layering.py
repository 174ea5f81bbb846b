"""Import directions: a room imports only from rooms on floors below its own.

A room is a package with the modules that lie directly in it, or a module named in `ROOMS` by itself. Within
a room modules import each other as they like, but not in a circle. A new module needs no entry, a new room
one: on the lowest floor above all that it imports. `MAY_IMPORT` is for packages, `OUTSIDE` for others'.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGES = ("scfg_sampler", "decoder", "monolingual")

# From the lowest floor to the highest, one floor a line; the rooms of one floor do not import each other. The
# names of a package (`__init__.py`) may be imported by all who may enter the package.
ROOMS = """
scfg_sampler.errors scfg_sampler
scfg_sampler.core
scfg_sampler.core.arrays
scfg_sampler.core.forests scfg_sampler.core.chains scfg_sampler.core.fragments scfg_sampler.core.pages
scfg_sampler.core.reports
scfg_sampler.corpus
scfg_sampler.rules scfg_sampler.preparation scfg_sampler.aligner
scfg_sampler.forest scfg_sampler.baseline scfg_sampler.formats
scfg_sampler.learner scfg_sampler.plugs
scfg_sampler.notebook scfg_sampler.report
scfg_sampler.commands
scfg_sampler.cli
scfg_sampler.__main__

decoder
decoder.lm decoder.scoring
decoder.grammar
decoder.search
decoder.translation
decoder.tuning decoder.system
decoder.expressions
decoder.notebook
decoder.commands
decoder.cli
decoder.__main__

scfg_sampler.commands.verify scfg_sampler.explore
scfg_sampler.commands.explore

monolingual
monolingual.priors
monolingual.tsg monolingual.pcfg monolingual.dmv monolingual.ot
monolingual.tsg.commands monolingual.pcfg.commands monolingual.dmv.commands monolingual.ot.commands
monolingual.cli
monolingual.notebook
monolingual.__main__
"""

# What a package may import of the other packages, besides itself; the longest prefix counts.
MAY_IMPORT = {
    "scfg_sampler.core": ("scfg_sampler", "scfg_sampler.core.*", "scfg_sampler.errors"),
    "scfg_sampler": ("scfg_sampler", "scfg_sampler.*"),
    # What is compiled, systems and parsers are the decoder's.
    "scfg_sampler.commands.verify": (
        *("scfg_sampler", "scfg_sampler.*"),
        *("decoder.expressions.parser_files", "decoder.system.recognition", "decoder.system.verification"),
    ),
    # Systems are explored beside runs.
    "scfg_sampler.explore": (
        "scfg_sampler",
        "scfg_sampler.*",
        "decoder.search.cube",
        "decoder.system.recognition",
        "decoder.system.system",
        "decoder.translation.decoder",
        "decoder.translation.derivations",
        "decoder.translation.drawing",
        "decoder.translation.results",
    ),
    "decoder": (
        "decoder",
        "decoder.*",
        "scfg_sampler",
        "scfg_sampler.core.*",
        "scfg_sampler.errors",
        "scfg_sampler.exports",  # How a package has names without loading them.
        "scfg_sampler.corpus.word_classes",
        "scfg_sampler.rules.labels",
        "scfg_sampler.rules.table",
        "scfg_sampler.formats",  # What they are called.
        "scfg_sampler.formats.conversion",  # Other decoders' tables are read as they are.
        "scfg_sampler.preparation.preparation",  # The door to what systems do to raw text, and undo.
    ),
    "monolingual": (
        "monolingual",
        "monolingual.*",
        "scfg_sampler",
        "scfg_sampler.core.*",
        "scfg_sampler.errors",
        "scfg_sampler.exports",  # How a package has names without loading them.
    ),
}

_COMPILING = "jit loading whole front_end indexing llvm_text results"
COMPILING = tuple(f"scfg_sampler.core.{name}" for name in _COMPILING.split())
# Where packages from outside may be imported; those after the first four only within functions.
OUTSIDE = {
    "numpy": PACKAGES,
    "scipy": PACKAGES,
    "numba": COMPILING,
    "llvmlite": COMPILING,
    "dask": ("scfg_sampler.core.cluster",),
    "distributed": ("scfg_sampler.core.cluster",),
    "rich": ("scfg_sampler.core.console",),
    "arviz_base": ("scfg_sampler.core.chains.inference_data",),
    "sacremoses": ("scfg_sampler.preparation.words",),
    "sentencepiece": ("scfg_sampler.preparation.subwords",),
    "sacrebleu": ("decoder.scoring.evaluate",),
    "starlette": ("scfg_sampler.explore.server",),
    "uvicorn": ("scfg_sampler.explore.server",),
    "matplotlib": (
        "scfg_sampler.learner.curves",
        "monolingual.ot.plots",
        "monolingual.tsg.plots",
        "monolingual.dmv.plots",
        "monolingual.pcfg.comparison",
    ),
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
    is_for_types: bool

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
    typing_only: set[int] = set()
    for statement in tree.body:  # What stands under `if` and `try` is run as well, but not for type checkers.
        for_types = isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
        if isinstance(statement, (ast.If, ast.Try)) and not for_types:
            top.update(id(node) for node in ast.walk(statement))
        if for_types:
            typing_only.update(id(node) for node in ast.walk(statement))
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
            at_top, for_types = id(node) in top, id(node) in typing_only
            yield Import(path, node.lineno, lines[node.lineno - 1], module, name, at_top, for_types)


def parse_rooms(text: str) -> dict[str, int]:
    """The number of the floor of every room."""
    return {room: floor for floor, line in enumerate(text.splitlines()) for room in line.split()}


def room_of(module: str, known: dict[str, Path], rooms: dict[str, int]) -> str:
    """The room a module lies in: itself, where it is one, or its package."""
    if module in rooms or known[module].stem == "__init__":
        return module
    return module.rpartition(".")[0]


def matches(module: str, patterns: tuple[str, ...]) -> bool:
    return any(
        module == pattern or (pattern.endswith(".*") and module.startswith(pattern[:-1]))
        for pattern in patterns
    )


class House(NamedTuple):
    """All modules, the floors of their rooms, and what loads packages from outside when imported."""

    known: dict[str, Path]
    floors: dict[str, int]
    heavy: dict[str, str]

    def floor(self, module: str) -> int | None:
        if module not in self.known:
            return None
        return self.floors.get(room_of(module, self.known, self.floors))

    def same_room(self, module: str, other: str) -> bool:
        return room_of(module, self.known, self.floors) == room_of(other, self.known, self.floors)


def check(entry: Import, house: House) -> Iterator[str]:
    """What is wrong with an import."""
    if entry.imported.partition(".")[0] in PACKAGES:
        yield from check_inside(entry, house)
        if is_command_line(entry.module) and entry.is_at_top and entry.imported in house.heavy:
            yield entry.complain(
                f"{entry.imported} loads {house.heavy[entry.imported]}: command lines import it within the "
                "function that runs, so that --help is instant"
            )
    else:
        yield from check_outside(entry)


def check_inside(entry: Import, house: House) -> Iterator[str]:
    package = max((p for p in MAY_IMPORT if (entry.module + ".").startswith(p + ".")), key=len)
    own, other = house.floor(entry.module), house.floor(entry.imported)
    if not matches(entry.imported, MAY_IMPORT[package]):
        yield entry.complain(f"{package} may import only {', '.join(MAY_IMPORT[package])}")
    elif entry.imported not in house.known:
        yield entry.complain(f"there is no module {entry.imported}")
    elif own is None or other is None or house.same_room(entry.module, entry.imported):
        return  # Rooms that are on no floor are told of once.
    elif entry.is_for_types and entry.imported.startswith(entry.module + "."):
        return  # A package may tell type checkers what is inside that it loads when it is asked for.
    elif other >= own and not entry.module.startswith(entry.imported + "."):
        room = room_of(entry.imported, house.known, house.floors)
        yield entry.complain(f"{room} is not on a floor below {entry.module}")


def circles(imports: list[Import], known: dict[str, Path]) -> Iterator[str]:
    """Modules that import themselves by way of others."""
    below: dict[str, set[str]] = {module: set() for module in known}
    for entry in imports:
        if entry.imported in known and known[entry.imported].stem != "__init__":
            below[entry.module].add(entry.imported)
    done: set[str] = set()
    for start in known:
        trail: list[str] = []

        def visit(module: str, trail: list[str] = trail) -> Iterator[str]:
            if module in trail:
                yield " -> ".join([*trail[trail.index(module) :], module]) + ": a circle of imports"
            elif module not in done:
                trail.append(module)
                for other in sorted(below[module]):
                    yield from visit(other)
                trail.pop()
                done.add(module)

        yield from visit(start)


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


def complaints(root: Path, floors: dict[str, int]) -> list[str]:
    known = module_files(root)
    rooms = {room_of(module, known, floors) for module in known}
    found = [
        f"{room} is not in ROOMS of tests/test_layering.py: add it" for room in sorted(rooms - {*floors})
    ]
    found += [
        f"{room} in ROOMS of tests/test_layering.py does not exist" for room in sorted({*floors} - rooms)
    ]
    imports = [entry for module, path in known.items() for entry in imports_of(module, path, known)]
    house = House(known, floors, heavy_modules(imports))
    found += [complaint for entry in imports for complaint in check(entry, house)]
    return found + list(circles(imports, known))


def missing(entries: Iterable[str], known: dict[str, Path]) -> list[str]:
    """The entries of a table that name no module and no package; `name.*` names what is inside."""
    return [entry for entry in entries if entry.removesuffix(".*") not in known]


def test_every_import_points_to_a_lower_floor(root):
    found = complaints(root, parse_rooms(ROOMS))
    assert not found, "\n" + "\n".join(found)


def test_tables_name_only_what_exists(root):
    known = module_files(root)
    entries = [*MAY_IMPORT, *(e for allowed in MAY_IMPORT.values() for e in allowed)]
    assert missing(entries, known) == []
    assert missing([place for places in OUTSIDE.values() for place in places], known) == []
    assert missing(["decoder.gone", "decoder.gone.*", "decoder.*"], known) == [
        "decoder.gone",
        "decoder.gone.*",
    ]


def test_whatever_may_be_imported_from_outside_is_imported(root):
    known = module_files(root)
    used = {
        entry.imported.partition(".")[0]
        for module, path in known.items()
        for entry in imports_of(module, path, known)
    }
    assert set(OUTSIDE) <= used


SMALL = """
scfg_sampler
scfg_sampler.core scfg_sampler.corpus
decoder
decoder.lm decoder.scoring
decoder.search
decoder.commands
"""


def small_house(root: Path) -> None:
    """A module for each room of `SMALL`; that of the language models loads numpy."""
    for name in ("scfg_sampler/__init__", "scfg_sampler/core/jit", "scfg_sampler/corpus/text"):
        write(root / f"{name}.py", "")
    for name in ("__init__", "scoring/bleu", "search/chart", "commands/__init__"):
        write(root / f"decoder/{name}.py", "")
    write(root / "decoder/lm/model.py", "import numpy\n")


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        (
            "decoder/lm/arpa.py",
            "from decoder.search.chart import x",
            "decoder.search is not on a floor below decoder.lm",
        ),
        (
            "decoder/lm/arpa.py",
            "from ..search import chart",
            "decoder.search is not on a floor below decoder",
        ),
        (
            "decoder/lm/arpa.py",
            "def f():\n    import decoder.search.chart",
            "decoder.search is not on a floor",
        ),
        (
            "decoder/lm/arpa.py",
            "import decoder.scoring.bleu",
            "decoder.scoring is not on a floor below decoder.lm",
        ),
        ("decoder/search/cube.py", "import decoder.search.heap", "there is no module decoder.search.heap"),
        ("decoder/search/cube.py", "import decoder.search.cube", "decoder.search.cube: a circle of imports"),
        (
            "decoder/search/cube.py",
            "import scfg_sampler.corpus.text",
            "decoder may import only decoder, decoder",
        ),
        (
            "scfg_sampler/core/jit.py",
            "import decoder.lm.model",
            "scfg_sampler.core may import only scfg_sampler,",
        ),
        ("scfg_sampler/core/jit.py", "import scfg_sampler.corpus.text", "scfg_sampler.core may import only"),
        (
            "scfg_sampler/corpus/text.py",
            "from numba import njit",
            "numba may be imported only in scfg_sampler.core.jit",
        ),
        ("scfg_sampler/corpus/text.py", "import pandas", "pandas is not in OUTSIDE"),
        (
            "decoder/scoring/evaluate.py",
            "import sacrebleu",
            "sacrebleu is imported within the function that needs it",
        ),
        (
            "decoder/lm/arpa.py",
            "def f():\n    import sacrebleu",
            "sacrebleu may be imported only in decoder.scoring.evaluate",
        ),
        ("scfg_sampler/stray/x.py", "", "scfg_sampler.stray is not in ROOMS"),
        (
            "decoder/commands/query.py",
            "from decoder.lm.model import x",
            "decoder.lm.model loads numpy: command lines import",
        ),
        ("decoder/commands/query.py", "import numpy", "numpy is imported within the function"),
        ("decoder/commands/query.py", "if x:\n    import numpy", "numpy is imported within"),
    ],
)
def test_wrong_import_is_reported_with_its_line(tmp_path, module, source, complaint):
    small_house(tmp_path)
    path = tmp_path / module
    write(path, source + "\n")
    found = complaints(tmp_path, parse_rooms(SMALL))
    assert len(found) == 1, found
    assert complaint in found[0]
    if "circle" not in complaint and source:
        line = source.count("\n") + 1
        assert found[0].startswith(f"{path}:{line}: {source.splitlines()[-1].strip()}\n")


def test_circle_of_two_modules_in_a_room_is_reported(tmp_path):
    small_house(tmp_path)
    write(tmp_path / "decoder/search/cube.py", "import decoder.search.heap\n")
    write(tmp_path / "decoder/search/heap.py", "def f():\n    from decoder.search import cube\n")
    (found,) = complaints(tmp_path, parse_rooms(SMALL))
    assert "decoder.search.cube -> decoder.search.heap -> decoder.search.cube" in found


def test_room_that_does_not_exist_is_reported(tmp_path):
    small_house(tmp_path)
    (found,) = complaints(tmp_path, parse_rooms(SMALL + "decoder.attic\n"))
    assert found.startswith("decoder.attic in ROOMS")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "decoder/search/cube.py",
            "import math\nimport numpy\nfrom decoder.lm.model import x\nfrom scfg_sampler.core import jit",
        ),
        ("decoder/search/cube.py", "from decoder.search import chart"),
        ("decoder/search/cube.py", "from scfg_sampler import __version__"),
        ("decoder/scoring/evaluate.py", "def f():\n    import sacrebleu"),
        (
            "decoder/commands/query.py",
            "import argparse\ndef f():\n    import numpy\n    import decoder.lm.model",
        ),
        ("decoder/commands/query.py", "import decoder.search.chart\nfrom decoder.commands import x"),
        ("decoder/commands/query.py", "if TYPE_CHECKING:\n    import numpy"),
        ("decoder/__init__.py", "if TYPE_CHECKING:\n    from decoder.search.chart import x"),
    ],
)
def test_right_imports_pass(tmp_path, module, source):
    small_house(tmp_path)
    write(tmp_path / module, source + "\n")
    assert complaints(tmp_path, parse_rooms(SMALL)) == []


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
