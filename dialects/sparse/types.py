"""Functions for types of encoded tensors, and their verification."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.index_formats import Order
from ..dataflow.types import Tensor, tensor, tensor_of, verify_tensor
from .attributes import IndexAttr


def index_of(type: Attribute) -> IndexAttr | None:
    """The index of an encoded tensor type; None for all other types."""
    if isinstance(type, TensorType) and isinstance(type.encoding, IndexAttr):
        return type.encoding
    return None


def decoded(type: Tensor) -> Tensor:
    """The type without an encoding."""
    return tensor(type.element_type, type.get_shape())


def encoded(type: Tensor, index: IndexAttr) -> Tensor:
    """The type with this index as its encoding."""
    return TensorType(type.element_type, type.get_shape(), index)


def connection_type(type: Tensor) -> Tensor:
    """The type of the connection data of an encoded tensor: the same index, with i1 elements."""
    return TensorType(i1, type.get_shape(), type.encoding)


def verify_any(value: SSAValue, what: str) -> Tensor:
    """Check that a value is a dense or an encoded tensor; returns its type without encoding. Raises VerifyException."""
    type = tensor_of(value)
    index = index_of(type)
    dense = verify_tensor(decoded(type) if index is not None else type, what)
    if index is not None and index.axis >= len(dense.get_shape()):
        raise VerifyException(f"{what} has type {type}: axis {index.axis} is no dimension of it")
    if index is not None and index.format.group > max(1, _fiber_length(dense, index)):
        raise VerifyException(f"{what} has type {type}: a group is longer than a fiber of it")
    return dense


def _fiber_length(type: Tensor, index: IndexAttr) -> int:
    """Number of elements of a fiber: inputs of an output neuron, or output neurons."""
    shape = type.get_shape()
    outputs = shape[index.axis]
    return math.prod(shape) // max(1, outputs) if index.order == Order.OUTPUT else outputs


def verify_encoded(value: SSAValue, what: str) -> Tensor:
    """Check that a value is an encoded tensor; returns its type. Raises VerifyException."""
    verify_any(value, what)
    if index_of(value.type) is None:
        raise VerifyException(
            f"{what} has type {value.type}: expected an encoded tensor, tensor<..., #sparse.index<...>>"
        )
    return tensor_of(value)


def verify_connections(value: SSAValue, what: str) -> Tensor:
    """Check that a value is connection data; returns its type. Raises VerifyException."""
    type = verify_encoded(value, what)
    if type.element_type != i1:
        raise VerifyException(f"{what} has type {type}: expected connection data, whose element type is i1")
    return type
