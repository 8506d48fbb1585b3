"""
Unrolls networks of whole tensors to neurons, and finds the edges between them.

Every element of an input is a neuron, and so is every element that an operation computes from several neurons or by a
reduction (dense layers, convolutions, pooling, additions of two branches). An element that depends on a single neuron
(activations, biases, reshapes, slices) is that neuron itself. The tiling interface (`dialects.dataflow.tiling`) tells
what an element reads, one dimension at a time, so that this module does not depend on particular operations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...mapping.topology.topology import Topology, from_directed
from ...support.errors import InputError
from ...support.jit import jit

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue

    from ...dialects.dataflow.tiling import Box, OperandSlice, TilingInterface

MOST_EDGES = 1 << 30
"""The largest number of edges that is unrolled in memory."""

_CHUNK = 1 << 22
_MOST_PROBES = 1 << 18


@dataclass
class _Net:
    """The neurons found so far, and the edges between them."""

    neurons: int = 0
    edges: int = 0
    sources: list[NDArray[np.int32]] = field(default_factory=list[NDArray[np.int32]])
    targets: list[NDArray[np.int32]] = field(default_factory=list[NDArray[np.int32]])

    def grow(self, shape: Sequence[int]) -> NDArray[np.int32]:
        """New neurons, one for each element of a tensor."""
        first = self.neurons
        self.neurons += math.prod(shape)
        if self.neurons > np.iinfo(np.int32).max:
            raise InputError(f"more than {np.iinfo(np.int32).max} neurons")
        return np.arange(first, self.neurons, dtype=np.int32).reshape(shape)


def unroll_module(module: ModuleOp, progress: Callable[[str], None] | None = None) -> Topology:
    """
    The neurons of the function `main` of a `dataflow` module: one spike over every edge, every neuron of size 1.

    Raises InputError for operations that the tiling interface does not describe, and for more than 2^30 edges.
    """
    from xdsl.dialects.func import FuncOp, ReturnOp

    from ...dialects.dataflow.tiling import TilingInterface
    from ...dialects.dataflow.types import shape_of

    main = next((op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    if main is None or main.is_declaration:
        raise InputError("the module has no function main")
    net = _Net()
    neurons: dict[SSAValue, NDArray[np.int32]] = {
        argument: net.grow(shape_of(argument)) for argument in main.body.block.args
    }
    for op in main.body.block.ops:
        active = [operand for operand in op.operands if operand in neurons]
        if isinstance(op, ReturnOp) or not active:
            continue  # weights, and what is computed from weights alone
        if not isinstance(op, TilingInterface):
            raise InputError(f"{op.name} cannot be unrolled to neurons")
        if progress is not None:
            progress(f"{op.name}, {net.neurons} neurons, {net.edges} edges")
        neurons[op.results[0]] = _unroll(op, shape_of(op.results[0]), neurons, net)
    return _topology(net)


def _unroll(
    op: TilingInterface, shape: Sequence[int], neurons: Mapping[SSAValue, NDArray[np.int32]], net: _Net
) -> NDArray[np.int32]:
    """The neurons of the operation's result; new ones unless each element depends on at most one."""
    from ...dialects.dataflow.tiling import DimKind

    first = next(operand for operand in op.operands if operand in neurons)
    if not all(slice_.exact for slice_ in _slices_at_origin(op)):
        return neurons[first].reshape(shape)  # elements in their order, in another shape
    joins = any(one.kind == DimKind.REDUCTION for one in op.iteration_space())
    elements = math.prod(shape)
    low: NDArray[np.int32] = np.full(elements, np.iinfo(np.int32).max, np.int32)
    high: NDArray[np.int32] = np.full(elements, -1, np.int32)
    chunks: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    for index, operand in enumerate(op.operands):
        if operand not in neurons:
            continue
        ids = neurons[operand].ravel()
        for read, result in _reads(op, index, neurons[operand].shape, shape):
            sources = ids[read]
            kept = sources >= 0
            chunks.append((sources[kept], result[kept].astype(np.int32)))
            net.edges += chunks[-1][0].size
            if net.edges > MOST_EDGES:
                raise InputError(f"more than {MOST_EDGES} edges: too many to unroll in memory")
            if not joins:
                _bounds(low, high, *chunks[-1])
    if not joins and bool((low >= high).all()):
        net.edges -= sum(sources.size for sources, _ in chunks)
        return high.reshape(shape)
    grown = net.grow(shape)
    for sources, results in chunks:
        net.sources.append(sources)
        net.targets.append(grown.ravel()[results])
    return grown


