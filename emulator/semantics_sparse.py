"""Sparse products, encoding and decoding: what the mapping unit does, and what that costs with the values it meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..analysis.sparse.block import Block, block_of_descriptor, pack_block, unpack_block
from ..analysis.sparse.encode import Encoded, Mask, counts, decode, encode_mask, stored_positions
from ..analysis.sparse.strings import Strings
from ..chips.chip import Chip
from ..support.errors import InputError
from .costs_sparse import (
    IndexWork,
    MappedCost,
    Product,
    count_pairs,
    decode_cost,
    encode_cost,
    sparse_matmul_cost,
)
from .functional_errors import Fault
from .memory import BF16, COMPUTE, STORAGE, Array, Bytes, Geometry, storage, widen_bf16
from .semantics_base import Access, Decoded, Instruction, immediate
from .semantics_matmul import Sides, arithmetic, dense_reader, multiplier, sides

Record: TypeAlias = Callable[[MappedCost], None]
"""Takes the cost of each execution, in order."""


def _block(ins: Instruction, slot: int) -> Block:
    geometry = ins.operand(slot)
    try:
        return block_of_descriptor(geometry.shape, geometry.strides)
    except ValueError as error:
        raise Fault(f"operand {slot}: {error}") from error


def _access(slot: int, block: Block, itemsize: int, write: bool = False) -> Access:
    return Access(slot, Geometry((block.nbytes(itemsize),), (1,)), 1, write)


def _bytes(sram: Bytes, address: int, block: Block, itemsize: int, slot: int) -> Bytes:
    end = address + block.nbytes(itemsize)
    if address < 0 or end > len(sram):
        raise Fault(f"operand {slot} touches bytes {address} to {end - 1} of SRAM, which has {len(sram)}")
    return sram[address:end]


def _read(sram: Bytes, address: int, block: Block, code: int, slot: int) -> Encoded:
    """The matrix in a block. Raises Fault where it is damaged."""
    kind = storage(code)
    try:
        return unpack_block(_bytes(sram, address, block, kind.itemsize, slot), block, kind)
    except InputError as error:
        raise Fault(f"operand {slot}: {error}") from error


def _used(encoded: Encoded, block: Block) -> tuple[int, int]:
    """Entries and bytes that a block holds."""
    entries = len(encoded.values) // block.format.group
    return entries, block.used_bytes(entries, encoded.values.dtype.itemsize)


def _stored(encoded: Encoded) -> Mask:
    """[strings, length] whether an element is stored, fillers and whole groups too."""
    strings, length = encoded.strings.shape
    group = encoded.format.group
    row, column = stored_positions(encoded)
    groups = np.zeros((strings, encoded.format.positions(length)), np.bool_)
    groups[row, column] = True
    return groups if group == 1 else np.repeat(groups, group, axis=1)[:, :length]


def _dense(encoded: Encoded, code: int) -> Array:
    """[strings, length] elements of type `code` in the type that products are summed in."""
    values = _decoded(encoded)
    if code == BF16:
        return widen_bf16(values)
    return values.astype(arithmetic(code), copy=False)


def _decoded(encoded: Encoded) -> Array:
    try:
        return decode(encoded)
    except InputError as error:  # numbers behind the end of a string's last group
        raise Fault(str(error)) from error


def _touched(geometry: Geometry, itemsize: int) -> int:
    """Bytes of a dense operand in memory: overlapping windows and repeated elements once, as far as spans tell."""
    low, high = geometry.extent(itemsize)
    moved = itemsize
    for size, stride in zip(geometry.shape, geometry.strides, strict=True):
        moved *= size if stride else 1
    return min(moved, high - low)


def sparse_matmul(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D (+)= A x B over the pairs that matter; either operand encoded, or A with its zeros left out."""
    _, how, *accumulates = ins.mnemonic.split(".")
    code, itemsize = ins.source_type, storage(ins.source_type).itemsize
    in_block, of_block = "x" in how, "w" in how
    found = sides(ins, not in_block, not of_block)
    batch, m, k, n = found.shape
    inputs = _block(ins, 1) if in_block else None
    weights = _block(ins, 2) if of_block else None
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
            encoded = _read(sram, a1, inputs, code, 1)
            entries, nbytes[1] = _used(encoded, inputs)
            of_inputs = IndexWork.of(inputs, entries)
            hits = _stored(encoded).reshape(batch, m, k).sum(axis=1)
            x = _dense(encoded, code).reshape(*found.batch, m, k)
        else:
            x = left(sram, a1)
            if how.startswith("z"):
                hits = np.count_nonzero(x.reshape(batch, m, k), axis=1)
                of_inputs = IndexWork(direct=batch * m * k)
        if right is None:
            assert weights is not None
            encoded = _read(sram, a2, weights, code, 2)
            entries, nbytes[2] = _used(encoded, weights)
            of_weights = IndexWork.of(weights, entries)
            stored = _stored(encoded).reshape(batch, n, k)
            y = _dense(encoded, code).reshape(*found.batch, n, k).swapaxes(-1, -2)
        else:
            y = right(sram, a2)
        multiply(sram, a0, x, y)
        used, pairs = count_pairs(stored, hits, (batch, m, k, n))
        product = Product(m, k, used, pairs, of_weights, of_inputs)
        record(sparse_matmul_cost(chip, code, product, (nbytes[0], nbytes[1], nbytes[2])))

    result = storage(ins.result_type).itemsize
    accesses = (
        Access(0, ins.operand(0), result, write=True, reads_too=bool(accumulates)),
        Access(1, ins.operand(1), itemsize, write=False) if inputs is None else _access(1, inputs, itemsize),
        Access(2, ins.operand(2), itemsize, write=False) if weights is None else _access(2, weights, itemsize),
    )
    return Decoded(step, accesses)


