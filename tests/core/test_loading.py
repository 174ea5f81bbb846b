"""Cached kernels run without what only compiling needs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from numba.core import caching

from scfg_sampler.core import jit
from scfg_sampler.core.loading import CodeCacheImplementation

pytestmark = pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")

STATEMENT = """
import sys
import numpy as np
from scfg_sampler.core.jit import compiled, kernel

@compiled
def halved(x):
    if x[0] < 0:
        raise ValueError("below zero")
    return x / 2

@kernel
def halves(x):
    return halved(x), len(x)

print(halves(np.ones(3)), sum(halves.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
try:
    halves(-np.ones(3))
except ValueError as error:
    print(error)

@kernel
def other(x):
    return np.log(halves(x)[0]).sum()

print(round(other(np.ones(2)), 6), "numba.np.arraymath" in sys.modules)
"""


def test_numba_is_made_ready_to_compile_only_when_it_has_to(root, tmp_path):
    environment = {**os.environ, "SCFG_SAMPLER_CACHE": str(tmp_path), "PYTHONPATH": str(root)}

    def said(statement):
        command = [sys.executable, "-c", statement]
        child = subprocess.run(
            command, env=environment, cwd=root, capture_output=True, text=True, check=False
        )
        assert child.returncode == 0, child.stderr
        return child.stdout.splitlines()

    values, log = "(array([0.5, 0.5, 0.5]), 3)", "-1.386294"
    first, _ = STATEMENT.split("\n@kernel\ndef other", 1)
    assert said(first) == [f"{values} 0 True", "below zero"]
    # The second kernel is compiled onto the first one as the cache has it.
    assert said(STATEMENT) == [f"{values} 1 False", "below zero", f"{log} True"]
    assert said(STATEMENT) == [f"{values} 1 False", "below zero", f"{log} False"]


def test_what_has_no_address_yet_gets_one_before_the_code_is_loaded(monkeypatch):
    done = []

    class Context:
        def refresh(self):
            done.append("ready")

    monkeypatch.setattr(
        caching.CompileResultCacheImpl, "rebuild", lambda self, context, reduced: done.append(reduced)
    )
    implementation = object.__new__(CodeCacheImplementation)
    implementation.rebuild(Context(), (["NRT_Allocate", "NRT_Free"], "code"))
    implementation.rebuild(Context(), (["NRT_Free", "there_is_no_such_function"], "code"))
    assert done == ["code", "ready", "code"]
