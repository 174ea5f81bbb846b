"""`python -m monolingual MODEL COMMAND`, the same as `scfg-monolingual MODEL COMMAND`."""

import sys

from monolingual.cli import main

if __name__ == "__main__":
    sys.exit(main())
