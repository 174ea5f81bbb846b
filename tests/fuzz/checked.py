"""Give readers their corpus with every index checked, or interpreted: `python -m tests.fuzz.checked MODE`.

MODE is `bounds`, kernels compiled with NUMBA_BOUNDSCHECK=1 in a cache of their own (--cache, a temporary one
by default), or `interpreted`, NUMBA_DISABLE_JIT=1. Each reader gets what it reads, the inputs that were
mended, some damaged ones (--inputs), and what fuzzing has kept in a directory (--keep). A kernel that reads
out of bounds is a fault then; the status is 1.

The fact a newcomer would get wrong: the files that programs make for the readers are made as always, in
another process; compiling all of the programs anew would take much longer than the readers do.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz import trial
from tests.fuzz.made_readers import MADE_BY_OTHERS, make
from tests.fuzz.mutate import mutated
from tests.fuzz.readers import READERS
from tests.fuzz.rounds import REGRESSIONS

_SECONDS = 600  # Of the processor for an input: what is interpreted, or compiled just now, takes long.


def main() -> int:
    """Prepare, start a process with the environment, or be that process."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.checked")
    parser.add_argument("mode", choices=["bounds", "interpreted"])
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--inputs", type=int, default=20, help="damaged files for each (default: 20)")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="that of tests.fuzz")
    parser.add_argument("--cache", help="of kernels with checks")
    options = parser.parse_args()
    if MADE_BY_OTHERS in os.environ:
        return check(options.readers or list(READERS), options.inputs, options.keep)
    with tempfile.TemporaryDirectory(prefix="scfg-checked-") as place:
        made = Path(place) / "made"
        made.mkdir()
        make(made)
        environment = {**os.environ, MADE_BY_OTHERS: str(made)}
        if options.mode == "bounds":
            cache = options.cache or str(Path(place) / "cache")
            environment |= {"NUMBA_BOUNDSCHECK": "1", "SCFG_SAMPLER_CACHE": cache}
        else:
            environment["NUMBA_DISABLE_JIT"] = "1"
        return subprocess.call([sys.executable, "-m", "tests.fuzz.checked", *sys.argv[1:]], env=environment)


def check(names: list[str], inputs: int, keep: Path | None = None) -> int:
    """Give readers their inputs, and say what was found."""
    trial.SECONDS = _SECONDS
    given = faults = 0
    for name in names:
        reader, rng = READERS[name], random.Random(f"checked {name}")
        contents = [*reader.warm(), *(path.read_bytes() for path in sorted(REGRESSIONS.glob(f"{name}/*")))]
        contents += [mutated(rng, reader.seeds) for _ in range(inputs)]
        if keep is not None:
            contents += [path.read_bytes() for path in sorted((keep / name / "corpus").glob("*"))]
        for content in contents:
            wrong = trial.fault(reader, content)
            if wrong is not None:
                print(f"{name}: {wrong}: {content[:200]!r}", flush=True)
            faults += wrong is not None
        given += len(contents)
        print(f"{name}: {len(contents)} inputs", flush=True)
    print(f"{len(names)} readers, {given} inputs, {faults} faults", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
