"""Fixtures and options shared by every test.

`pytest` alone runs everything but the tests marked `slow`; `pytest --slow` runs those as well, and
`pytest --slow-part K/N` one Nth of them and nothing else; `--slow-seconds S` begins none of them after S
seconds. Tests under `tests/exact` are run with kernels as plain
Python in a child process by `test_exact_tier.py`, unless `--without-exact` says that they have a
run of their own; `--exact compiled` runs those that can follow compiled kernels, and nothing else.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import time
import zlib
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from scfg_sampler.core import jit
from tests.oracles import followed
from tests.recipe_calls import write_stand_in

ROOT = Path(__file__).resolve().parents[1]
_BEGAN = pytest.StashKey[float]()  # When the session did.

# The same examples in every run, however long the first one takes to compile, and no files left behind.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, max_examples=100
)
hypothesis.settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")
    parser.addoption(
        "--slow-part", metavar="K/N", help="run part K, from 1 to N, of the tests marked slow, and no others"
    )
    parser.addoption(
        "--slow-seconds",
        metavar="S",
        type=float,
        help="begin no test marked slow after S seconds",
    )
    parser.addoption("--without-exact", action="store_true", help="leave tests/exact to a run of its own")
    parser.addoption(
        "--exact",
        choices=("compiled", "plain"),
        help="only those of tests/exact that can follow compiled kernels, with these; or only the others",
    )


def pytest_configure(config: pytest.Config) -> None:
    # A job in the background ignores Ctrl-C, and its children would too; tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        # Hashes wrap around on purpose; numpy's scalars warn about it, compiled integers do not.
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")

    if config.getoption("--exact") == "compiled":
        if not jit.ENABLED:
            raise pytest.UsageError("--exact compiled: kernels are plain Python, by NUMBA_DISABLE_JIT=1")
        followed.replace_draws()


def _follows_compiled(item: pytest.Item) -> bool:
    """Whether a test can follow compiled kernels: in these, nothing can be replaced."""
    plain = {"monkeypatch", "plain_kernels"} & set(getattr(item, "fixturenames", ()))
    return item.nodeid.startswith("tests/exact/") and not plain


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if kind := config.getoption("--exact"):
        exact = [item for item in items if item.nodeid.startswith("tests/exact/")]
        chosen = [item for item in exact if _follows_compiled(item) == (kind == "compiled")]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
    if config.getoption("--slow-part"):
        chosen = slow_part([item.nodeid for item in items if _is_slow(item)], config.getoption("--slow-part"))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
        return
    if config.getoption("--without-exact"):
        exact = [item for item in items if item.nodeid.startswith("tests/exact/")]
        config.hook.pytest_deselected(items=exact)
        items[:] = [item for item in items if not item.nodeid.startswith("tests/exact/")]
    if config.getoption("--slow"):
        return
    for item in items:
        if _is_slow(item):
            item.add_marker(pytest.mark.skip(reason="slow; run with --slow"))


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_BEGAN] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    limit = item.config.getoption("--slow-seconds")
    if limit is not None and _is_slow(item) and time.monotonic() - item.config.stash[_BEGAN] > limit:
        pytest.skip(f"no time left: {limit:g} s have passed")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    # What compilers leave behind stays for good; whoever collects garbage later need not go through it again.
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.config.getoption("--slow-part") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK  # A part may be empty.


def _is_slow(item: pytest.Item) -> bool:
    """By its mark: among an item's keywords are the names of the directories it lies in, too."""
    return item.get_closest_marker("slow") is not None


def slow_part(names: list[str], part: str) -> set[str]:
    """One part of N of some tests: all parts are of one size, and no test is in two.

    Tests are dealt out in the order of their digests, so that those of a file come to different parts.
    """
    match = re.fullmatch(r"([0-9]+)/([0-9]+)", part)
    number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= parts:
        raise pytest.UsageError(f"--slow-part is {part}; it is K/N with K from 1 to N, as in 3/20")
    dealt = sorted(names, key=lambda name: (zlib.crc32(name.encode()), name))
    return set(dealt[number - 1 :: parts])


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of the test's own: the same in every run, another for every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A directory with a `python` that answers recipes in place of the programs (`recipe_calls`)."""
    return write_stand_in(tmp_path)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The directory of data sets beside the repository; tests that need it are skipped without it."""
    path = ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("needs the data sets in ../shared/data")
    return path


@pytest.fixture(scope="module")
def workers():
    """Two processes of a Dask cluster: they take seconds to start, and an eighth of a core when idle."""
    for name in ("dask", "distributed"):
        pytest.importorskip(name, reason="Dask is not installed: pip install 'scfg-sampler[cluster]'")
    from scfg_sampler.core.cluster import dask_executor

    with dask_executor(2, None) as executor:
        yield executor


@pytest.fixture(scope="module")
def scheduler(workers) -> list[str]:
    """The options of a command that has its work done by these."""
    return ["--scheduler", workers._client.scheduler.address]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A function that gives the directory of a group of examples, made when it is first asked for."""
    from tests.example_files import make_files

    folders: dict[str, Path] = {}

    def directory(group: str) -> Path:
        if group not in folders:
            folders[group] = make_files(group, tmp_path_factory.mktemp("examples") / group)
        return folders[group]

    return directory
