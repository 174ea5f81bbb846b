"""Fingerprints of tree fragments that compose in constant time.

A fragment spells a pair of strings over words and slots (its frontier nonterminals), the second string
naming slots by their order in the first; a fragment of one tree spells one string and leaves the second
empty. Writing h for the value of a symbol and B for an odd multiplier, all modulo 2^64, a string has

    hash(x₁ … x_n) = Σ h(x_i) B^(n−i),        hash(uv) = hash(u) B^|v| + hash(v).

Slot k of the second string has the value s₀ + k s₁, linear in k, so that renumbering the slots of a
string by +o adds o s₁ Σ B^(n−i) over its slots, a sum that is kept beside the hash. Hence the spelling of a
node follows from those of its children with a few multiplications, whatever its length: this is what makes
a rule evaluation cheap.

The fact a newcomer would get wrong: a piece describes what stands *below* a node if the node is not
cut. A cut node contributes a single slot to the piece above it.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.jit import inlined, kernel

__all__ = [
    "ADJACENT",
    "COUNTS",
    "FIRST_HASH",
    "FIRST_POWER",
    "MULTIPLIER",
    "PIECE_WIDTH",
    "SECOND_HASH",
    "SECOND_POWER",
    "SECOND_SLOTS",
    "SLOT",
    "SLOT_BASE",
    "SLOT_STEP",
    "fingerprint",
    "fingerprint_under",
    "num_adjacent",
    "num_first",
    "num_second",
    "num_slots",
    "powers",
    "prefix_hashes",
    "scope",
    "word_hashes",
]

# Columns of a piece, uint64.
FIRST_HASH = 0
FIRST_POWER = 1
SECOND_HASH = 2
SECOND_SLOTS = 3
SECOND_POWER = 4
COUNTS = 5
PIECE_WIDTH = 6

# B − 1 is twice an odd number and B + 1 four times one: short products of (B^i − 1) keep their low bits.
MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
SLOT = np.uint64(0xA24BAED4963EE407)  # a slot in the first string, where order says which
SLOT_BASE = np.uint64(0x9FB21C651E98DF25)
SLOT_STEP = np.uint64(0xC13FA9A902A6328F)

# Counts are packed: words of the first string, words of the second, slots, adjacent pairs of slots in
# the first string, whether its first symbol is a slot, whether its last is.
_FIELD = np.uint64(0x3FFF)
_SECOND = np.uint64(14)
_SLOTS = np.uint64(28)
_ADJACENT = np.uint64(42)
STARTS_WITH_SLOT = np.uint64(1 << 60)
ENDS_WITH_SLOT = np.uint64(1 << 61)
ENDS = STARTS_WITH_SLOT | ENDS_WITH_SLOT
ONE_FIRST = np.uint64(1)
ONE_SECOND = np.uint64(1 << 14)
ONE_SLOT = np.uint64(1 << 28)
ADJACENT = np.uint64(1 << 42)
LONGEST_STRING = int(_FIELD)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_KEY_SHIFT = np.uint64(1)


@inlined
def _mixed(x):
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every input bit moves every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def fingerprint(pieces, node):
    """A positive 63-bit key of the fragment headed at a node."""
    return fingerprint_under(pieces, node, _ZERO)


@inlined
def fingerprint_under(pieces, node, value):
    """`fingerprint`, where fragments that spell the same are told apart by a value; 0 tells nothing."""
    # The second hash is mixed before it is added, so that ⟨u, v⟩ and ⟨v, u⟩ differ.
    mixed = _mixed(pieces[node, FIRST_HASH] + value + _mixed(pieces[node, SECOND_HASH] + MULTIPLIER))
    return np.int64((mixed >> _KEY_SHIFT) | _ONE)


@inlined
def num_first(counts):
    """Words in the first string of a piece with these packed counts."""
    return np.int64(counts & _FIELD)


@inlined
def num_second(counts):
    """Words in the second string."""
    return np.int64((counts >> _SECOND) & _FIELD)


@inlined
def num_slots(counts):
    """Slots, the fragment's frontier nonterminals."""
    return np.int64((counts >> _SLOTS) & _FIELD)


@inlined
def num_adjacent(counts):
    """Pairs of slots that stand side by side in the first string."""
    return np.int64((counts >> _ADJACENT) & _FIELD)


@inlined
def scope(counts):
    """Adjacent pairs of slots, plus slots at either end, in the first string (Hopkins and Langmead 2010)."""
    ends = np.int64((counts >> np.uint64(60)) & _ONE) + np.int64((counts >> np.uint64(61)) & _ONE)
    return num_adjacent(counts) + ends


@kernel
def word_hashes(num_words, salt):
    """uint64 (num_words,): the value h of each word; `salt` tells the two strings' vocabularies apart."""
    values = np.empty(num_words, np.uint64)
    for word in range(num_words):
        values[word] = _mixed(_mixed(np.uint64(word) + np.uint64(salt) * SLOT_STEP) + SLOT_BASE)
    return values


@kernel
def powers(length):
    """uint64 (length + 1,): B^0 … B^length."""
    table = np.empty(length + 1, np.uint64)
    table[0] = _ONE
    for i in range(length):
        table[i + 1] = table[i] * MULTIPLIER
    return table


@inlined
def prefix_hashes(words, start, stop, values, out):
    """Write the hashes of all prefixes of words[start:stop] to out[: stop − start + 1]."""
    hashed = np.uint64(0)
    out[0] = hashed
    for i in range(start, stop):
        # hash(ux) = hash(u) B + h(x).
        hashed = hashed * MULTIPLIER + values[words[i]]
        out[i - start + 1] = hashed
