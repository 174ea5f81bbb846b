"""What programs leave out of their start, and that nobody else misses it."""

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import tomllib

import pytest


def outcome(statement, root):
    """What `result` holds after the statement has run in a process of its own."""
    code = textwrap.dedent(statement) + "\nimport json\nprint(json.dumps(result))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_program_does_not_load_linear_algebra_for_numba(root, tmp_path):
    text, arpa, compiled = (str(tmp_path / name) for name in ("text", "lm.arpa", "lm"))
    (tmp_path / "text").write_text("a b\na c\n")
    statement = f"""
        import sys
        from decoder.cli import main
        statuses = [
            main(["train-lm", {text!r}, "--output", {arpa!r}, "--quiet"]),
            main(["compile-lm", {arpa!r}, "--output", {compiled!r}, "--quiet"]),
        ]
        import numba
        numba.njit(lambda x: x)(1)  # What is in the cache is run without what compiling loads.
        loaded = "scipy.linalg" in sys.modules
        numbas = "numba.np.arraymath" in sys.modules
        import scipy.linalg
        from scfg_sampler.core import startup
        waiting = [finder for finder in sys.meta_path if isinstance(finder, startup._NotForNumba)]
        result = [statuses, numbas, loaded, float(scipy.linalg.det([[2.0]])), len(waiting)]
    """
    assert outcome(statement, root) == [[0, 0], True, False, 2.0, 0]


def test_one_who_asks_before_numba_gets_it(root):
    statement = """
        import sys
        from scfg_sampler.core.startup import leave_out_linear_algebra
        leave_out_linear_algebra()
        import scipy.linalg
        import numba, numpy as np
        result = float(numba.njit(lambda x: np.dot(x, x))(np.ones(3)))
    """
    assert outcome(statement, root) == 3.0


def test_a_library_leaves_numba_its_linear_algebra(root):
    statement = """
        import scfg_sampler, decoder, monolingual
        from decoder.lm import table
        import numpy as np
        from numba import njit
        result = njit(lambda x: x @ x)(np.eye(2) * 2).tolist()
    """
    assert outcome(statement, root) == [[4.0, 0.0], [0.0, 4.0]]


def on_terminal(statement, root, cache):
    """What a process says to the terminal that is its standard error."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "SCFG_SAMPLER_CACHE": str(cache)}
    command = [sys.executable, "-c", textwrap.dedent(statement)]
    subprocess.run(command, cwd=root, env=environment, stderr=theirs, check=True)
    os.write(theirs, b"end")
    os.close(theirs)
    said = b""
    while not said.endswith(b"end"):
        said += os.read(ours, 65536)
    os.close(ours)
    return said.decode().removesuffix("end")


COMPILING = """
    from scfg_sampler.core.startup import begin_program
    {begin}
    from scfg_sampler.core.jit import kernel
    @kernel
    def successor(x):
        return x + 1
    successor(1), successor(1.0)
