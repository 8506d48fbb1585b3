"""Buffers of the cores' SRAM, as the compiler lists them for each part of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .memory_map import Block

if TYPE_CHECKING:
    from ...analysis.planning.sram_layout import SramBuffer

ROLES = {
    "tile": "values that stay in the cores",
    "constant": "weights and constants",
    "slice": "slices of values",
    "staging": "results on their way to DRAM",
    "temporary": "values within a task",
}
"""Colour of a buffer -> its purpose."""


@dataclass(frozen=True)
class SramUse:
    """The buffers of one part of the network, over its tasks."""

    name: str
    tasks: Sequence[str]
    blocks: Sequence[Block]


def sram_use(name: str, tasks: Sequence[str], buffers: Sequence[SramBuffer]) -> SramUse:
    """The buffers of the part `name`, for charts."""
    blocks: list[Block] = []
    for buffer in buffers:
        colour = "slice" if buffer.role == "read" else buffer.role
        label = f"{tasks[buffer.task]}, {ROLES[colour]}"
        blocks.append(Block(label, buffer.address, buffer.size, buffer.first, buffer.last, colour))
    return SramUse(name, tasks, blocks)
