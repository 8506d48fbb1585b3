"""Signatures of a model's inputs, as declared or as given, and checks that an executable supports them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx

from ..support.errors import InputError
from .model_file import describe_shape, static_size
from .node import numpy_dtype
from .signatures import Signature, TensorSignature, member
from .tensors import Array, NodeError, Shape, is_float, is_string

_NAMES_OF_BATCH = ("n", "b", "batch", "batch_size")
_REMEDY = "executables have tensors of numbers only; meshloom.backend supports other inputs"
_KINDS = {
    "sequence_type": "a sequence",
    "optional_type": "an optional",
    "map_type": "a map",
    "sparse_tensor_type": "a sparse tensor",
    "opaque_type": "an opaque type",
}


def declared_inputs(
    where: str, graph: onnx.GraphProto, shapes: Mapping[str, Shape], values: Mapping[str, Any]
) -> tuple[dict[str, Signature], list[str]]:
    """
    The signatures of the inputs as declared, with these shapes; and a message for each dimension that is assumed.

    Raises InputError for unknown names, for shapes that do not fit or are unknown, and for inputs other than tensors of
    numbers.
    """
    infos = _inputs(graph)
    _check_names(where, infos, [*shapes, *values])
    symbols: dict[str, int] = {}
    for name, shape in shapes.items():
        _check_shape(where, infos[name], shape)
        for dim, size in zip(infos[name].type.tensor_type.shape.dim, shape, strict=False):
            if dim.dim_param and dim.dim_param != "?":
                symbols[dim.dim_param] = size
    result: dict[str, Signature] = {}
    missing: list[str] = []
    assumed: list[str] = []
    for name, info in infos.items():
        kind = info.type.WhichOneof("value") or "unknown"
        if kind in ("sequence_type", "optional_type") or info.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            raise InputError(f"{where}: input {name!r} is {_KINDS.get(kind, 'a tensor of strings')}: {_REMEDY}")
        if name in values:
            shape = np.shape(values[name])
        elif name in shapes:
            shape = tuple(shapes[name])
        else:
            shape = _guess(where, info, symbols, missing, assumed)
        result[name] = _tensor(where, info, shape)
    if missing:
        raise InputError(f"{where} has inputs of unknown shape:\n" + "\n".join(missing))
    return result, assumed


def fixed_inputs(where: str, graph: onnx.GraphProto, values: Mapping[str, Any]) -> dict[str, Array]:
    """
    The values of inputs that are constants, in the type and shape that the model declares.

    A single number fits any declared shape of one element. Raises InputError for unknown names, and for values that
    the declared type cannot hold or that have another shape.
    """
    infos = _inputs(graph)
    _check_names(where, infos, values)
    return {name: _fixed(where, infos[name], value) for name, value in values.items()}


def _fixed(where: str, info: onnx.ValueInfoProto, value: Any) -> Array:
    position = f"{where}: the value of input {info.name!r}"
    given: Array = np.asarray(value)
    if given.dtype.kind not in "biufV":
        raise InputError(f"{position} is not an array of numbers")
    dims = info.type.tensor_type.shape.dim
    if given.size == 1 and info.type.tensor_type.HasField("shape") and all(static_size(dim) == 1 for dim in dims):
        given = given.reshape([1] * len(dims))
    dtype = _tensor(where, info, given.shape).dtype
    _check_shape(where, info, given.shape)
    with np.errstate(all="ignore"):
        held = given.astype(dtype)
        exact = is_float(dtype) or bool(np.all(held.astype(given.dtype) == given))
    if not exact:
        raise InputError(f"{position} does not fit its type {dtype}")
    return held


def given_inputs(where: str, graph: onnx.GraphProto, given: Mapping[str, Signature]) -> dict[str, Signature]:
    """The signatures of the given inputs. Raises InputError if they do not match the model's declarations."""
    infos = _inputs(graph)
    _check_names(where, infos, given)
    if left := [name for name in infos if name not in given]:
        raise InputError(f"{where}: input {left[0]!r} is not given")
    return {name: _fit(where, info, given[name]) for name, info in infos.items()}


def check_outputs(where: str, outputs: Mapping[str, Signature]) -> None:
    """Raises InputError if an output is not a tensor of numbers."""
    for name, signature in outputs.items():
        match signature:
            case None:
                what = "an optional without a value"
            case tuple():
                what = "a sequence"
            case TensorSignature():
                if not is_string(signature.dtype):
                    continue
                what = "a tensor of strings"
        raise InputError(f"{where}: output {name!r} is {what}: {_REMEDY}")


