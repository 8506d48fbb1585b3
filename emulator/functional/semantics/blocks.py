"""Reading and writing of encoded blocks in SRAM."""

from __future__ import annotations

from ....formats.sparse.block import Block, Contents, block_of_descriptor, pack_block, read_block, unpack_block
from ....formats.sparse.encode import Encoded
from ....support.errors import InputError
from ...machine.errors import Fault
from ...machine.memory import Array, Bytes, Geometry, storage
from .base import Access, Instruction


def block_at(ins: Instruction, slot: int) -> Block:
    """The block that an operand's descriptor describes. Raises Fault if it does not describe a block."""
    geometry = ins.operand(slot)
    try:
        return block_of_descriptor(geometry.shape, geometry.strides)
    except ValueError as error:
        raise Fault(f"operand {slot}: {error}") from error


def block_access(slot: int, block: Block, itemsize: int, write: bool = False) -> Access:
    """All bytes of a block as one access."""
    return Access(slot, Geometry((block.nbytes(itemsize),), (1,)), 1, write)


def block_bytes(sram: Bytes, address: int, block: Block, itemsize: int, slot: int) -> Bytes:
    """The bytes of a block. Raises Fault if they are outside of SRAM."""
    end = address + block.nbytes(itemsize)
    if address < 0 or end > len(sram):
        raise Fault(f"operand {slot} accesses bytes {address} to {end - 1} of SRAM, which has {len(sram)}")
    return sram[address:end]


def read_contents(sram: Bytes, address: int, block: Block, code: int, slot: int) -> tuple[Contents, Array]:
    """A block's contents, and their matrix [fibers, length] in the stored type. Raises Fault if it is damaged."""
    kind = storage(code)
    try:
        contents = read_block(block_bytes(sram, address, block, kind.itemsize, slot), block, kind)
        return contents, contents.matrix()
    except InputError as error:
        raise Fault(f"operand {slot}: {error}") from error


def used_bytes(contents: Contents) -> int:
    """Bytes that the contents of a block need."""
    return contents.block.used_bytes(len(contents.slots), contents.values.dtype.itemsize)


def touched_bytes(geometry: Geometry, itemsize: int) -> int:
    """
    Bytes of a dense operand in memory, with overlapping windows and repeated elements counted once, as far as this
    follows from extents.
    """
    low, high = geometry.extent(itemsize)
    moved = itemsize
    for size, stride in zip(geometry.shape, geometry.strides, strict=True):
        moved *= size if stride else 1
    return min(moved, high - low)


def store_block(sram: Bytes, address: int, encoded: Encoded, block: Block) -> int:
    """Write an encoded matrix to the block of operand 0. Returns its bytes. Raises Fault if it does not fit."""
    itemsize = encoded.values.dtype.itemsize
    room = block_bytes(sram, address, block, itemsize, 0)
    try:
        room[...] = pack_block(encoded, block)
    except ValueError as error:
        raise Fault(f"operand 0: {error}") from error
    return block.used_bytes(len(encoded.values) // block.format.group, itemsize)


def load_block(sram: Bytes, address: int, block: Block, code: int, slot: int) -> Encoded:
    """The encoded matrix in a block. Raises Fault if it is damaged."""
    kind = storage(code)
    try:
        return unpack_block(block_bytes(sram, address, block, kind.itemsize, slot), block, kind)
    except InputError as error:
        raise Fault(f"operand {slot}: {error}") from error
