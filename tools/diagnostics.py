"""Messages of xDSL's exceptions as one line that starts with the place, where one is known."""

from __future__ import annotations

import re
from itertools import pairwise

from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

from ..support.errors import shortened


def describe(error: BaseException) -> str | None:
    """One line for an error in the user's IR, or None when the exception is a defect of the program."""
    match error:
        case ParseError():
            return f"{error.span.get_location()}: {shortened(one_line(error.msg), 500)}"
        case ArgSpecParseError() | DiagnosticException():
            return _with_operation(error)
        case _:
            return None


def one_line(text: str) -> str:
    """`text` with line breaks and runs of spaces replaced by single spaces."""
    return " ".join(text.split())


def _with_operation(error: BaseException) -> str:
    """xDSL notes the whole module with a caret line below the operation: keep that operation's line only."""
    message = one_line(str(error)) or type(error).__name__
    for note in getattr(error, "__notes__", ()):
        lines = str(note).splitlines()
        for before, line in pairwise(lines):
            if re.fullmatch(r"\s*\^+-*", line):
                return f"{message} [in: {shortened(before.strip())}]"
    return message
