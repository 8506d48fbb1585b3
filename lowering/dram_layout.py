"""
Addresses in DRAM of what one launch uses, as segments that are placed when launches are linked.

A *segment* is what the linker moves as one: a constant, a value that enters or leaves the launch, or all values that
pass through DRAM within it. Of these, values that are never needed at the same time may share addresses: cores that
write one wait for those that read what lay there before (`passing_values`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ..analysis.allocation import allocate
from ..analysis.occupants import last_occupants
from ..analysis.planning.plan_network import NetworkPlan, storage_root
from ..analysis.task_info import value_bytes
from ..chips import Chip
from ..dialects.dataflow import ConstantOp, WeightOp
from ..dialects.dataflow.types import shape_of
from ..support.errors import ResourceError

ALIGNMENT = 64
Life: TypeAlias = tuple[int, int]
"""The task that computes a value, and the last one that reads it."""
SEGMENT_BITS = 40
"""Bits of an address within a segment."""


def padded(size: int) -> int:
    """Bytes that `size` bytes take up: never none, so that every value has an address of its own."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def bytes_of(value: SSAValue) -> int:
    """Bytes of a tensor value."""
    return value_bytes(value) * int(np.prod(shape_of(value), dtype=np.int64))


@dataclass(frozen=True)
class DramSegments:
    """Where values lie in DRAM: at addresses `segment << SEGMENT_BITS` and what is added within the segment."""

    addresses: dict[SSAValue, int]
    """By storage root."""
    before: dict[SSAValue, tuple[SSAValue, ...]]
    """Values whose bytes a value takes, the last ones that lay there; values that take none are left out."""
    lives: dict[SSAValue, Life]
    """Of values that stay within the launch."""
    sizes: tuple[int, ...]
    """Bytes of each segment: constants in order, arguments, results, and last what stays within the launch."""


@dataclass(frozen=True)
class _Contents:
    constants: Sequence[SSAValue]
    arguments: Sequence[SSAValue]
    results: Sequence[SSAValue]
    """Storage roots of the function's results that are computed in it, each once."""
    scratch: dict[SSAValue, Life]
    """What stays within the launch, in the order of the tasks that compute it."""


def check_dram(needed: int, chip: Chip, what: str) -> None:
    """Raises ResourceError if a launch needs more than all of the DRAM; `what` it needs that for."""
    if needed > chip.dram_bytes:
        raise ResourceError(what, "DRAM", needed, chip.dram_bytes)


def constants_of(function: FuncOp) -> list[ConstantOp | WeightOp]:
    """The constants that the function's block uses, in order."""
    ops = function.body.block.ops
    return [op for op in ops if isinstance(op, ConstantOp | WeightOp) and op.results[0].first_use is not None]


def _contents(function: FuncOp, network: NetworkPlan) -> _Contents:
    constants = [op.results[0] for op in constants_of(function)]
    arguments = list(function.body.block.args)
    last = function.body.block.last_op
    placed = {*constants, *arguments}
    results: dict[SSAValue, None] = {}
    for value in last.operands if last is not None else ():
        if (root := storage_root(value)) not in placed:
            results[root] = None
    scratch = {
        info.result: (number, max(number, network.last_use.get(info.result, number)))
        for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True))
        if not plan.resident and info.result not in results
    }
    return _Contents(constants, arguments, list(results), scratch)


@dataclass(frozen=True)
class _Shared:
    """Places of values that share memory one after another."""

    offsets: dict[SSAValue, int]
    before: dict[SSAValue, tuple[SSAValue, ...]]
    nbytes: int


def _share(scratch: Mapping[SSAValue, Life], capacity: int) -> _Shared:
    """Places for values with these lifetimes, in the order in which they begin; if possible within `capacity`."""
    values = list(scratch)
    sizes = [padded(bytes_of(value)) for value in values]
    first, last = [life[0] for life in scratch.values()], [life[1] for life in scratch.values()]
    found = allocate(sizes, first, last, ALIGNMENT)
    if found.peak > capacity:
        found = allocate(sizes, first, last, ALIGNMENT, capacity)
    offsets = [int(offset) for offset in found.offsets]
    occupants = zip(values, last_occupants(sizes, offsets), strict=True)
    before = {value: tuple(values[other] for other in others) for value, others in occupants if others}
    return _Shared(dict(zip(values, offsets, strict=True)), before, found.peak)


def segment_dram(function: FuncOp, network: NetworkPlan, chip: Chip) -> DramSegments:
    """
    Give every value that passes through DRAM a segment, or a place in the last one, which is small enough for the chip
    if that can be.
    """
    contents = _contents(function, network)
    addresses: dict[SSAValue, int] = {}
    sizes: list[int] = []
    for value in (*contents.constants, *contents.arguments, *contents.results):
        addresses[value] = len(sizes) << SEGMENT_BITS
        sizes.append(bytes_of(value))
    shared = _share(contents.scratch, chip.dram_bytes - sum(map(padded, sizes)))
    addresses |= {value: (len(sizes) << SEGMENT_BITS) + offset for value, offset in shared.offsets.items()}
    return DramSegments(addresses, shared.before, contents.scratch, (*sizes, shared.nbytes))
