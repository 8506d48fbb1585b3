"""
Weights in panels: the form in which encoded weights lie in an executable.

A panel is what one instruction of a matrix unit works on: the strings of `width` output neurons (its lanes) over one
block of inputs, encoded by itself. All panels of a tensor have the same number of bytes, those of the largest, so that
an array [panels, blocks, bytes] can be sliced, loaded and sent on like any other. A panel is

    +0          its number of entries, fillers included, in 32 bits
    +4          its index (see `formats`)
    +values_at  the stored values

and zeros in between and behind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .bits import Array, Bytes, Ints, stream_bytes
from .encode import Encoded, decode, encode, positions_of
from .formats import Format, Kind
from .strings import Strings

COUNT_BYTES = 4
"""Of the number of entries, at the start of a panel."""
ALIGNMENT = 4
"""Bytes to which the values of a panel and the next panel are aligned."""


@dataclass(frozen=True)
class Panels:
    """How a matrix [outputs, inputs] of weights is cut and encoded. Raises ValueError for sizes that make no sense."""

    format: Format
    outputs: int
    width: int
    """Output neurons of a panel; the last panel may have fewer."""
    inputs: int
    block: int
    """Inputs of a panel; the last block may have fewer."""
    values_at: int = 0
    """Bytes from the start of a panel to its values."""
    nbytes: int = 0
    """Of a panel."""

    def __post_init__(self) -> None:
        if min(self.width, self.block, self.outputs, self.inputs) < 1 or min(self.values_at, self.nbytes) < 0:
            raise ValueError(
                f"panels of {self.width} of {self.outputs} outputs and {self.block} of {self.inputs} inputs: expected "
                f"at least 1 of each"
            )

    @property
    def counts(self) -> tuple[int, int]:
        """Number of panels and of blocks."""
        return -(-self.outputs // self.width), -(-self.inputs // self.block)

    def size(self, panel: int, block: int) -> tuple[int, int]:
        """Output neurons and inputs of one panel."""
        return (
            min(self.width, self.outputs - panel * self.width),
            min(self.block, self.inputs - block * self.block),
        )

    def part(self, matrix: Array, panel: int, block: int) -> Array:
        """The weights of one panel."""
        row, column = panel * self.width, block * self.block
        return matrix[row : row + self.width, column : column + self.block]


@dataclass(frozen=True)
class Work:
    """What the index of panels makes a matrix unit do; all sums over panels."""

    entries: int
    """Entries of the indices, fillers included."""
    fullest: int
    """Stored elements of the fullest lane."""
    loads: int
    """Times that the fullest lane loads its share of weights: `depth` at most, of one output neuron."""


def pack(matrix: Array, panels: Panels, lanes: int, depth: int) -> tuple[Panels, Work, Bytes]:
    """
    Weights [outputs, inputs] as [panels, blocks, bytes], with the sizes and the work that this makes.

    Output neuron n of a panel is worked on by lane n % lanes, which holds `depth` weights of it at a time.
    """
    rows, columns = panels.counts
    parts = [
        encode(np.ascontiguousarray(panels.part(matrix, row, column)), panels.format)
        for row in range(rows)
        for column in range(columns)
    ]
    values_at = aligned(COUNT_BYTES + max(part.index.nbytes for part in parts))
    nbytes = values_at + aligned(max(max(part.values.nbytes for part in parts), matrix.itemsize * panels.format.group))
    data = np.zeros((len(parts), nbytes), np.uint8)
    entries = fullest = loads = 0
    for row, part in zip(data, parts, strict=True):
        count = len(part.values) // panels.format.group
        row[:COUNT_BYTES] = np.frombuffer(count.to_bytes(COUNT_BYTES, "little"), np.uint8)
        row[COUNT_BYTES : COUNT_BYTES + part.index.nbytes] = part.index
        row[values_at : values_at + part.values.nbytes] = part.values.view(np.uint8)
        elements = stored_per_string(part)
        lane = fullest_lane(elements, lanes, depth)
        entries, fullest, loads = entries + count, fullest + lane[0], loads + lane[1]
    sized = replace(panels, values_at=values_at, nbytes=nbytes)
    return sized, Work(entries, fullest, loads), data.reshape(rows, columns, nbytes)


def stored_per_string(encoded: Encoded) -> Ints:
    """Stored elements of each string, fillers and whole groups counted."""
    row, _ = positions_of(encoded.index, encoded.format, encoded.strings)
    return np.bincount(row, minlength=encoded.strings.count) * encoded.format.group


def fullest_lane(elements: Ints, lanes: int, depth: int) -> tuple[int, int]:
    """Stored elements and loads of the lane that has most to load, then to multiply."""
    padded = np.zeros((-(-len(elements) // lanes), lanes), np.int64)
    padded.reshape(-1)[: len(elements)] = elements
    sums, loads = padded.sum(axis=0), (-(-padded // depth)).sum(axis=0)
    return int(sums.max(initial=0)), int(loads.max(initial=0))


def unpack_panels(data: Bytes, panels: Panels, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The weights [outputs, inputs]. Raises InputError, naming the panel, for damaged ones."""
    matrix = np.zeros((panels.outputs, panels.inputs), dtype)
    rows, columns = panels.counts
    if data.shape != (rows, columns, panels.nbytes):
        raise InputError(f"panels of shape {data.shape}: expected {(rows, columns, panels.nbytes)}")
    for row in range(rows):
        for column in range(columns):
            try:
                encoded = panel_of(data[row, column], panels, panels.size(row, column), dtype)
                panels.part(matrix, row, column)[:] = decode(encoded)
            except InputError as error:
                raise InputError(f"panel {row}, block {column}: {error}") from error
    return matrix


def panel_of(data: Bytes, panels: Panels, size: tuple[int, int], dtype: np.dtype[Any]) -> Encoded:
    """One panel, of so many output neurons and inputs. Raises InputError where its numbers do not fit together."""
    format, strings = panels.format, Strings(size)
    if not COUNT_BYTES <= panels.values_at <= len(data):
        raise InputError(f"values at byte {panels.values_at} of a panel of {len(data)} bytes")
    count = int.from_bytes(data[:COUNT_BYTES].tobytes(), "little")
    room, values = data[COUNT_BYTES : panels.values_at], data[panels.values_at :]
    if format.kind == Kind.DIRECT:
        length = stream_bytes(strings.count * format.positions(strings.length), 1)
    else:
        header = stream_bytes(strings.count, format.header_bits(format.positions(strings.length)))
        length = header + stream_bytes(count, format.bits)
    end = count * format.group * dtype.itemsize
    if length > len(room) or end > len(values):
        raise InputError(
            f"damaged {format} index: {count} entries take {length} bytes and {end} of values, where {len(room)} and "
            f"{len(values)} are"
        )
    return Encoded(format, strings, room[:length], values[:end].view(dtype))


def aligned(size: int) -> int:
    """`size` rounded up to the alignment of panels."""
    return -(-size // ALIGNMENT) * ALIGNMENT
