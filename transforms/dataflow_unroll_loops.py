"""Pass `dataflow-unroll-loops`: operations for every step of a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..dialects.dataflow.unroll_loops import no_loop, unroll_loops
from .shared.kept_loops import stays_loop


@dataclass(frozen=True)
class DataflowUnrollLoopsPass(ModulePass):
    """
    Put the body of each loop once for every step in its place, loops in loops included. Loops are brought into their
    canonical form before, so that what is the same in all steps is there once.

    What is cut, tiled and placed are operations outside of loops. `keep`: loops whose steps can be carried out as they
    stand stay.
    """

    name = "dataflow-unroll-loops"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    keep: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op, stays_loop if self.keep else no_loop)
