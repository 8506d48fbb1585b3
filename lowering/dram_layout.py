"""
Addresses in DRAM of what one launch uses: as segments that are placed when launches are linked, or flat.

A *segment* is what the linker moves as one: a constant, a value that enters or leaves the launch, or all values that
pass through DRAM within it. Inside a launch nothing shares an address: cores run side by side, and only the end of a
launch orders all their accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan, storage_root
from ..analysis.task_info import value_bytes
from ..chips import Chip
from ..dialects.dataflow import ConstantOp, WeightOp
from ..dialects.dataflow.types import shape_of
from ..support.errors import ResourceError

ALIGNMENT = 64
SEGMENT_BITS = 40
"""Bits of an address within a segment."""


def padded(size: int) -> int:
    """Bytes that `size` bytes take up: never none, so that every value has an address of its own."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def bytes_of(value: SSAValue) -> int:
    """Bytes of a tensor value."""
    return value_bytes(value) * int(np.prod(shape_of(value), dtype=np.int64))


@dataclass(frozen=True)
class DramLayout:
    """Where values lie in DRAM."""

    addresses: dict[SSAValue, int]
    """By storage root."""


@dataclass(frozen=True)
class DramSegments(DramLayout):
    """A layout whose addresses are `segment << SEGMENT_BITS` and what is added within the segment."""

    sizes: tuple[int, ...]
    """Bytes of each segment: constants in order, arguments, results, and last what stays within the launch."""


@dataclass(frozen=True)
class _Contents:
    constants: Sequence[SSAValue]
    arguments: Sequence[SSAValue]
    results: Sequence[SSAValue]
    """Storage roots of the function's results that are computed in it, each once."""
    scratch: Sequence[SSAValue]


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
    scratch = [
        info.result
        for info, plan in zip(network.tasks, network.plans, strict=True)
        if not plan.resident and info.result not in results
    ]
    return _Contents(constants, arguments, list(results), scratch)


def segment_dram(function: FuncOp, network: NetworkPlan) -> DramSegments:
    """Give every value that passes through DRAM a segment, or a place in the last one."""
    contents = _contents(function, network)
    addresses: dict[SSAValue, int] = {}
    sizes: list[int] = []
    for value in (*contents.constants, *contents.arguments, *contents.results):
        addresses[value] = len(sizes) << SEGMENT_BITS
        sizes.append(bytes_of(value))
    cursor = 0
    for value in contents.scratch:
        addresses[value] = (len(sizes) << SEGMENT_BITS) + cursor
        cursor += padded(bytes_of(value))
    return DramSegments(addresses, (*sizes, cursor))


def lay_out_dram(function: FuncOp, network: NetworkPlan, chip: Chip) -> DramLayout:
    """
    One launch by itself: constants first, then arguments, results and what stays within it, each at its own place.

    Raises ResourceError if DRAM is too small.
    """
    contents = _contents(function, network)
    addresses: dict[SSAValue, int] = {}
    cursor = 0
    for value in (*contents.constants, *contents.arguments, *contents.results, *contents.scratch):
        addresses[value] = cursor
        cursor += padded(bytes_of(value))
    if cursor > chip.dram_bytes:
        raise ResourceError(
            f"the network needs {cursor} bytes of DRAM at once, chip '{chip.name}' has {chip.dram_bytes}",
            "DRAM", cursor, chip.dram_bytes,
        )  # fmt: skip
    return DramLayout(addresses)
