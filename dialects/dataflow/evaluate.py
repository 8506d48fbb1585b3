"""
The reference semantics: `evaluate(op, operands)` computes any `dataflow` operation with numpy.

Folding, the interpreter and the tests of the tiling interface use this function. Arrays are in *storage form* (bf16 as
uint16 bit patterns, i1 as bool, pairs of 4-bit integers as bytes); operations that compute widen bf16 to f32
(*computing form*) and round the result once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import bf16

from .base import ComputedOp, DataflowOp
from .constants import Array, array_of, narrow_bf16, numpy_type, widen_bf16
from .contraction import Contraction, ConvOp, MatmulOp
from .elementwise import BitcastOp, CastOp, ElementwiseOp
from .evaluate_contraction import (
    evaluate_conv,
    evaluate_matmul,
    evaluate_partial_conv,
    evaluate_partial_matmul,
    unpacked,
)
from .evaluate_elementwise import cast_array, evaluate_elementwise
from .evaluate_movement import evaluate_movement
from .evaluate_reduction import evaluate_arg_reduce, evaluate_cumsum, evaluate_reduce, evaluate_reduce_window
from .evaluate_scatter import evaluate_scatter
from .partial import PartialOp
from .partial_conv import PartialConvOp
from .partial_matmul import PartialMatmulOp
from .reduction import ArgReduceOp, CumsumOp, ReduceOp, ReduceWindowOp
from .scatter import ScatterOp
from .sources import ConstantOp, WeightOp
from .types import element_of, shape_of


def evaluate(op: DataflowOp, operands: Sequence[Array]) -> Array:
    """
    The result of an operation for operand values in storage form; it may be a view of an operand.

    Raises MeshloomError for indices out of range and for weights whose bytes are missing or changed.
    """
    match op:
        case ConstantOp():
            return array_of(op.value)  # pyright: ignore[reportArgumentType]
        case WeightOp():
            return weight_array(op)
        case ComputedOp() if not isinstance(op, ElementwiseOp):
            return op.compute(operands)
        case BitcastOp():
            return np.ascontiguousarray(operands[0]).view(numpy_type(element_of(op.result))).reshape(operands[0].shape)
        case (
            ElementwiseOp()
            | MatmulOp()
            | ConvOp()
            | PartialOp()
            | ReduceOp()
            | ReduceWindowOp()
            | ArgReduceOp()
            | CumsumOp()
            | ScatterOp()
        ):
            wide = [
                widen_bf16(array) if element_of(value) == bf16 else array
                for value, array in zip(op.operands, operands, strict=True)
            ]
            if isinstance(op, Contraction | PartialOp):
                wide = unpacked(op, wide)
            with np.errstate(all="ignore"):
                return _compute(op, wide)
        case _:
            return evaluate_movement(op, list(operands))


def _compute(op: DataflowOp, operands: list[Array]) -> Array:
    """The result, computed in computing form and converted to storage form."""
    element = element_of(op.results[0])
    match op:
        case CastOp():
            return cast_array(operands[0], element)
        case ComputedOp():
            result = op.compute(operands)
        case ElementwiseOp():
            result = evaluate_elementwise(op, operands)
        case MatmulOp():
            result = evaluate_matmul(op, operands[0], operands[1])
        case ConvOp():
            result = evaluate_conv(op, operands[0], operands[1])
        case PartialConvOp():
            result = evaluate_partial_conv(op, operands[0], operands[1])
        case PartialMatmulOp():
            result = evaluate_partial_matmul(op, operands[0], operands[1])
        case ReduceOp():
            result = evaluate_reduce(op, operands[0])
        case ReduceWindowOp():
            result = evaluate_reduce_window(op, operands[0])
        case ArgReduceOp():
            result = evaluate_arg_reduce(op, operands[0])
        case CumsumOp():
            result = evaluate_cumsum(op, operands[0])
        case ScatterOp():
            result = evaluate_scatter(op, *operands)
        case _:
            raise NotImplementedError(op.name)
    if element == bf16:
        return narrow_bf16(result)
    return result.astype(numpy_type(element), copy=False)


def weight_array(op: WeightOp) -> Array:
    """The elements of a weight, from the store of weights."""
    from ...formats import weights

    reference = weights.WeightRef(op.source.data, op.offset.value.data, op.bytes.value.data, op.sha256.data)
    return weights.STORE.get(reference, numpy_type(element_of(op.result)), shape_of(op.result))
