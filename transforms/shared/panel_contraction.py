"""Contractions of dense activations with weights in panels, which are packed at compile time or at run time."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import SSAValue

from ...dialects.dataflow import MinimumOp, ReduceWindowOp, ReluOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.dataflow.types import tensor_of
from ...dialects.sparse import (
    ConvOp,
    DecodeOp,
    EncodeOp,
    MatmulOp,
    PanelConvOp,
    PanelMatmulOp,
    PanelOp,
    PanelsAttr,
    PruneGroupsOp,
)
from ...formats.sparse.nonzero import Nonzero

Contraction: TypeAlias = MatmulOp | ConvOp


def on_panels(
    op: Contraction, neurons: SSAValue, layout: PanelsAttr, weights: SSAValue, nonzero: Nonzero | None
) -> PanelOp:
    """The contraction on panels; `nonzero` is the expected share of nonzero activations, if it is known."""
    if isinstance(op, MatmulOp):
        flag = op.transpose_a is not None
        return PanelMatmulOp(neurons, weights, layout, tensor_of(op.result), transpose_a=flag, nonzero=nonzero)
    return PanelConvOp.of(op, neurons, weights, layout, nonzero)


def often_zero(value: SSAValue) -> bool:
    """Whether a value is the result of a ReLU or of run-time pruning, possibly moved since."""
    while isinstance(value.owner, ReduceWindowOp | ReshapeOp | TransposeOp | SliceOp | MinimumOp | EncodeOp | DecodeOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, ReluOp | PruneGroupsOp)
