"""Operators divided over the cores of a chip (see docs/rationale/manycore.md)."""

from xdsl.ir import Dialect

from .attributes import CHIP, ChipAttr, TilingAttr, chip_of
from .bodies import YieldOp
from .execute import ComputeOp, ExecuteOp, Scratch
from .host import HostConcatOp, HostSliceOp, is_on_host
from .launch import LaunchOp
from .ops import TaskOp
from .repeat import RepeatOp
from .stage import StageOp
from .subgraph import SubgraphOp
from .tiling import Grid, Tiling

Manycore = Dialect(
    "manycore",
    [TaskOp, YieldOp, SubgraphOp, LaunchOp, RepeatOp, ExecuteOp, ComputeOp, StageOp, HostSliceOp, HostConcatOp],
    [ChipAttr, TilingAttr],
)

__all__ = [
    "CHIP",
    "ChipAttr",
    "ComputeOp",
    "ExecuteOp",
    "Grid",
    "HostConcatOp",
    "HostSliceOp",
    "LaunchOp",
    "Manycore",
    "RepeatOp",
    "Scratch",
    "StageOp",
    "SubgraphOp",
    "TaskOp",
    "Tiling",
    "TilingAttr",
    "YieldOp",
    "chip_of",
    "is_on_host",
]
