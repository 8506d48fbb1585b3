"""How long a compiled subgraph takes by itself."""

from __future__ import annotations

from ..chips import Chip
from .effort import Effort
from .launch_image import launch_cycles
from .piece_code import PieceCode


def piece_cycles(code: PieceCode, chip: Chip, effort: Effort) -> int:
    """Cycles of one launch, estimated or emulated as `effort` says; where it was emulated already, not again."""
    if effort.measure == "estimated":
        return code.estimated_cycles
    return launch_cycles(code.code, chip) if code.cycles is None else code.cycles
