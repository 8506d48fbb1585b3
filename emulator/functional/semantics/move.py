"""Semantics of data movement: copies, fills, transfers to and from DRAM, remote writes, gathers and scatters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....chips.chip import Chip
from ...machine.costs_sparse import Record, put_cost
from ...machine.errors import Fault
from ...machine.memory import I32, I64, STORAGE, Array, Bytes, Geometry, coalesce, storage, store
from .base import Access, Decoded, Instruction, immediate, reader

_RAW: dict[int, np.dtype[Any]] = {n: np.dtype(f"<u{n}") for n in (1, 2, 4, 8)}


def _pair(ins: Instruction) -> tuple[np.dtype[Any], Geometry, Geometry]:
    """Raw element type, destination and source of a copy, with equal dimensions, merged as far as possible."""
    kind = _RAW[storage(ins.source_type).itemsize]
    target, source = ins.operand(0), ins.operand(1)
    if target.points != source.points:
        raise Fault(f"destination has {target.points} elements, source {source.points}")
    if target.shape == source.shape:
        shape, (to, of) = coalesce(target.shape, [target.strides, source.strides])
        return kind, Geometry(shape, to), Geometry(shape, of)
    return kind, target, source


def copy(ins: Instruction, target_dram: bool = False, source_dram: bool = False) -> Decoded:
    """D = S, bit for bit, both in row-major order; either may be in DRAM."""
    kind, target, source = _pair(ins)
    shape, strides = target.shape, target.strides
    from_shape, from_strides = source.shape, source.strides
    accesses = (
        Access(0, target, kind.itemsize, write=True, dram=target_dram),
        Access(1, source, kind.itemsize, write=False, dram=source_dram),
    )

    def within(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        np.ndarray(shape, kind, sram, a0, strides)[...] = np.ndarray(shape, kind, sram, a1, from_strides)

    def load(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        np.ndarray(shape, kind, sram, a0, strides)[...] = np.ndarray(shape, kind, dram, a1, from_strides)

    def save(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        np.ndarray(shape, kind, dram, a0, strides)[...] = np.ndarray(shape, kind, sram, a1, from_strides)

    def reshaping(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values = np.ndarray(from_shape, kind, dram if source_dram else sram, a1, from_strides)
        np.ndarray(shape, kind, dram if target_dram else sram, a0, strides)[...] = values.reshape(shape)

    if shape != from_shape:
        return Decoded(reshaping, accesses)
    return Decoded(save if target_dram else load if source_dram else within, accesses)


def put(ins: Instruction, destinations: Sequence[Bytes]) -> Decoded:
    """Write S in the own SRAM to the address of operand 0 in the SRAM of each destination core."""
    kind, target, source = _pair(ins)
    shape, strides = target.shape, target.strides

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        values = np.ndarray(source.shape, kind, sram, a1, source.strides).reshape(shape)
        for remote in destinations:
            np.ndarray(shape, kind, remote, a0, strides)[...] = values

    # the remote write is not an access to this core's memory: the checks apply it to the destinations
    return Decoded(step, (Access(1, source, kind.itemsize, write=False), Access(0, target, kind.itemsize, write=True)))


def put_without_zeros(ins: Instruction, destinations: Sequence[Bytes], chip: Chip, record: Record) -> Decoded:
    """As `put`, and records the bytes sent: a direct index, and the elements whose bits are not all 0."""
    kind, _, source = _pair(ins)
    plain = put(ins, destinations)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        plain.step(sram, dram, a0, a1, a2, a3)
        bits = np.ndarray(source.shape, kind, sram, a1, source.strides)
        record(put_cost(chip, bits.size, int(np.count_nonzero(bits)), kind.itemsize))

    return Decoded(step, plain.accesses)


def read_number(ins: Instruction, give: Callable[[int], object]) -> Decoded:
    """Give S, which is one element, to the sequencer."""
    source, kind = ins.operand(1), storage(ins.source_type)
    if source.points != 1:
        raise Fault(f"a number is one element, not {source.points}")

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        give(int(np.ndarray((), kind, sram, a1)))

    return Decoded(step, (Access(1, source, kind.itemsize, write=False),))


def fill(ins: Instruction) -> Decoded:
    """All elements of D = an immediate."""
    code, target = ins.source_type, ins.operand(0)
    kind = storage(code)
    value = np.zeros((), kind)
    store(value, code, immediate(ins.address[1], code))
    shape, (strides,) = coalesce(target.shape, [target.strides])

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        np.ndarray(shape, kind, sram, a0, strides)[...] = value

    return Decoded(step, (Access(0, target, kind.itemsize, write=True),))


def _split(dense: Geometry, indexed: Geometry, indices: Geometry, q: int) -> tuple[Geometry, Geometry, Geometry]:
    """
    The operands of a gather or scatter, divided into their dimensions.

    `dense` has (index dims..., inner dims...), `indexed` (rows, inner dims...), `indices` the `q` index dims; how many
    inner dimensions there are follows from the sizes.
    """
    index = indices.last(q)
    for inner in range(min(4, 5 - q) + 1):
        first, row = 5 - inner - q, 4 - inner
        if (
            dense.shape[first : 5 - inner] == index.shape
            and dense.shape[5 - inner :] == indexed.shape[5 - inner :]
            and math.prod(dense.shape[:first]) == 1
            and math.prod(indexed.shape[:row]) == 1
        ):
            return dense.last(q + inner), indexed.last(1 + inner), index
    raise Fault(f"sizes do not fit: {dense.shape} from {indexed.shape} by indices {index.shape}")


def _rows(index: Array, rows: int) -> Array:
    """Check indices against the number of rows; negative ones count from the end."""
    low, high = int(index.min()), int(index.max())
    if low < -rows or high >= rows:
        raise Fault(f"index {high if high >= rows else low} is out of range for {rows} rows")
    return np.where(index < 0, index + rows, index) if low < 0 else index


def _index_type(ins: Instruction) -> int:
    if ins.result_type not in (I32, I64):
        raise Fault("indices must be i32 or i64")
    return ins.result_type


def gather(ins: Instruction, index_slot: int = 2, source_dram: bool = False) -> Decoded:
    """D[i..., ...] = S[I[i...], ...]; S may be in DRAM."""
    kind = _RAW[storage(ins.source_type).itemsize]
    index_type = _index_type(ins)
    target, source, indices = _split(ins.operand(0), ins.operand(1), ins.operand(index_slot), ins.imm)
    read, rows = reader(indices, index_type), source.shape[0]

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        index = _rows(read(sram, a2 if index_slot == 2 else a3), rows)
        table = np.ndarray(source.shape, kind, dram if source_dram else sram, a1, source.strides)
        np.ndarray(target.shape, kind, sram, a0, target.strides)[...] = table[index]

    accesses = (
        Access(0, target, kind.itemsize, write=True),
        Access(1, source, kind.itemsize, write=False, dram=source_dram),
        Access(index_slot, indices, STORAGE[index_type].itemsize, write=False),
    )
    return Decoded(step, accesses)


def scatter(ins: Instruction) -> Decoded:
    """D[I[i...], ...] = S[i..., ...] (the last one for equal indices), or the sum, or the maximum."""
    code, index_type, name = ins.source_type, _index_type(ins), ins.mnemonic
    kind = storage(code)
    source, target, indices = _split(ins.operand(1), ins.operand(0), ins.operand(2), ins.imm)
    read, rows = reader(indices, index_type), target.shape[0]
    values, old = reader(source, code), reader(target, code)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        index = _rows(read(sram, a2), rows)
        table = np.ndarray(target.shape, kind, sram, a0, target.strides)
        if name == "scatter":
            table[index] = np.ndarray(source.shape, kind, sram, a1, source.strides)
            return
        sums = old(sram, a0)
        (np.add if name == "scatter.add" else np.maximum).at(sums, index, values(sram, a1))
        if sums.dtype is not kind:
            store(table, code, sums)

    accesses = (
        Access(0, target, kind.itemsize, write=True, reads_too=True),
        Access(1, source, kind.itemsize, write=False),
        Access(2, indices, STORAGE[index_type].itemsize, write=False),
    )
    return Decoded(step, accesses)
