"""The tests, some of which are programs: `python -m tests.…`."""

import math

from scfg_sampler.core import console

# Messages are compared line by line, on machines that are slow at times.
console.SECONDS_OF_SILENCE = math.inf
