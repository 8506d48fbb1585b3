"""
Expected errors in a text, in MLIR's syntax: comments at the line of the error.

    // expected-error@+1 {{the words, or a part of them}}
    %y = dataflow.add %x, %z : ...

`expected-error` alone means its own line; `@+N` and `@-N` count from it, `@above` and `@below` are the lines beside it,
`@unknown` is an error without a line. Used by `meshloom-opt --verify-diagnostics`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ANNOTATION = re.compile(r"//.*?expected-error(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}")


@dataclass(frozen=True)
class ExpectedError:
    """Text of an expected error at a line of the file (from 1); None: an error without a line."""

    line: int | None
    text: str


@dataclass(frozen=True)
class FoundError:
    """An error that occurred."""

    line: int | None
    text: str


def has_annotations(text: bytes) -> bool:
    """Whether a text expects errors."""
    return _ANNOTATION.search(text.decode("utf-8", "replace")) is not None


def read_expected(text: str, lines_before: int = 0) -> Iterator[ExpectedError]:
    """The annotations of a text that begins after `lines_before` lines of its file."""
    for number, line in enumerate(text.split("\n"), 1 + lines_before):
        for found in _ANNOTATION.finditer(line):
            where = found["where"] or "+0"
            if where == "unknown":
                yield ExpectedError(None, found["text"])
            else:
                yield ExpectedError(number + int({"above": "-1", "below": "+1"}.get(where, where)), found["text"])


def mismatches(name: str, expected: Sequence[ExpectedError], found: Sequence[FoundError]) -> Iterator[str]:
    """
    Messages about the file `name`: expected errors that did not occur, and unexpected ones that did. Each error is
    matched once.
    """

    def location(line: int | None) -> str:
        return name if line is None else f"{name}:{line}"

    left = list(found)
    for one in expected:
        match = next((error for error in left if error.line == one.line and one.text in error.text), None)
        if match is None:
            yield f'{location(one.line)}: expected error "{one.text}" was not produced'
        else:
            left.remove(match)
    yield from (f"{location(error.line)}: unexpected error: {error.text}" for error in left)
