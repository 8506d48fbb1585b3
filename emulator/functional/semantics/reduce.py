"""Semantics of reductions and sums of products of the vector unit, over strided (also overlapping) windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....formats.pairs import high_of, low_of
from ...machine.errors import Fault
from ...machine.memory import BOOL, COMPUTE, STORAGE, Array, Bytes, Geometry, coalesce, is_float, store
from .base import Access, Decoded, Instruction, check_types, reader, same_shape, write

_FEW = 64
"""Up to this many points of a window, one array operation per point is faster than NumPy's reduction."""

_COMBINE: dict[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


OF_BYTES: dict[str, Callable[[Array], Array]] = {
    "dot.byte": lambda x: x,
    "dot.low4": low_of,
    "dot.high4": high_of,
}
"""The part of a byte that each instruction for sums of products with bytes reads."""


def _kept_and_reduced(ins: Instruction, slots: tuple[int, ...]) -> tuple[Geometry, list[Geometry], list[Geometry]]:
    """
    Destination, kept parts and reduced parts of the sources, each with as few dimensions as possible.

    Element (i, j) of a source has the byte offset of i in the kept part plus that of j in the reduced part.
    """
    r = ins.imm
    if not 0 <= r <= 5:
        raise Fault(f"cannot reduce {r} of 5 dimensions")
    target = ins.operand(0).last(5 - r)
    sources = [ins.operand(slot) for slot in slots]
    same_shape(sources[0].shape, *sources)
    kept = [Geometry(s.shape[: 5 - r], s.strides[: 5 - r]) for s in sources]
    reduced = [Geometry(s.shape[5 - r :], s.strides[5 - r :]) for s in sources]
    same_shape(target.shape, *kept)
    shape, strides = coalesce(target.shape, [target.strides, *(k.strides for k in kept)])
    window, steps = coalesce(reduced[0].shape, [x.strides for x in reduced])
    return Geometry(shape, strides[0]), [Geometry(shape, s) for s in strides[1:]], [Geometry(window, s) for s in steps]


def _offsets(window: Geometry) -> list[int]:
    """Byte offset of each point of a window, in row-major order."""
    grid = np.zeros(window.shape, np.int64)
    for axis, (size, stride) in enumerate(zip(window.shape, window.strides, strict=True)):
        grid += (np.arange(size) * stride).reshape([-1 if k == axis else 1 for k in range(len(window.shape))])
    return [int(offset) for offset in grid.reshape(-1)]


def _accumulated(ins: Instruction) -> tuple[str, bool]:
    name, dot, variant = ins.mnemonic.removeprefix("reduce.").partition(".")
    return name, bool(dot) and variant == "acc"


def _arithmetic(source: int, result: int, keeps_type: bool) -> np.dtype[Any]:
    """The type of arithmetic: the result's for sums and products (short floats: f32), the source's for extremes."""
    check_types(source, result)
    if keeps_type:
        return COMPUTE[source]
    return np.dtype(np.int64) if result == BOOL else COMPUTE[result]


def _accesses(ins: Instruction, result: int, sources: tuple[int, ...], accumulate: bool) -> tuple[Access, ...]:
    target = Access(0, ins.operand(0), STORAGE[result].itemsize, write=True, reads_too=accumulate)
    size = STORAGE[ins.source_type].itemsize
    return (target, *(Access(slot, ins.operand(slot), size, write=False) for slot in sources))


def reduce(ins: Instruction) -> Decoded:
    """D = sum, max, min or prod of A over its trailing dimensions; `.acc` combines with the old D."""
    name, accumulate = _accumulated(ins)
    source, result = ins.source_type, ins.result_type
    combine, kind = _COMBINE[name], _arithmetic(source, result, name in ("max", "min"))
    target, (kept,), (window,) = _kept_and_reduced(ins, (1,))
    old = reader(target, result)
    whole = reader(Geometry(kept.shape + window.shape, kept.strides + window.strides), source)
    axes = tuple(range(len(kept.shape), len(kept.shape) + len(window.shape)))
    accesses = _accesses(ins, result, (1,), accumulate)

    def by_axes(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values: Array = np.asarray(combine.reduce(whole(sram, a1), axis=axes, dtype=kind))
        write(sram, a0, target, result, combine(old(sram, a0), values) if accumulate else values)

    if window.points > _FEW or kept.points < window.points:
        return Decoded(by_axes, accesses)
    first, offsets = reader(kept, source), _offsets(window)

    def by_points(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values = first(sram, a1 + offsets[0]).astype(kind)
        for offset in offsets[1:]:
            values = combine(values, first(sram, a1 + offset), out=values if values.ndim else None)
        write(sram, a0, target, result, combine(old(sram, a0), values) if accumulate else values)

    return Decoded(by_points, accesses)


def arg_reduce(ins: Instruction) -> Decoded:
    """D (i64) = index of the first largest or smallest element along the flattened trailing dimensions of A."""
    source, result = ins.source_type, ins.result_type
    check_types(source, result)
    target, (kept,), (window,) = _kept_and_reduced(ins, (1,))
    whole = reader(Geometry(kept.shape + window.shape, kept.strides + window.strides), source)
    find = np.argmax if ins.mnemonic == "reduce.argmax" else np.argmin

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values = whole(sram, a1).reshape(*kept.shape, -1)
        write(sram, a0, target, result, np.asarray(find(values, axis=-1)))

    return Decoded(step, _accesses(ins, result, (1,), accumulate=False))


def dot_of_bytes(ins: Instruction) -> Decoded:
    """D = sum over the trailing dimensions of A * B; B is bytes, or the integers in half of the bits of each."""
    name, accumulate = ins.mnemonic.removesuffix(".acc"), ins.mnemonic.endswith(".acc")
    code, factors = ins.source_type, ins.result_type
    check_types(code, factors)
    kind = COMPUTE[code]
    target, kept, window = _kept_and_reduced(ins, (1, 2))
    old = reader(target, code)
    a, b = (
        reader(Geometry(k.shape + w.shape, k.strides + w.strides), of)
        for k, w, of in zip(kept, window, (code, factors), strict=True)
    )
    axes = tuple(range(len(kept[0].shape), len(kept[0].shape) + len(window[0].shape)))
    taken = OF_BYTES[name]
    accesses = (
        Access(0, ins.operand(0), STORAGE[code].itemsize, write=True, reads_too=accumulate),
        Access(1, ins.operand(1), STORAGE[code].itemsize, write=False),
        Access(2, ins.operand(2), STORAGE[factors].itemsize, write=False),
    )

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values: Array = np.multiply(a(sram, a1), taken(b(sram, a2)), dtype=kind).sum(axis=axes, dtype=kind)
        write(sram, a0, target, code, old(sram, a0) + values if accumulate else np.asarray(values))

    return Decoded(step, accesses)


def dot(ins: Instruction) -> Decoded:
    """D = sum over the trailing dimensions of A * B; `dot.acc` adds to the old D."""
    accumulate = ins.mnemonic == "dot.acc"
    source, result = ins.source_type, ins.result_type
    kind = _arithmetic(source, result, keeps_type=False)
    target, kept, window = _kept_and_reduced(ins, (1, 2))
    old = reader(target, result)
    pairs = zip(kept, window, strict=True)
    a, b = (reader(Geometry(k.shape + w.shape, k.strides + w.strides), source) for k, w in pairs)
    axes = tuple(range(len(kept[0].shape), len(kept[0].shape) + len(window[0].shape)))
    accesses = _accesses(ins, result, (1, 2), accumulate)
    natural = is_float(result) and kind == COMPUTE[source]

    def by_axes(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values: Array = np.multiply(a(sram, a1), b(sram, a2), dtype=kind).sum(axis=axes, dtype=kind)
        write(sram, a0, target, result, old(sram, a0) + values if accumulate else np.asarray(values))

    if window[0].points > _FEW or kept[0].points < window[0].points:
        return Decoded(by_axes, accesses)
    left, right = reader(kept[0], source), reader(kept[1], source)
    offsets = list(zip(_offsets(window[0]), _offsets(window[1]), strict=True))

    def by_points(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values: Array = np.zeros(target.shape, kind)
        product: Array = np.empty(target.shape, kind)
        for from_a, from_b in offsets:
            if natural:
                np.multiply(left(sram, a1 + from_a), right(sram, a2 + from_b), product)
            else:
                np.multiply(left(sram, a1 + from_a), right(sram, a2 + from_b), product, dtype=kind, casting="unsafe")
            np.add(values, product, values)
        if accumulate:
            values += old(sram, a0)
        store(np.ndarray(target.shape, STORAGE[result], sram, a0, target.strides), result, values)

    return Decoded(by_points, accesses)
