"""Splitting of an operator that does not compile alone into several of its kind on parts of its data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...analysis.planning.network_plan import storage_root
from ...analysis.tasks.operator_parts import Parts, choose_parts, data_bytes
from ...chips import Chip
from ...dialects.dataflow import ConcatOp, ReshapeOp, SliceOp, WeightOp
from ...dialects.dataflow.tiling import Box, TilingInterface
from ...dialects.dataflow.types import shape_of
from ...dialects.manycore import HostSliceOp
from ...support.errors import ResourceError
from ...transforms.dataflow_split_to_fit import core_limit
from ...transforms.shared.concat_forwarding import (
    OperatorSplit,
    Replaced,
    forward_concat,
    forward_input_slices,
    is_output,
    operations_between,
    read_slices,
    split_slice,
)
from ...transforms.shared.split_operator import Splitter
from ..cache.compile_cache import Failure
from ..launch.dram_segments import bytes_of
from .subgraph import name_of

_Whole = TypeVar("_Whole")
_Taken = TypeVar("_Taken")
_TakeApart: TypeAlias = Callable[[_Whole, OperatorSplit], _Taken | None]

MARGIN = 0.75
"""
Target size of a part, as a share of the largest size that fits: data of neighbouring operators and buffers need memory,
too.
"""


@dataclass(frozen=True)
class Split:
    """The result of splitting an operator."""

    text: str
    """The result as a sentence for the log."""
    replaced: Replaced
    """The operator and its readers, as far as they were replaced."""
    added: Sequence[Operation] = ()
    """Operations of the host on an input, to be inserted at the beginning."""


class OperatorSplitter:
    """Splits operators of one function, one at a time, in any order."""

    def __init__(self, function: FuncOp, chip: Chip) -> None:
        self._chip = chip
        module = function.parent_op()
        inner = module.walk() if isinstance(module, ModuleOp) else function.walk()
        self._names = {op.sym_name.data for op in inner if isinstance(op, WeightOp)}
        self._known_parts: dict[SSAValue, dict[Box, SSAValue]] = {}
        self._grids: dict[SSAValue, Parts] = {}

    def split(self, op: Operation, failure: Failure) -> Split | None:
        """
        Split an operator in place, into parts for which the failure is not expected to recur; for a concatenation,
        split its readers. None if operators of this kind cannot be split.

        Raises ResourceError if not even the smallest parts are small enough.
        """
        if isinstance(op, ConcatOp):
            return self._take_apart(op, failure)
        if isinstance(op, SliceOp):
            return self._split_slice(op, failure)
        if not isinstance(op, TilingInterface) or isinstance(op, ReshapeOp):
            return None
        limit = self._limit(op, failure)
        splitter = self._splitter()
        parts = splitter.as_producer(op, limit, choose_parts(op, limit, name_of(op)))
        before, after = op.prev_op, op.next_op
        splitter.split(op, parts)
        self._remember(splitter)
        count = " x ".join(str(part) for part in parts)
        text = f"its operator is split into {count} parts of its iteration space, of at most {limit:,} bytes of data"
        return Split(text, {op: operations_between(before, after)})

    def _take_apart(self, op: ConcatOp, failure: Failure) -> Split | None:
        users = [use.operation for use in op.result.uses]
        readers = list(
            dict.fromkeys("the host" if isinstance(user, ReturnOp) else f"'{name_of(user)}'" for user in users)
        )
        replaced = self._in_parts(forward_concat, op, failure)
        if replaced is None:
            return None
        first = ", ".join(readers[:4]) + (", ..." if len(readers) > 4 else "")
        return Split(f"its operator is removed: its operands are read in parts by {first}", replaced)

    def _split_slice(self, op: SliceOp, failure: Failure) -> Split | None:
        """
        Split a slice: the whole operand and a part of the slice must fit together; a concatenation need not be
        materialised.
        """
        name = self._splitter().unique
        if (replaced := read_slices(op, name)) is not None:
            return Split("its operator reads the operands of the concatenation before it", replaced)
        shape, whole = shape_of(op.result), bytes_of(op.result)
        room = int((failure.available - bytes_of(op.operand)) * MARGIN)
        dim = next((dim for dim, size in enumerate(shape) if size > 1), None)
        if dim is None or room * shape[dim] < whole:
            source = storage_root(op.operand).owner
            if isinstance(source, ConcatOp):
                return self._take_apart(source, failure)
            return self._split_input(op.operand, failure)
        count = min(shape[dim], max(2, math.ceil(shape[dim] / (room * shape[dim] // whole))))
        counts = tuple(count if one == dim else 1 for one in range(len(shape)))
        return Split(
            f"its operator is split into {count} slices, of at most {room:,} bytes", split_slice(op, counts, name)
        )

    def _split_input(self, value: SSAValue, failure: Failure) -> Split | None:
        """Let the readers of an input of the network (also through reshapes) read blocks of it."""
        value = storage_root(value)
        if not isinstance(value, BlockArgument):
            return None
        taken = self._in_parts(forward_input_slices, value, failure)
        if taken is None:
            return None
        added, replaced = taken
        count = sum(isinstance(one, HostSliceOp) for one in added)
        return Split(f"the input '{value.name_hint}' that it reads is copied in {count} blocks", replaced, added)

    def _in_parts(self, take: _TakeApart[_Whole, _Taken], whole: _Whole, failure: Failure) -> _Taken | None:
        """The result of cutting a value that is too large; its readers are split where necessary."""
        made: list[Splitter] = []

        def splitter() -> Splitter:
            made.append(self._splitter())
            return made[-1]

        def parts(reader: TilingInterface) -> Parts:
            limit = self._limit(reader, failure)
            return self._splitter().as_producer(reader, limit, choose_parts(reader, limit, name_of(reader)))

        taken = take(
            whole, OperatorSplit(splitter, parts, int(failure.available * MARGIN) // 2, self._splitter().unique)
        )
        for one in made if taken is not None else ():
            self._remember(one)
        return taken

    def _splitter(self) -> Splitter:
        # Parts of a producer that was split are read directly, unless they were split in turn; slices that others
        # inserted may be further down.
        splitter = Splitter(self._names)
        for value, boxes in self._known_parts.items():
            there = {box: part for box, part in boxes.items() if _is_there(part)}
            splitter.known_parts[value] = there
        splitter.grids = dict(self._grids)
        return splitter

    def _remember(self, splitter: Splitter) -> None:
        for value, grid in splitter.grids.items():
            if value not in self._grids:
                self._known_parts[value], self._grids[value] = dict(splitter.known_parts[value]), grid

    def _limit(self, op: TilingInterface, failure: Failure) -> int:
        """Target bytes of data of a part."""
        whole = data_bytes(op, tuple(dim.size for dim in op.iteration_space()))
        if failure.needed > failure.available > 0:
            limit = int(whole * failure.available / failure.needed * MARGIN)
            if failure.resource == "DRAM":  # the memory that has to hold all of the part's data
                limit = min(limit, int(failure.available * MARGIN))
        else:
            limit = whole // 2
        if limit < 1:
            raise ResourceError("its data cannot be made any smaller", "memory for an operator's data", whole, limit)
        # Parts that fit in a core are small enough for any failure.
        return min(max(limit, min(core_limit(self._chip), whole // 2)), whole - 1)


def _is_there(value: SSAValue) -> bool:
    """Whether the operation that computes a value is still in the function."""
    return not isinstance(value.owner, Operation) or value.owner.parent is not None


class DeviceSplitter(OperatorSplitter):
    """Splits operators of a function whose values are all in device memory; the host copies them as a whole."""

    def split(self, op: Operation, failure: Failure) -> Split | None:
        """See `OperatorSplitter.split`; outputs that are too large cannot be split."""
        return None if isinstance(op, ConcatOp) and is_output(op.result) else super().split(op, failure)

    def _split_input(self, value: SSAValue, failure: Failure) -> Split | None:
        return None
