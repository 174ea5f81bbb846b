"""Documentation that is run or compared with the code: examples, parameters, help texts, the README."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_layering import PACKAGES, module_files

ROOT = Path(__file__).resolve().parents[1]
MODULES = module_files(ROOT)
PROGRAMS = {
    "scfg-sampler": "scfg_sampler",
    "scfg-decoder": "decoder",
    "scfg-monolingual": "monolingual",
}
# Every command is a module of its package's `commands`; those of a model stand behind its name ("ot sample").
COMMANDS = [
    (program, " ".join([*path.relative_to(ROOT / package).parts[:-2], path.stem.replace("_", "-")]))
    for program, package in PROGRAMS.items()
    for path in sorted((ROOT / package).glob("**/commands/[a-z]*.py"))
]
LONGEST_MODULE = 500


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_in_docstrings_run(module):
    failures, _ = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert failures == 0


def test_examples_in_the_readme_run():
    failures, _ = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert failures == 0


@pytest.mark.parametrize("module", MODULES)
def test_module_says_what_it_is_and_what_it_offers(module):
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{module} has no docstring"
    if MODULES[module].stem not in ("__init__", "__main__"):
        names = [target.id for node in tree.body for target in targets(node)]
        assert "__all__" in names, f"{module} has no __all__"
        offered = importlib.import_module(module).__all__
        missing = [name for name in offered if not hasattr(importlib.import_module(module), name)]
        assert not missing, f"{module}.__all__ names {missing}, which do not exist"


def targets(node: ast.stmt) -> list[ast.Name]:
    parts = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [part for part in parts if isinstance(part, ast.Name)]


@pytest.mark.parametrize("module", MODULES)
def test_module_fits_in_the_head(module):
    lines = _num_lines(MODULES[module])
    assert lines <= LONGEST_MODULE, f"{module} has {lines} lines, more than {LONGEST_MODULE}"


def test_modules_of_tests_do_too():
    lengths = {path.relative_to(ROOT): _num_lines(path) for path in (ROOT / "tests").rglob("*.py")}
    assert not {str(path): lines for path, lines in lengths.items() if lines > LONGEST_MODULE}


def _num_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def section_names(docstring: str, section: str) -> list[str] | None:
    """The names a numpydoc section documents, in order; None if there is no such section.

    >>> section_names("Sum.\\n\\nParameters\\n----------\\na, b : int\\n    Both.\\n*rest\\n", "Parameters")
    ['a', 'b', 'rest']
    """
    found = re.search(rf"^{section}\n-+\n((?:.*\n?)*)", inspect.cleandoc(docstring), re.MULTILINE)
    if found is None:
        return None
    body = re.split(r"^[A-Z]\w*\n-+$|^(?=>>>)", found.group(1), flags=re.MULTILINE)[0]
    names = []
    for line in body.splitlines():
        if re.match(r"[*\w]", line):
            names += [name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")]
    return names


def documented(module: str) -> Iterator[tuple[str, object]]:
    """The functions, classes and methods a module defines, with their names."""
    for name, value in vars(importlib.import_module(module)).items():
        value = inspect.unwrap(value) if callable(value) else value
        if getattr(value, "__module__", None) != module:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            yield name, value
        if inspect.isclass(value):
            for label, member in vars(value).items():
                if inspect.isfunction(member):
                    yield f"{name}.{label}", member


def parameter_complaint(value) -> str | None:
    """What is wrong with the documented parameters or attributes of a function or class."""
    docstring = value.__doc__ or ""
    parameters = section_names(docstring, "Parameters")
    if parameters is not None:
        actual = [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]
        # Those that type and name explain may be left out; the others are real and in order.
        if parameters != [name for name in actual if name in parameters]:
            return f"documents the parameters {parameters}, but has {actual}"
    attributes = section_names(docstring, "Attributes")
    fields = getattr(value, "_fields", None)
    if attributes is not None and fields is not None and attributes != list(fields):
        return f"documents the attributes {attributes}, but has {list(fields)}"
    return None


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_documented_parameters_are_the_actual_ones(module):
    complaints = [
        f"{module}.{name} {complaint}"
        for name, value in documented(module)
        if (complaint := parameter_complaint(value))
    ]
    assert not complaints, "\n".join(complaints)


def test_wrong_parameters_are_noticed():
    def function(first, *, second=1):
        """A function.

        Parameters
        ----------
        second : int
            One.
        third : int
            None.

        Returns
        -------
        int
        """

    assert parameter_complaint(function) == (
        "documents the parameters ['second', 'third'], but has ['first', 'second']"
    )


@pytest.fixture(scope="module")
def help_of():
    """The help text of a command, as a function of program and arguments."""

    def help_text(program: str, *arguments: str) -> str:
        main = importlib.import_module(f"{PROGRAMS[program]}.cli").main
        text = io.StringIO()
        with contextlib.redirect_stdout(text), pytest.raises(SystemExit) as end:
            main([*arguments, "--help"])
        assert end.value.code in (0, None)
        return text.getvalue()

    return help_text


@pytest.mark.parametrize(("program", "command"), COMMANDS)
def test_help_has_an_example_of_the_command(help_of, program, command):
    text = help_of(program, *command.split())
    assert re.search(rf"^examples?:\n(.*\n)*.*{program} {command}\b", text, re.MULTILINE), text
    assert "--quiet" in text


@pytest.mark.parametrize(("program", "command"), COMMANDS)
def test_example_in_help_uses_options_that_exist(help_of, program, command):
    text = help_of(program, *command.split())
    for line in text[text.rindex("example") :].replace("\\\n", " ").splitlines():
        check_command_line(help_of, line)


@pytest.mark.parametrize(
    "document",
    ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))],
)
def test_documents_use_commands_and_options_that_exist(help_of, document):
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:bash|sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for line in "".join(blocks).replace("\\\n", " ").splitlines():
        check_command_line(help_of, line.removeprefix("$ "))


def check_command_line(help_of, line: str) -> None:
    """Check program, command and options of every call of ours in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    calls = itertools.groupby(lexer, key=lambda word: word in ("|", ";", "&&", "||", "&", "(", ")"))
    for words in (list(call) for is_operator, call in calls if not is_operator):
        while words and words[0] not in PROGRAMS:
            words.pop(0)
        if len(words) < 2 or words[1].startswith("-"):
            continue
        program, command = words[:2]
        if program == "scfg-monolingual":
            command = " ".join(words[1:3])
        assert (program, command) in COMMANDS, f"{line!r}: {program} has no command {command}"
        known = set(re.findall(r"--?[\w-]+", help_of(program, *command.split())))
        for word in words[2:]:
            option = word.partition("=")[0]
            if re.fullmatch(r"--?[A-Za-z][\w-]*", option):
                assert option in known, f"{line!r}: {command} has no option {option}"


@pytest.mark.parametrize(
    ("program", "package"),
    [pair for pair in PROGRAMS.items() if (ROOT / pair[1] / "cli.py").exists()],
)
def test_help_is_instant(program, package):
    """No numba, and nothing else that takes its time, before a command runs."""
    script = (
        f"import sys; sys.argv[0] = {program!r}\nfrom {package}.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit as end: assert not end.code\n"
        "heavy = {'numba', 'numpy', 'scipy', 'sacrebleu', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    child = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    for name, command in COMMANDS:
        if name == program:
            assert re.search(rf"^\s+{command.split()[0]}\b", child.stdout, re.MULTILINE), (
                f"--help does not list {command}"
            )


@pytest.mark.parametrize("package", PACKAGES)
def test_package_runs_as_a_module(package):
    if not (ROOT / package / "cli.py").exists():
        pytest.skip(f"{package} has no command line")
    child = subprocess.run(
        [sys.executable, "-m", package, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
