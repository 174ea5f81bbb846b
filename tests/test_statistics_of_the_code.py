"""Functions stay short and take few arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.test_layering import module_files

MOST_ARGUMENTS = 8
MOST_LINES = 60  # Of the body, without the docstring.

# Functions above a limit, and why they may be.
EXCEPTIONS = {
    "monolingual.pcfg.forest.build_forest": "one pass over all spans, with the two steps that only it takes",
}


def functions(source: str) -> Iterator[tuple[str, int, int]]:
    """Name, number of arguments and lines of the body of every function; `self` and `cls` do not count.

    What a function defines inside itself is a part of its body, and a function too.
    """

    def visit(node: ast.AST, above: str) -> Iterator[tuple[str, int, int]]:
        for child in ast.iter_child_nodes(node):
            name = above
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{above}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                given = child.args
                names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                names += [each.arg for each in (given.vararg, given.kwarg) if each is not None]
                body = child.body[1:] if ast.get_docstring(child) is not None else child.body
                lines = (child.end_lineno or 0) - body[0].lineno + 1 if body else 0
                yield name, len(names) - (names[:1] in (["self"], ["cls"])), lines
            yield from visit(child, name)

    yield from visit(ast.parse(source), "")


def above_the_limits(source: str) -> dict[str, tuple[int, int]]:
    return {
        name: (arguments, lines)
        for name, arguments, lines in functions(source)
        if arguments > MOST_ARGUMENTS or lines > MOST_LINES
    }


def test_functions_are_short_and_take_few_arguments(root):
    found = {
        f"{module}.{name}": sizes
        for module, path in module_files(root).items()
        for name, sizes in above_the_limits(path.read_text(encoding="utf-8")).items()
    }
    complaints = [
        f"{name} takes {arguments} arguments in {lines} lines; at most {MOST_ARGUMENTS} and {MOST_LINES}: "
        "bundle what belongs together in a NamedTuple, name the steps"
        for name, (arguments, lines) in found.items()
        if name not in EXCEPTIONS
    ]
    complaints += [
        f"{name} of EXCEPTIONS is within the limits by now" for name in EXCEPTIONS if name not in found
    ]
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(a, b, c, d, e, f, g, h): pass", {}),
        ("def f(a, b, c, d, e, f, g, *, h, i): pass", {"f": (9, 1)}),
        ("def f(a, b, c, d, e, f, g, *h, **i): pass", {"f": (9, 1)}),
        ("class A:\n    def f(self, b, c, d, e, f, g, h, i): pass", {}),
        ("def f():\n" + "    x = 1\n" * 60, {}),
        ("def f():\n" + "    x = 1\n" * 61, {"f": (0, 61)}),
        ("def f():\n    '''One.\n\n    Two.\n    '''\n" + "    x = 1\n" * 60, {}),
        ("def f():\n    def g():\n" + "        x = 1\n" * 60, {"f": (0, 61)}),
    ],
)
def test_functions_above_a_limit_are_found(source, found):
    assert above_the_limits(source) == found
