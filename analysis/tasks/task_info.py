"""
The properties of a `manycore.task` that planning and code generation use: its operations, its tiles, and the reads of
each tile.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.dataflow.constants import element_number
from ...dialects.dataflow.elementwise import AddOp, ElementwiseOp
from ...dialects.dataflow.tiling import Box, DimKind, IterDim, OpCost, OperandSlice, TilingInterface, split_evenly
from ...dialects.dataflow.types import element_bytes, element_of, shape_of
from ...dialects.manycore import ExecuteOp, TaskOp
from ...dialects.manycore.task_rules import body_operations, is_view
from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero
from ...support.records import lazy
from .slices import EXTENT, Extent, Slices, Tiles, extents_of

T = TypeVar("T")
Ranges: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""Dimensions, and (offset, size) along each."""


@dataclass(frozen=True)
class Read:
    """One way in which a task reads a value: operations of the body that need the same slice share it."""

    operand: int
    """Index of the task's operand."""
    uses: tuple[tuple[int, int], ...]
    """(number of the body's operation, operand index there); operation 0 is the root."""

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        return hash((self.operand, self.uses))


@dataclass(frozen=True, eq=False)
class TaskInfo:
    """
    A task's parts. Operation 0 of `body` is the root, the rest are elementwise over the root's result, or slices of the
    task's operands with its shape.
    """

    holder: TaskOp | ExecuteOp
    body: tuple[TilingInterface, ...]

    @staticmethod
    def of(op: TaskOp | ExecuteOp) -> TaskInfo:
        """The properties of a verified task, of tensors or of buffers."""
        return TaskInfo(op, tuple(body_operations(op.body.block)))

    @property
    def op(self) -> TaskOp:
        """The task; planning is about tasks of tensors."""
        assert isinstance(self.holder, TaskOp)
        return self.holder

    @property
    def name(self) -> str:
        """The source operator."""
        return self.holder.sym_name.data

    @property
    def root(self) -> TilingInterface:
        """The operation whose iteration space is tiled."""
        return self.body[0]

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        """Values that the task reads."""
        return tuple(self.op.operands)

    @lazy
    def arguments(self) -> tuple[BlockArgument, ...]:
        """The operands as tensors inside the task."""
        return tuple(self.holder.body.block.args)

    @lazy
    def argument_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the operands inside the task."""
        return tuple(map(shape_of, self.arguments))

    @lazy
    def argument_bytes(self) -> tuple[int, ...]:
        """Bytes of an element of each operand."""
        return tuple(map(value_bytes, self.arguments))

    @lazy
    def result(self) -> SSAValue:
        """The value that the task computes."""
        return self.op.results[0]

    @lazy
    def immediates(self) -> dict[SSAValue, float]:
        """The number that each constant of the body holds in all of its elements."""
        return {op.result: element_number(op) for op in self.holder.immediates}

    @property
    def content(self) -> Hashable:
        """
        A key that is equal for tasks that compute the same from values of the same types, with constants of any value.
        """
        number_of: dict[SSAValue, int | str] = {op.results[0]: number for number, op in enumerate(self.body)}
        number_of.update(dict.fromkeys(self.immediates, "immediate"))
        return tuple(
            (
                op.name,
                tuple(sorted(op.properties.items())),
                tuple((-1 - v.index if isinstance(v, BlockArgument) else number_of[v], v.type) for v in op.operands),
                op.results[0].type,
            )
            for op in self.body
        ), tuple(self.operands.index(value) for value in self.operands)

    def share(self, other: TaskInfo) -> None:
        """Share the cached results of `other`, whose content is the same."""
        for name in ("_slices", "_largest", "_results", "_costs", "_axes_moved", "_moving", "_extents", "_known"):
            self.__dict__[name] = getattr(other, name)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """
        The cached result of `make`, for all tasks that `share`; `key`: its kind, and all that it depends on besides the
        content of the task.
        """
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
        return cast("T", found)

    @lazy
    def _known(self) -> dict[Hashable, object]:
        return {}

    @lazy
    def space(self) -> tuple[IterDim, ...]:
        """The root's iteration space."""
        return self.root.iteration_space()

    @lazy
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the iteration space."""
        return tuple(dim.size for dim in self.space)

    @lazy
    def reductions(self) -> tuple[int, ...]:
        """Dimensions that are reduced."""
        return tuple(dim for dim, info in enumerate(self.space) if info.kind is DimKind.REDUCTION)

    @lazy
    def reads(self) -> tuple[Read, ...]:
        """
        All reads of values from outside, uses with the same slices merged; for tasks over buffers, as given by the
        task.
        """
        if isinstance(self.holder, ExecuteOp):
            uses_of: dict[int, list[tuple[int, int]]] = {}
            for use, number in self.holder.read_of_use.items():
                uses_of.setdefault(number, []).append(use)
            return tuple(Read(operand, tuple(uses_of[n])) for n, operand in enumerate(self.holder.read_operands))
        # Elementwise operations over one shape read the same slices of a value; any other operand is a separate read.
        found: dict[tuple[int, tuple[int, int] | None], list[tuple[int, int]]] = {}
        for number, op in enumerate(self.body):
            for index, value in enumerate(op.operands):
                if isinstance(value, BlockArgument):
                    own = None if isinstance(op, ElementwiseOp) else (number, index)
                    found.setdefault((value.index, own), []).append((number, index))
        return tuple(Read(operand, tuple(uses)) for (operand, _), uses in found.items())

    def operand_slice(self, number: int, index: int, tile: Box) -> OperandSlice:
        """
        The slice of operand `index` that operation `number` of the body reads for a tile of the root's iteration space.
        """
        op = self.body[number]
        if number == 0:
            return op.operand_slice(index, tile)
        box = self.root.result_box(tile)
        if self._ranks[number] != box.rank:
            raise AssertionError("verified tasks have epilogues of the root's result shape")
        return op.operand_slice(index, box)

    @lazy
    def _ranks(self) -> tuple[int, ...]:
        """Dimensions of each operation's iteration space."""
        return tuple(len(op.iteration_space()) for op in self.body)

    def largest_slice(self, number: int, index: int, tile: Box) -> tuple[int, ...]:
        """Shape of the largest slice that tiles of these sizes read of an operand of operation `number`."""
        key = (number, index, tile.sizes)
        found = self._largest.get(key)
        if found is None:
            # The tile may be the last one, which is cut off at the end.
            box = tile if number == 0 else Box.whole(self.root.largest_result(tile))
            found = self._largest[key] = self.body[number].largest_slice(index, box)
        return found

    def filled(self, read: Read) -> float:
        """The mean size of the slices of a value that tiles read, as a share of the largest slice."""
        number, index = read.uses[0]
        return self.body[number].filled(index)

    @lazy
    def _largest(self) -> dict[tuple[int, int, tuple[int, ...]], tuple[int, ...]]:
        return {}

    def largest_result(self, tile: Box) -> int:
        """Elements of the largest part of the result for tiles of these sizes."""
        found = self._results.get(tile.sizes)
        if found is None:
            found = self._results[tile.sizes] = prod(self.root.largest_result(tile))
        return found

    @lazy
    def _results(self) -> dict[tuple[int, ...], int]:
        return {}

    def is_view(self, number: int) -> bool:
        """Whether operation `number` of the body is a slice that the operations after it read in place."""
        return is_view(self.body, number)

    def cost(self, number: int, tile: Box) -> OpCost:
        """The cost of operation `number` for a tile of the root's iteration space; only the tile's sizes count."""
        key = (number, tile.sizes)
        if key not in self._costs:
            box = tile if number == 0 else Box.whole(self.root.largest_result(tile))
            self._costs[key] = self.body[number].cost(box)
        return self._costs[key]

    @lazy
    def _costs(self) -> dict[tuple[int, tuple[int, ...]], OpCost]:
        return {}

    def scratch_bytes(self, step: Box) -> int:
        """Bytes of memory that the root's instructions need for steps of these sizes in addition to all values."""
        return self.once(("scratch", step.sizes), lambda: self.root.scratch_bytes(step))

    @lazy
    def double_buffered_root(self) -> int | None:
        """
        The temporary buffer of the root's value if its elements have another size than the result's, as in products of
        integers that are then quantised. It has room for two steps: one is computed while the epilogue reads the other.
        """
        buffers = self.buffers
        first = buffers.of_op[0]
        apart = first != buffers.result and self.value_bytes[0] != self.value_bytes[-1]
        return first if apart and self.cost(0, Box.whole(self.sizes)).unit == "MPU" else None

    @property
    def needs_scratch(self) -> bool:
        """Whether the root's instructions need scratch memory."""
        return self.scratch_bytes(Box.whole(self.sizes)) > 0

    @property
    def scratch_buffer(self) -> int:
        """The number of the temporary buffer for scratch memory: the last one, which holds no value of the body."""
        if isinstance(self.holder, ExecuteOp):
            return len(self.holder.temporaries)
        return len(self.buffers.item_bytes)

    @lazy
    def value_bytes(self) -> tuple[int, ...]:
        """Bytes of an element of each operation's result."""
        return tuple(value_bytes(op.results[0]) for op in self.body)

    def nonzero(self, read: Read) -> Nonzero:
        """Expected share of nonzero elements of a read: known for the first operand of contractions."""
        return self.cost(0, Box.whole(self.sizes)).nonzero if read.uses == ((0, 0),) else ALL_NONZERO

    def is_indexed(self, number: int, index: int) -> bool:
        """Whether the rows of this operand that are read depend on data."""
        return self.operand_slice(number, index, Box.whole(self.sizes)).indexed

    def read_slice(self, read: Read, tile: Box) -> OperandSlice:
        """The slice of a read for a tile; cached by the tile's ranges in the dimensions on which it depends."""
        number, index = read.uses[0]
        if 0 in tile.sizes:
            return self.operand_slice(number, index, tile)
        dims, known = self._slices[read]
        key = (*[tile.offsets[dim] for dim in dims], *[tile.sizes[dim] for dim in dims])
        found = known.get(key)
        if found is None:
            found = known[key] = self.operand_slice(number, index, tile)
        return found

    def read_slices(self, read: Read, tiles: Tiles) -> Slices:
        """`read_slice` of tiles: the extent along an axis is computed once for tiles with the same ranges there."""
        cut = tuple(dim for dim in self._slices[read][0] if tiles.tiling.grid[dim] > 1)
        like = self.read_slice(read, Box.whole(self.sizes))

        def rows_of(ranges: Sequence[tuple[tuple[int, int], ...]], dims: tuple[int, ...]) -> NDArray[np.int64]:
            found = np.array([self._extents_at(read, dims, taken) for taken in ranges], np.int64)
            return found.reshape(len(ranges), like.box.rank, EXTENT)

        def rows(dims: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            if not tiles.is_whole:
                ranges, which = tiles.along(dims)
                return rows_of(ranges, dims), which
            # The same for all grids with the same cuts along these dimensions.
            over = tiles.tiling.over_cores
            key = "rows", read.uses[0], dims, tuple([(over.parts[dim], over.multiple(dim)) for dim in dims])
            return self.once(key, lambda: rows_of(tiles.along(dims)[0], dims)), tiles.which(dims)

        def find_extents() -> NDArray[np.int64]:
            if tiles.sampled:
                return rows(cut)[0]
            together: dict[tuple[int, ...], list[int]] = {}
            for axis, moving in enumerate(self._moving[read]):
                together.setdefault(tuple(dim for dim in cut if dim in moving), []).append(axis)
            extents = np.empty((len(tiles.numbers), like.box.rank, EXTENT), np.int64)
            for dims, axes in together.items():
                found, which = rows(dims)
                extents[:, axes] = found[which][:, axes]
            return extents

        return Slices(tiles, cut, like, find_extents)

    def _extents_at(self, read: Read, dims: tuple[int, ...], ranges: tuple[tuple[int, int], ...]) -> tuple[Extent, ...]:
        """
        By axis, the extent of the slice of a tile with these ranges along some dimensions, and whole along others.
        """
        known = self._extents[read]
        found = known.get((dims, ranges))
        if found is None:
            offsets, sizes = [0] * len(self.sizes), list(self.sizes)
            for dim, (low, extent) in zip(dims, ranges, strict=True):
                offsets[dim], sizes[dim] = low, extent
            sliced = self.operand_slice(*read.uses[0], Box(tuple(offsets), tuple(sizes)))
            found = known[dims, ranges] = extents_of(sliced)
        return found

    @lazy
    def _extents(self) -> dict[Read, dict[Ranges, tuple[Extent, ...]]]:
        return {read: {} for read in self.reads}

    @lazy
    def _slices(self) -> dict[Read, tuple[tuple[int, ...], dict[tuple[int, ...], OperandSlice]]]:
        """Per read, the dimensions that its slice depends on, and the slices by offsets and sizes along these."""
        return {read: (tuple(sorted(dims)), {}) for read, dims in self._affecting.items()}

    def affecting_dims(self, read: Read) -> frozenset[int]:
        """Dimensions of the iteration space on which the slice of a read depends."""
        return self._affecting[read]

    def moving_dims(self, read: Read, axis: int) -> frozenset[int]:
        """Dimensions of the iteration space on which the slice of a read depends along an axis of the value."""
        moved = self._axes_moved[read]
        return self.once(
            ("moving", read.uses[0], axis), lambda: frozenset(dim for dim, axes in moved.items() if axis in axes)
        )

    @lazy
    def _moving(self) -> dict[Read, list[frozenset[int]]]:
        """For each read, by axis of its value, the dimensions on which the slice may depend along the axis."""
        found: dict[Read, list[frozenset[int]]] = {}
        for read in self.reads:
            # Halves may not change the slice along inner axes of a reshape, while finer cuts do.
            whole = self.read_slice(read, Box.whole(self.sizes)).box.sizes
            moving = [self.moving_dims(read, axis) for axis in range(len(whole))]
            found[read] = [
                dims if dims or size == 1 else self._affecting[read] for dims, size in zip(moving, whole, strict=True)
            ]
        return found

    @lazy
    def _affecting(self) -> dict[Read, frozenset[int]]:
        return {read: frozenset(dim for dim, axes in moved.items() if axes) for read, moved in self._axes_moved.items()}

    @lazy
    def _axes_moved(self) -> dict[Read, dict[int, frozenset[int]]]:
        return {read: self._axes_moved_of(*read.uses[0]) for read in self.reads}

    def _axes_moved_of(self, number: int, index: int) -> dict[int, frozenset[int]]:
        """Dimension of the iteration space -> axes of the operand along which the slice changes with it."""
        # The axes that a dimension affects can depend on the cuts of the others (as channels of a convolution with
        # groups), so each is tried with the others whole and with the others at one position.
        bases = [Box.whole(self.sizes), Box((0,) * len(self.sizes), tuple(min(1, size) for size in self.sizes))]
        moved: dict[int, frozenset[int]] = {}
        for dim, size in enumerate(self.sizes):
            halves = [(low, extent) for low, extent in split_evenly(size, 2) if extent]
            axes: set[int] = set()
            for base in bases:
                boxes = [Box(_with(base.offsets, dim, low), _with(base.sizes, dim, extent)) for low, extent in halves]
                first, *rest = [extents_of(self.operand_slice(number, index, box)) for box in boxes] or [()]
                axes.update(axis for other in rest for axis, extent in enumerate(other) if extent != first[axis])
            moved[dim] = frozenset(axes)
        return moved

    @lazy
    def addends(self) -> tuple[tuple[int, int], ...]:
        """
        The addends of the operations directly after the root: (number of the operation, operand index) of each. A
        matrix product accumulates onto the contents of its result's buffer, so sums of addends need not wait for it.
        """
        found: list[tuple[int, int]] = []
        if self.root.combine != "add" or self.cost(0, Box.whole(self.sizes)).matmul is None:
            return ()
        for number, op in enumerate(self.body[1:], 1):
            before = self.body[number - 1].results[0]
            outside = [
                index
                for index, value in enumerate(op.operands)
                if isinstance(value, BlockArgument) or value in self.immediates
            ]
            plain = isinstance(op, AddOp) and len(outside) == 1 and before.has_one_use()
            if not plain or before.type != op.results[0].type or self.buffers.of_op[number] != self.buffers.of_op[0]:
                break
            found.append((number, outside[0]))
        return tuple(found)

    @lazy
    def buffers(self) -> BodyBuffers:
        """The buffers of the body's values; for tasks over buffers, as given by the task."""
        if isinstance(self.holder, ExecuteOp):
            return _written_buffers(self.holder)
        return _body_buffers(self)


@dataclass(frozen=True)
class BodyBuffers:
    """
    Memory of the body's values: operation i writes buffer `of_op[i]`; an elementwise operation overwrites an operand
    that dies with it if the element sizes agree. Buffer `result` holds the task's result. A slice after the root is
    read in place and writes none: it has the root's number.
    """

    of_op: tuple[int, ...]
    item_bytes: tuple[int, ...]
    """Bytes of an element, by buffer."""
    result: int = field(default=0)

    @property
    def temporaries(self) -> tuple[int, ...]:
        """Buffers other than the result's."""
        return tuple(number for number in range(len(self.item_bytes)) if number != self.result)


def _with(values: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
    return (*values[:position], value, *values[position + 1 :])


def value_bytes(value: SSAValue) -> int:
    """Bytes of an element of a tensor value in memory (bool takes one)."""
    return element_bytes(element_of(value))


def _written_buffers(op: ExecuteOp) -> BodyBuffers:
    of_op = tuple(op.writes.get_values())
    sizes = [0] * (1 + len(op.temporaries))
    for number, inner in zip(of_op, op.ops, strict=True):
        sizes[number] = max(sizes[number], value_bytes(inner.results[0]))
    return BodyBuffers(of_op, tuple(sizes))


def _body_buffers(info: TaskInfo) -> BodyBuffers:
    number_of: dict[SSAValue, int] = {op.results[0]: number for number, op in enumerate(info.body)}
    last_use: dict[int, int] = {}
    for number, op in enumerate(info.body):
        for value in op.operands:
            if value in number_of:
                last_use[number_of[value]] = number
    of_op: list[int] = []
    held: list[int] = []
    """The operations so far that write a buffer."""
    sizes: list[int] = []
    for number, op in enumerate(info.body):
        if number and info.is_view(number):
            of_op.append(of_op[0])
            continue
        bytes_ = value_bytes(op.results[0])
        free: list[int] = []
        for value in op.operands:
            source = number_of.get(value)
            if source in held and last_use[source] == number and sizes[of_op[source]] == bytes_:
                holders = [other for other in held if of_op[other] == of_op[source]]
                if all(last_use.get(other, other) <= number for other in holders):
                    free.append(of_op[source])
        # The root's buffer is reused before others: if it becomes the result's buffer, of which each step has a
        # separate one, the root of the next step does not have to wait for the rest of this step.
        reused = min(free, default=None)
        if reused is None:
            reused = len(sizes)
            sizes.append(bytes_)
        of_op.append(reused)
        held.append(number)
    return BodyBuffers(tuple(of_op), tuple(sizes), of_op[-1])
