"""Search with three language models against the enumeration of all derivations, interpreted."""

import numpy as np
import pytest

from decoder.translation.forced import ForcedDecoder
from tests.decoder.search.several_models import case


@pytest.mark.parametrize("seed", range(6))
def test_three_models_score_all_derivations(seed):
    known = case(seed, 3, unknown=True, length=3)
    decoder = known.decoder()
    result = decoder.search(known.words)
    found = decoder.translations(result, len(known.derivations) + 5, unique=False)
    np.testing.assert_allclose([t.score for t in found], [row[0] for row in known.derivations], atol=1e-4)
    words = known.derivations[-1][2]
    forced = decoder.best(ForcedDecoder(decoder).derive(known.words, words).result)
    assert forced.score == pytest.approx(
        max(row[0] for row in known.derivations if row[2] == words), abs=1e-4
    )
