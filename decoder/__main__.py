"""`python -m decoder COMMAND`, the same as `scfg-decoder COMMAND`."""

import sys

from decoder.cli import main

if __name__ == "__main__":
    sys.exit(main())
