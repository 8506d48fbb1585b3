"""Reads `.onnx` files and the input shapes that they declare."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import onnx
from google.protobuf.message import DecodeError

from ..support.errors import InputError
from ..support.input_files import read_regular
from .external_data import check_external_data

ModelLike: TypeAlias = "str | Path | bytes | onnx.ModelProto"


def read_model(model: ModelLike) -> tuple[onnx.ModelProto, Path | None, bytes]:
    """(model, its path or None, its bytes or None). Raises InputError if it is not an ONNX model."""
    if isinstance(model, onnx.ModelProto):
        check_external_data(model, "")
        return model, None, b""
    path: Path | None = None
    data = b""
    if isinstance(model, bytes):
        data = model
    else:
        path = Path(model)
        try:
            data = read_regular(path)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    where = str(path) if path else "the model"
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        raise InputError(f"{where} is not an ONNX model or is damaged (protobuf cannot read it)") from None
    if not proto.HasField("graph") or not proto.graph.output:
        raise InputError(f"{where} is not an ONNX model: it has no graph with outputs")
    if not proto.opset_import:
        raise InputError(f"{where} does not name its operator set (opset_import is empty)")
    check_external_data(proto, str(path.parent) if path else "")
    return proto, path, data


def static_size(dim: onnx.TensorShapeProto.Dimension) -> int | None:
    """The size of a dimension; None if it is symbolic or missing."""
    return int(dim.dim_value) if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0 else None


def describe_shape(info: onnx.ValueInfoProto) -> str:
    """The declared shape of an input, for messages."""
    dims = info.type.tensor_type.shape.dim
    return (
        "["
        + ", ".join(dim.dim_param or str(static_size(dim) if static_size(dim) is not None else "?") for dim in dims)
        + "]"
    )
