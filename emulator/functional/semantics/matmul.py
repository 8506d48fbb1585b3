"""Semantics of the matrix unit: BLAS on strided operands (also convolution windows), with as few copies as possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...machine.errors import Fault
from ...machine.memory import BF16, I8, STORAGE, U8, Array, Bytes, Geometry, coalesce, is_float, storage, store
from .base import Access, Decoded, Instruction, reader

_EXACT_TERMS = {I8: 1024, U8: 256}
"""Number of products of 8-bit integers that f32 sums exactly, as the sum is below 2^24."""


class _Group(NamedTuple):
    """A group of dimensions (batch, m, k or n): sizes, and byte strides in one operand."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def points(self) -> int:
        return math.prod(self.shape)

    def folded(self) -> tuple[int, int] | None:
        """(size, stride) if the group has one dimension, else None."""
        shape, (strides,) = coalesce(self.shape, [self.strides])
        if not shape:
            return 1, 0
        return (shape[0], strides[0]) if len(shape) == 1 else None


def _groups(geometry: Geometry, counts: tuple[int, int, int]) -> list[_Group]:
    used = geometry.last(sum(counts))
    groups: list[_Group] = []
    at = 0
    for count in counts:
        groups.append(_Group(used.shape[at : at + count], used.strides[at : at + count]))
        at += count
    return groups


def _joined(first: _Group, second: _Group, name: str) -> tuple[_Group, _Group]:
    """Both operands' parts of a group that they share, with dimensions merged."""
    if first.shape != second.shape:
        raise Fault(f"sizes of the {name} dimensions differ: {first.shape} and {second.shape}")
    shape, (one, two) = coalesce(first.shape, [first.strides, second.strides])
    return _Group(shape, one), _Group(shape, two)


def _blas_view(batch: _Group, rows: _Group, cols: _Group, size: int) -> Geometry | None:
    """The operand as a stack of matrices that BLAS accepts without a copy, or None."""
    row, col = rows.folded(), cols.folded()
    if row is None or col is None:
        return None
    (m, row_stride), (k, col_stride) = row, col
    row_stride = row_stride if m > 1 else max(k * size, col_stride)
    col_stride = col_stride if k > 1 else (size if row_stride != size else m * size)
    fits = (col_stride == size and row_stride >= k * size and row_stride % size == 0) or (
        row_stride == size and col_stride >= m * size and col_stride % size == 0
    )
    if not fits or any(stride < 0 or stride % size for stride in batch.strides):
        return None
    return Geometry((*batch.shape, m, k), (*batch.strides, row_stride, col_stride))


def _matrix_reader(
    batch: _Group, rows: _Group, cols: _Group, code: int, kind: np.dtype[Any]
) -> Callable[[Bytes, int], Array]:
    """The function that reads an operand as [batch..., rows, cols] of type `kind`, as BLAS accepts it uncopied."""
    stored = STORAGE[code]
    if stored == kind and code != BF16:
        direct = _blas_view(batch, rows, cols, stored.itemsize)
        if direct is not None:
            return reader(direct, code)
    m, k = rows.points, cols.points
    # the inner loop of the copy is the longer innermost dimension: windows are short, rows of an image are long
    along_rows = rows.shape and (
        not cols.shape
        or (rows.shape[-1], rows.strides[-1] == stored.itemsize) > (cols.shape[-1], cols.strides[-1] == stored.itemsize)
    )
    inner, outer = (rows, cols) if along_rows else (cols, rows)
    read = reader(
        Geometry((*batch.shape, *outer.shape, *inner.shape), (*batch.strides, *outer.strides, *inner.strides)), code
    )
    matrix = (*batch.shape, k, m) if along_rows else (*batch.shape, m, k)

    def copied(memory: Bytes, address: int) -> Array:
        view = read(memory, address)
        values = np.empty(view.shape, kind)
        values[...] = view
        values = values.reshape(matrix)
        return values.swapaxes(-1, -2) if along_rows else values

    return copied


def _product(code: int, kind: np.dtype[Any], terms: int) -> Callable[[Array, Array], Array]:
    """The function that computes the matrix product in the type in which the unit sums."""
    if is_float(code) or code not in _EXACT_TERMS:
        return lambda a, b: np.matmul(a, b)
    chunk = _EXACT_TERMS[code]
    if terms <= chunk:
        return lambda a, b: np.matmul(a, b).astype(np.int32)

    def chunked(a: Array, b: Array) -> Array:
        total = np.matmul(a[..., :chunk], b[..., :chunk, :]).astype(np.int32)
        for start in range(chunk, terms, chunk):
            total += np.matmul(a[..., start : start + chunk], b[..., start : start + chunk, :]).astype(np.int32)
        return total

    return chunked


@dataclass(frozen=True)
class Sides:
    """The groups of dimensions of a product's operands; None for operands in blocks."""

    batch: tuple[int, ...]
    """Sizes of the batch dimensions, merged as far as possible."""
    a: tuple[_Group, _Group, _Group] | None
    """Batch, m and k of A."""
    b: tuple[_Group, _Group, _Group] | None
    """Batch, k and n of B."""
    d: tuple[_Group, _Group, _Group]
    """Batch, m and n of D."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Sizes of batch, m, k and n; k is 0 if neither A nor B determines it."""
        k = self.a[2].points if self.a is not None else self.b[1].points if self.b is not None else 0
        return math.prod(self.batch), self.d[1].points, k, self.d[2].points


