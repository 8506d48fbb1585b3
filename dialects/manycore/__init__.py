"""Operators cut over the cores of a chip (see docs/rationale/manycore.md)."""

from xdsl.ir import Dialect

from .attributes import CHIP, ChipAttr, TilingAttr, chip_of
from .bodies import YieldOp
from .execute import ExecuteOp, Scratch
from .ops import ExchangeOp, TaskOp
from .subgraph import SubgraphOp
from .tiling import Tiling

Manycore = Dialect("manycore", [TaskOp, YieldOp, ExchangeOp, ExecuteOp, SubgraphOp], [ChipAttr, TilingAttr])

__all__ = [
    "CHIP",
    "ChipAttr",
    "ExchangeOp",
    "ExecuteOp",
    "Manycore",
    "Scratch",
    "SubgraphOp",
    "TaskOp",
    "Tiling",
    "TilingAttr",
    "YieldOp",
    "chip_of",
]
