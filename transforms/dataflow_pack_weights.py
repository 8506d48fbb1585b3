"""Pass `dataflow-pack-weights`: store two 4-bit weights in a byte."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..dialects.dataflow import Contraction, ConvOp, WeightOp
from ..dialects.dataflow.constants import Array
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_of, i4_pair, is_float, shape_of, tensor, ui4_pair, ui8
from ..dialects.locations import at
from ..formats.pairs import pack_pairs
from ..formats.weights import STORE
from .shared.constants import weight_of
from .shared.offloaded_values import is_offloaded

RANGES: tuple[tuple[Attribute, int, int], ...] = ((i4_pair, -8, 7), (ui4_pair, 0, 15))
"""Types of pairs, with the least and the largest integer that each holds."""


class DataflowPackWeightsPass(ModulePass):
    """
    Store two weights of 8-bit integers in a byte if 4 bits are sufficient for all of them, and if all of their readers
    are contractions that sum over the same axis: cores widen them while they multiply.

    Weights in the text (`dataflow.constant`) stay as they are, and so do offloaded ones.
    """

    name = "dataflow-pack-weights"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for weight in [one for one in op.walk() if isinstance(one, WeightOp)]:
            axis = _summed_axis(weight.result)
            if axis is not None and (found := _type_of(array := evaluate(weight, ()))) is not None:
                with at(weight):
                    _pack(weight, array, found, axis)


def _summed_axis(value: SSAValue) -> int | None:
    """
    The axis that is reduced by all contractions that read a value; None if it has other readers, or the axes differ.
    """
    if element_of(value) not in (i8, ui8) or is_offloaded(value):
        return None
    uses = [(use.operation, use.index) for use in value.uses]
    axes = {_axis_of(op, index) for op, index in uses}
    axis = axes.pop() if len(axes) == 1 else None
    return axis if axis is not None and shape_of(value)[axis] > 1 else None


def _axis_of(op: Operation, index: int) -> int | None:
    """The axis along which an operand of a contraction can be stored as pairs; None for other operands."""
    if not isinstance(op, Contraction) or (isinstance(op, ConvOp) and index == 0):
        return None
    other = element_of(op.operands[1 - index])
    return op.inner_axis(index) if is_float(other) or other == i8 else None


def _type_of(array: Array) -> Attribute | None:
    """The type of pairs that can hold all integers of an array, or None."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    return next((type for type, least, most in RANGES if least <= low and high <= most), None)


def _pack(weight: WeightOp, array: Array, element: Attribute, axis: int) -> None:
    pairs = pack_pairs(array, axis)
    packed = weight_of(STORE.put(pairs), tensor(element, pairs.shape), weight.sym_name.data)
    packed.result.name_hint = weight.result.name_hint
    Rewriter.insert_op(packed, InsertPoint.before(weight))
    weight.result.replace_all_uses_with(packed.result)
    Rewriter.erase_op(weight)
