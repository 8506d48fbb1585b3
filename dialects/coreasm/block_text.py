"""
Blocks of text in braces that are read line by line, without xDSL's tokens: programs may have tens of thousands of
lines.

The line numbers of operations are kept as long as the operations exist, for error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import BytesAttr, StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .line_tokens import LineError, LineTokens

Text = StringAttr | BytesAttr
"""A string, or its bytes: xDSL reads a literal with non-ASCII escapes as bytes."""


@dataclass(frozen=True)
class TextLines:
    """The place in a file from which an operation was read."""

    file: str
    lines: Sequence[int]
    """Line number, from 1, of each part of the operation (of a program: of each word)."""

    def location(self, part: int) -> str:
        """`FILE:LINE`"""
        return f"{self.file}:{self.lines[part]}"


_LINES: WeakKeyDictionary[Operation, TextLines] = WeakKeyDictionary()


def location_of(op: Operation, part: int) -> str | None:
    """`FILE:LINE` of a part of an operation that was read from text and has not been changed since; else None."""
    found = _LINES.get(op)
    return found.location(part) if found is not None and part < len(found.lines) else None


def in_its_file(op: Operation, message: str) -> str:
    """A message, in which a leading `FILE:LINE` in the file that `op` was read from is replaced by `line LINE`."""
    found = _LINES.get(op)
    start = None if found is None else f"{found.file}:"
    return f"line {message.removeprefix(start)}" if start and message.startswith(start) else message


class BlockParser:
    """Reads a block in braces. A mark is a position in the text, at which an error can be reported."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    def fail(self, mark: int, problem: str) -> NoReturn:
        """Raise the error for the line that begins at `mark`."""
        content = self._parser.lexer.input.content
        end = content.find("\n", mark)
        line = content[mark : end if end >= 0 else len(content)]
        start = mark + len(line) - len(line.lstrip())
        self._parser.raise_error(problem, start, max(start + 1, mark + len(line.rstrip())))

    def read(self, take: Callable[[LineTokens, int], None], depth: Callable[[], int] = lambda: 0) -> int:
        """
        Pass each line that is not empty, with its mark, to `take`, until the closing brace at which `depth` is 0.

        Returns the mark of the last line.
        """
        parser = self._parser
        token = parser._current_token  # pyright: ignore[reportPrivateUsage]
        if token.kind != MLIRTokenKind.L_BRACE:
            parser.raise_error("expected '{'")
        content = parser.lexer.input.content
        at = token.span.end
        while True:
            end = content.find("\n", at)
            text = content[at : end if end >= 0 else len(content)]
            if depth() == 0 and text.lstrip()[:1] == "}":
                parser._resume_from(content.index("}", at) + 1)  # pyright: ignore[reportPrivateUsage]
                return at
            try:
                tokens = LineTokens(text)
                if tokens.kinds:
                    take(tokens, at)
            except LineError as error:
                parser.raise_error(error.problem, at + error.column, at + error.column + 1)
            if end < 0:
                self.fail(token.span.start, "this block has no closing '}'")
            at = end + 1

    def note_lines(self, op: Operation, marks: Sequence[int]) -> None:
        """Record the line numbers of `op`; `marks`, ascending, are the starts of its parts."""
        text = self._parser.lexer.input
        lines: list[int] = []
        line, seen = 1, 0
        for mark in marks:
            line += text.content.count("\n", seen, mark)
            seen = mark
            lines.append(line)
        _LINES[op] = TextLines(text.name, lines)


def print_block(printer: Printer, lines: Iterable[str]) -> None:
    """Print lines in braces."""
    printer.print_string(" {")
    with printer.indented():
        for line in lines:
            printer.print_string("\n" + line)
    printer.print_string("\n}")


def payload(attribute: Text) -> bytes:
    """The bytes that an attribute holds (a string: in UTF-8)."""
    return attribute.data if isinstance(attribute, BytesAttr) else attribute.data.encode()


def text_of(attribute: Text) -> str:
    """The string that an attribute holds."""
    return attribute.data if isinstance(attribute, StringAttr) else attribute.data.decode(errors="replace")


def parse_text(parser: Parser) -> StringAttr:
    """Parse a string literal with any escapes."""
    raw = parser.parse_optional_bytes_literal()
    return StringAttr(parser.parse_str_literal() if raw is None else raw.decode(errors="replace"))
