"""Semantics of connection data: derived from blocks, combined, and used to compact dense operands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....chips.chip import Chip
from ....formats.sparse.block import Block
from ....formats.sparse.connection import combine, compact, connections
from ....formats.sparse.encode import Encoded
from ...machine.costs_sparse import IndexWork, Record, combine_cost, compact_cost, connect_cost
from ...machine.errors import Fault
from ...machine.memory import BOOL, Bytes, storage
from .base import Access, Decoded, Instruction
from .blocks import block_access, block_at, load_block, store_block, touched_bytes


def _read_cost(encoded: Encoded, block: Block) -> tuple[IndexWork, int]:
    """The index work of the mapping unit on a block, and the used bytes of the block."""
    entries = len(encoded.values) // block.format.group
    return IndexWork.of(block, entries), block.used_bytes(entries, encoded.values.dtype.itemsize)


def _alike(blocks: dict[int, Block]) -> None:
    """Raise Fault unless blocks (by slot) have equal numbers of fibers, and equal lengths."""
    (_, first), *others = blocks.items()
    for slot, block in others:
        if (block.fibers, block.length) != (first.fibers, first.length):
            raise Fault(
                f"operand {slot} is a block of {block.fibers} fibers, {block.length} long: "
                f"operand 0 has {first.fibers}, {first.length} long"
            )


def connect(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = the connection data of a block."""
    target, block, code = block_at(ins, 0), block_at(ins, 1), ins.source_type
    _alike({0: target, 1: block})

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        source = load_block(sram, a1, block, code, 1)
        index, read = _read_cost(source, block)
        found = connections(source)
        if target.format != block.format:
            found = combine(found, found, target.format)
        record(connect_cost(chip, index, (read, store_block(sram, a0, found, target))))

    itemsize = storage(code).itemsize
    return Decoded(step, (block_access(0, target, 1, write=True), block_access(1, block, itemsize)))


def combine_blocks(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = the pairs that are in both blocks of connection data."""
    target, first, second = (block_at(ins, slot) for slot in range(3))
    _alike({0: target, 1: first, 2: second})

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        a, b = load_block(sram, a1, first, BOOL, 1), load_block(sram, a2, second, BOOL, 2)
        (of_a, a_bytes), (of_b, b_bytes) = _read_cost(a, first), _read_cost(b, second)
        written = store_block(sram, a0, combine(a, b, target.format), target)
        record(combine_cost(chip, (of_a, of_b), (a_bytes, b_bytes, written)))

    return Decoded(
        step, (block_access(0, target, 1, write=True), block_access(1, first, 1), block_access(2, second, 1))
    )


def compact_block(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = the elements of S that are connected according to a block of connection data."""
    target, source, by, code = block_at(ins, 0), ins.operand(1), block_at(ins, 2), ins.source_type
    _alike({0: target, 2: by})
    kind, shape = storage(code), (by.fibers, by.length)
    if source.points != by.fibers * by.length:
        raise Fault(f"{source.points} elements, the block has {by.fibers} fibers of {by.length}")

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        raw: NDArray[Any] = np.ndarray(source.shape, kind, sram, a1, source.strides).reshape(shape)
        given = load_block(sram, a2, by, BOOL, 2)
        index, read = _read_cost(given, by)
        if target.format != by.format:
            given = combine(given, given, target.format)
        written = store_block(sram, a0, compact(raw, given), target)
        nbytes = touched_bytes(source, kind.itemsize), read, written
        record(compact_cost(chip, raw.size, index, nbytes))

    return Decoded(
        step,
        (
            block_access(0, target, kind.itemsize, write=True),
            Access(1, source, kind.itemsize, write=False),
            block_access(2, by, 1),
        ),
    )
