"""Loss functions of a network's result and a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...dialects.dataflow import ExpOp, LogOp, ReduceOp
from ...dialects.dataflow.types import Tensor, element_of, is_float, shape_of, tensor, tensor_of
from ...support.errors import InputError
from .graph import Graph


@dataclass(frozen=True)
class Loss:
    """A loss function."""

    target: Callable[[SSAValue], Tensor]
    """Type of the target for a result of the network. Raises InputError for results that the loss does not accept."""
    build: Callable[[SSAValue, SSAValue, Graph], SSAValue]
    """(result, target, graph) -> the loss, a tensor of rank 0."""


def _logits(result: SSAValue) -> Tensor:
    shape = shape_of(result)
    if len(shape) != 2 or not is_float(element_of(result)):
        raise InputError(f"softmax-cross-entropy takes logits [batch, classes] of floats, the result is {result.type}")
    return tensor(i64, shape[:1])


def _softmax_cross_entropy(logits: SSAValue, labels: SSAValue, b: Graph) -> SSAValue:
    """The mean over the batch of log(sum exp(z)) - z[label]; the largest z is subtracted before the exponential."""
    batch, classes = shape_of(logits)
    centred = b.sub(logits, b.emit(ReduceOp(logits, "max", (1,))))
    normaliser = b.emit(LogOp(b.sum(b.emit(ExpOp(centred)), (1,))))
    hit = b.compare(b.reshape(labels, (batch, 1)), "eq", b.positions((1, classes), 1))
    picked = b.sum(b.where(hit, centred, 0.0), (1,))
    return b.div(b.reshape(b.sum(b.sub(normaliser, picked), (0, 1)), ()), float(batch))


def _same(result: SSAValue) -> Tensor:
    if not is_float(element_of(result)):
        raise InputError(f"mean-squared-error takes floats, the result is {result.type}")
    return tensor_of(result)


def _mean_squared_error(result: SSAValue, target: SSAValue, b: Graph) -> SSAValue:
    difference = b.sub(result, target)
    total = b.sum(b.mul(difference, difference), range(len(shape_of(result))))
    return b.div(b.reshape(total, ()), float(max(1, math.prod(shape_of(result)))))


LOSSES: dict[str, Loss] = {
    "softmax-cross-entropy": Loss(_logits, _softmax_cross_entropy),
    "mean-squared-error": Loss(_same, _mean_squared_error),
}