def _inputs(graph: onnx.GraphProto) -> dict[str, onnx.ValueInfoProto]:
    initialised = {tensor.name for tensor in graph.initializer}
    return {info.name: info for info in graph.input if info.name not in initialised}


def _check_names(where: str, infos: Collection[str], names: Collection[str]) -> None:
    for name in names:
        if name not in infos:
            raise InputError(f"{where} has no input {name!r}; its inputs are: {', '.join(sorted(infos)) or 'none'}")


def _tensor(where: str, info: onnx.ValueInfoProto, shape: Shape) -> TensorSignature:
    if not info.type.HasField("tensor_type"):
        kind = _KINDS.get(info.type.WhichOneof("value") or "", "of no type")
        raise InputError(f"{where}: input {info.name!r} is {kind}, which is not supported")
    try:
        return TensorSignature(shape, numpy_dtype(info.type.tensor_type.elem_type))
    except NodeError as error:
        raise InputError(f"{where}: input {info.name!r}: {error}") from error


def _fit(where: str, info: onnx.ValueInfoProto, given: Signature) -> Signature:
    """The signature of a given input, with the declared element type."""
    declared = info.type
    if declared.HasField("optional_type"):
        inner = onnx.ValueInfoProto(name=info.name, type=declared.optional_type.elem_type)
        return None if given is None else _fit(where, inner, given)
    if declared.HasField("sequence_type") and isinstance(given, tuple):
        item = declared.sequence_type.elem_type
        infos = [onnx.ValueInfoProto(name=member(info.name, position), type=item) for position in range(len(given))]
        return tuple(_fit(where, inner, one) for inner, one in zip(infos, given, strict=True))
    if declared.HasField("sequence_type") or not isinstance(given, TensorSignature):
        wanted = _KINDS.get(declared.WhichOneof("value") or "", "a tensor")
        raise InputError(f"{where}: input {info.name!r} is {wanted}, but another type is given")
    _check_shape(where, info, given.shape)
    if declared.tensor_type.elem_type == onnx.TensorProto.STRING and is_string(given.dtype):
        return given
    return _tensor(where, info, given.shape)


def _check_shape(where: str, info: onnx.ValueInfoProto, shape: Shape) -> None:
    if not info.type.tensor_type.HasField("shape"):
        return
    dims = info.type.tensor_type.shape.dim
    if len(dims) != len(shape) or any(
        static_size(dim) not in (None, size) for dim, size in zip(dims, shape, strict=True)
    ):
        raise InputError(
            f"{where}: shape {'x'.join(map(str, shape))} does not fit input {info.name!r},"
            f" which is declared as {describe_shape(info)}"
        )


def _guess(
    where: str, info: onnx.ValueInfoProto, symbols: Mapping[str, int], missing: list[str], assumed: list[str]
) -> Shape:
    """
    The declared shape with symbolic dimensions bound by other inputs, and 1 for dimensions that look like a batch.
    """
    if not info.type.tensor_type.HasField("shape"):
        missing.append(f"  {info.name}: no shape declared; give one, e.g. --shape {info.name}=1x3x224x224")
        return ()
    dims = info.type.tensor_type.shape.dim
    sizes: list[int | None] = []
    guessed: list[str] = []
    for axis, dim in enumerate(dims):
        size = static_size(dim)
        if size is None:
            size = symbols.get(dim.dim_param)
        if size is None and (axis == 0 or dim.dim_param.lower() in _NAMES_OF_BATCH):
            size = 1
            guessed.append(f"'{dim.dim_param}'" if dim.dim_param else f"number {axis}")
        sizes.append(size)
    if None in sizes:
        example = "x".join("?" if size is None else str(size) for size in sizes)
        missing.append(f"  {info.name}: {describe_shape(info)}; give it as --shape {info.name}={example}")
    elif guessed:
        example = "x".join(map(str, sizes))
        assumed.append(
            f"{where}: input {info.name!r} is {describe_shape(info)}, dimension {' and '.join(guessed)} is "
            f"taken as 1; set it with --shape {info.name}={example} (in Python: shapes=)"
        )
    return tuple(size or 0 for size in sizes)
