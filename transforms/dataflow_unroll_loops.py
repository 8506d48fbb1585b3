"""Pass `dataflow-unroll-loops`: operations for every step of a loop."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.nature import EXACT, Nature
from ..dialects.dataflow import LoopOp
from ..dialects.dataflow.loop_steps import LoopSteps


class DataflowUnrollLoopsPass(ModulePass):
    """
    Put the body of each loop once for every step in its place, loops in loops included.

    What is cut, tiled and placed are operations outside of loops.
    """

    name = "dataflow-unroll-loops"
    nature: ClassVar[Nature] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op)


def unroll_loops(root: Operation) -> None:
    """Unroll all loops inside of an operation."""
    loops = [op for op in root.walk() if isinstance(op, LoopOp)]
    for loop in loops[::-1]:  # inner ones first
        steps = LoopSteps(loop)
        for _ in range(loop.step_count):
            steps.step()
        results = steps.results()
        Rewriter.replace_op(loop, steps.ops, results)
