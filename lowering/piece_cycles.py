"""How long a compiled subgraph takes by itself."""

from __future__ import annotations

from ..chips import Chip
from .launch_image import launch_cycles
from .piece_code import PieceCode


def piece_cycles(code: PieceCode, chip: Chip) -> int:
    """Emulated cycles of one launch; emulated only where whoever compiled it has not."""
    return launch_cycles(code.code, chip) if code.cycles is None else code.cycles
