"""Plans of the instruction families: from the shapes and strides of operands to descriptors, cheapest unit and roles.

Plans are cached by shapes and strides; within a compilation (one descriptor table, one chip) the descriptors are cached
too, so emitting an instruction of known shapes and strides costs one look-up.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from ...analysis.sparse.product_cycles import dense_weights_cycles
from ...chips.chip import RATES, Chip
from ...chips.cycles import RATE_BY_WIDTH, copy_cycles, matmul_cycles, vector_cycles
from ...dialects.coreasm.encoding import TYPES, TypeCode
from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero
from .access_plans import Access, Dim, Layout, Plan, Step, plan_access
from .stream import IMMEDIATE, DescriptorTable
from .view import ITEM_BYTES, View

REDUCTION = Layout(((0,), (0, 1)), reduced=frozenset({1}), required=frozenset({1}))
ORDERED_REDUCTION = Layout(((0,), (0, 1)), ordered=frozenset({1}))
SCAN = Layout(((0, 1), (0, 1)), ordered=frozenset({1}))
DOT = Layout(((0,), (0, 1), (0, 1)), reduced=frozenset({1}), required=frozenset({1}))
_ROWS = Layout(((0, 1), (0, 2)), ordered=frozenset({1, 2}))
_GATHER = Layout(((0, 1), (2, 1), (0,)), ordered=frozenset({2}), required=frozenset({0}))
_SCATTER = Layout(((2, 1), (0, 1), (0,)), ordered=frozenset({0, 2}), required=frozenset({0}))
_ENCODED = Layout(((0, 2), (0, 1)), ordered=frozenset({1, 2}), required=frozenset({1}))
_BATCH, _M, _K, _N = range(4)
_MATMUL = Layout(((_BATCH, _M, _N), (_BATCH, _M, _K), (_BATCH, _K, _N)), reduced=frozenset({_K}))


class Prepared(NamedTuple):
    """Everything but addresses that is needed to emit one operation."""

    accesses: tuple[Access | None, ...]
    """Access to each operand; None: it is an immediate."""
    spans: tuple[tuple[int, int], ...]
    """First and last byte offset that each operand touches, without the width of the last element."""
    steps: tuple[Step, ...]
    counts: tuple[int, ...]
    """Dimensions per group."""
    vector: bool = False
    """Whether the vector unit is the cheaper one."""
    swapped: bool = False
    """Whether a matrix product has the second operand before the first."""
    skipping: int = 0
    """Expected cycles of a matrix product that skips the zeros of the first operand."""
    descs: tuple[int, ...] = ()
    """Descriptor (or `IMMEDIATE`) of each operand, in the table of one compilation."""

    def described(self, table: DescriptorTable) -> Prepared:
        """A copy with the descriptors of all operands but immediates interned."""
        return self._replace(
            descs=tuple(
                IMMEDIATE if access is None else table.intern(access.sizes, access.strides) for access in self.accesses
            )
        )


class Busy(NamedTuple):
    """Cycles of other work of the units at the same time."""

    matrix: int = 0
    vector: int = 0


IDLE = Busy()

Cache: TypeAlias = dict[Hashable, Prepared]
_CACHES: WeakKeyDictionary[DescriptorTable, dict[Chip, Cache]] = WeakKeyDictionary()


def cache_of(table: DescriptorTable, chip: Chip) -> Cache:
    """The cache of plans for this descriptor table and chip."""
    return _CACHES.setdefault(table, {}).setdefault(chip, {})


@lru_cache(4)
def plans_for(chip: Chip) -> Cache:
    """
    The cache of plans for this chip, without descriptors: variants of a network mostly have the same instructions with
    different addresses.
    """
    del chip
    return {}


def prepare(plan: Plan, immediates: frozenset[int] = frozenset()) -> Prepared:
    """The plan for operands of which all but `immediates` are in memory."""
    accesses = tuple(None if number in immediates else access for number, access in enumerate(plan.accesses))
    return Prepared(accesses, tuple((access.low, access.high) for access in plan.accesses), plan.steps, plan.counts)


def _dims(shape: Sequence[int], group: int, *strides: Sequence[int]) -> list[Dim]:
    return [Dim(size, group, own) for size, own in zip(shape, zip(*strides, strict=True), strict=True)]


def rate_of(dtype: int) -> int:
    """Elements of a type per cycle and lane."""
    return RATES.get(TYPES[dtype].name, RATE_BY_WIDTH.get(ITEM_BYTES[dtype], 1))


def one_pass(chip: Chip, points: int, dtype: int) -> int:
    """Cycles of the vector unit for `points` elements of one pass."""
    return vector_cycles(chip, rate_of(dtype), points, 1, points * ITEM_BYTES[dtype])


def plan_elementwise(shape: tuple[int, ...], strides: Sequence[tuple[int, ...] | None]) -> Prepared:
    """Operands of the same shape; None means an immediate."""
    still = (0,) * len(shape)
    dims = _dims(shape, 0, *(still if own is None else own for own in strides))
    immediates = frozenset(index for index, own in enumerate(strides) if own is None)
    return prepare(plan_access(dims, Layout(((0,),) * len(strides))), immediates)


def plan_copy(chip: Chip, shape: tuple[int, ...], dtype: int, *strides: tuple[int, ...]) -> Prepared:
    """A copy (two operands) or a fill (one): elementwise, by the unit that takes fewer cycles."""
    plan = plan_access(_dims(shape, 0, *strides), Layout(((0,),) * len(strides)))
    item = ITEM_BYTES[dtype]
    points = plan.extents[0]
    run = 1
    if plan.dims and all(stride == item for stride in plan.dims[-1].strides):
        run = plan.dims[-1].size
    moved = copy_cycles(chip, points // run, run * item)
    return prepare(plan)._replace(vector=one_pass(chip, points, dtype) < moved)


def plan_fill(chip: Chip, shape: tuple[int, ...], dtype: int, out: tuple[int, ...]) -> Prepared:
    """A fill of elements with the strides `out` by an immediate, by the unit that takes fewer cycles."""
    vector = plan_copy(chip, shape, dtype, out).vector
    return plan_elementwise(shape, (out, None))._replace(vector=vector)


def plan_reduction(layout: Layout, reduced: int, out: View, *sources: View) -> Prepared:
    """
    D over the leading dimensions of the operands; the `reduced` trailing ones are reduced, or scanned: then D has them,
    too. Two operands are multiplied first.
    """
    shape = sources[0].shape
    kept = len(shape) - reduced
    outer = (view.strides[:kept] for view in (out, *sources))
    inner = (view.strides[kept:] for view in sources)
    dims = _dims(shape[:kept], 0, *outer) + _dims(shape[kept:], 1, out.strides[kept:] or (0,) * reduced, *inner)
    return prepare(plan_access(dims, layout))


def plan_rows(out: View, a: View) -> Prepared:
    """D[kept..., m] and A[kept..., n]: the last dimensions as a whole."""
    dims = _dims(a.shape[:-1], 0, out.strides[:-1], a.strides[:-1])
    dims += [Dim(out.shape[-1], 1, (out.strides[-1], 0)), Dim(a.shape[-1], 2, (0, a.strides[-1]))]
    return prepare(plan_access(dims, _ROWS))


def plan_gather(out: View, data: View, indices: View) -> Prepared:
    """D[i..., inner...] = S[I[i...], inner...]"""
    q = len(indices.shape)
    dims = _dims(indices.shape, 0, out.strides[:q], (0,) * q, indices.strides)
    inner = len(out.shape) - q
    dims += _dims(out.shape[q:], 1, out.strides[q:], data.strides[1:], (0,) * inner)
    dims.append(Dim(data.shape[0], 2, (0, data.strides[0], 0)))
    return prepare(plan_access(dims, _GATHER))


def plan_scatter(out: View, updates: View, indices: View) -> Prepared:
    """D[I[n], inner...] = S[n, inner...] for n ascending."""
    dims = _dims(indices.shape, 0, (0,), updates.strides[:1], indices.strides)
    inner = len(out.shape) - 1
    dims += _dims(out.shape[1:], 1, out.strides[1:], updates.strides[1:], (0,) * inner)
    dims.append(Dim(out.shape[0], 2, (out.strides[0], 0, 0)))
    return prepare(plan_access(dims, _SCATTER))


def plan_contraction(
    chip: Chip,
    out: View,
    a: View,
    b: View,
    groups: tuple[int, int, int, int],
    nonzero: Nonzero = ALL_NONZERO,
    busy: Busy = IDLE,
) -> Prepared:
    """D[b, m, n] = sum over k of A[b, m, k] * B[b, k, n], by the cheapest of four ways.

    These are the matrix unit with A streamed and B held; with B streamed and A held; with A streamed without its zeros
    (a share of about `nonzero` is left); and, if the matrix unit does not support the types or is slower, the vector
    unit. Batch dimensions along which an operand does not move belong to m or n. The cheaper unit is the one with which
    all work, including that of `busy`, ends first.
    """
    dims = _contraction_dims(out, a, b, groups)
    dot = _plan_dot(chip, dims, a.dtype)
    if not matrix_types(a.dtype, out.dtype) or a.dtype != b.dtype:
        return prepare(dot)._replace(vector=True)

    rate = rate_of(a.dtype)

    def cycles(extents: Sequence[int]) -> int:
        batch, m, k, n = extents
        return matmul_cycles(chip, rate, batch, m, k, n)

    straight = plan_access(dims, _MATMUL, cycles)
    exchange = {_BATCH: _BATCH, _M: _N, _N: _M, _K: _K}
    turned = [Dim(dim.size, exchange[dim.group], (dim.strides[0], dim.strides[2], dim.strides[1])) for dim in dims]
    swapped = plan_access(turned, _MATMUL, cycles)
    best, is_swapped = (swapped, True) if swapped.cost < straight.cost else (straight, False)
    if nonzero.has_zeros:
        largest = max(bytes_reached(view) for view in (out, a, b))
        first, count, _, _ = groups
        kept = out.shape[first : first + count]
        rows, lines = math.prod(kept), math.prod(kept[:-1])

        def without_zeros(extents: Sequence[int]) -> int:
            batch, m, k, n = extents
            sizes = (batch, m, k, n)
            return round(dense_weights_cycles(chip, sizes, rate, nonzero, largest, lines if m == rows else 0))

        skipping = plan_access(dims, _MATMUL, without_zeros)
        if skipping.cost < best.cost and (a.dtype or out.dtype or skipping.cost < dot.cost):
            return prepare(skipping)._replace(skipping=without_zeros(skipping.extents))
    on_either = out.dtype == TypeCode.I32 or a.dtype == out.dtype == TypeCode.F32
    on_vector = max(dot.cost + busy.vector, busy.matrix)
    if on_either and on_vector < max(best.cost + busy.matrix, busy.vector):
        return prepare(dot)._replace(vector=True)
    return prepare(best)._replace(swapped=is_swapped)


def plan_dot_of_bytes(chip: Chip, out: View, a: View, b: View, groups: tuple[int, int, int, int]) -> Prepared:
    """As `plan_contraction`, by sums of products of the vector unit in the type of `out`; `swapped` if A has bytes."""
    dims = _contraction_dims(out, a, b, groups)
    swapped = a.item_bytes < b.item_bytes
    if swapped:
        dims = [Dim(dim.size, dim.group, (dim.strides[0], dim.strides[2], dim.strides[1])) for dim in dims]
    return prepare(_plan_dot(chip, dims, out.dtype))._replace(vector=True, swapped=swapped)


def _plan_dot(chip: Chip, dims: Sequence[Dim], dtype: int) -> Plan:
    return plan_access(
        [Dim(dim.size, 1 if dim.group == _K else 0, dim.strides) for dim in dims],
        DOT,
        lambda extents: one_pass(chip, extents[0] * extents[1], dtype),
    )


def bytes_reached(view: View) -> int:
    """Bytes of memory between the first and the last element, or those of all elements if these are fewer."""
    low, high = view.extent
    moved = view.item_bytes
    for size, stride in zip(view.shape, view.strides, strict=True):
        moved *= size if stride else 1
    return min(moved, high - low)


def plan_encoded(out: View, a: View, m: int) -> Prepared:
    """
    D[m..., n] = sum over k of A[m..., k...] * W, whose fibers run over k in row-major order, one for each n.

    Of A's dimensions, m are kept and the others summed.
    """
    dims = _dims(a.shape[:m], 0, out.strides[:m], a.strides[:m])
    kept = [dim for dim in zip(a.shape[m:], a.strides[m:], strict=True) if dim[0] != 1]
    dims += [Dim(size, 1, (0, stride)) for size, stride in kept]
    dims.append(Dim(out.shape[m], 2, (out.strides[m], 0)))
    return prepare(plan_access(dims, _ENCODED))


def matrix_types(source: int, result: int) -> bool:
    """
    Whether the matrix unit supports operands and a result of these types: floats with results in f32 or their own type,
    8-bit integers with results in i32.
    """
    return (source <= 2 and result in (0, source)) or (source in (4, 5) and result == 8)


def _contraction_dims(out: View, a: View, b: View, groups: tuple[int, int, int, int]) -> list[Dim]:
    batch, m, k, n = groups
    dims: list[Dim] = []
    for index in range(batch):
        strides = (out.strides[index], a.strides[index], b.strides[index])
        group = _M if strides[2] == 0 else _N if strides[1] == 0 else _BATCH
        dims.append(Dim(out.shape[index], group, strides))
    middle = batch + m
    dims += _dims(out.shape[batch:middle], _M, out.strides[batch:middle], a.strides[batch:middle], (0,) * m)
    dims += _dims(out.shape[middle:], _N, out.strides[middle:], (0,) * n, b.strides[batch + k :])
    dims += _dims(a.shape[middle:], _K, (0,) * k, a.strides[middle:], b.strides[batch : batch + k])
    return dims
