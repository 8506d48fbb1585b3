"""Operators cut over the cores of a chip (see docs/rationale/manycore.md)."""

from xdsl.ir import Dialect

from .attributes import CHIP, ChipAttr, TilingAttr, chip_of
from .execute import ExecuteOp, Scratch
from .ops import ExchangeOp, TaskOp, YieldOp
from .tiling import Tiling

Manycore = Dialect("manycore", [TaskOp, YieldOp, ExchangeOp, ExecuteOp], [ChipAttr, TilingAttr])

__all__ = [
    "CHIP",
    "ChipAttr",
    "ExchangeOp",
    "ExecuteOp",
    "Manycore",
    "Scratch",
    "TaskOp",
    "Tiling",
    "TilingAttr",
    "YieldOp",
    "chip_of",
]
