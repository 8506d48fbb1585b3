"""How long a compiled subgraph takes by itself."""

from __future__ import annotations

from ..chips import Chip
from ..emulator.timing import run_timing
from .piece_code import PieceCode
from .piece_file import piece_executable


def piece_cycles(code: PieceCode, chip: Chip) -> int:
    """Emulated cycles of one launch; emulated only where whoever compiled it has not."""
    return run_timing(piece_executable(code, chip)).cycles if code.cycles is None else code.cycles
