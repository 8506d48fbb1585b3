"""
Encoded inputs and outputs of a compiled network: their description, and their layout in memory.

In memory, and to the chip, an encoded tensor is bytes [panels, 1, bytes] (see `panels`). A note of the module and of
the executable describes these bytes, by the tensor's name:

    {"inputs": {"c": {"type": "i1", "shape": [4, 64], "index": "direct"}}, "outputs": {}}

In addition to `index` (direct, stride or a plug-in's kind), there are `bits`, `group`, `order`, `axis` and
`threshold`, as in `#sparse.index`, with the same defaults.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .bits import Array, Bytes
from .connection import connection_mask
from .encode import Encoded, Mask, counts, decode, encode_mask
from .fibers import Fibers
from .index_formats import Format, Order
from .index_kind import kind_named
from .panels import Panels, computed_panels, pack_fibers, unpack_fibers

ENCODED = "encoded"
"""Key of the note."""
Side = Literal["inputs", "outputs"]
_TYPES = {
    "f32": "<f4", "f16": "<f2", "bf16": "<u2", "f64": "<f8", "i1": "?", "i8": "i1", "ui8": "u1", "i16": "<i2",
    "ui16": "<u2", "i32": "<i4", "ui32": "<u4", "i64": "<i8", "ui64": "<u8",
}  # fmt: skip
"""NumPy types in which elements are stored, by the name of their type in the IR (bf16 as its bits)."""
CODES = {
    "f32": 0, "f16": 1, "bf16": 2, "f64": 3, "i8": 4, "ui8": 5, "i16": 6, "ui16": 7, "i32": 8, "ui32": 9, "i64": 10,
    "ui64": 11, "i1": 12,
}  # fmt: skip
"""Type codes of the instruction set, by the name of the type in the IR."""
_MOST = 1 << 40
"""Upper limit on the elements of a tensor, to reject damaged notes."""


@dataclass(frozen=True)
class EncodedTensor:
    """An encoded tensor of the network's interface."""

    type: str
    """Name of the element type in the IR."""
    fibers: Fibers
    format: Format
    threshold: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor that is encoded."""
        return self.fibers.shape

    @property
    def code(self) -> int:
        """Type code of the elements."""
        return CODES[self.type]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type in which elements are stored."""
        return np.dtype(_TYPES[self.type])

    def panels(self, shape: tuple[int, ...]) -> Panels:
        """The panels of the tensor in bytes of this shape. Raises ValueError if the shape does not match."""
        if len(shape) != 3 or min(self.fibers.count, self.fibers.length, *shape) < 1:
            raise ValueError(f"bytes of shape {list(shape)} are not panels")
        width = -(-self.fibers.count // shape[0])
        panels = computed_panels(self.format, self.fibers.count, self.fibers.length, width, self.dtype.itemsize)
        if (*panels.counts, panels.nbytes) != tuple(shape):
            raise ValueError(f"bytes of shape {list(shape)} are not those of {self}")
        return panels

    def __str__(self) -> str:
        return f"{self.type} {list(self.shape)} with a {self.format} index"

    def encoded(self, value: Array | Encoded) -> Encoded:
        """
        A dense value, encoded (elements that count are stored), or an encoded value, after a check. Raises InputError
        for a value of another shape, type or index, and for damaged streams.
        """
        if not isinstance(value, Encoded):
            if value.shape != self.shape or value.dtype != self.dtype:
                raise InputError(f"{value.dtype}{list(value.shape)}: expected {self.dtype}{list(self.shape)}")
            return encode_mask(value, self._counting(value), self.format, self.fibers)
        if (value.format, value.fibers) != (self.format, self.fibers):
            raise InputError(f"it has a {value.format} index of {value.fibers}: expected {self}")
        if value.values.dtype != self.dtype or value.values.ndim != 1:
            raise InputError(f"values of type {value.values.dtype}: expected a row of {self.dtype}")
        decode(value)
        return value

    def _counting(self, array: Array) -> Mask:
        if self.type == "i1":  # connection data: the threshold applies to the values that it was derived from
            return array
        wide = np.left_shift(array, 16, dtype=np.uint32).view(np.float32) if self.type == "bf16" else array
        return counts(wide, self.threshold)

    def pack(self, value: Array | Encoded, shape: tuple[int, ...]) -> Bytes:
        """The bytes of a value, in this shape. Raises InputError as `encoded` does, and ValueError as `panels` does."""
        found = self.encoded(value)
        matrix, mask = (self.fibers.matrix(one) for one in (decode(found), connection_mask(found)))
        return pack_fibers(matrix, mask, self.panels(shape))

    def unpack(self, data: Bytes) -> Encoded:
        """The encoded value of these bytes. Raises InputError for damaged bytes, and ValueError as `panels` does."""
        parts = unpack_fibers(data, self.panels(data.shape), self.dtype)
        matrix = np.concatenate([decode(part) for part in parts])
        mask = np.concatenate([connection_mask(part) for part in parts])
        return encode_mask(self.fibers.tensor(matrix), self.fibers.tensor(mask), self.format, self.fibers)

    def as_json(self) -> dict[str, Any]:
        """The description of the tensor in the note."""
        found: dict[str, Any] = {"type": self.type, "shape": list(self.shape), "index": str(self.format.kind)}
        given = {
            "bits": (self.format.bits, 1),
            "group": (self.format.group, 1),
            "order": (str(self.fibers.order), str(Order.OUTPUT)),
            "axis": (self.fibers.axis, 0),
            "threshold": (self.threshold, 0.0),
        }
        return found | {name: value for name, (value, default) in given.items() if value != default}


@dataclass(frozen=True)
class EncodedInterface:
    """The encoded inputs and outputs of a network, by name."""

    inputs: Mapping[str, EncodedTensor] = field(default_factory=dict[str, EncodedTensor])
    outputs: Mapping[str, EncodedTensor] = field(default_factory=dict[str, EncodedTensor])

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)

    @property
    def note(self) -> str:
        """The text of the note."""
        return json.dumps(
            {
                side: {name: one.as_json() for name, one in tensors.items()}
                for side, tensors in (("inputs", self.inputs), ("outputs", self.outputs))
            },
            sort_keys=True,
        )

    def pack(self, inputs: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
        """Inputs in their layout in memory; encoded ones as bytes of these shapes. InputError names the input."""
        found = dict(inputs)
        for name, tensor in self.inputs.items():
            try:
                found[name] = tensor.pack(inputs[name], shapes[name])
            except (InputError, ValueError) as error:
                raise InputError(f"input '{name}': {error}") from error
        return found

    def unpack(self, outputs: Mapping[str, NDArray[Any]]) -> dict[str, Encoded]:
        """The encoded outputs. Raises InputError, naming the output, for damaged bytes."""
        found: dict[str, Encoded] = {}
        for name, tensor in self.outputs.items():
            try:
                found[name] = tensor.unpack(outputs[name])
            except (InputError, ValueError) as error:
                raise InputError(f"output '{name}': {error}") from error
        return found


def read_interface(text: str | None) -> EncodedInterface:
    """The interface of a note; without a note, an empty one. Raises InputError for a damaged note."""
    if text is None:
        return EncodedInterface()
    try:
        whole = cast("dict[str, Any]", json.loads(text))
        sides = {side: {name: _tensor(one) for name, one in whole[side].items()} for side in ("inputs", "outputs")}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"the note '{ENCODED}' is damaged: it describes no encoded tensors ({error})") from error
    return EncodedInterface(**sides)


def _tensor(given: dict[str, Any]) -> EncodedTensor:
    known = {"type", "shape", "index", "bits", "group", "order", "axis", "threshold"}
    if unknown := sorted(set(given) - known):
        raise ValueError(f"unknown '{unknown[0]}'")
    kind, order = kind_named(given["index"]), Order(given.get("order", Order.OUTPUT))
    shape = tuple(_integer(size, 0) for size in given["shape"])
    threshold = float(given.get("threshold", 0.0))
    if given["type"] not in _TYPES or not kind.in_blocks or math.prod(shape) > _MOST:
        raise ValueError("no such type, index or shape")
    if not kind.by_input and order != Order.OUTPUT:
        raise ValueError(f"a {kind.name} index has a fiber for each output neuron")
    if not 0 <= threshold < math.inf:
        raise ValueError(f"threshold {threshold}")
    format = Format(kind.name, _integer(given.get("bits", 1), 1), _integer(given.get("group", 1), 1))
    return EncodedTensor(given["type"], Fibers(shape, order, _integer(given.get("axis", 0), 0)), format, threshold)


def _integer(value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{value!r} where a number of at least {least} is expected")
    return value