@jit
def _bounds(low: NDArray[Any], high: NDArray[Any], sources: NDArray[Any], results: NDArray[Any]) -> None:
    """Update the least (`low`) and the largest (`high`) source of each result."""
    for k in range(sources.size):
        low[results[k]] = min(low[results[k]], sources[k])
        high[results[k]] = max(high[results[k]], sources[k])


@dataclass(frozen=True)
class _Range:
    """One dimension of a slice as a function of some dimensions of the iteration space, tabulated."""

    axes: tuple[int, ...]
    start: NDArray[np.int64]
    """[sizes of axes] first element"""
    count: NDArray[np.int64]
    """[sizes of axes] elements; 0 outside the operand"""
    step: int


_Point = tuple[int, ...]
_Slicer = Callable[[_Point], Sequence[tuple[int, int, int]]]
"""Maps a point of the iteration space to (first, count, step) of each dimension of the slice that is accessed there."""


def _reads(
    op: TilingInterface, index: int, operand_shape: Sequence[int], result_shape: Sequence[int]
) -> Generator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The pairs (element of operand `index`, element of the result that reads it) as row-major numbers, in chunks."""
    space = [1 if _stays_whole(one.kind) else one.size for one in op.iteration_space()]
    if 0 in space or 0 in operand_shape or 0 in result_shape:
        return

    def read(point: _Point) -> list[tuple[int, int, int]]:
        return _dims(op.operand_slice(index, _tile(op, point)))

    def written(point: _Point) -> list[tuple[int, int, int]]:
        box = op.result_box(_tile(op, point))
        return [(offset, size, 1) for offset, size in zip(box.offsets, box.sizes, strict=True)]

    tables = [(_tabulate(read, space, op.name), operand_shape), (_tabulate(written, space, op.name), result_shape)]
    inner = math.prod(space[1:]) * math.prod(int(r.count.max(initial=1)) for ranges, _ in tables for r in ranges)
    step = max(1, _CHUNK // max(inner, 1))
    for first in range(0, space[0] if space else 1, step):
        yield _pairs(tables, space, first, step)


def _pairs(
    tables: list[tuple[list[_Range], Sequence[int]]], space: list[int], first: int, step: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of the points whose first coordinate is in [first, first + step)."""
    spread = [(side, d) for side, (ranges, _) in enumerate(tables) for d, r in enumerate(ranges) if r.count.max() > 1]
    rank = len(space) + len(spread)
    flat: list[Any] = []
    inside: Any = np.ones((1,) * rank, np.bool_)
    for side, (ranges, shape) in enumerate(tables):
        total: Any = np.zeros((1,) * rank, np.int64)
        for d, one in enumerate(ranges):
            start, count = one.start, one.count
            if one.axes and one.axes[0] == 0:
                start, count = start[first : first + step], count[first : first + step]
            extents = [1] * rank
            for axis, extent in zip(one.axes, start.shape, strict=True):
                extents[axis] = extent
            position: Any = start.reshape(extents)
            if (side, d) in spread:
                along = [1] * rank
                along[len(space) + spread.index((side, d))] = -1
                steps = np.arange(int(one.count.max())).reshape(along)
                position = position + one.step * steps
                inside = inside & (steps < count.reshape(extents))
            else:
                inside = inside & (count.reshape(extents) > 0)
            total = total + position * math.prod(shape[d + 1 :])
        flat.append(total)
    whole = [min(step, space[0] - first), *space[1:]] if space else []
    grid = [*whole, *(int(tables[side][0][d].count.max()) for side, d in spread)]
    kept = np.broadcast_to(inside, grid)
    return np.broadcast_to(flat[0], grid)[kept], np.broadcast_to(flat[1], grid)[kept]


