"""Names of the values of a function of tasks that share the memory of a task's result."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.dataflow import LoopOp, ReshapeOp
from ...dialects.dataflow.loop import YieldOp
from ...dialects.dataflow.types import tensor_of

Values: TypeAlias = tuple[tuple[str, TensorType[Attribute]], ...]
"""Names and types of values with the same bytes."""


def result_values(result: SSAValue) -> Values:
    """
    The values that have the bytes of a task's result: the result, its reshapes, and the results of a loop that its body
    yields it for. Values without a name are omitted.
    """
    found: list[SSAValue] = []
    waiting = [result]
    while waiting:
        value = waiting.pop()
        found.append(value)
        for use in value.uses:
            match use.operation:
                case ReshapeOp():
                    waiting.append(use.operation.results[0])
                case YieldOp() if isinstance(loop := use.operation.parent_op(), LoopOp):
                    waiting += loop.results[use.index : use.index + 1]  # the condition of the loop has none
                case _:
                    pass
    return tuple((value.name_hint, tensor_of(value)) for value in found if value.name_hint)
