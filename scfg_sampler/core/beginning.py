"""What a program does before it loads anything: let Ctrl-C end it without a word, as it ends programs in C.

The fact a newcomer would get wrong: to Python Ctrl-C is an exception from the start, and while modules are
loaded there is nobody yet who would catch it. `signals.terminable` makes an exception of it again.
"""

import signal

__all__ = ["end_at_once"]


def end_at_once() -> None:
    """Let Ctrl-C end the process, until somebody awaits it; nothing where it is ignored, as behind `&`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
