"""
Blocks: encoded matrices in a chip's memory. A block is one operand, with one address and one access descriptor.

    +0       u32, the number of entries (fillers included), little-endian
    +4       the index (see `index_formats`), one fiber per row
    +offset  the values of the entries, `group` elements each

The fibers are the rows of a [fibers, length] matrix. The descriptor fixes the capacity for index and values; weights
fill it, matrices that are encoded at run time may need less. The size of a block is a multiple of 4 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .bits import Array, Bytes, Ints
from .encode import Encoded, Mask, positions_of
from .fibers import Fibers
from .index_formats import Format, Kind
from .index_kind import in_blocks, kind_of_code

COUNT_BYTES = 4
"""Bytes of the number of entries, at the start of a block."""
ALIGNMENT = 4
"""The offset of the values and the size of a block are multiples of this many bytes."""
CODE_SHIFT = 8
"""Position of the number of a plug-in's kind in a field of the descriptor, above the number of bits of a code."""
MAX_ELEMENTS = 1 << 26
"""Upper limit on the elements of a matrix in a core's memory, to reject damaged descriptors."""


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Block:
    """The layout of a block. Raises ValueError for invalid numbers."""

    format: Format
    fibers: int
    length: int
    entries: int
    """Capacity in entries, at least 1."""
    offset: int
    """Offset of the values, in bytes."""

    def __post_init__(self) -> None:
        if not self.format.definition.in_blocks:
            raise ValueError(f"a block has a {' or a '.join(in_blocks())} index, not {self.format}")
        if min(self.fibers, self.length, self.entries) < 1:
            raise ValueError(f"a block of {self.fibers} fibers, {self.length} long, with room for {self.entries}")
        if self.fibers * self.length > MAX_ELEMENTS:
            raise ValueError(f"a block of {self.fibers} fibers, {self.length} long, is too large")
        if self.offset % ALIGNMENT or self.index_room < self.header_bytes:
            raise ValueError(f"values at byte {self.offset} of a block leave no room for its {self.format} index")

    @property
    def positions(self) -> int:
        """Positions of a fiber in the index."""
        return self.format.positions(self.length)

    @property
    def index_room(self) -> int:
        """Capacity of the index in bytes."""
        return self.offset - COUNT_BYTES

    @property
    def header_bytes(self) -> int:
        """Bytes of an index without entries; for a direct index, whose size is fixed, all its bytes."""
        return self.format.definition.least_bytes(self.fibers, self.positions, self.format.bits)

    def nbytes(self, itemsize: int) -> int:
        """Bytes of the block with elements of `itemsize` bytes."""
        return _aligned(self.offset + self.entries * self.format.group * itemsize)

    def used_bytes(self, entries: int, itemsize: int) -> int:
        """Bytes of count, index and values of a block with this many entries."""
        return COUNT_BYTES + self._index_bytes(entries) + entries * self.format.group * itemsize

    def _index_bytes(self, entries: int) -> int:
        return self.format.definition.index_bytes(self.fibers, self.positions, entries, self.format.bits)

    def index_elements(self, entries: int) -> int:
        """Number of bits or codes that a mapping unit reads of an index with this many entries."""
        return round(self.format.definition.elements(self.fibers, self.positions, entries))

    @property
    def descriptor(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and strides of the access descriptor that describes the block."""
        kind = self.format.bits | self.format.definition.code << CODE_SHIFT
        sizes = (self.fibers, self.length, self.format.group, kind, self.entries)
        return sizes, (self.offset, 0, 0, 0, 0)


def block_of_descriptor(sizes: Sequence[int], strides: Sequence[int]) -> Block:
    """The block that an access descriptor describes. Raises ValueError for a descriptor that is not of a block."""
    fibers, length, group, kind, entries = sizes
    if any(strides[1:]):
        raise ValueError("the descriptor of a block has one stride, the offset of the values")
    code, bits = kind >> CODE_SHIFT, kind & ((1 << CODE_SHIFT) - 1)
    own = Kind.DIRECT if bits == 1 else Kind.STRIDE
    name = kind_of_code(code).name if code else own
    return Block(Format(name, bits, group), fibers, length, entries, strides[0])


def block_for(format: Format, fibers: int, length: int) -> Block:
    """A block with capacity for any matrix of this size, for matrices that are encoded at run time."""
    positions = format.positions(length)
    entries = fibers * positions
    index = format.definition.index_bytes(fibers, positions, entries, format.bits)
    return Block(format, fibers, length, entries, _aligned(COUNT_BYTES + index))


def block_of(encoded: Encoded) -> Block:
    """The smallest block that holds this matrix. Raises ValueError if its fibers are not its rows."""
    if len(encoded.fibers.shape) != 2 or encoded.fibers != Fibers(encoded.fibers.shape):
        raise ValueError(f"a block holds a matrix whose rows are the fibers, not {encoded.fibers}")
    fibers, length = encoded.fibers.shape
    format, entries = encoded.format, len(encoded.values) // encoded.format.group
    index = len(encoded.index)
    if not entries:  # the capacity is at least one entry
        index = format.definition.index_bytes(fibers, format.positions(length), 1, format.bits)
    return Block(format, fibers, length, max(1, entries), _aligned(COUNT_BYTES + index))


def pack_block(encoded: Encoded, block: Block | None = None) -> Bytes:
    """The bytes of a block (by default the smallest); unused bytes are 0. ValueError if the matrix does not fit."""
    block = block or block_of(encoded)
    entries = len(encoded.values) // encoded.format.group
    if entries > block.entries or len(encoded.index) > block.index_room or encoded.format != block.format:
        raise ValueError(f"{entries} entries in {encoded.format} do not fit in a block for {block.entries}")
    data = np.zeros(block.nbytes(encoded.values.dtype.itemsize), np.uint8)
    data[:COUNT_BYTES] = np.frombuffer(entries.to_bytes(COUNT_BYTES, "little"), np.uint8)
    data[COUNT_BYTES : COUNT_BYTES + len(encoded.index)] = encoded.index
    values = np.ascontiguousarray(encoded.values).view(np.uint8)
    data[block.offset : block.offset + len(values)] = values
    return data


@dataclass(frozen=True, eq=False)
class Contents:
    """The entries of a block and their positions."""

    block: Block
    slots: Ints
    """[entries] row-major index of each entry in [fibers, positions]."""
    values: NDArray[Any]
    """[entries, group]"""

    def matrix(self) -> Array:
        """[fibers, length], 0 where nothing is stored. Raises InputError for values beyond the end of a fiber."""
        block = self.block
        groups = np.zeros((block.fibers * block.positions, block.format.group), self.values.dtype)
        groups[self.slots] = self.values
        rows = groups.reshape(block.fibers, block.positions * block.format.group)
        if (rows[:, block.length :] != 0).any():
            raise InputError(f"damaged values of a {block.format} index: positions after the end of a fiber")
        return rows[:, : block.length]

    def stored(self) -> Mask:
        """[fibers, length] which elements are stored, including fillers and whole groups."""
        block = self.block
        groups = np.zeros(block.fibers * block.positions, np.bool_)
        groups[self.slots] = True
        rows = groups.reshape(block.fibers, block.positions)
        return rows if block.format.group == 1 else np.repeat(rows, block.format.group, axis=1)[:, : block.length]


def read_block(data: Bytes, block: Block, kind: np.dtype[Any]) -> Contents:
    """
    The contents of a block, with elements of type `kind`.

    Raises InputError for a damaged block: a count that differs from that of the index or exceeds the capacity, and all
    errors of `encode.positions_of`.
    """
    count = int.from_bytes(data[:COUNT_BYTES].tobytes(), "little")
    if count > block.entries:
        raise InputError(f"damaged block: {count} entries, there is room for {block.entries}")
    index = _index(data[COUNT_BYTES : block.offset], block)
    row, column = positions_of(index, block.format, Fibers((block.fibers, block.length)))
    if len(row) != count:
        raise InputError(f"damaged block: {count} entries, the index has {len(row)}")
    end = block.offset + count * block.format.group * kind.itemsize
    values = data[block.offset : end].view(kind).reshape(count, block.format.group)
    return Contents(block, row * block.positions + column, values)


def unpack_block(data: Bytes, block: Block, kind: np.dtype[Any]) -> Encoded:
    """The encoded matrix of the bytes of a block. Raises InputError as `read_block` does."""
    contents = read_block(data, block, kind)
    index = _index(data[COUNT_BYTES : block.offset], block)
    return Encoded(block.format, Fibers((block.fibers, block.length)), index, contents.values.reshape(-1))


def _index(room: Bytes, block: Block) -> Bytes:
    """The bytes of the index, without the unused rest of its capacity."""
    format = block.format
    end = format.definition.used_bytes(room, block.fibers, block.positions, format.bits)
    if end > len(room):
        raise InputError(f"damaged {format} index: {end} bytes in a room of {len(room)}")
    return room[:end]
