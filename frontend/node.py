"""The interface of an ONNX node for the function that imports its operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

from .builder import Builder
from .strings import encode, is_text
from .tensors import Absent, Array, Dtype, NodeError, Shape, Tensor, TensorSequence, check_steps

if TYPE_CHECKING:
    from .onnx_import import Scope


class Node:
    """One ONNX node with its operands imported."""

    def __init__(self, proto: onnx.NodeProto, inputs: Sequence[Tensor | None], opset: int, scope: Scope):
        self.proto = proto
        self.inputs = list(inputs)
        self.opset = opset
        self.scope = scope
        self.build: Builder = scope.build
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    # ---- operands ----

    def __getitem__(self, index: int) -> Tensor:
        """A required operand."""
        tensor = self.get(index)
        if tensor is None:
            raise NodeError(f"operand {index} is missing")
        return tensor

    def get(self, index: int) -> Tensor | None:
        """An operand; None if it is omitted, or an optional without a value. Raises NodeError for a sequence."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if isinstance(tensor, Absent):
            return None
        if isinstance(tensor, TensorSequence):
            raise NodeError(f"operand {index} is a sequence, expected a tensor")
        return tensor

    def any(self, index: int) -> Tensor:
        """A required operand: a tensor, a sequence or an optional."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            raise NodeError(f"operand {index} is missing")
        return tensor

    def sequence(self, index: int) -> tuple[Tensor, ...]:
        """The tensors of a required sequence operand."""
        tensor = self.any(index)
        if not isinstance(tensor, TensorSequence):
            raise NodeError(f"operand {index} is a tensor, expected a sequence")
        return tensor.items

    def all(self) -> list[Tensor]:
        """All operands of a variadic operator."""
        return [self[index] for index in range(len(self.inputs))]

    def known(self, index: int, what: str) -> Array:
        """The elements of an operand that must be known at import."""
        return self.constant(self[index], what)

    def constant(self, tensor: Tensor, what: str) -> Array:
        """
        The elements of a tensor that must be known at import. Raises a NodeError with the description `what` if they
        are not.
        """
        if tensor.array is None:
            raise NodeError(f"{what} must be known at import, but depends on the network's inputs", tensor.value)
        return tensor.array

    def ints_of(self, index: int, what: str) -> list[int]:
        """An operand that must be known at import, as Python integers."""
        values = self.known(index, what)
        check_steps(values.size, f"numbers in {what}")
        return [int(value) for value in values.reshape(-1)]

    @property
    def output_count(self) -> int:
        """Number of outputs that the node names."""
        return len(self.proto.output)

    def wants(self, index: int) -> bool:
        """Whether the node names an optional output."""
        return index < len(self.proto.output) and self.proto.output[index] != ""

    # ---- attributes ----

    def has(self, name: str) -> bool:
        """Whether an attribute is given."""
        return name in self._attributes

    def int(self, name: str, default: int | None = None) -> int:
        """An integer attribute; required where there is no default."""
        attribute = self._attributes.get(name)
        if attribute is None:
            return self._default(name, default)
        return int(attribute.i)

    def float(self, name: str, default: float | None = None) -> float:
        """A float attribute; required where there is no default."""
        attribute = self._attributes.get(name)
        if attribute is None:
            return self._default(name, default)
        return float(attribute.f)

    def str(self, name: str, default: str | None = None) -> str:
        """A string attribute; required where there is no default."""
        attribute = self._attributes.get(name)
        if attribute is None:
            return self._default(name, default)
        return attribute.s.decode()

    def ints(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A list of integers; required where there is no default."""
        attribute = self._attributes.get(name)
        if attribute is None:
            return list(self._default(name, default))
        return [int(value) for value in attribute.ints]

    def floats(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        """A list of floats; required where there is no default."""
        attribute = self._attributes.get(name)
        if attribute is None:
            return list(self._default(name, default))
        return [float(value) for value in attribute.floats]

    def strs(self, name: str, default: Sequence[str]) -> list[str]:
        """A list of strings."""
        attribute = self._attributes.get(name)
        return list(default) if attribute is None else [value.decode() for value in attribute.strings]

    def graph(self, name: str) -> onnx.GraphProto:
        """A subgraph attribute."""
        if name not in self._attributes:
            raise NodeError(f"attribute {name} is missing")
        return self._attributes[name].g

    def tensor(self, name: str) -> Array:
        """A tensor attribute."""
        if name not in self._attributes:
            raise NodeError(f"attribute {name} is missing")
        return self.scope.array_of(self._attributes[name].t)

    def attributes(self) -> dict[str, AttributeProto]:
        """All attributes by name."""
        return self._attributes

    def axes(self, index: int, since: int, rank: int) -> list[int] | None:
        """Axes from the attribute, or from operand `index` since opset `since`; non-negative. None if not given."""
        if self.opset >= since:
            if self.get(index) is None:
                return None
            axes = self.ints_of(index, "axes")
        elif self.has("axes"):
            axes = self.ints("axes")
        else:
            return None
        for axis in axes:
            if not -rank <= axis < max(rank, 1):
                raise NodeError(f"axis {axis} is out of range for rank {rank}")
        return [axis % rank if rank else 0 for axis in axes]

    def _default(self, name: str, default: Any) -> Any:
        if default is None:
            raise NodeError(f"attribute {name} is missing")
        return default


def numpy_dtype(onnx_type: int) -> Dtype:
    """The numpy dtype of an ONNX element type. Raises NodeError for strings, complex numbers and unknown ones."""
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(onnx_type))
    except (KeyError, ValueError):
        raise NodeError(f"element type {onnx_type} is unknown") from None
    if dtype.kind in "OSUc":
        name = onnx.TensorProto.DataType.Name(onnx_type).lower()
        raise NodeError(f"element type {name} is not supported")
    return dtype


def array_of(proto: onnx.TensorProto, folder: str) -> Array:
    """The elements of a tensor, strings encoded. Raises NodeError for bad data."""
    try:
        array = np.asarray(numpy_helper.to_array(proto, folder))
        return encode(array) if is_text(array.dtype) else array
    except (KeyError, ValueError, TypeError, OSError, onnx.checker.ValidationError) as error:
        raise NodeError(f"tensor {proto.name!r} is damaged: {error}") from error


def resolve_shape(target: Sequence[int], shape: Shape, allow_zero: bool) -> Shape:
    """The shape by ONNX's Reshape: -1 is inferred, 0 is copied from `shape` unless `allow_zero`."""
    sizes = list(target)
    if not allow_zero:
        if any(size == 0 and axis >= len(shape) for axis, size in enumerate(sizes)):
            raise NodeError(f"cannot reshape {list(shape)} to {sizes}: a 0 has no dimension to copy")
        sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    if sizes.count(-1) > 1:
        raise NodeError(f"cannot reshape to {sizes}: more than one -1")
    if -1 in sizes:
        total = int(np.prod(shape, dtype=np.int64))
        others = int(np.prod([size for size in sizes if size != -1], dtype=np.int64))
        sizes[sizes.index(-1)] = total // others if others else 0
    return tuple(sizes)