def sides(ins: Instruction, a_dense: bool = True, b_dense: bool = True) -> Sides:
    """The dimensions of a product. Raises Fault if its operands do not match."""
    nb, nm, nk, nn = (ins.imm >> shift & 15 for shift in (0, 4, 8, 12))
    if max(nb + nm + nk, nb + nk + nn, nb + nm + nn) > 5:
        raise Fault("matmul operands have at most 5 dimensions")
    parts = {"D": _groups(ins.operand(0), (nb, nm, nn))}
    if a_dense:
        parts["A"] = _groups(ins.operand(1), (nb, nm, nk))
    if b_dense:
        parts["B"] = _groups(ins.operand(2), (nb, nk, nn))
    batches = [groups[0] for groups in parts.values()]
    if any(group.shape != batches[0].shape for group in batches):
        raise Fault(f"sizes of the batch dimensions differ: {', '.join(str(group.shape) for group in batches)}")
    shape, merged = coalesce(batches[0].shape, [group.strides for group in batches])
    for groups, strides in zip(parts.values(), merged, strict=True):
        groups[0] = _Group(shape, strides)
    d, a, b = parts["D"], parts.get("A"), parts.get("B")
    if a is not None:
        a[1], d[1] = _joined(a[1], d[1], "m")
    if a is not None and b is not None:
        a[2], b[1] = _joined(a[2], b[1], "k")
    if b is not None:
        b[2], d[2] = _joined(b[2], d[2], "n")
    return Sides(
        shape, None if a is None else (a[0], a[1], a[2]), None if b is None else (b[0], b[1], b[2]), (d[0], d[1], d[2])
    )


def arithmetic(code: int) -> np.dtype[Any]:
    """The type in which products of elements of type `code` are summed (8-bit: f32 as far as it is exact)."""
    stored = storage(code)
    small = code in _EXACT_TERMS or (is_float(code) and stored.itemsize < 4)
    return np.dtype(np.float32) if small else stored


def dense_reader(groups: tuple[_Group, _Group, _Group], code: int) -> Callable[[Bytes, int], Array]:
    """The function that reads A or B of `Sides` as [batch..., rows, columns], in the type of sums of products."""
    return _matrix_reader(*groups, code, arithmetic(code))


Multiply: TypeAlias = Callable[[Bytes, int, Array, Array], None]
"""Function that writes or adds the product of two stacks of matrices to D at an address of a memory."""


def multiplier(ins: Instruction, accumulate: bool, d: tuple[_Group, _Group, _Group], terms: int) -> Multiply:
    """The function that multiplies A [batch..., m, k] by B [batch..., k, n] into D; `terms` is the size of k."""
    source, result = ins.source_type, ins.result_type
    kind, result_kind = arithmetic(source), storage(result)
    d_batch, d_rows, d_cols = d
    product = _product(source, kind, terms)

    # for a column-major destination, BLAS computes the product of the transposes
    swap = _innermost_stride(d_rows) < _innermost_stride(d_cols)
    outer, inner = (d_cols, d_rows) if swap else (d_rows, d_cols)
    target = Geometry((*d_batch.shape, *outer.shape, *inner.shape), (*d_batch.strides, *outer.strides, *inner.strides))
    out = _blas_view(d_batch, outer, inner, result_kind.itemsize)
    if (
        out is not None
        and out.strides[-1] == result_kind.itemsize
        and not accumulate
        and result_kind == kind
        and is_float(source)
        and _dense(d_batch, out, result_kind.itemsize)
    ):
        direct = out

        def straight(sram: Bytes, address: int, x: Array, y: Array) -> None:
            if swap:
                x, y = y.swapaxes(-1, -2), x.swapaxes(-1, -2)
            np.matmul(x, y, np.ndarray(direct.shape, result_kind, sram, address, direct.strides))

        return straight
    old = reader(target, result)

    def general(sram: Bytes, address: int, x: Array, y: Array) -> None:
        if swap:
            x, y = y.swapaxes(-1, -2), x.swapaxes(-1, -2)
        values = product(x, y).reshape(target.shape)
        if accumulate:
            values = np.add(old(sram, address), values)
        store(np.ndarray(target.shape, result_kind, sram, address, target.strides), result, values)

    return general


def matmul(ins: Instruction) -> Decoded:
    """D = A x B, or D += A x B; imm has the numbers of batch, m, k and n dimensions."""
    accumulate = ins.mnemonic == "matmul.acc"
    found = sides(ins)
    assert found.a is not None
    assert found.b is not None
    left, right = dense_reader(found.a, ins.source_type), dense_reader(found.b, ins.source_type)
    multiply = multiplier(ins, accumulate, found.d, found.shape[2])
    stored = storage(ins.source_type)
    accesses = (
        Access(0, ins.operand(0), storage(ins.result_type).itemsize, write=True, reads_too=accumulate),
        Access(1, ins.operand(1), stored.itemsize, write=False),
        Access(2, ins.operand(2), stored.itemsize, write=False),
    )

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        multiply(sram, a0, left(sram, a1), right(sram, a2))

    return Decoded(step, accesses)


def _innermost_stride(group: _Group) -> float:
    return abs(group.strides[-1]) if group.shape else math.inf


def _dense(batch: _Group, out: Geometry, size: int) -> bool:
    """Whether the matrices of a batch are disjoint in memory, so that BLAS may write them one by one."""
    block = out.strides[-2] * out.shape[-2] if out.shape[-2] > 1 else out.shape[-1] * size
    return all(stride >= block for stride in batch.strides)
