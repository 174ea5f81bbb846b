"""`python -m scfg_sampler COMMAND`, the same as `scfg-sampler COMMAND`."""

import sys

from scfg_sampler.cli import main

if __name__ == "__main__":
    sys.exit(main())
