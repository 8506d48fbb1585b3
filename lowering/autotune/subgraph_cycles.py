"""Cycles of one launch of a compiled subgraph."""

from __future__ import annotations

from ...chips import Chip
from ..cache.subgraph_code import SubgraphCode
from ..linker.launch_image import launch_cycles
from ..options.effort import Effort


def subgraph_cycles(code: SubgraphCode, chip: Chip, effort: Effort) -> int:
    """Cycles of one launch, estimated or emulated as `effort` requests. An emulated result is reused."""
    if effort.measure == "estimated":
        return code.estimated_cycles
    return launch_cycles(code.code, chip) if code.cycles is None else code.cycles
