"""Semantics of sparse products, and of encoding and decoding by the mapping unit, with costs that depend on values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....chips.chip import Chip
from ....formats.sparse.block import Block
from ....formats.sparse.encode import counts, encode_mask
from ....formats.sparse.fibers import Fibers
from ...machine.costs_sparse import (
    IndexWork,
    Product,
    Record,
    count_pairs,
    decode_cost,
    encode_cost,
    sparse_matmul_cost,
)
from ...machine.errors import Fault
from ...machine.memory import BF16, COMPUTE, STORAGE, Array, Bytes, storage, widen_bf16
from .base import Access, Decoded, Instruction, immediate
from .blocks import block_access, block_at, read_contents, store_block, touched_bytes, used_bytes
from .matmul import Sides, arithmetic, dense_reader, multiplier, sides


def _widened(matrix: Array, code: int) -> Array:
    """A matrix of elements of type `code`, in the type in which products are summed."""
    return widen_bf16(matrix) if code == BF16 else matrix.astype(arithmetic(code), copy=False)


def sparse_matmul(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D (+)= A x B over the pairs that are not skipped; either operand is encoded, or zeros of A are skipped."""
    _, how, *accumulates = ins.mnemonic.split(".")
    code, itemsize = ins.source_type, storage(ins.source_type).itemsize
    in_block, of_block = "x" in how, "w" in how
    found = sides(ins, not in_block, not of_block)
    batch, m, k, n = found.shape
    inputs = block_at(ins, 1) if in_block else None
    weights = block_at(ins, 2) if of_block else None
    k = k or (0 if inputs is None else inputs.length)
    _fits(1, inputs, batch * m, k)
    _fits(2, weights, batch * n, k)
    left = None if found.a is None else dense_reader(found.a, code)
    right = None if found.b is None else dense_reader(found.b, code)
    multiply = multiplier(ins, bool(accumulates), found.d, k)
    d_bytes, a_bytes, b_bytes = _sizes(ins, found)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        nbytes = [d_bytes, a_bytes, b_bytes]
        stored, hits = None, None
        of_inputs, of_weights = IndexWork(), IndexWork()
        if left is None:
            assert inputs is not None
            contents, matrix = read_contents(sram, a1, inputs, code, 1)
            nbytes[1] = used_bytes(contents)
            of_inputs = IndexWork.of(inputs, len(contents.slots))
            hits = contents.stored().reshape(batch, m, k).sum(axis=1)
            x = _widened(matrix, code).reshape(*found.batch, m, k)
        else:
            x = left(sram, a1)
            if how.startswith("z"):
                hits = np.count_nonzero(x.reshape(batch, m, k), axis=1)
                of_inputs = IndexWork(direct=batch * m * k)
        if right is None:
            assert weights is not None
            contents, matrix = read_contents(sram, a2, weights, code, 2)
            nbytes[2] = used_bytes(contents)
            of_weights = IndexWork.of(weights, len(contents.slots))
            stored = contents.stored().reshape(batch, n, k)
            y = _widened(matrix, code).reshape(*found.batch, n, k).swapaxes(-1, -2)
        else:
            y = right(sram, a2)
        multiply(sram, a0, x, y)
        used, pairs = count_pairs(stored, hits, (batch, m, k, n))
        product = Product(m, k, used, pairs, of_weights, of_inputs, encoded=stored is not None)
        record(sparse_matmul_cost(chip, code, product, (nbytes[0], nbytes[1], nbytes[2])))

    result = storage(ins.result_type).itemsize
    accesses = (
        Access(0, ins.operand(0), result, write=True, reads_too=bool(accumulates)),
        Access(1, ins.operand(1), itemsize, write=False) if inputs is None else block_access(1, inputs, itemsize),
        Access(2, ins.operand(2), itemsize, write=False) if weights is None else block_access(2, weights, itemsize),
    )
    return Decoded(step, accesses)


def _fits(slot: int, block: Block | None, fibers: int, length: int) -> None:
    """Raise Fault unless a block (if any) has this number of fibers, of this length."""
    if block is not None and (block.fibers, block.length) != (fibers, length):
        raise Fault(
            f"operand {slot} is a block of {block.fibers} fibers, {block.length} long: "
            f"the product has {fibers}, {length} long"
        )


def _sizes(ins: Instruction, found: Sides) -> tuple[int, int, int]:
    """Bytes of D, A and B in memory; 0 for blocks, whose bytes are counted when they are read."""
    itemsize = storage(ins.source_type).itemsize
    return (
        touched_bytes(ins.operand(0), storage(ins.result_type).itemsize),
        0 if found.a is None else touched_bytes(ins.operand(1), itemsize),
        0 if found.b is None else touched_bytes(ins.operand(2), itemsize),
    )


def encode(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = S without elements of |x| <= T, as a block."""
    block, source, code = block_at(ins, 0), ins.operand(1), ins.source_type
    kind, fibers = storage(code), Fibers((block.fibers, block.length))
    if source.points != block.fibers * block.length:
        raise Fault(f"{source.points} elements, the block has {block.fibers} fibers of {block.length}")
    if not (threshold := float(immediate(ins.address[2], code))) >= 0:
        raise Fault(f"threshold {threshold} must be at least 0")

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        raw: NDArray[Any] = np.ndarray(source.shape, kind, sram, a1, source.strides).reshape(fibers.shape)
        values = widen_bf16(raw) if code == BF16 else raw.astype(COMPUTE[code], copy=False)
        encoded = encode_mask(raw, counts(values, threshold), block.format, fibers)
        written = store_block(sram, a0, encoded, block)
        record(encode_cost(chip, raw.size, (touched_bytes(source, kind.itemsize), written)))

    return Decoded(
        step, (block_access(0, block, kind.itemsize, write=True), Access(1, source, kind.itemsize, write=False))
    )


def decode_block(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = the elements of a block, 0 where none is stored."""
    target, block, code = ins.operand(0), block_at(ins, 1), ins.source_type
    kind = STORAGE[code]
    if target.points != block.fibers * block.length:
        raise Fault(f"{target.points} elements, the block has {block.fibers} fibers of {block.length}")

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        contents, matrix = read_contents(sram, a1, block, code, 1)
        np.ndarray(target.shape, kind, sram, a0, target.strides)[...] = matrix.reshape(target.shape)
        index = IndexWork.of(block, len(contents.slots))
        record(decode_cost(chip, index, (used_bytes(contents), touched_bytes(target, kind.itemsize))))

    return Decoded(step, (Access(0, target, kind.itemsize, write=True), block_access(1, block, kind.itemsize)))
