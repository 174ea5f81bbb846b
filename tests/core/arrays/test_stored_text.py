from scfg_sampler.core.arrays.stored_text import StoredText


def test_lines_come_back_one_by_one_and_together():
    lines = ["a b", "", "ça €", "\U0001f600", ""]
    stored = StoredText(iter(lines))
    assert list(stored) == lines
    assert [stored[k] for k in range(-5, 5)] == lines + lines
    assert stored[1:4] == lines[1:4]
    assert len(stored) == 5
    assert not StoredText([])
