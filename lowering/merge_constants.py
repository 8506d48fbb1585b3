"""Constants of a function that are equal, as one."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.transforms.common_subexpression_elimination import OperationInfo

from ..analysis.function_graph import is_source


def merge_constants(function: FuncOp) -> None:
    """Let each value that is known stand once in a function, where it stands first."""
    first: dict[OperationInfo, Operation] = {}
    for op in list(function.body.block.ops):
        if is_source(op):
            kept = first.setdefault(OperationInfo(op), op)
            if kept is not op:
                Rewriter.replace_op(op, [], kept.results)
