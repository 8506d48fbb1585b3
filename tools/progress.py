"""Progress of a long command: a line on the terminal that is erased at the end."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self, TextIO

from ..support.interrupts import ERASE


class Progress:
    """
    A line on `stream` that names the current stage; silent if `quiet`, or if the stream is not a terminal.

        with Progress("meshloom-compile", quiet) as progress:
            progress("import")
    """

    def __init__(self, prog: str, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.prog = prog
        self.quiet = quiet
        self.active = not quiet and self.stream.isatty()

    def __call__(self, stage: str) -> None:
        """Show that `stage` begins."""
        if self.active:
            self.stream.write(f"{ERASE}{self.prog}: {stage} ...")
            self.stream.flush()

    def note(self, text: str) -> None:
        """A line `note: ...` that is not erased, unless `quiet`, about an assumption that the user can change."""
        if not self.quiet:
            self.stream.write(f"{ERASE if self.active else ''}note: {text}\n")
            self.stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.active:
            self.stream.write(ERASE)
            self.stream.flush()
