"""Selection of the loops of operators that stay loops down to instructions; all others are unrolled."""

from __future__ import annotations

from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ...analysis.planning.loops import scan_shapes_fit
from ...analysis.tasks.grouping import is_tiled
from ...dialects.dataflow import LoopOp, ReshapeOp
from ...dialects.dataflow.loop import YieldOp
from ...dialects.dataflow.types import shape_of
from ...dialects.manycore import SubgraphOp, TaskOp
from ...dialects.sparse import MatmulOp as SparseMatmulOp

FEWEST_STEPS = 8
"""
A loop of fewer steps is unrolled, if their number is known: its code is short, and consists mostly of its first and
last steps.
"""


def _is_carried_out(op: Operation) -> bool:
    """Whether an operation becomes a task or part of a task; operations of `sparse` do after lowering."""
    return is_tiled(op) or isinstance(op, ReshapeOp | TaskOp | YieldOp) or op.name == SparseMatmulOp.name


def stays_loop(loop: LoopOp) -> bool:
    """
    Whether a loop can be executed as a loop: `may_stay_loop` holds, and the steps of scanned and stacked values are
    contiguous.
    """
    return may_stay_loop(loop) and scan_shapes_fit(loop)


def may_stay_loop(loop: LoopOp) -> bool:
    """
    Whether a loop can be executed as a loop once the steps of scanned and stacked values are contiguous: it is in a
    function, or in one of its subgraphs, and contains operators without nested loops.
    """
    function = loop.parent_op()
    if isinstance(function, SubgraphOp):
        function = function.parent_op()
    if not isinstance(function, FuncOp):
        return False
    inside = list(loop.body.block.ops)
    values = [*loop.operands, *loop.results, *loop.body.block.args, *(one for op in inside for one in op.results)]
    return (
        loop.step_count >= (FEWEST_STEPS if loop.may_run_all else 1)
        and len(inside) > 1
        and all(_is_carried_out(op) for op in inside)
        and all(prod(shape_of(value)) for value in values)
    )
