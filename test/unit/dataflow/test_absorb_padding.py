"""Padding of a `pad` that the convolution after it does itself."""

from __future__ import annotations

from meshloom.dialects.dataflow import ConvOp, PadOp
from meshloom.dialects.dataflow.absorb_padding import without_pad
from meshloom.dialects.dataflow.base import ints
from meshloom.dialects.dataflow.types import tensor
from meshloom.formats.sparse.nonzero import Nonzero
from xdsl.dialects.builtin import f32
from xdsl.dialects.test import TestOp


def test_the_convolution_keeps_its_other_attributes() -> None:
    x, w = TestOp(result_types=[tensor(f32, (1, 2, 8)), tensor(f32, (4, 1, 3))]).results
    pad = PadOp(x, [0, 0, 2], [0, 0, 1], [0, 0, 0], 0.0)
    conv = ConvOp(pad.result, w, strides=[2], pad_low=[1], groups=2, nonzero=Nonzero(0.5))
    found = without_pad(conv)
    assert isinstance(found, ConvOp)
    assert found.operand is x
    assert (ints(found.pad_low), ints(found.pad_high)) == ((3,), (1,))
    assert (ints(found.strides), found.group_count, found.expected) == ((2,), 2, conv.expected)
    assert found.result.type == conv.result.type
