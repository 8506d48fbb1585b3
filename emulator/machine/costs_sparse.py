"""
Costs of the mapping unit and of sparse products, from counts of values.

A sparse product runs on the matrix unit's R x C array (R = mpu_rows * rate of the type), whose columns are its lanes.
Output neuron n of a batch belongs to lane n mod C. A lane holds R of the stored weights of its neurons at a time, one
neuron after the other without gaps; loading, filling and draining take as long as in a dense product. Then the pairs
that are multiplied pass at R per cycle. (Sums of several rows and of several neurons pass together, as in the
forwarding adder network of SIGMA, HPCA 2020.) Each lane continues with its next weights without waiting for the others;
they are synchronised at the end of the instruction. If lanes are joined (`map_lanes`), the adders extend over columns
as in SIGMA, and stored weights fill the array one after the other, for any neurons: one lane with R * C positions.
Weights that are not encoded remain in their columns. Concurrently, the mapping unit reads the indices of both operands,
and memory delivers each operand once:

    lanes  = max over lanes of (2 mpu_rows + C - 2) * ceil(used / R) + ceil(pairs / R), summed over the batch
    map    = max over both operands of ceil(uses * elements of the index / rate)
    memory = ceil(bytes of the largest operand / map_bytes_per_cycle)
    cycles = max(1, lanes - 1, map, memory)

`used` is the number of stored weights of the lane's neurons whose input is nonzero in at least one of the m rows. With
caches before the mapping unit, it maps at each use: `pairs` counts the nonzero pairs of each row, the weights' index is
read for each row (m uses), the inputs' once for each C neurons. With caches after it, it maps once and keeps the
result for all rows: `pairs` is m * used, and both indices are read once. If nothing is skipped and R divides k, the
cost is at least that of `matmul`; if R does not divide k, `matmul` leaves positions of the array empty, while a sparse
product does not.

The mapping unit's own instructions start in `STARTUP` cycles; then index and memory accesses run concurrently:

    encode     ceil(elements / map_encode_elements)
    decode     cycles of reading the index once
    connect    the same
    combine    the same for both indices, the larger number
    compact    ceil(elements / map_encode_elements), or the cycles of the index if these are more
    cycles   = STARTUP + max(one of these, ceil(bytes of the largest operand / map_bytes_per_cycle))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...chips.cycles import STARTUP, encoded_lanes, load_cycles
from ...formats.sparse.block import Block
from .costs import RATE, Ints


@dataclass(frozen=True)
class IndexWork:
    """Index work: number of elements of one operand's index that the mapping unit reads per use."""

    direct: int = 0
    """Positions of a direct index (bits of a plug-in's index), or elements in which the unit itself finds the zeros."""
    stride: int = 0
    """Entries of a stride index (codes of a plug-in's index)."""

    @staticmethod
    def of(block: Block, entries: int) -> IndexWork:
        """The index work of a block with this many entries."""
        elements = block.index_elements(entries)
        return IndexWork(direct=elements) if block.format.direct else IndexWork(stride=elements)

    @property
    def elements(self) -> int:
        """The sum of both kinds."""
        return self.direct + self.stride

    def cycles(self, chip: Chip, uses: int) -> int:
        """Cycles of reading the index `uses` times."""
        return -(-uses * self.direct // chip.map_direct_bits) + -(-uses * self.stride // chip.map_stride_codes)


@dataclass(frozen=True)
class MappedCost:
    """The cost of one execution of an instruction whose cost depends on values."""

    cycles: int
    pairs: int = 0
    """Pairs that were multiplied."""
    skipped: int = 0
    """Pairs of the dense product that were not multiplied."""
    index_elements: int = 0
    """Elements of indices that the mapping unit or the encoder read."""
    map_cycles: int = 0
    """Cycles of reading them."""
    nbytes: int = 0
    """Bytes of operands in SRAM; of blocks, the used bytes."""
    traffic: int = 0
    """Bytes sent to other cores; only these determine the time of a put."""


Record: TypeAlias = Callable[[MappedCost], None]
"""Function that records the cost of each execution, in order."""


@dataclass(frozen=True)
class Product:
    """Sizes of a sparse product, and its used weights and pairs, [batch, neurons] each."""

    rows: int
    length: int
    used: Ints
    pairs: Ints
    """Pairs counted row by row, as they are multiplied if the caches are before the mapping unit."""
    weights: IndexWork
    inputs: IndexWork
    encoded: bool = True
    """Whether the weights are encoded: only stored ones, contiguous."""


def count_pairs(weights: NDArray[Any] | None, hits: Ints | None, shape: tuple[int, int, int, int]) -> tuple[Ints, Ints]:
    """
    `used` and `pairs`, [batch, n] each, of a product of `shape` (batch, m, k, n).

    `weights` [batch, n, k]: which are stored (None: all). `hits` [batch, k]: the number of rows in which the input is
    nonzero (None: all m). Exact up to 2**53 pairs.
    """
    batch, m, k, n = shape
    if hits is None:
        hits = np.full((batch, k), m, np.int64)
    both = np.stack([hits > 0, hits], axis=-1).astype(np.float64)  # [batch, k, 2]: BLAS multiplies floats only
    if weights is None:
        counts = np.broadcast_to(both.sum(axis=1)[:, None, :], (batch, n, 2))
    else:
        counts = weights.astype(np.float64) @ both
    used, pairs = counts[..., 0].astype(np.int64), counts[..., 1].astype(np.int64)
    return used, pairs


def sparse_matmul_cost(chip: Chip, code: int, product: Product, nbytes: tuple[int, ...]) -> MappedCost:
    """The cost of a sparse product of elements of type `code`; `nbytes`: bytes of each operand in memory."""
    batch, neurons = product.used.shape
    again = chip.map_caches == "before"
    pairs = product.pairs if again else product.rows * product.used
    count, positions = encoded_lanes(chip) if product.encoded else (chip.mpu_cols, chip.mpu_rows)
    positions *= int(RATE[code])
    turns = -(-neurons // count)
    lanes = np.zeros((2, batch, turns * count), np.int64)
    lanes[:, :, :neurons] = product.used, pairs
    used, passing = lanes.reshape(2, batch, turns, count).sum(axis=2)
    work = load_cycles(chip) * -(-used // positions) + -(-passing // positions)
    longest = int(work.sum(axis=0).max())
    rounds = -(-neurons // chip.mpu_cols)
    of_weights, of_inputs = (product.rows, rounds) if again else (1, 1)
    mapping = max(product.weights.cycles(chip, of_weights), product.inputs.cycles(chip, of_inputs))
    multiplied = int(pairs.sum())
    return MappedCost(
        max(1, longest - 1, mapping, _memory(chip, nbytes)),
        multiplied,
        batch * product.rows * product.length * neurons - multiplied,
        of_weights * product.weights.elements + of_inputs * product.inputs.elements,
        mapping,
        sum(nbytes),
    )


def encode_cost(chip: Chip, elements: int, nbytes: tuple[int, int]) -> MappedCost:
    """The cost of encoding this many elements; `nbytes`: bytes read and bytes written."""
    looking = -(-elements // chip.map_encode_elements)
    cycles = STARTUP + max(looking, _memory(chip, nbytes))
    return MappedCost(cycles, index_elements=elements, map_cycles=looking, nbytes=sum(nbytes))


def decode_cost(chip: Chip, index: IndexWork, nbytes: tuple[int, int]) -> MappedCost:
    """The cost of decoding; `nbytes`: bytes read and bytes written."""
    looking = index.cycles(chip, 1)
    cycles = STARTUP + max(looking, _memory(chip, nbytes))
    return MappedCost(cycles, index_elements=index.elements, map_cycles=looking, nbytes=sum(nbytes))


def connect_cost(chip: Chip, index: IndexWork, nbytes: tuple[int, int]) -> MappedCost:
    """The cost of deriving connection data from a block; `nbytes`: bytes read and bytes written."""
    return decode_cost(chip, index, nbytes)


def combine_cost(chip: Chip, indices: tuple[IndexWork, IndexWork], nbytes: tuple[int, int, int]) -> MappedCost:
    """The cost of combining connection data, with both indices read concurrently; `nbytes`: both read, and written."""
    looking = max(index.cycles(chip, 1) for index in indices)
    elements = sum(index.elements for index in indices)
    cycles = STARTUP + max(looking, _memory(chip, nbytes))
    return MappedCost(cycles, index_elements=elements, map_cycles=looking, nbytes=sum(nbytes))


def compact_cost(chip: Chip, elements: int, index: IndexWork, nbytes: tuple[int, int, int]) -> MappedCost:
    """
    The cost of compacting this many elements by connection data: the encoder reads all of them while the index is read.
    """
    looking = max(-(-elements // chip.map_encode_elements), index.cycles(chip, 1))
    cycles = STARTUP + max(looking, _memory(chip, nbytes))
    return MappedCost(cycles, index_elements=elements + index.elements, map_cycles=looking, nbytes=sum(nbytes))


def put_cost(chip: Chip, elements: int, nonzero: int, itemsize: int) -> MappedCost:
    """The cost of sending `elements` elements, of which `nonzero` are not zero, with a direct index."""
    looking = -(-elements // chip.map_encode_elements)
    return MappedCost(
        0,
        index_elements=elements,
        map_cycles=looking,
        nbytes=elements * itemsize,
        traffic=-(-elements // 8) + nonzero * itemsize,
    )


def _memory(chip: Chip, nbytes: tuple[int, ...]) -> int:
    return -(-max(nbytes) // chip.map_bytes_per_cycle)
