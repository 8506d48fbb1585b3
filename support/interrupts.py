"""
Handler for keyboard interrupts (SIGINT): it ends the process at once, prints one line and leaves no partial file.

KeyboardInterrupt is not enough: raised while modules are imported it prints a traceback, and raised while a compiled
kernel unpacks its arguments or returns its result it becomes a SystemError or a segmentation fault.

Imports only modules that Python's startup has loaded: commands install the handler before they import anything else.

Earlier interrupts cannot be handled here. Until Python has set its handlers, a few milliseconds after the start, an
interrupt ends the process without output, as for every program. From then until this module is loaded, while Python
runs `site`, the `.pth` files of the environment and the script that pip wrote, Python handles it: with a traceback, or
rarely not at all. That takes about 10 ms, and 20 ms in an editable install, whose `.pth` file imports `pathlib`. A
`.pth` file of this package could shorten it, but would run in every Python process of the environment.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # `signal` wraps this in enumerations, whose import is slow.

EXIT_INTERRUPTED = 130
ERASE = "\r\x1b[K"
"""Escape sequence that clears the progress line of a terminal."""

unfinished: set[str] = set()
"""Paths of temporary files of unfinished writes, which the handler deletes."""


def end_on_interrupt() -> bool:
    """
    From now on an interrupt ends the process with status 130. Returns whether the handler was installed.

    It is not installed if another handler than Python's default is set, or outside of the main thread.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, _end)
    except ValueError:
        return False
    return True


def raise_on_interrupt() -> None:
    """Restore Python's default: an interrupt raises KeyboardInterrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Ignore interrupts from now on: for the shutdown of the interpreter, when the work is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    """The signal handler: ends the process, or raises KeyboardInterrupt if there are worker processes to be ended."""
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
