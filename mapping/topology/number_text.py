"""Compiled parsing and printing of lines of numbers in text files, such as those of METIS and Matrix Market."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from ...support.input_files import read_regular
from ...support.jit import jit

_MOST = 1 << 62
_CHUNK = 1 << 24
_LINE, _SPACE, _RETURN, _TAB, _PERCENT, _PLUS, _MINUS, _ZERO, _NINE, _DOT, _E_SMALL, _E_LARGE = b"\n \r\t%+-09.eE"


@jit
def _digits(text: NDArray[np.uint8], at: int, value: Any, most: int) -> tuple[Any, int, int]:
    """
    The number `value` continued by the digits at `at`; the index after them; the number of digits, or -1 if the result
    exceeds `most`.
    """
    start = at
    while at < text.size and _ZERO <= text[at] <= _NINE:
        if value > most // 10:
            return value, at, -1
        value = value * 10 + (np.int64(text[at]) - _ZERO)
        at += 1
    return value, at, at - start


@jit
def _number(text: NDArray[np.uint8], at: int) -> tuple[Any, int]:
    """
    The whole number >= 0 at `at`, which may be written as `3.00` or `1.2e+01`, and the index after it; -1 if there is
    no such number.
    """
    if text[at] == _PLUS:
        at += 1
    value, at, count = _digits(text, at, np.int64(0), _MOST)
    power = np.int64(0)
    if count >= 0 and at < text.size and text[at] == _DOT:
        last = at + 1
        for k in range(at + 1, text.size):  # trailing zeros of the fraction have no effect
            if text[k] < _ZERO or text[k] > _NINE:
                break
            if text[k] != _ZERO:
                last = k + 1
        value, _, more = _digits(text[:last], at + 1, value, _MOST)
        power = -np.int64(more)
        at += 1
        while at < text.size and _ZERO <= text[at] <= _NINE:
            count += 1
            at += 1
        if more < 0:
            return value, -1
    if count <= 0:
        return value, -1
    if at < text.size and (text[at] == _E_SMALL or text[at] == _E_LARGE):
        at += 1
        sign = 1
        if at < text.size and (text[at] == _PLUS or text[at] == _MINUS):
            sign = 1 if text[at] == _PLUS else -1
            at += 1
        exponent, at, count = _digits(text, at, np.int64(0), 1000)
        if count <= 0:
            return value, -1
        power += sign * exponent
    while power > 0 and value != 0:
        if value > _MOST // 10:
            return value, -1
        value *= 10
        power -= 1
    while power < 0 and value != 0:
        if value % 10 != 0:
            return value, -1
        value //= 10
        power += 1
    return value, at


@jit
def _parse(text: NDArray[np.uint8], values: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[int, int, int]:
    """
    Fills `values` with the numbers of all lines that do not start with %, and `ends` with the number of values up to
    the end of each line.

    Returns the numbers of values and lines, and -1 or the first byte of the word that is not a whole number >= 0.
    """
    count = 0
    lines = 0
    at = 0
    while at < text.size:
        if text[at] == _PERCENT:
            while at < text.size and text[at] != _LINE:
                at += 1
            at += 1
            continue
        while at < text.size and text[at] != _LINE:
            if text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
                at += 1
                continue
            start = at
            values[count], at = _number(text, at)
            if at < 0 or (
                at < text.size and text[at] != _SPACE and text[at] != _TAB and text[at] != _RETURN and text[at] != _LINE
            ):
                return count, lines, start
            count += 1
        ends[lines] = count
        lines += 1
        at += 1
    return count, lines, -1


@jit
def _print(values: NDArray[np.int64], ends: NDArray[np.int64], first: int, text: NDArray[np.uint8]) -> int:
    """Write lines of `values`, which end at `ends` - `first`, to `text`. Returns the length of the text."""
    out = 0
    k = 0
    for line in range(ends.size):
        start = k
        while k < ends[line] - first:
            if k > start:
                text[out] = _SPACE
                out += 1
            value = values[k]
            digits = 1
            rest = value
            while rest >= 10:
                rest //= 10
                digits += 1
            for position in range(digits):
                text[out + digits - 1 - position] = _ZERO + value % 10
                value //= 10
            out += digits
            k += 1
        text[out] = _LINE
        out += 1
    return out


def parse_lines(path: str | Path, text: bytes, first_line: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """
    All numbers of `text` and, for each line that is not a comment (%), the number of numbers up to its end.

    Raises InputError naming file, line and word if a word is not a whole number in 0..2^62.
    """
    data = np.frombuffer(text, np.uint8)
    values = np.empty(len(text) // 2 + 1, np.int64)
    ends = np.empty(text.count(b"\n") + 1, np.int64)
    count, lines, bad = _parse(data, values, ends)
    if bad >= 0:
        line = first_line + text.count(b"\n", 0, bad)
        word = re.split(rb"[ \t\r\n]", text[bad : bad + 40])[0].decode("utf-8", "replace")
        raise InputError(f"{path}: line {line}: {word!r} is not a whole number from 0 to 2^62")
    return values[:count].copy(), ends[:lines].copy()


def print_lines(values: NDArray[Any], ends: NDArray[np.int64]) -> Generator[bytes]:
    """The text of `values` (>= 0), divided into lines at `ends`, in pieces."""
    line = 0
    while line < ends.size:
        first = int(ends[line - 1]) if line else 0
        last = max(line + 1, min(int(np.searchsorted(ends, first + _CHUNK // 20, side="right")), line + _CHUNK // 20))
        chunk = values[first : ends[last - 1]].astype(np.int64, copy=False)
        text = np.empty(chunk.size * 20 + last - line, np.uint8)
        yield text[: _print(chunk, ends[line:last], first, text)].tobytes()
        line = last


def read_text(path: str | Path) -> bytes:
    """The content of a file. Raises InputError if it cannot be read."""
    try:
        return read_regular(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
