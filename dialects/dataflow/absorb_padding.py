"""Replacement of a `pad` by the padding of the convolution or window reduction that reads its result."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .base import ints
from .constants import scalar_array
from .contraction import ConvOp
from .movement import PadOp
from .reduction import ReduceWindowOp, identity
from .types import element_of


def _padding(value: SSAValue, neutral: float) -> PadOp | None:
    """The `pad` that defines a value, if it pads with `neutral` and inserts nothing between elements; else None."""
    pad = value.owner
    if not isinstance(pad, PadOp) or any(ints(pad.interior)):
        return None
    element = element_of(value)
    same = scalar_array(pad.number, element).tobytes() == scalar_array(neutral, element).tobytes()
    return pad if same else None


def without_pad(op: ConvOp | ReduceWindowOp) -> ConvOp | ReduceWindowOp | None:
    """
    The operation with the padding of the `pad` before it added to its own, on the operand of that `pad`; None if it
    cannot do this padding.
    """
    if isinstance(op, ConvOp):
        pad = _padding(op.operand, op.padding)
        if pad is None or any((*ints(pad.low)[:2], *ints(pad.high)[:2])):
            return None
        low, high = ints(pad.low)[2:], ints(pad.high)[2:]
        return ConvOp(
            pad.operand,
            op.weights,
            strides=ints(op.strides),
            dilations=ints(op.dilations),
            pad_low=list(map(sum, zip(low, ints(op.pad_low), strict=True))),
            pad_high=list(map(sum, zip(high, ints(op.pad_high), strict=True))),
            groups=op.group_count,
            pad_value=op.padding,
            nonzero=None if op.nonzero is None else op.expected,
            result_element=element_of(op.result),
        )
    pad = _padding(op.operand, identity(op.kind.data, element_of(op.operand)))
    if pad is None:
        return None
    return ReduceWindowOp(
        pad.operand,
        op.kind,
        ints(op.window),
        strides=ints(op.strides),
        dilations=ints(op.dilations),
        pad_low=list(map(sum, zip(ints(pad.low), ints(op.pad_low), strict=True))),
        pad_high=list(map(sum, zip(ints(pad.high), ints(op.pad_high), strict=True))),
    )
