"""`python -m monolingual MODEL COMMAND`, the same as `scfg-monolingual MODEL COMMAND`."""

import sys

from scfg_sampler.core.beginning import end_at_once


def main() -> int:
    """The exit status of this process's command; what it takes is loaded with Ctrl-C as in programs in C."""
    end_at_once()
    from monolingual.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
