"""Numbers that are too large for what they mean are refused in a line that names them."""

import pytest

from decoder.lm.arpa import read_arpa
from monolingual.ot.formats import read_tableaux
from monolingual.ot.praat import read_grammar
from scfg_sampler.core.weights import read_weights
from scfg_sampler.errors import InputError
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.store import merge_rules
from tests.fuzz import readers


def with_number(tmp_path, content: bytes, old: bytes, new: bytes):
    assert content.count(old) == 1
    path = tmp_path / "input"
    path.write_bytes(content.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("read", "content", "old", "new", "complaint"),
    [
        (read_arpa, readers._ARPA, b"-0.2\n", b"1e300\n", r"input:9: back-off 1e\+300.*-10000 to 10000"),
        (read_arpa, readers._ARPA, b"-0.4\t", b"-1e300\t", r"log probability -1e\+300"),
        (read_tableaux, readers._OT, b"60", b"1e308", r"input:2: '1e308' is not a frequency"),
        (
            read_tableaux,
            readers._OT,
            b"60\t1",
            b"60\t1e300",
            r"input:2: '1e300' is not a number of violations",
        ),
        (read_grammar, readers._PRAAT, b'"pa" 1', b'"pa" 1e300', r"input:10: 1e\+300 is not a number"),
        (read_weights, b'{"a": 1}', b"1", b"9" * 400, "the weight of 'a' is 999"),
        (read_weights, b'{"a": 1}', b"1", b"9" * 5000, "a number too long"),
    ],
)
def test_a_number_too_large_is_refused(tmp_path, read, content, old, new, complaint):
    with pytest.raises(InputError, match=complaint):
        read(with_number(tmp_path, content, old, new))


def test_features_beyond_single_precision_are_refused(tmp_path):
    """Units differ: 3e38 in base 10 is more than a float32 holds in base e."""
    content = b"[X] ||| a ||| b ||| EgivenFCoherent=3e38\n"
    with pytest.raises(InputError, match=r"input:1: the feature LogForward is -6\.9"):
        read_table(with_number(tmp_path, content, b"\n", b"\n"), "cdec")
    with pytest.raises(InputError, match="input:1: holds a number that is too large"):
        read_table(with_number(tmp_path, content, b"EgivenFCoherent=3e38", b"CountEF=3e38"), "cdec")


def test_links_beyond_what_a_store_holds_are_refused(tmp_path):
    import numpy as np

    one, none = np.array([0, 1], np.int64), np.array([5], np.int32)
    rules = RuleCounts(one, none, one, none, one, np.array([[32767, 65535]], np.int32), np.ones(1))
    assert merge_rules(rules).alignment.tolist() == [[32767, 65535]]
    for link in ((0, 65536), (32768, 0)):
        with pytest.raises(InputError, match="a rule has a link that is not below 32768"):
            merge_rules(rules._replace(alignment=np.array([link], np.int32)))
