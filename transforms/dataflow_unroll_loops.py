"""Pass `dataflow-unroll-loops`: replace loops by operations for every step."""

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
    Replace each loop, including nested ones, by a copy of its body for every step. Loops are first brought into
    canonical form, so that loop invariants are not repeated.

    `keep`: loops whose steps can be executed as a loop are kept.
    """

    name = "dataflow-unroll-loops"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    keep: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op, stays_loop if self.keep else no_loop)
