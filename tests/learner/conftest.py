"""What the tests of the learner share."""

from __future__ import annotations

import pytest

from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import write_corpus


@pytest.fixture
def corpus_options(tmp_path) -> list[str]:
    """The options that name a small corpus, which lies in `tmp_path`."""
    return write_corpus(tmp_path, some_pairs())