def _tabulate(slicer: _Slicer, space: list[int], name: str) -> list[_Range]:
    """
    A table of each dimension of a slice over those dimensions of the iteration space that it depends on.

    These dimensions are found by moving along one dimension at a time from a few points, and checked at random points.
    """
    rng = np.random.default_rng(0)
    middle = tuple(size // 2 for size in space)
    positions = [tuple(0 for _ in space), middle, tuple(size - 1 for size in space)]
    positions += [tuple(int(x) for x in rng.integers(0, space)) for _ in range(4)]
    rank = len(slicer(middle))
    depends: list[set[int]] = [set() for _ in range(rank)]
    for position, (axis, size) in itertools.product(positions, enumerate(space)):
        here = slicer(position)
        for other in {0, 1, size // 2, size - 1, *(int(x) for x in rng.integers(0, size, 4))}:
            if other < size:
                there = slicer((*position[:axis], other, *position[axis + 1 :]))
                for d in range(rank):
                    if here[d] != there[d]:
                        depends[d].add(axis)
    ranges = [_table(slicer, space, sorted(axes), d, middle, name) for d, axes in enumerate(depends)]
    for _ in range(50):
        point = tuple(int(x) for x in rng.integers(0, space))
        for one, (start, count, step) in zip(ranges, slicer(point), strict=True):
            at = tuple(point[axis] for axis in one.axes)
            if one.count[at] != count or (count > 0 and one.start[at] != start) or (count > 1 and one.step != step):
                raise InputError(
                    f"{name} cannot be unrolled to neurons: the elements that it reads have no supported pattern"
                )
    return ranges


def _table(slicer: _Slicer, space: list[int], axes: list[int], d: int, middle: _Point, name: str) -> _Range:
    sizes = [space[axis] for axis in axes]
    if math.prod(sizes) > _MOST_PROBES:
        raise InputError(f"{name} cannot be unrolled to neurons: the elements that it reads have no supported pattern")
    start = np.zeros(sizes, np.int64)
    count = np.zeros(sizes, np.int64)
    step = 1
    for at in np.ndindex(*sizes):
        point = list(middle)
        for axis, position in zip(axes, at, strict=True):
            point[axis] = position
        start[at], count[at], one_step = slicer(tuple(point))[d]
        if count[at] > 1:
            step = one_step
    return _Range(tuple(axes), start, count, step)


def _stays_whole(kind: str) -> bool:
    return kind in ("whole", "sequential")


def _tile(op: TilingInterface, point: _Point) -> Box:
    """The tile of one point of the iteration space; dimensions that must not be cut are whole."""
    from ...dialects.dataflow.tiling import Box

    space = op.iteration_space()
    offsets = tuple(0 if _stays_whole(one.kind) else at for one, at in zip(space, point, strict=True))
    return Box(offsets, tuple(one.size if _stays_whole(one.kind) else 1 for one in space))


def _slices_at_origin(op: TilingInterface) -> list[OperandSlice]:
    tile = _tile(op, tuple(0 for _ in op.iteration_space()))
    return [op.operand_slice(index, tile) for index in range(len(op.operands))]


def _dims(slice_: OperandSlice) -> list[tuple[int, int, int]]:
    """First element, number of elements and step along each dimension of the operand."""
    return list(zip(slice_.box.offsets, slice_.box.sizes, slice_.steps, strict=True))


def _topology(net: _Net) -> Topology:
    """The topology as CSR by source; repeated reads of a neuron by the same element are one edge."""
    sources = np.concatenate(net.sources) if net.sources else np.zeros(0, np.int32)
    targets = np.concatenate(net.targets) if net.targets else np.zeros(0, np.int32)
    net.sources.clear()
    net.targets.clear()
    indptr, rows = _by_source(net.neurons, sources, targets)
    return from_directed(indptr, rows)


@jit
def _by_source(n: int, sources: NDArray[Any], targets: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Targets of each source, without repetitions."""
    start = np.zeros(n + 1, np.int64)
    for k in range(sources.size):
        start[sources[k] + 1] += 1
    for u in range(n):
        start[u + 1] += start[u]
    at = start[:-1].copy()
    rows = np.empty(sources.size, np.int32)
    for k in range(sources.size):
        rows[at[sources[k]]] = targets[k]
        at[sources[k]] += 1
    indptr = np.zeros(n + 1, np.int64)
    out = 0
    for u in range(n):
        row = np.sort(rows[start[u] : start[u + 1]])
        for k in range(row.size):
            if k == 0 or row[k] != row[k - 1]:
                rows[out] = row[k]
                out += 1
        indptr[u + 1] = out
    return indptr, rows[:out].copy()
