"""Values of encoded tensors: `formats.sparse.encode.Encoded`, with elements in storage form (bf16 as bits)."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import bf16, i1

from ...formats.sparse.encode import Encoded, Mask, counts, decode, encode_mask
from ...formats.sparse.fibers import Fibers
from ..dataflow.constants import Array, widen_bf16
from ..dataflow.types import Tensor
from .attributes import IndexAttr
from .types import index_of


def fibers_of(type: Tensor, index: IndexAttr) -> Fibers:
    """The division of a tensor of this type into fibers."""
    return Fibers(tuple(type.get_shape()), index.order, index.axis)


def counting(array: Array, type: Tensor, threshold: float) -> Mask:
    """Which elements of an array in storage form have |x| > threshold."""
    return counts(widen_bf16(array) if type.element_type == bf16 else array, threshold)


def encode_array(array: Array, type: Tensor, index: IndexAttr) -> Encoded:
    """The encoding of an array of this type, in storage form."""
    mask = counting(array, type, index.threshold)
    return encode_mask(array, mask, index.format, fibers_of(type, index))


def connect_array(connected: Array, type: Tensor, index: IndexAttr) -> Encoded:
    """
    The connection data of the true elements of an array; the threshold of the index is ignored, as it applies to
    values.
    """
    return encode_mask(connected, connected, index.format, fibers_of(type, index))


def as_encoded(value: Any, type: Tensor) -> Encoded:
    """The value of an encoded type. Inputs of a program are arrays, and are encoded here."""
    index = index_of(type)
    assert index is not None
    if isinstance(value, Encoded):
        return value
    return (connect_array if type.element_type == i1 else encode_array)(value, type, index)


def as_array(value: Any) -> Array:
    """The elements of a dense or an encoded value."""
    return decode(value) if isinstance(value, Encoded) else value