"""


def test_a_program_says_once_that_it_compiles(root, tmp_path):
    program = COMPILING.format(begin="begin_program()")
    said = on_terminal(program, root, tmp_path)
    assert said.count("compiling for this machine") == 1
    assert said.count("\n") == 1
    assert on_terminal(program, root, tmp_path) == ""


def into_pipe(statement, root, cache):
    """What a process says to the pipe that is its standard error."""
    environment = {**os.environ, "SCFG_SAMPLER_CACHE": str(cache)}
    command = [sys.executable, "-c", textwrap.dedent(statement)]
    return subprocess.run(
        command, cwd=root, env=environment, stderr=subprocess.PIPE, text=True, check=True
    ).stderr


def test_a_program_says_so_in_a_pipe_too(root, tmp_path):
    program = COMPILING.format(begin="begin_program()")
    assert into_pipe(program, root, tmp_path).count("compiling for this machine") == 1
    assert into_pipe(program, root, tmp_path) == ""


def test_a_library_does_not_say_that_it_compiles(root, tmp_path):
    assert on_terminal(COMPILING.format(begin=""), root, tmp_path / "a") == ""
    assert into_pipe(COMPILING.format(begin=""), root, tmp_path / "b") == ""


def test_whether_a_kernel_is_being_compiled_is_known(root, tmp_path):
    statement = f"""
        import os
        os.environ["SCFG_SAMPLER_CACHE"] = {str(tmp_path)!r}
        import numba.extending
        from scfg_sampler.core.compiling import is_compiling
        from scfg_sampler.core.jit import kernel
        known = [is_compiling()]
        def same(x): pass
        @numba.extending.overload(same)
        def same_of(x):
            known.append(is_compiling())
            return lambda x: x
        @kernel
        def successor(x):
            return same(x) + 1
        successor(1)
        result = [known[0], set(known[1:]) == {{True}}, is_compiling()]
    """
    assert outcome(statement, root) == [False, True, False]


def test_what_cannot_be_compiled_is_over(root, tmp_path):
    statement = f"""
        import contextlib, os
        os.environ["SCFG_SAMPLER_CACHE"] = {str(tmp_path)!r}
        from numba.core.errors import TypingError
        from scfg_sampler.core.compiling import is_compiling
        from scfg_sampler.core.jit import kernel
        @kernel
        def successor(x):
            return x + 1
        @kernel
        def outer(x):
            return successor(x)
        result = []
        for called in (successor, outer):
            with contextlib.suppress(TypingError):
                called("a")
                result.append("compiled")
            result.append(is_compiling())
    """
    assert outcome(statement, root) == [False, False]


def test_time_spent_compiling_is_left_out_of_rates(root, tmp_path):
    statement = f"""
        import os
        os.environ["SCFG_SAMPLER_CACHE"] = {str(tmp_path)!r}
        from scfg_sampler.core import console
        from scfg_sampler.core.jit import kernel
        spent = []
        from scfg_sampler.core import compiling
        count = console.leave_out_of_rates
        compiling.leave_out_of_rates = lambda seconds: (spent.append(seconds), count(seconds))
        @kernel
        def inner(x):
            return x + 1
        @kernel
        def successor(x):
            return inner(x)
        successor(1), successor(1), successor(1.0)
        result = [min(spent) > 0, console._seconds_compiling == sum(spent)]
    """
    assert outcome(statement, root) == [True, True]


PROGRAMS = {"scfg-sampler": "scfg_sampler", "scfg-decoder": "decoder", "scfg-monolingual": "monolingual"}
COMMANDS = {
    "scfg_sampler": "scfg_sampler.commands.sample",
    "decoder": "decoder.commands.linearise",
    "monolingual": "monolingual.ot.commands",
}
PRESSING = """
import atexit, os, signal, sys

def press():
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            press()

sys.meta_path.insert(0, Finder())
if not {module!r}:
    atexit.register(press)
"""


@pytest.mark.parametrize(("program", "package"), PROGRAMS.items())
@pytest.mark.parametrize(
    ("module", "status", "said"),
    [
        ("scfg_sampler.core.console", -signal.SIGINT, ""),
        ("scfg_sampler.core.startup", -signal.SIGINT, ""),
        ("a command", 130, "interrupted"),
        (None, -signal.SIGINT, ""),
    ],
)
def test_ctrl_c_while_a_program_is_loaded_or_unloaded_shows_no_traceback(
    root, tmp_path, program, package, module, status, said
):
    """It ends it as it ends programs in C; in between, once it is awaited, it is told of."""
    module = COMMANDS[package] if module == "a command" else module
    (tmp_path / "sitecustomize.py").write_text(PRESSING.format(module=module))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = [sys.executable, "-m", package, "--completion", "bash"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stderr == (f"{program}: {said}\n" if said else "")


def test_programs_that_are_installed_begin_as_modules_do(root):
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    assert {name: f"{module}.__main__:main" for name, module in PROGRAMS.items()} == scripts


@pytest.mark.parametrize("program", PROGRAMS.values())
def test_ctrl_c_stays_ignored_where_it_is(root, tmp_path, program):
    """As behind `&` in a script: the program does not hear it, from its first line to its last."""
    (tmp_path / "sitecustomize.py").write_text(PRESSING.format(module="scfg_sampler.core.console"))
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = ["sh", "-c", f"trap '' INT; exec {sys.executable} -m {program} --version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
