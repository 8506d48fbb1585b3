"""The `dataflow` dialect object: all operations and attributes, and how folded constants become operations again."""

from __future__ import annotations

from typing import cast

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Dialect, Operation

from . import contraction, elementwise, movement, reduction
from .loop import LoopOp, YieldOp
from .partial_conv import PartialConvOp
from .quantize import QuantizeOp
from .reshape import ReshapeOp
from .scatter import ScatterModeAttr, ScatterOp
from .sources import ConstantOp, Dense, WeightOp

OPERATIONS: list[type[Operation]] = [
    ConstantOp,
    WeightOp,
    elementwise.NegOp,
    elementwise.AbsOp,
    elementwise.ExpOp,
    elementwise.LogOp,
    elementwise.SqrtOp,
    elementwise.RsqrtOp,
    elementwise.ReciprocalOp,
    elementwise.TanhOp,
    elementwise.SigmoidOp,
    elementwise.ErfOp,
    elementwise.FloorOp,
    elementwise.CeilOp,
    elementwise.RoundOp,
    elementwise.SignOp,
    elementwise.SinOp,
    elementwise.CosOp,
    elementwise.NotOp,
    elementwise.IsNanOp,
    elementwise.IsInfOp,
    elementwise.ReluOp,
    elementwise.CastOp,
    elementwise.BitcastOp,
    elementwise.AddOp,
    elementwise.SubOp,
    elementwise.MulOp,
    elementwise.DivOp,
    elementwise.PowOp,
    elementwise.MaximumOp,
    elementwise.MinimumOp,
    elementwise.ModOp,
    elementwise.FmodOp,
    elementwise.AndOp,
    elementwise.OrOp,
    elementwise.XorOp,
    elementwise.ShiftLeftOp,
    elementwise.ShiftRightOp,
    elementwise.CompareOp,
    elementwise.SelectOp,
    QuantizeOp,
    contraction.MatmulOp,
    contraction.ConvOp,
    PartialConvOp,
    reduction.ReduceOp,
    reduction.ReduceWindowOp,
    reduction.ArgReduceOp,
    reduction.CumsumOp,
    ReshapeOp,
    movement.TransposeOp,
    movement.SliceOp,
    movement.ConcatOp,
    movement.PadOp,
    movement.BroadcastOp,
    movement.GatherOp,
    ScatterOp,
    movement.IotaOp,
]
"""Those with one result, which `evaluate` computes."""


class ConstantMaterialization(ConstantMaterializationInterface):
    """Makes `dataflow.constant` of the attributes that folding gives."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, DenseIntOrFPElementsAttr):
            return None
        dense = cast(Dense, value)
        return ConstantOp(dense) if dense.get_type() == type else None


Dataflow = Dialect(
    "dataflow",
    [*OPERATIONS, LoopOp, YieldOp],
    [elementwise.PredicateAttr, reduction.ReductionAttr, ScatterModeAttr],
    [ConstantMaterialization()],
)
