"""What the options that name a corpus say."""

import argparse

from scfg_sampler.commands import corpus_files


def test_alignments_named_twice_are_warned_of_in_their_order(capsys):
    names = list("fbeadcg")
    options = argparse.Namespace(source="s", target="t", alignment=[*names, *reversed(names)], labels=None)
    assert corpus_files(options).alignments == (*names, *reversed(names))
    said = [f"warning: {name} is named 2 times, and counts as often" for name in names]
    assert capsys.readouterr().err.splitlines() == said
