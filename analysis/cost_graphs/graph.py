"""The cost graph of a network as flat arrays: operations with units and durations, tensors with sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flat = NDArray[Any]
"""An array in compiled functions."""
LOAD_PHASE = "load"
"""Phase of operations that load a weight."""
FROM_THE_START = ("input", "weight")
"""Kinds of tensors without a producer; they do not count as memory."""


@dataclass(frozen=True)
class Lists:
    """A list of integers for each of n rows, one after the other: row i is `values[starts[i] : starts[i + 1]]`."""

    starts: Ints
    """[n + 1]"""
    values: Ints

    def __getitem__(self, row: int) -> Ints:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, row: int) -> list[int]:
        """One row as a list."""
        return [int(value) for value in self[row]]

    @cached_property
    def rows(self) -> Ints:
        """The row of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def transposed(self, count: int) -> Lists:
        """For each of `count` values the rows that hold it, ascending."""
        by_value = np.argsort(self.values, kind="stable")
        return Lists(starts_of(self.values, count), self.rows[by_value])

    def within(self, rows: Ints) -> Lists:
        """
        The given rows, of a list whose values are row numbers too: only values among `rows` are kept, as positions in
        `rows`.
        """
        number = np.full(len(self), -1, np.int64)
        number[rows] = np.arange(len(rows))
        found = [number[self[row]] for row in rows.tolist()]
        return lists_of([one[one >= 0].tolist() for one in found])


def starts_of(rows: Ints, count: int) -> Ints:
    """The starts of rows when entries are sorted by row; `rows` is the row of each entry."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)


def lists_of(rows: list[list[int]]) -> Lists:
    """Lists of Python as flat arrays."""
    lengths = np.array([len(row) for row in rows], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Lists(starts, np.array([value for row in rows for value in row], np.int64))


@dataclass(frozen=True)
class CostGraph:
    """
    Operations in program order (each after the producers of its operands) and the tensors between them.

    n operations, m tensors. Durations in ns, sizes in bytes.
    """

    name: str
    op_names: tuple[str, ...]
    op_ids: tuple[int, ...]
    """[n] names in the file."""
    unit_names: tuple[str, ...]
    unit: Ints
    """[n] index into `unit_names`."""
    duration: Ints
    """[n] ns"""
    flops: Ints
    """[n]"""
    phases: tuple[str, ...]
    """[n] "fwd", "bwd" or another name in the file."""
    inputs: Lists
    """[n] tensors that an operation reads, each once."""
    outputs: Lists
    """[n] tensors that it computes."""
    tensor_ids: tuple[int, ...]
    tensor_kinds: tuple[str, ...]
    """[m] "input", "weight", "act", "grad", "wgrad"."""
    tensor_shapes: tuple[tuple[int, ...], ...]
    size: Ints
    """[m] bytes"""

    @property
    def ops(self) -> int:
        """Number of operations."""
        return len(self.op_names)

    @property
    def tensors(self) -> int:
        """Number of tensors."""
        return len(self.tensor_ids)

    @cached_property
    def producer(self) -> Ints:
        """[m] the operation that computes a tensor, -1 if it is available from the start."""
        producer = np.full(self.tensors, -1, np.int64)
        producer[self.outputs.values] = self.outputs.rows
        return producer

    @cached_property
    def readers(self) -> Lists:
        """[m] the operations that read a tensor, in program order."""
        return self.inputs.transposed(self.tensors)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """[m] whether a tensor counts as memory: weights and inputs do not, except weights that are loaded."""
        free = np.array([kind in FROM_THE_START for kind in self.tensor_kinds], np.bool_)
        loaded = np.array([phase == LOAD_PHASE for phase in self.phases] + [False])
        return (self.producer >= 0) & (~free | loaded[self.producer])

    @cached_property
    def predecessors(self) -> Lists:
        """[n] the operations whose results an operation reads, each once, ascending."""
        before = self.producer[self.inputs.values]
        known = before >= 0
        pairs = np.unique(np.stack([self.inputs.rows[known], before[known]], axis=1), axis=0)
        return Lists(starts_of(pairs[:, 0], self.ops), pairs[:, 1].astype(np.int64))

    @cached_property
    def successors(self) -> Lists:
        """[n] the operations that read an operation's results, each once, ascending."""
        return self.predecessors.transposed(self.ops)
