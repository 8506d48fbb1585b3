"""
DRAM segments: addresses of the values of one launch, relative to segments that linking places.

A *segment* is the unit that the linker relocates: a constant, a value that enters or leaves the launch, or all values
internal to the launch that pass through DRAM together. Internal values whose lifetimes do not overlap may share
addresses: cores that write one wait for the readers of the value that had its addresses before
(`dram_synchronisation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...analysis.allocation.allocate import allocate
from ...analysis.allocation.memory_reuse import reuse_dependences
from ...analysis.planning.loops import memory_root, part_of
from ...analysis.planning.network_plan import NetworkPlan
from ...chips import Chip
from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.types import tensor_bytes, tensor_of
from ...support.errors import ResourceError

ALIGNMENT = 64
Life: TypeAlias = tuple[int, int]
"""The task that computes a value, and the last one that reads it."""
SEGMENT_BITS = 40
"""Bits of an address within a segment."""


def padded(size: int) -> int:
    """`size` rounded up to whole blocks, at least one, so that every value has a different address."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def bytes_of(value: SSAValue) -> int:
    """Bytes of a tensor value."""
    return tensor_bytes(tensor_of(value))


@dataclass(frozen=True)
class DramSegments:
    """Addresses of values in DRAM: `segment << SEGMENT_BITS` plus the offset in the segment."""

    addresses: dict[SSAValue, int]
    """By storage root."""
    previous: dict[SSAValue, tuple[SSAValue, ...]]
    """Value -> the values that had its bytes before it (memory-reuse dependences), if there are any."""
    lives: dict[SSAValue, Life]
    """Lifetimes of the values internal to the launch."""
    sizes: tuple[int, ...]
    """Bytes of each segment: constants in order, arguments, results, and last the values internal to the launch."""


def check_dram(needed: int, chip: Chip, what: str) -> None:
    """Raises ResourceError if a launch needs more than all of the DRAM; `what` names the purpose in the message."""
    if needed > chip.dram_bytes:
        raise ResourceError(what, "DRAM", needed, chip.dram_bytes)


def constants_of(function: FuncOp) -> list[ConstantOp | WeightOp]:
    """The constants that the function's block uses, in order."""
    ops = function.body.block.ops
    return [op for op in ops if isinstance(op, ConstantOp | WeightOp) and op.results[0].first_use is not None]


def segment_dram(function: FuncOp, network: NetworkPlan, chip: Chip) -> DramSegments:
    """
    Assign every value that is stored in DRAM a segment, or an offset in the last segment, which is allocated so that
    everything fits the chip if possible.
    """
    outside = [*(op.results[0] for op in constants_of(function)), *function.body.block.args]
    placed, last = set(outside), function.body.block.last_op
    returned = dict.fromkeys(memory_root(value) for value in (last.operands if last is not None else ()))
    outside += [root for root in returned if root not in placed]
    lives = {
        info.result: (number, max(number, network.last_use.get(info.result, number)))
        for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True))
        if not plan.resident and info.result not in returned and part_of(info.result) is None
    }
    for span in network.loops:
        for value in span.op.stacked:
            if value not in returned and value not in network.resident:
                lives[value] = (span.first, max(span.last, network.last_use.get(value, span.last)))
    lives = dict(sorted(lives.items(), key=lambda item: item[1][0]))
    addresses = {value: segment << SEGMENT_BITS for segment, value in enumerate(outside)}
    sizes = [bytes_of(value) for value in outside]
    offsets, nbytes = _share(lives, chip.dram_bytes - sum(map(padded, sizes)))
    addresses |= {value: (len(outside) << SEGMENT_BITS) + offset for value, offset in offsets.items()}
    values = list(lives)
    occupants = reuse_dependences([padded(bytes_of(value)) for value in values], list(offsets.values()))
    taken = zip(values, occupants, strict=True)
    previous = {value: tuple(values[other] for other in others) for value, others in taken if others}
    return DramSegments(addresses, previous, lives, (*sizes, nbytes))


def _share(lives: Mapping[SSAValue, Life], capacity: int) -> tuple[dict[SSAValue, int], int]:
    """Offsets for values with these lifetimes, and the bytes that they take, if possible at most `capacity`."""
    sizes = [padded(bytes_of(value)) for value in lives]
    first, last = [life[0] for life in lives.values()], [life[1] for life in lives.values()]
    found = allocate(sizes, first, last, ALIGNMENT)
    if found.peak > capacity:
        found = allocate(sizes, first, last, ALIGNMENT, capacity)
    return dict(zip(lives, map(int, found.offsets), strict=True)), found.peak
