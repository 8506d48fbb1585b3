"""A program as arrays: the contents of a packed program, and of its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .check import Limits, first_problem, structure_problem
from .encoding import DESC, FIELDS, MAX_DIMS, NO_DESC, NO_SOURCE, WORD


def _no_params() -> NDArray[np.uint32]:
    return np.zeros((0, 2), np.uint32)


@dataclass(frozen=True)
class Code:
    """The program of a class of cores, or of the controller."""

    words: NDArray[Any]
    """WORD"""
    descs: NDArray[Any] = field(default_factory=lambda: np.zeros(0, DESC))
    """DESC"""
    params: NDArray[np.uint32] = field(default_factory=_no_params)
    """(n, 2): word and field code of each parameter."""
    sources: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    """Per word: index in `names`, or `NO_SOURCE`."""
    names: tuple[str | int, ...] = ()
    """Operations that words were generated for: by name, or by their number in the executable's table of sources."""

    def problem(self, controller: bool) -> tuple[int, str] | None:
        """
        (Index, problem) of the first word that is invalid by itself, or None. Numbers that refer to parts of the
        executable are not checked.
        """
        limits = Limits(len(self.descs), NO_DESC, 1 << 16, 1 << 16, controller)
        return first_problem(self.words, limits) or structure_problem(self.words, controller)


def arrays_problem(words: bytes, descs: bytes, params: bytes, sources: bytes) -> str | None:
    """What is wrong with the sizes of a program's arrays, given as bytes; or None."""
    for what, data, size in (("words", words, WORD.itemsize), ("descs", descs, DESC.itemsize), ("params", params, 8)):
        if len(data) % size:
            return f"'{what}' has {len(data)} bytes: expected a multiple of {size}"
    if len(sources) != len(words) // WORD.itemsize * 4:
        return f"'sources' has {len(sources)} bytes: expected 4 for each word"
    return None


def params_problem(params: NDArray[np.uint32], words: int) -> str | None:
    """What is wrong with the words and fields that parameters refer to; or None."""
    if (params[:, 0] >= words).any() or (params[:, 1] >= len(FIELDS)).any():
        return "a parameter names a word or a field that does not exist"
    return None


def numbered_params(given: list[tuple[int, int, int]]) -> NDArray[np.uint32] | tuple[int, str]:
    """
    The table of parameters from (number, word, field code) in any order; for invalid ones, (index of the word,
    problem).
    """
    rows = np.array(sorted(given), np.int64).reshape(-1, 3)
    wrong = np.flatnonzero(rows[:, 0] != np.arange(len(rows)))
    if wrong.size:
        number, word, _ = (int(v) for v in rows[wrong[0]])
        if number < wrong[0]:
            return word, f"parameter {number} is given twice"
        return word, f"there is a parameter {number}, but no parameter {int(wrong[0])}"
    return rows[:, 1:].astype(np.uint32)


def desc_array(accesses: list[tuple[list[int], list[int]]]) -> NDArray[Any]:
    """The descriptor table (DESC) of sizes and strides; unused outer dimensions get size 1 and stride 0."""
    table = np.zeros(len(accesses), DESC)
    table["size"] = 1
    for row, (sizes, strides) in zip(table, accesses, strict=True):
        row["size"][MAX_DIMS - len(sizes) :] = sizes
        row["stride"][MAX_DIMS - len(strides) :] = strides
    return table


def accesses(descs: NDArray[Any]) -> list[tuple[list[int], list[int]]]:
    """Sizes and strides of each descriptor, without outer dimensions of size 1 and stride 0 (the last one stays)."""
    found: list[tuple[list[int], list[int]]] = []
    sizes: list[list[int]] = descs["size"].tolist()
    strides: list[list[int]] = descs["stride"].tolist()
    for size, stride in zip(sizes, strides, strict=True):
        start = 0
        while start < MAX_DIMS - 1 and size[start] == 1 and stride[start] == 0:
            start += 1
        found.append((size[start:], stride[start:]))
    return found


class Names:
    """Collects the sources of words while a program is built."""

    def __init__(self) -> None:
        self.names: dict[str | int, int] = {}
        self.sources: list[int] = []

    def add(self, source: str | int | None) -> None:
        """Add the source of the next word."""
        self.sources.append(NO_SOURCE if source is None else self.names.setdefault(source, len(self.names)))

    def array(self) -> NDArray[np.uint32]:
        """Per word: index in `names`."""
        return np.array(self.sources, np.uint32)
