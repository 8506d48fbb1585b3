"""
Panels: the layout of encoded weights in an executable.

A panel is the operand of one instruction of a matrix unit: the fibers of `width` output neurons (its lanes) over one
part of the inputs, encoded as a block of its own (see `block`). Panels form an array [panels, parts, bytes] that is
sliced, loaded and sent like any other; all have the capacity of the largest. If their sizes differ much, the size of
each panel is recorded, and only its own bytes are loaded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...chips.cycles import encoded_lanes
from ...support.errors import InputError
from .bits import Array, Bytes, Ints
from .block import Block, block_for, block_of, pack_block, unpack_block
from .encode import Encoded, Mask, decode, encode, encode_mask, positions_of
from .fibers import Fibers
from .index_formats import Format

ACCEPT_RATIO = 0.9
"""Panels have sizes of their own if their sum is at most this share of the sum of capacities."""


@dataclass(frozen=True)
class Panels:
    """How a matrix [outputs, inputs] of weights is cut and encoded. Raises ValueError for invalid sizes."""

    format: Format
    outputs: int
    width: int
    """Output neurons of a panel; the last panel may have fewer."""
    inputs: int
    depth: int
    """Inputs of a panel; the last part may have fewer."""
    values_at: int = 0
    """Offset of the values in a panel, in bytes."""
    nbytes: int = 0
    """Capacity of a panel in bytes."""
    sizes: tuple[int, ...] = ()
    """For each panel the bytes of its largest part; empty: all panels take the whole capacity."""

    def __post_init__(self) -> None:
        if min(self.width, self.depth, self.outputs, self.inputs) < 1 or min(self.values_at, self.nbytes) < 0:
            raise ValueError(
                f"panels of {self.width} of {self.outputs} outputs and {self.depth} of {self.inputs} inputs: expected "
                f"at least 1 of each"
            )
        if self.sizes and (len(self.sizes) != self.counts[0] or min(self.sizes) <= self.values_at):
            raise ValueError(
                f"sizes of panels are {list(self.sizes)}: expected {self.counts[0]}, larger than {self.values_at}"
            )
        if self.nbytes and max(self.sizes, default=0) > self.nbytes:
            raise ValueError(f"sizes of panels are {list(self.sizes)}: there is room for {self.nbytes}")

    def own_bytes(self, first: int, count: int) -> int:
        """Bytes of the largest of `count` panels from number `first` on."""
        return max(self.sizes[first : first + count], default=self.nbytes)

    @property
    def filled(self) -> float:
        """Mean size of the panels, as a share of the largest."""
        return sum(self.sizes) / (len(self.sizes) * max(self.sizes)) if self.sizes else 1.0

    @property
    def counts(self) -> tuple[int, int]:
        """Number of panels and of parts of the inputs."""
        return -(-self.outputs // self.width), -(-self.inputs // self.depth)

    def size(self, panel: int, part: int) -> tuple[int, int]:
        """Output neurons and inputs of one panel."""
        return (
            min(self.width, self.outputs - panel * self.width),
            min(self.depth, self.inputs - part * self.depth),
        )

    def of(self, matrix: Array, panel: int, part: int) -> Array:
        """The weights of one panel."""
        row, column = panel * self.width, part * self.depth
        return matrix[row : row + self.width, column : column + self.depth]

    def block_at(self, panel: int, part: int, item_bytes: int) -> Block:
        """The layout of one panel as a block, for elements of `item_bytes`."""
        fibers, length = self.size(panel, part)
        room = (self.own_bytes(panel, 1) - self.values_at) // (self.format.group * item_bytes)
        return Block(self.format, fibers, length, room, self.values_at)


@dataclass(frozen=True)
class Lanes:
    """
    The lanes of a matrix unit: neuron n of a panel is computed by lane n % count. Joined lanes count as one.
    """

    count: int
    depth: int
    """Weights that a lane holds at one time."""

    @staticmethod
    def of(chip: Chip, rate: int) -> Lanes:
        """The lanes of a chip, for elements of which `rate` take the place of one f32 element."""
        count, slots = encoded_lanes(chip)
        return Lanes(count, slots * rate)


@dataclass(frozen=True)
class Work:
    """The work of a matrix unit that follows from the index of panels; all numbers are sums over panels."""

    entries: int
    """Entries of the indices, fillers included."""
    fullest: int
    """Stored elements of the lane that takes longest."""
    loads: int
    """Number of times that this lane loads weights."""
    own_loads: tuple[int, ...] = ()
    """The loads of each panel, if panels have sizes of their own."""

    def share(self, panel: int) -> float:
        """The loads of a panel, relative to the mean."""
        return self.own_loads[panel] * len(self.own_loads) / self.loads if self.own_loads and self.loads else 1.0


def pack(matrix: Array, panels: Panels, lanes: Lanes) -> tuple[Panels, Work, Bytes]:
    """
    Encodes weights [outputs, inputs]. Returns the panels with their sizes, the work of a matrix unit, and the bytes
    [panels, parts, bytes].
    """
    rows, columns = panels.counts
    parts = [
        encode(np.ascontiguousarray(panels.of(matrix, row, column)), panels.format)
        for row in range(rows)
        for column in range(columns)
    ]
    blocks = [block_of(part) for part in parts]
    values_at, room = max(block.offset for block in blocks), max(block.entries for block in blocks)
    data: list[Bytes] = []
    used: list[int] = []
    entries = fullest = 0
    loads: list[int] = []
    for block, part in zip(blocks, parts, strict=True):
        data.append(pack_block(part, replace(block, entries=room, offset=values_at)))
        used.append(replace(block, offset=values_at).nbytes(part.values.dtype.itemsize))
        lane = fullest_lane(stored_per_fiber(part), lanes)
        entries += len(part.values) // panels.format.group
        fullest += int(lane[0])
        loads.append(lane[1])
    packed = np.stack(data).reshape(rows, columns, -1)
    sized = replace(panels, values_at=values_at, nbytes=packed.shape[2])
    work = Work(entries, fullest, sum(loads))
    sizes = np.array(used).reshape(rows, columns).max(axis=1)
    if sizes.mean() <= ACCEPT_RATIO * sizes.max():
        sized = replace(sized, sizes=tuple(sizes.tolist()))
        work = replace(work, own_loads=tuple(np.array(loads).reshape(rows, columns).sum(axis=1).tolist()))
    return sized, work, packed


def computed_panels(format: Format, fibers: int, length: int, width: int, item_bytes: int) -> Panels:
    """
    Panels of `width` whole fibers with capacity for any values: one entry for each position. Fillers do not exceed
    that, since each has a position of its own.
    """
    block = block_for(format, min(width, fibers), length)
    return Panels(format, fibers, width, length, length, block.offset, block.nbytes(item_bytes))


def expected_work(panels: Panels, density: float, lanes: Lanes) -> Work:
    """The work of a matrix unit for panels of whole fibers, which each store the share `density` of their positions."""
    stored = math.ceil(density * panels.format.positions(panels.inputs)) * panels.format.group
    fullest = loads = 0
    for panel in range(panels.counts[0]):
        lane, often = fullest_lane(np.full(panels.size(panel, 0)[0], stored, np.int64), lanes)
        fullest, loads = fullest + int(lane), loads + often
    return Work(panels.outputs * stored // panels.format.group, fullest, loads)


def pack_fibers(matrix: Array, mask: Mask, panels: Panels) -> Bytes:
    """
    The elements of a matrix [fibers, length] in the mask, as bytes [panels, 1, bytes] in the layout that the encoder of
    a mapping unit writes. Raises ValueError if they exceed the capacity.
    """
    rows, _ = panels.counts
    data = np.zeros((rows, 1, panels.nbytes), np.uint8)
    for row in range(rows):
        own, chosen = panels.of(matrix, row, 0), panels.of(mask, row, 0)
        encoded = encode_mask(own, chosen, panels.format, Fibers(own.shape))
        part = pack_block(encoded, panels.block_at(row, 0, matrix.dtype.itemsize))
        data[row, 0, : len(part)] = part
    return data


def unpack_fibers(data: Bytes, panels: Panels, dtype: np.dtype[Any]) -> list[Encoded]:
    """The encoded matrix of each panel of whole fibers. Raises InputError, naming the panel, if it is damaged."""
    rows, parts = panels.counts
    if parts != 1 or data.shape != (rows, 1, panels.nbytes):
        raise InputError(f"panels of shape {data.shape}: expected {(rows, 1, panels.nbytes)}")
    found: list[Encoded] = []
    for row in range(rows):
        block = panels.block_at(row, 0, dtype.itemsize)
        try:
            found.append(unpack_block(data[row, 0, : block.nbytes(dtype.itemsize)], block, dtype))
        except (InputError, ValueError) as error:
            raise InputError(f"panel {row}: {error}") from error
    return found


def stored_per_fiber(encoded: Encoded) -> Ints:
    """Number of stored elements of each fiber, including fillers and whole groups."""
    row, _ = positions_of(encoded.index, encoded.format, encoded.fibers)
    return np.bincount(row, minlength=encoded.fibers.count) * encoded.format.group


def fullest_lane(elements: Array, lanes: Lanes) -> tuple[float, int]:
    """Stored elements and loads of the lane that takes longest; `elements` are the (expected) numbers of each fiber."""
    padded = np.zeros((-(-len(elements) // lanes.count), lanes.count), elements.dtype)
    padded.reshape(-1)[: len(elements)] = elements
    fullest = padded.sum(axis=0).max(initial=0).item()
    return fullest, math.ceil(fullest / lanes.depth)


def unpack_panels(data: Bytes, panels: Panels, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The weights [outputs, inputs] of the bytes of panels. Raises InputError, naming the panel, if it is damaged."""
    matrix = np.zeros((panels.outputs, panels.inputs), dtype)
    rows, columns = panels.counts
    if data.shape != (rows, columns, panels.nbytes):
        raise InputError(f"panels of shape {data.shape}: expected {(rows, columns, panels.nbytes)}")
    for row in range(rows):
        for column in range(columns):
            try:
                own = data[row, column, : panels.own_bytes(row, 1)]
                encoded = unpack_block(own, panels.block_at(row, column, dtype.itemsize), dtype)
                panels.of(matrix, row, column)[:] = decode(encoded)
            except (InputError, ValueError) as error:
                raise InputError(f"panel {row}, part {column}: {error}") from error
    return matrix
