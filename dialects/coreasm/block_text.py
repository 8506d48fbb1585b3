"""
Text in braces that is read line by line, not by xDSL's parser of tokens: programs of tens of thousands of lines.

The lines that operations were read from are kept as long as the operations live, for messages.
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
"""A string, or the bytes of one: xDSL reads a literal with escapes that are no ASCII as the latter."""


@dataclass(frozen=True)
class TextLines:
    """Where an operation was read from."""

    file: str
    lines: Sequence[int]
    """Line numbers, from 1, of the parts of the operation (a program: its words)."""

    def location(self, part: int) -> str:
        """`FILE:LINE`"""
        return f"{self.file}:{self.lines[part]}"


_LINES: WeakKeyDictionary[Operation, TextLines] = WeakKeyDictionary()


def location_of(op: Operation, part: int) -> str | None:
    """`FILE:LINE` of a part of an operation that was read from text and has not been changed since, else None."""
    found = _LINES.get(op)
    return found.location(part) if found is not None and part < len(found.lines) else None


def in_its_file(op: Operation, message: str) -> str:
    """A message that begins with `FILE:LINE` of the file that `op` was read from, with `line LINE` in its place."""
    found = _LINES.get(op)
    start = None if found is None else f"{found.file}:"
    return f"line {message.removeprefix(start)}" if start and message.startswith(start) else message


class BlockParser:
    """Reads a block in braces; fails at marks, which are positions in the text."""

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
        Hand each line that is not empty, and its mark, to `take`, till the block's brace closes where `depth` is 0.

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
                self.fail(token.span.start, "this block lacks its '}'")
            at = end + 1

    def note_lines(self, op: Operation, marks: Sequence[int]) -> None:
        """Keep the lines of `op`, whose parts begin at ascending marks."""
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
    """The bytes that an attribute stands for."""
    return attribute.data if isinstance(attribute, BytesAttr) else attribute.data.encode()


def text_of(attribute: Text) -> str:
    """The string that an attribute stands for."""
    return attribute.data if isinstance(attribute, StringAttr) else attribute.data.decode(errors="replace")


def parse_text(parser: Parser) -> StringAttr:
    """Parse a string literal with any escapes."""
    raw = parser.parse_optional_bytes_literal()
    return StringAttr(parser.parse_str_literal() if raw is None else raw.decode(errors="replace"))
