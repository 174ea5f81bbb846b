"""The sweep over a corpus whose unaligned words belong to any rule: `forest.attachments`, compiled."""

from __future__ import annotations

from scfg_sampler.core.fragments.room import lacks_room
from scfg_sampler.core.fragments.sampler import find_rules
from scfg_sampler.core.fragments.tree import decode, encode
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.forest.attachments import sweep_attached
from scfg_sampler.forest.implicit import fill_forest

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.learner.model import RuleModel  # noqa: F401
from scfg_sampler.learner.passes import forget_stamps

__all__ = ["sweep_attached_sentences"]


@kernel
def sweep_attached_sentences(rng, walk, model, restaurants, trees, sentences, max_level, breadth_first):
    """As `passes.sweep_sentences`, boxes included."""
    first, stop = sentences
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    model, restaurants = by_reference(model), by_reference(restaurants)
    forget_stamps(work)
    for sentence in range(first, stop):
        size = tree_start[sentence + 1] - tree_start[sentence]
        if size == 0:
            continue
        if lacks_room(restaurants, size):
            return sentence
        fill_forest(forest, work, corpus, sentence)
        decode(forest, work, trees, tree_start[sentence], 0)
        find_rules(forest, model, restaurants, work, size)
        sweep_attached(rng, forest, model, restaurants, work, max_level, breadth_first)
        encode(forest, work, trees, tree_start[sentence])
    return stop
