"""
Costs of all instructions: `word_costs` applies the formulas of `chips.cycles` to the words of a program. Both timing
engines and the statistics use it. Cycles are integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...chips import cycles as cycles_of
from ...chips.chip import RATES, Chip
from ...chips.cycles import RATE_BY_WIDTH, ceil_div, copy_cycles, dram_traffic
from ...dialects.coreasm.isa import (
    DEPENDS_ON_DATA,
    ENCODED,
    FACTOR_OF_OPCODE,
    ITEMSIZE,
    NO_DESC,
    OPCODE,
    TYPES,
    UNIT_OF_OPCODE,
    Cost,
    Family,
    TypeOf,
    Unit,
    by_opcode,
    by_operand,
)
from .errors import EmulationError

Ints: TypeAlias = NDArray[np.int64]

MAX_POINTS = 1 << 40
"""Upper limit on the elements of an instruction, so that damaged descriptors do not overflow the arithmetic."""

RATE = np.array([RATES.get(t.name, RATE_BY_WIDTH.get(t.bytes, 1)) for t in TYPES] + [1] * (16 - len(TYPES)), np.int64)
"""Operations per cycle relative to f32 by type code; others have that of their width."""


def _kinds(*costs: Cost) -> NDArray[np.bool_]:
    return by_opcode(lambda i: i.cost in costs, np.bool_)


def _families(*families: Family) -> NDArray[np.bool_]:
    return by_opcode(lambda i: i.family in families, np.bool_)


_MATMUL, _VECTOR, _COPY, _FILL, _ROWS = (
    _kinds(cost) for cost in (Cost.MATMUL, Cost.VECTOR, Cost.COPY, Cost.FILL, Cost.ROWS)
)
_SPARSE = _kinds(Cost.SPARSE_MATMUL)
_DRAM, _PUT, _PUT_ENCODED = _kinds(Cost.DRAM), _kinds(Cost.PUT), _kinds(Cost.PUT_ENCODED)
_FROM_A = _families(Family.REDUCE, Family.ARG_REDUCE, Family.DOT, Family.CUMSUM, Family.ROWS)
"""[256] opcodes whose iteration points are those of operand A instead of D."""
_DOT = _families(Family.DOT)
_DENSE_SLOT: Ints = _families(Family.SCATTER).astype(np.int64)
"""The operand of gathers and scatters that iterates over all rows: D (0) of a gather, S (1) of a scatter."""
_TYPE_NUMBER = {TypeOf.SOURCE: 1, TypeOf.DESTINATION: 2, TypeOf.BOOL: 3, TypeOf.F32: 4}
_OPERAND_TYPE: NDArray[np.uint8] = by_operand(lambda o: _TYPE_NUMBER[o.type], np.uint8)
"""[256, 4] 0: no operand in memory in this slot; else 1 source type, 2 destination type, 3 bool, 4 f32."""
_ITEM = np.zeros((5, 256), np.int64)
"""[5, 256] bytes of an element, by operand type as in `_OPERAND_TYPE` and by a word's `dtype`."""
_ITEM[1], _ITEM[2] = ITEMSIZE[np.arange(256) & 15], ITEMSIZE[np.arange(256) >> 4]
_ITEM[3], _ITEM[4] = (next(t.bytes for t in TYPES if t.name == name) for name in ("bool", "f32"))


def matmul_cycles(chip: Chip, code: Ints, batch: Ints, m: Ints, k: Ints, n: Ints) -> Ints:
    """Cold-start cycles of D[b, m, n] = A[b, m, k] x B[b, k, n] with elements of type `code`."""
    return cycles_of.matmul_cycles(chip, RATE[code], batch, m, k, n)


def vector_cycles(chip: Chip, code: Ints, points: Ints, factor: Ints, operand_bytes: Ints) -> Ints:
    """Cycles of `points` element operations, of `factor` passes each, whose largest operand has `operand_bytes`."""
    return cycles_of.vector_cycles(chip, RATE[code], points, factor, operand_bytes)


def link_cycles(chip: Chip, nbytes: Ints | int) -> Ints:
    """Cycles for which a packet occupies a link of the network."""
    return ceil_div(np.asarray(nbytes, np.int64), chip.link_bytes_per_cycle)