def _fits(slot: int, block: Block | None, strings: int, length: int) -> None:
    """Raise Fault unless a block holds so many strings of so many elements."""
    if block is not None and (block.strings, block.length) != (strings, length):
        raise Fault(
            f"operand {slot} is a block of {block.strings} strings, {block.length} long: "
            f"the product has {strings}, {length} long"
        )


def _sizes(ins: Instruction, found: Sides) -> tuple[int, int, int]:
    """Bytes of D, A and B in memory; 0 for blocks, whose bytes are known when they are read."""
    itemsize = storage(ins.source_type).itemsize
    return (
        _touched(ins.operand(0), storage(ins.result_type).itemsize),
        0 if found.a is None else _touched(ins.operand(1), itemsize),
        0 if found.b is None else _touched(ins.operand(2), itemsize),
    )


def encode(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = S without its elements of |x| <= T, as a block."""
    block, source, code = _block(ins, 0), ins.operand(1), ins.source_type
    kind, strings = storage(code), Strings((block.strings, block.length))
    if source.points != block.strings * block.length:
        raise Fault(f"{source.points} elements, the block has {block.strings} strings of {block.length}")
    if not (threshold := float(immediate(ins.address[2], code))) >= 0:
        raise Fault(f"threshold {threshold} must be at least 0")

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        raw: NDArray[Any] = np.ndarray(source.shape, kind, sram, a1, source.strides).reshape(strings.shape)
        values = widen_bf16(raw) if code == BF16 else raw.astype(COMPUTE[code], copy=False)
        encoded = encode_mask(raw, counts(values, threshold), block.format, strings)
        room = _bytes(sram, a0, block, kind.itemsize, 0)
        try:
            room[...] = pack_block(encoded, block)
        except ValueError as error:
            raise Fault(f"operand 0: {error}") from error
        record(encode_cost(chip, raw.size, (_touched(source, kind.itemsize), _used(encoded, block)[1])))

    return Decoded(step, (_access(0, block, kind.itemsize, write=True), Access(1, source, kind.itemsize, write=False)))


def decode_block(ins: Instruction, chip: Chip, record: Record) -> Decoded:
    """D = the elements of a block, 0 where none is stored."""
    target, block, code = ins.operand(0), _block(ins, 1), ins.source_type
    kind = STORAGE[code]
    if target.points != block.strings * block.length:
        raise Fault(f"{target.points} elements, the block has {block.strings} strings of {block.length}")

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        encoded = _read(sram, a1, block, code, 1)
        np.ndarray(target.shape, kind, sram, a0, target.strides)[...] = _decoded(encoded).reshape(target.shape)
        entries, nbytes = _used(encoded, block)
        record(decode_cost(chip, IndexWork.of(block, entries), (nbytes, _touched(target, kind.itemsize))))

    return Decoded(step, (Access(0, target, kind.itemsize, write=True), _access(1, block, kind.itemsize)))
