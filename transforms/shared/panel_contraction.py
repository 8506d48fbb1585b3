"""Contractions of dense neurons with weights in panels, whether these were packed before the program runs or in it."""

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
    """The contraction on panels, of neurons of which `nonzero` says how many should count, where that is known."""
    if isinstance(op, MatmulOp):
        flag = op.transpose_a is not None
        return PanelMatmulOp(neurons, weights, layout, tensor_of(op.result), transpose_a=flag, nonzero=nonzero)
    return PanelConvOp.of(op, neurons, weights, layout, nonzero)


def often_zero(value: SSAValue) -> bool:
    """Whether a value is cut off at zero, or pruned while the network runs, and perhaps moved since."""
    while isinstance(value.owner, ReduceWindowOp | ReshapeOp | TransposeOp | SliceOp | MinimumOp | EncodeOp | DecodeOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, ReluOp | PruneGroupsOp)
