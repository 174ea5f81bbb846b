"""The same computation without compilation, in a child process.

Compiled and interpreted draws from equal generators are equal bit for bit, so a kernel and its plain Python
twin make the same choices from the same seed; only logarithms and their like may differ in the last bit.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["interpreted"]

_CHILD = """
import pickle, sys
function, arguments = pickle.load(sys.stdin.buffer)
pickle.dump(function(*arguments), sys.stdout.buffer)
"""


def interpreted(function: Callable, *arguments: Any) -> Any:
    """What a function of a module returns when every kernel is plain Python.

    Parameters
    ----------
    function : callable
        Defined at the top level of an importable module. Must not print.
    *arguments
        Anything pickle can carry.

    Raises
    ------
    AssertionError
        The function failed; shows its traceback.
    """
    child = subprocess.run(
        [sys.executable, "-W", "ignore:overflow encountered:RuntimeWarning", "-c", _CHILD],
        input=pickle.dumps((function, arguments)),
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()
    return pickle.loads(child.stdout)
