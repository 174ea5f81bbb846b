from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def explored_directory(tmp_path_factory) -> Path:
    """A directory with a run and a system; tests are skipped without what serves them."""
    pytest.importorskip("starlette", reason="needs starlette (pip install 'scfg-sampler[pages]')")
    pytest.importorskip("uvicorn", reason="needs uvicorn (pip install 'scfg-sampler[pages]')")
    from tests.explore.made import made_directory

    return made_directory(tmp_path_factory.mktemp("explored"))


@pytest.fixture(scope="session")
def sources(explored_directory):
    from scfg_sampler.explore.pairs import Pairs
    from scfg_sampler.explore.questions import Question
    from scfg_sampler.explore.sources import open_sources

    found = open_sources([explored_directory, explored_directory / "other"])
    # What takes steps is compiled now, not while a browser waits.
    Pairs(found).steps(Question({"number": 0}))
    return found


@pytest.fixture(scope="session")
def port(sources):
    from tests.explore.made import served

    with served(sources) as found:
        yield found
