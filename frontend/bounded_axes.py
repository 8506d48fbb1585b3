"""
Import of networks for inputs of any length up to a bound: an analysis of which values have as many rows as the input,
and which loops have as many steps. The network is imported for the bound. Rows beyond the length are computed, but no
row of a result within the length depends on them.

The analysis follows rows through an operation if row i of the result reads row i of each operand that has rows, and no
other row. The tiling interface describes what a tile of the result reads. Operations that mix rows are an error, except
loops that read the rows from the first to the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ..dialects.dataflow import ConstantOp, LoopOp, MinimumOp, ReshapeOp
from ..dialects.dataflow.constants import constant_array
from ..dialects.dataflow.loop_reads import values_read
from ..dialects.dataflow.tiling import Box, DimKind, TilingInterface
from ..dialects.dataflow.types import shape_of, tensor
from ..dialects.locations import at, located
from ..support.errors import InputError

_UNKNOWN = "whose length is known at run time only: compile the network for one length"
LENGTH = "{}.length"
"""The name of the additional input that holds the length of another input."""


@dataclass(frozen=True)
class Rows:
    """An axis along which a value has `times` as many rows as an input."""

    axis: int
    times: int = 1


def bound_axes(module: ModuleOp, inputs: Mapping[str, int], bound: int) -> dict[str, Rows]:
    """
    Add an input to `@main`: the length (i64) of one axis of each of the `inputs` (name to axis), whose largest size is
    `bound`. Loops over values of this length then run for as many steps. Returns the outputs that have rows, by name.

    Raises InputError with a location for an operation that mixes rows.
    """
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    block = function.body.block
    names = [one.data["dataflow.name"] for one in function.arg_attrs or ()]
    texts = [one.data if isinstance(one, StringAttr) else "" for one in names]
    length = block.insert_arg(tensor(i64, ()), len(block.args))
    name = LENGTH.format(next(iter(inputs)))
    length.name_hint = "length"
    function.arg_attrs = ArrayAttr([*(function.arg_attrs or ()), DictionaryAttr({"dataflow.name": StringAttr(name)})])
    function.update_function_type()
    follow = _Follow(length, bound)
    follow.rows = {value: Rows(inputs[text]) for value, text in zip(block.args, texts, strict=False) if text in inputs}
    for op in list(block.ops):
        follow.operation(op)
    last = block.last_op
    assert last is not None
    results = [one.data["dataflow.name"] for one in function.res_attrs or ()]
    return {
        text.data: follow.rows[value]
        for value, text in zip(last.operands, results, strict=True)
        if isinstance(text, StringAttr) and value in follow.rows
    }


class _Follow:
    def __init__(self, length: SSAValue, bound: int) -> None:
        self.length, self.bound = length, bound
        self.rows: dict[SSAValue, Rows] = {}

    def operation(self, op: Operation) -> None:
        """Record the rows of an operation's result. Raises InputError if the operation mixes rows."""
        if not op.results or not any(value in self.rows for value in values_read(op)):
            return
        if isinstance(op, LoopOp):
            self._loop(op)
            return
        found = None
        if isinstance(op, ReshapeOp):
            found = self._reshaped(op)
        elif isinstance(op, TilingInterface):
            found = self._row_by_row(op)
        if found is None:
            raise located(InputError(f"'{op.name}' mixes rows of an input {_UNKNOWN}"), op)
        self.rows[op.results[0]] = found

    def _reshaped(self, op: ReshapeOp) -> Rows | None:
        """
        The axis of a reshape's result that has the rows: the first axis, or one with as many elements before it and, in
        each row, as many after it as in the operand. None if there is none.
        """
        before, after, rows = shape_of(op.operand), shape_of(op.result), self.rows[op.operand]
        outer, inner = prod(before[: rows.axis]), prod(before[rows.axis + 1 :])
        for axis, size in enumerate(after):
            if prod(after[:axis]) != outer:
                continue
            each, rest = divmod(rows.times * inner, prod(after[axis + 1 :]))
            if not rest and size == each * self.bound and (outer == 1 or each == rows.times):
                return Rows(axis, each)
        return None

    def _row_by_row(self, op: TilingInterface) -> Rows | None:
        """
        The axis of the result of which each row reads the same row of all operands that have rows, and no other; None
        if there is none.
        """
        sizes = tuple(dim.size for dim in op.iteration_space())
        result = shape_of(op.results[0])
        having = [(index, self.rows[value]) for index, value in enumerate(op.operands) if value in self.rows]
        times = having[0][1].times
        if any(rows.times != times for _, rows in having):
            return None
        count = times * self.bound
        for dim, one in enumerate(op.iteration_space()):
            if one.size != count or one.kind is not DimKind.PARALLEL:
                continue
            axes = [self._axis(op, Box.whole(sizes).along(dim, row, 1), row, having, result) for row in _samples(count)]
            if axes[0] is not None and len(set(axes)) == 1:
                return Rows(axes[0], times)
        return None

    def _axis(
        self, op: TilingInterface, tile: Box, row: int, having: Sequence[tuple[int, Rows]], result: Sequence[int]
    ) -> int | None:
        """
        The axis of the result along which the tile is exactly row `row`, if the tile reads the same row of the operands
        that have rows; else None.
        """
        for index, rows in having:
            sliced = op.operand_slice(index, tile)
            size, at_row = sliced.box.sizes[rows.axis], sliced.box.offsets[rows.axis]
            outside = sliced.pad_low[rows.axis] or sliced.pad_high[rows.axis]
            if (sliced.indexed and size != 1) or not sliced.exact or outside or (size, at_row) != (1, row):
                return None
        box = op.result_box(tile)
        axes = [axis for axis, size in enumerate(result) if box.sizes[axis] != size]
        return axes[0] if len(axes) == 1 and (box.offsets[axes[0]], box.sizes[axes[0]]) == (row, 1) else None

    def _loop(self, op: LoopOp) -> None:
        """Replace a loop over rows by one that has as many steps as the input has rows."""
        scanned = zip(op.scanned, op.scans, strict=True)
        over = [self.rows[value] == Rows(along.axis) for value, along in scanned if value in self.rows]
        others = set(values_read(op)) - set(op.scanned)
        if not over or not all(over) or any(value in self.rows for value in others) or op.going is not None:
            raise located(InputError(f"a loop reads rows, but not one in each step, of an input {_UNKNOWN}"), op)
        with at(op):
            count = self.length
            if op.count is not None:
                least = MinimumOp(op.count, count)
                Rewriter.insert_op(least, InsertPoint.before(op))
                count = least.results[0]
            made = LoopOp(
                op.step_count,
                list(op.initial),
                list(zip(op.scanned, op.scans, strict=True)),
                op.stacks,
                op.detach_region(op.body),
                op.ending.counted(count),
            )
        made.attributes.update(op.attributes)
        for old, new in zip(op.results, made.results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.replace_op(op, made)
        for value, along in zip(made.stacked, made.stacks, strict=True):
            self.rows[value] = Rows(along.axis)


def _samples(count: int) -> Iterator[int]:
    """Rows to be tested, which suffice: the offsets of tiles are linear in the row for all operations."""
    yield from sorted({0, 1, count // 2, count - 1})


_SIZES = {"sizes", "shape", "steps", "function_type"}
"""Properties that hold sizes of tensors or numbers of steps."""


def check_alike(module: ModuleOp, shorter: ModuleOp, name: str) -> None:
    """
    Check that a network imported for a length that is smaller by one differs in sizes only: no number in it depends on
    the length, and its constants along the length are the first rows of the longer ones. Otherwise, raises InputError
    with the location of the difference.
    """
    ops, others = list(module.walk()), list(shorter.walk())
    if [op.name for op in ops] != [op.name for op in others]:
        raise InputError(f"{name}: the operations depend on the length of an input")
    for op, other in zip(ops, others, strict=True):
        if isinstance(op, ConstantOp):
            alike = _is_start(constant_array(op.results[0]), constant_array(other.results[0]))
        else:
            keys = [key for key, value in op.properties.items() if other.properties.get(key) != value]
            alike = set(keys) <= _SIZES
        if not alike:
            raise located(InputError(f"a number depends on the length of an input {_UNKNOWN}"), op)


def _is_start(whole: np.ndarray | None, start: np.ndarray | None) -> bool:
    if whole is None or start is None or whole.ndim != start.ndim:
        return whole is start
    shorter = [axis for axis, (size, other) in enumerate(zip(whole.shape, start.shape, strict=True)) if size != other]
    if len(shorter) > 1:
        return False
    cut = whole[tuple(slice(size) for size in start.shape)]
    return cut.tobytes() == np.ascontiguousarray(start).tobytes()
