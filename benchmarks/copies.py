"""A corpus of any size out of a small one: copies of it, in each of which the words have other names.

    python benchmarks/copies.py SOURCE TARGET ALIGNMENT --pairs N --output DIR [--share P]

Writes N sentence pairs to DIR/train.f, DIR/train.e and DIR/train.a: those of the corpus, then those of its
second copy, whose words have `~2` behind them, and so on; the last copy is cut. So vocabularies, rules and
whatever else a corpus brings grow with it, faster than those of real text of that size would. With
`--share P` that share of the kinds of words, the most frequent ones, keep their names.
"""

from __future__ import annotations

import argparse
import collections
import itertools
from collections.abc import Iterator
from pathlib import Path

from scfg_sampler.core.files import read_lines


def main() -> None:
    """Write the corpus."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs=3, type=Path, metavar="FILE", help="source, target, alignment")
    parser.add_argument("--pairs", type=int, required=True, metavar="N")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--share", type=float, default=0.0, metavar="P")
    args = parser.parse_args()
    write_copies(args.files, args.pairs, args.output, args.share)


def write_copies(files: list[Path], pairs: int, output: Path, share: float = 0.0) -> None:
    """Write so many sentence pairs as `train.f`, `train.e` and `train.a` in a directory.

    Parameters
    ----------
    files : list of path
        Source, target and alignment of a corpus.
    pairs : int
    output : path
    share : float
        Of the kinds of words, how many keep their names, the most frequent ones.
    """
    output.mkdir(parents=True, exist_ok=True)
    for path, name in zip(files, ("train.f", "train.e", "train.a"), strict=True):
        lines = list(read_lines(path))
        copied = itertools.cycle(lines) if name == "train.a" else _renamed(lines, share)
        with open(output / name, "w", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in itertools.islice(copied, pairs))


def _renamed(lines: list[str], share: float) -> Iterator[str]:
    """The lines, and then their copies without end."""
    counts = collections.Counter(word for line in lines for word in line.split())
    kept = {word for word, _ in counts.most_common(round(share * len(counts)))}
    yield from lines
    for copy in itertools.count(2):
        suffix = f"~{copy}"
        for line in lines:
            yield " ".join(word if word in kept else word + suffix for word in line.split())


if __name__ == "__main__":
    main()
