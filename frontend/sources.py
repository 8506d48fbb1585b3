"""Locations of a model's tensors in its files, so that weights can refer to them instead of copying them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType

from ..formats import weights
from ..formats.weights import WeightRef
from ..support.errors import InputError
from ..support.input_files import open_regular
from .tensors import Array

# The fields of ONNX's protobuf messages that contain tensors (None: the raw bytes themselves). The messages are
# recursive (a node's attribute may hold a graph), hence the assignments below.
_TENSOR: dict[int, Any] = {4: None, 9: None, 10: None}  # packed floats, raw bytes, packed doubles
_NODE: dict[int, Any] = {}
_GRAPH: dict[int, Any] = {1: _NODE, 5: _TENSOR}
_ATTRIBUTE: dict[int, Any] = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH}
_NODE[5] = _ATTRIBUTE
_MODEL: dict[int, Any] = {7: _GRAPH, 25: {7: _NODE}}

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def raw_tensors(data: memoryview, message: Mapping[int, Any] = _MODEL, base: int = 0) -> Iterator[tuple[int, int]]:
    """(offset, length) of the raw bytes of every tensor in a serialised model that protobuf can parse."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _BYTES:
            length, at = _varint(data, at)
            if (key >> 3) in message:
                inner = message[key >> 3]
                if inner is None:
                    yield base + at, length
                else:
                    yield from raw_tensors(data[at : at + length], inner, base + at)
            at += length
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise InputError("the model holds a protobuf group, which ONNX does not use")


class Sources:
    """Finds the file and offset of known values by their bytes; values that no file has are stored in memory."""

    def __init__(self, at_least: int):
        self._at_least = at_least
        self._refs: dict[str, WeightRef] = {}

    def add_model(self, path: str, data: bytes) -> None:
        """Add the tensors inside an `.onnx` file."""
        view = memoryview(data)
        for offset, length in raw_tensors(view):
            self.add(path, offset, view[offset : offset + length])

    def add_external(self, folder: str, tensor: onnx.TensorProto) -> None:
        """Add a tensor's bytes in an external data file; their validity is not checked here."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = Path(folder) / entries.get("location", "")
        try:
            offset = int(entries.get("offset", "0"))
            with open_regular(path) as file:
                left = max(0, os.fstat(file.fileno()).st_size - offset)
                file.seek(offset)
                # `read` allocates as many bytes as are requested, so no more than the file has are requested.
                data = file.read(min(left, int(entries.get("length", left))))
        except (OSError, ValueError):
            return
        self.add(str(path), offset, memoryview(data))

    def add(self, path: str, offset: int, data: memoryview) -> None:
        """Add a range of bytes of a file."""
        if len(data) >= self._at_least:
            digest = weights.sha256_of(np.frombuffer(data, np.uint8))
            self._refs.setdefault(digest, WeightRef(path, offset, len(data), digest))

    def reference(self, array: Array) -> WeightRef:
        """The key of an array's bytes."""
        digest = weights.sha256_of(weights.raw_bytes(array))
        return self._refs.get(digest) or weights.STORE.put(array)

    @staticmethod
    def inline(array: Array, type: TensorType[Any]) -> DenseIntOrFPElementsAttr[Any]:
        """The attribute of a small constant."""
        return DenseIntOrFPElementsAttr(type, BytesAttr(weights.raw_bytes(array).tobytes()))