def port_cycles(chip: Chip, nbytes: Ints | int) -> Ints:
    """Cycles for which a packet occupies a DRAM port: each of `dram_ports` has an equal share of the bandwidth."""
    return ceil_div(np.asarray(nbytes, np.int64) * chip.dram_ports, chip.dram_bytes_per_cycle)


def host_cycles(chip: Chip, nbytes: int) -> int:
    """Cycles of one copy between host and DRAM."""
    return chip.host_latency + -(-nbytes // chip.host_bytes_per_cycle)


def contiguous_run(sizes: Ints, strides: list[Ints], itemsize: Ints) -> Ints:
    """
    [n] bytes of the longest innermost run that is contiguous for all of `strides`.

    `sizes` and each of `strides`: [n, 5], outermost dimension first; `itemsize`: [n].
    """
    run = itemsize.astype(np.int64)
    going = np.ones(len(sizes), np.bool_)
    for dim in range(sizes.shape[1] - 1, -1, -1):
        size = sizes[:, dim]
        for stride in strides:
            going &= (stride[:, dim] == run) | (size == 1)
        run = np.where(going, run * size, run)
    return run


@dataclass(frozen=True)
class WordCosts:
    """Costs per word, all int64 arrays; 0 if not applicable."""

    cycles: Ints
    """
    Cycles of instructions of MPU, VPU, DAU and MAP; if they depend on values, those that the word declares. For a put
    without zeros, the cycles of finding the zeros, before the first byte is sent.
    """
    traffic: Ints
    """Bytes sent: a put's data (without zeros: as the word declares), or whole DRAM bursts of a load or store."""
    macs: Ints
    """Multiply-accumulates of matmul and dot; of sparse products, those of as many entries as the blocks can hold."""
    vpu_ops: Ints
    """Element operations of the vector unit; slow functions count with their factor."""
    sram_bytes: Ints
    """Bytes that the unit reads and writes in SRAM (each operand once)."""
    loading: Ints
    """The part of the cycles of dense matrix products for loading weights, and for filling and draining the array."""

    def take(self, at: NDArray[np.int32]) -> WordCosts:
        """The costs of the words with indices `at`."""
        return WordCosts(
            self.cycles[at], self.traffic[at], self.macs[at], self.vpu_ops[at], self.sram_bytes[at],
            self.loading[at],
        )  # fmt: skip


def word_costs(chip: Chip, words: NDArray[Any], descs: NDArray[Any]) -> WordCosts:
    """
    Costs of `words` (WORD, [n]), whose descriptor fields index `descs` (DESC).

    Raises EmulationError naming the word for a descriptor that does not exist or is not valid.
    """
    return costs_by_descriptor(chip, words, words["desc"].astype(np.int64), descs, lambda word: f"program: word {word}")


def costs_by_descriptor(
    chip: Chip, words: NDArray[Any], desc: Ints, descs: NDArray[Any], where: Callable[[int], str]
) -> WordCosts:
    """
    As `word_costs`, but the descriptors of operands are rows `desc` ([n, 4]) of `descs` (DESC), not the words' fields.

    `where` gives the location of a word, for errors.
    """
    ops: NDArray[np.uint8] = words["op"]
    geometry = _Geometry(words, desc, descs, where)
    source, count = (words["dtype"] & 15).astype(np.int64), len(words)
    cycles, traffic, macs, vpu_ops, loading = (np.zeros(count, np.int64) for _ in range(5))
    at = np.flatnonzero(_MATMUL[ops])
    if len(at):
        b, m, k, n = geometry.matmul(at)
        cycles[at] = np.maximum(matmul_cycles(chip, source[at], b, m, k, n), 1)
        macs[at] = b * m * k * n
        blocks = b * cycles_of.matmul_blocks(chip, RATE[source[at]], k, n)
        loading[at] = np.maximum(blocks * cycles_of.load_cycles(chip) - 1, 0)
    at = np.flatnonzero(_VECTOR[ops])
    if len(at):
        points = geometry.points[at, _FROM_A[ops[at]].astype(np.int64)]
        factor = FACTOR_OF_OPCODE[ops[at]]
        cycles[at] = vector_cycles(chip, source[at], points, factor, geometry.largest(at))
        vpu_ops[at] = points * factor
        macs[at] = points * _DOT[ops[at]]
    at = np.flatnonzero(_FILL[ops])
    if len(at):
        run = geometry.run_of(at, 0)
        cycles[at] = copy_cycles(chip, geometry.total(at, 0) // run, run)
    at = np.flatnonzero(_COPY[ops])
    if len(at):
        run = np.minimum(geometry.run_of(at, 0), geometry.run_of(at, 1))
        cycles[at] = copy_cycles(chip, geometry.total(at, 0) // run, run)
    at: Ints = np.flatnonzero(_ROWS[ops])
    if len(at):
        dense = _DENSE_SLOT[ops[at]]
        total, run = geometry.rows(at, dense, np.full_like(dense, 2))
        cycles[at] = copy_cycles(chip, ceil_div(total, run), run)
    at = np.flatnonzero(_DRAM[ops])
    if len(at):
        traffic[at] = _dram_bytes(chip, ops, geometry, at)
    at = np.flatnonzero(_PUT[ops])
    if len(at):
        traffic[at] = geometry.total(at, 1)
    at = np.flatnonzero(DEPENDS_ON_DATA[ops])
    if len(at):
        cycles[at] = np.maximum(words["addr"][at, 3], 1)
    at = np.flatnonzero(_PUT_ENCODED[ops])
    if len(at):
        traffic[at] = cycles[at]
        cycles[at] = ceil_div(geometry.points[at, 1], chip.map_encode_elements)
    at = np.flatnonzero(_SPARSE[ops])
    if len(at):
        macs[at] = geometry.sparse_macs(at)
    return WordCosts(cycles, traffic, macs, vpu_ops, np.einsum("ij->i", geometry.bytes), loading)


def _dram_bytes(chip: Chip, ops: NDArray[np.uint8], geometry: _Geometry, at: Ints) -> Ints:
    """Bytes in whole DRAM bursts of the loads and stores with indices `at`."""
    side = np.where(ops[at] == OPCODE["store"], 0, 1)
    run = geometry.run_of(at, side)
    total = geometry.item[at, side] * geometry.points[at, side]
    rows = ops[at] == OPCODE["load.gather"]
    if rows.any():
        total[rows], run[rows] = geometry.rows(at[rows], side[rows] * 0, side[rows] * 0 + 3)
    return dram_traffic(chip, ceil_div(total, run), run)


class _Geometry:
    """Sizes and strides of all operands of n words ([n, 4, 5]), and derived figures."""

    def __init__(self, words: NDArray[Any], desc: Ints, descs: NDArray[Any], where: Callable[[int], str]) -> None:
        ops = words["op"]
        types = _OPERAND_TYPE[ops]
        unit = UNIT_OF_OPCODE[ops]
        if (unit >= Unit.CTL).any():
            bad = int(np.flatnonzero(unit >= Unit.CTL)[0])
            raise EmulationError(f"{where(bad)}: operation code {ops[bad]} is not one of a core's program")

        def refuse(bad: NDArray[np.bool_], what: str) -> None:
            """Raises the error for the first operand ([n, 4]) that is `bad`, if any."""
            if bad.any():
                word, slot = np.argwhere(bad)[0].tolist()
                raise EmulationError(f"{where(word)}: " + what.format(words["desc"][word, slot]))

        there = (types > 0) & (words["desc"] != NO_DESC)
        refuse(there & (desc >= len(descs)), "descriptor {} does not exist")
        table = np.concatenate([descs, np.zeros(1, descs.dtype)])
        table["size"][-1] = 1
        blocks = there & ENCODED[ops]
        index = np.where(there & ~blocks, desc, len(descs))
        all_sizes, all_strides = table["size"].astype(np.int64), table["stride"].astype(np.int64)
        exact = np.prod(all_sizes.astype(np.float64), axis=1)
        refuse(((exact > MAX_POINTS) | (exact < 1))[index], "the sizes of descriptor {} are out of range")
        self.imm = words["imm"].astype(np.int64)
        self.there = there
        self._index, self._sizes, self._strides = index, all_sizes, all_strides
        self.points: Ints = np.prod(all_sizes, axis=1)[index]
        """[n, 4] iteration points of each operand's descriptor."""
        moved: Ints = np.prod(np.where(all_strides == 0, 1, all_sizes), axis=1)[index]
        self.item: Ints = _ITEM[types, words["dtype"][:, None]] * there
        """[n, 4] bytes of an element."""
        refuse(there & (self.item == 0), "element type does not exist")
        self.bytes: Ints = moved * self.item
        """[n, 4] bytes that each operand accesses: broadcast elements count once, blocks as a whole."""
        at = np.where(blocks, desc, len(descs))
        self._blocks, self._sizes_of_blocks = blocks, all_sizes[at]
        real = all_sizes.astype(np.float64)
        absurd = (real[:, 0] * real[:, 1] > MAX_POINTS) | (real[:, 2] * real[:, 4] > MAX_POINTS)
        refuse(blocks & absurd[at], "the sizes of descriptor {} are out of range")
        if blocks.any():
            offset = all_strides[at, 0]
            entries = self._sizes_of_blocks[..., 2] * self._sizes_of_blocks[..., 4]
            self.bytes = np.where(blocks, offset + entries * self.item, self.bytes)

    def sizes(self, at: Ints, slot: int) -> Ints:
        """[len(at), 5] sizes of the operands in a slot."""
        return self._sizes[self._index[at, slot]]

    def largest(self, at: Ints) -> Ints:
        """Bytes that the largest operand accesses."""
        part = self.bytes[at]
        return np.maximum(np.maximum(part[:, 0], part[:, 1]), np.maximum(part[:, 2], part[:, 3]))

    def total(self, at: Ints, slot: int) -> Ints:
        """Bytes of the elements at all iteration points of an operand."""
        return self.points[at, slot] * self.item[at, slot]

    def run_of(self, at: Ints, slot: Ints | int) -> Ints:
        """Bytes of the contiguous run of one operand, whose slot may differ from word to word."""
        index = self._index[at, slot]
        return contiguous_run(self._sizes[index], [self._strides[index]], self.item[at, slot])

    def rows(self, at: Ints, dense: Ints, index_slot: Ints) -> tuple[Ints, Ints]:
        """For gathers and scatters: bytes copied, and bytes of the longest run contiguous in both, within a row."""
        total = self.points[at, dense] * self.item[at, dense]
        # The indices are the last `imm` dimensions of I; the others have size 1, so I has one point per row.
        row = np.maximum(total // self.points[at, index_slot], 1)
        run = np.minimum(np.minimum(self.run_of(at, dense), self.run_of(at, 1 - dense)), row)
        return total, run

    def sparse_macs(self, at: Ints) -> Ints:
        """Pairs of sparse products by descriptors only: each stored element is multiplied by a whole row or column."""
        d = self.points[at, 0]
        found = np.full(len(at), MAX_POINTS, np.int64)
        for slot in (1, 2):
            fibers, length, group, entries = (self._sizes_of_blocks[at, slot, part] for part in (0, 1, 2, 4))
            stored = np.minimum(group * entries, fibers * length)
            found = np.where(self._blocks[at, slot], np.minimum(found, stored * (d // fibers)), found)
        none = ~self._blocks[at].any(axis=1)
        if none.any():
            b, m, k, n = self.matmul(at[none])
            found[none] = b * m * k * n
        return found

    def matmul(self, at: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """(batch, m, k, n) of each matmul."""
        groups = [self.imm[at] >> shift & 15 for shift in (0, 4, 8, 12)]
        _, _, nk, nn = groups
        last = np.arange(5)

        def tail(slot: int, dims: Ints) -> Ints:
            inside = last[None, :] >= 5 - dims[:, None]
            return np.prod(np.where(inside, self.sizes(at, slot), 1), axis=1)

        n, k = tail(2, nn), tail(1, nk)
        m = tail(1, nk + groups[1]) // k
        b = self.points[at, 0] // np.maximum(m * n, 1)
        return np.maximum(b, 1), m, k, n
