"""Pass `dataflow-fuse-loops`: fuse independent loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore.stage import networks_of
from .shared.chip_option import chip_for
from .shared.fuse_loops import fuse_loops
from .shared.kept_loops import stays_loop

WEIGHT_SHARE = 0.6
"""The largest share of the SRAM of all cores for the constants of a fused loop."""


@dataclass(frozen=True)
class DataflowFuseLoopsPass(ModulePass):
    """
    Fuse independent loops of `@main` that have the same number of steps, such as the two directions of a layer: while
    cores exchange values of one of them, they compute the other. Only loops that are not unrolled are fused, and only
    if the constants of both fit in the cores together.
    """

    name = "dataflow-fuse-loops"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for network in networks_of(op):
            fuse_main(network, chip_for(network, self.chip, f"{self.name}{{chip=NAME}}"))


def fuse_main(module: ModuleOp, chip: Chip) -> bool:
    """Fuse the loops of `@main`. Returns whether any were fused."""
    room = int(WEIGHT_SHARE * chip.sram_bytes * len(chip.usable_cores))
    return fuse_loops(find_main(module).body.block, stays_loop, room)
