"""
An interrupt from the keyboard ends the process at once, with one line and nothing left half-written.

KeyboardInterrupt will not do: raised while modules load it prints where that was, and raised while a compiled kernel
takes its arguments or hands over its result it becomes a SystemError or a segmentation fault.

Imports nothing that Python has not loaded by itself: commands install this before they load anything else.

What comes earlier cannot be answered from here. Until Python has set its handlers, a few milliseconds after the start,
an interrupt ends the process without output, as it does every program. From then until this module is loaded, while
Python runs `site`, the `.pth` files of the environment and the script that pip wrote, it is answered by Python: with a
traceback, or rarely not at all. That takes about 10 ms, and 20 ms in an editable install, whose `.pth` file imports
`pathlib`. A `.pth` file of ours could shorten it, but would run in every Python process of the environment.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # What `signal` wraps in enumerations, whose import takes a while.

EXIT_INTERRUPTED = 130
ERASE = "\r\x1b[K"
"""Removes the line on a terminal that says what a command is doing."""

unfinished: set[str] = set()
"""Temporary files of the writes under way, which an interrupt removes."""


def end_on_interrupt() -> bool:
    """
    From now on an interrupt ends the process with status 130; returns whether this call made it so.

    It does not where somebody else than Python handles interrupts, and outside of the main thread.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, _end)
    except ValueError:
        return False
    return True


def raise_on_interrupt() -> None:
    """An interrupt raises KeyboardInterrupt again, as Python has it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """The work is done: while Python takes itself apart, an interrupt changes nothing any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    """With worker processes KeyboardInterrupt is raised all the same, for these must end."""
    active_children = getattr(sys.modules.get("multiprocessing"), "active_children", None)
    if active_children is not None and active_children():
        raise KeyboardInterrupt
    for temporary in tuple(unfinished):
        try:
            os.unlink(temporary)
        except OSError:
            pass
    os.write(2, (ERASE if os.isatty(2) else "").encode() + b"error: interrupted\n")
    os._exit(EXIT_INTERRUPTED)
