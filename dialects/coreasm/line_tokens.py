"""The tokeniser for one line of instructions or directives, in a listing or in the text of a packed program."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from ...support.errors import InputError, shortened

_TOKEN = re.compile(
    r'\s*(?:(?P<comment>;.*|//.*)|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:e[-+]?[0-9]+)?)?))"
    r"|(?P<word>\.?[A-Za-z_][A-Za-z0-9_.]*)|(?P<mark>->|[\[\](){},=+]))"
)
_LONGEST_NUMBER = 60


class LineError(InputError):
    """An error in a line: `problem` is the message without the location, `column` (from 0) its position."""

    def __init__(self, location: str, problem: str, column: int) -> None:
        super().__init__(f"{location}: {problem}")
        self.problem, self.column = problem, column


class LineTokens:
    """The tokens of a line, taken one by one; every failure is a LineError naming file and line."""

    def __init__(self, text: str, location: str = "") -> None:
        """`location` is `FILE:LINE`."""
        self.location = location
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.ends: list[int] = []
        self.at = 0
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise LineError(location, f"cannot read '{text[position : position + 20].strip()}'", position)
            position = match.end()
            if match.lastgroup != "comment":
                self.kinds.append(match.lastgroup)
                self.texts.append(match[match.lastgroup])
                self.ends.append(position)

    def _take(self, kind: str, text: str | None = None) -> str | None:
        if self.at < len(self.kinds) and self.kinds[self.at] == kind:
            found = self.texts[self.at]
            if text is None or found == text:
                self.at += 1
                return found
        return None

    def keyword(self, text: str) -> bool:
        """Take the word `text` if it is next."""
        return self._take("word", text) is not None

    def punctuation(self, text: str) -> bool:
        """Take the mark `text` if it is next."""
        return self._take("mark", text) is not None

    def word(self) -> str | None:
        """Take the next word."""
        return self._take("word")

    def number(self) -> int | float | None:
        """Take the next number."""
        text = self._take("number")
        if text is None:
            return None
        if len(text) > _LONGEST_NUMBER:
            self.fail("the number is too long")
        if "x" in text:
            return int(text, 16)
        return float(text) if "." in text else int(text)

    def integer(self, what: str, low: int = 0, high: int = (1 << 63) - 1) -> int:
        """Take an integer in range."""
        value = self.number()
        if isinstance(value, int) and low <= value <= high:
            return value
        self.fail(f"expected {what}: an integer from {low} to {high}")

    def text(self) -> str | None:
        """Take the next token if it is a string."""
        text = self._take("string")
        if text is None:
            return None
        try:
            return str(json.loads(text))
        except ValueError:
            self.at -= 1
            return None

    def string(self, what: str) -> str:
        """Take a string."""
        text = self.text()
        if text is None:
            self.fail(f'expected {what} in "quotes"')
        return text

    def expect(self, text: str) -> None:
        """Take the word or mark `text`."""
        if not (self.keyword(text) or self.punctuation(text)):
            self.fail(f"expected '{text}'")

    def end(self) -> None:
        """Check that the line has no further tokens."""
        if self.at < len(self.kinds):
            self.fail("expected the end of the line")

    def fail(self, message: str) -> NoReturn:
        """Raise LineError with the position in the line."""
        if self.at < len(self.texts):
            text = self.texts[self.at]
            raise LineError(self.location, f"{message} (before '{shortened(text)}')", self.ends[self.at] - len(text))
        column = self.ends[-1] if self.ends else 0
        raise LineError(self.location, f"{message} (at the end of the line)", column)


def quote(text: str) -> str:
    """`text` in the syntax that `LineTokens` reads: a JSON string."""
    return json.dumps(text)


def integers(tokens: LineTokens, low: int, high: int) -> list[int]:
    """Take a list of integers in brackets."""
    tokens.expect("[")
    if tokens.punctuation("]"):
        return []
    values = [tokens.integer("a number", low, high)]
    while tokens.punctuation(","):
        values.append(tokens.integer("a number", low, high))
    tokens.expect("]")
    return values
