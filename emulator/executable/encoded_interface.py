"""Encoded inputs and outputs of executables: as tensors for users, and as bytes in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...formats.sparse.encode import Encoded, decode
from ...formats.sparse.encoded_interface import ENCODED, EncodedInterface, EncodedTensor, read_interface
from ...support.errors import InputError
from ..machine.memory import BF16, U8, Array, widen_bf16
from .chip_pipeline import NETWORK, ChipPipeline
from .executable import Executable, TensorInfo


@dataclass(frozen=True)
class HostInterface:
    """The inputs and outputs of a network, on one chip or on several."""

    encoded: EncodedInterface
    inputs: tuple[TensorInfo, ...]
    """The inputs for users: encoded ones have the shape and the type of the dense tensor."""
    outputs: tuple[TensorInfo, ...]
    _shapes: Mapping[str, tuple[int, ...]]
    """Shapes of the inputs in memory."""

    @staticmethod
    def of(target: Executable | ChipPipeline) -> HostInterface:
        """The interface of an executable. Raises InputError if its note of encoded tensors is damaged."""
        if isinstance(target, Executable):
            inputs, outputs = target.inputs, target.outputs
            encoded = encoded_interface(target)
        else:
            inputs, outputs = target.input_tensors(), target.output_tensors()
            encoded = _of_chips(target)
        return HostInterface(
            encoded,
            tuple(_logical(info, encoded.inputs) for info in inputs),
            tuple(_logical(info, encoded.outputs) for info in outputs),
            {info.name: tuple(info.shape) for info in inputs},
        )

    def in_memory(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Inputs in the form of the chip, encoded ones as bytes. Raises InputError, naming the input."""
        return self.encoded.pack(inputs, self._shapes)

    def read(self, outputs: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Encoded]]:
        """Dense values of all outputs (bf16 as f32), and the encoded ones in their encoded form."""
        found = self.encoded.unpack(outputs)
        dense = dict(outputs)
        for name, value in found.items():
            array = decode(value)
            dense[name] = widen_bf16(array) if self.encoded.outputs[name].code == BF16 else array
        return dense, found


def encoded_interface(exe: Executable) -> EncodedInterface:
    """The encoded tensors of one chip's program. Raises InputError if its note does not match its tensors."""
    found = read_interface(exe.notes.get(ENCODED))
    for side, tensors in ((found.inputs, exe.inputs), (found.outputs, exe.outputs)):
        known = {info.name: info for info in tensors}
        for name, encoded in side.items():
            info = known.get(name)
            try:
                if info is None or info.dtype != U8:
                    raise ValueError("there are no such bytes")
                encoded.panels(tuple(info.shape))
            except ValueError as error:
                raise InputError(f"the note '{ENCODED}' does not fit tensor '{name}': {error}") from error
    return found


def _of_chips(pipeline: ChipPipeline) -> EncodedInterface:
    inputs: dict[str, EncodedTensor] = {}
    outputs: dict[str, EncodedTensor] = {}
    own = [encoded_interface(exe) for exe in pipeline.chips]
    for one, feeds in zip(own, pipeline.feeds, strict=True):
        inputs |= {feeds[name].name: tensor for name, tensor in one.inputs.items() if feeds[name].chip == NETWORK}
    for name, chip in pipeline.outputs:
        if name in own[chip].outputs:
            outputs[name] = own[chip].outputs[name]
    return EncodedInterface(inputs, outputs)


def _logical(info: TensorInfo, encoded: Mapping[str, EncodedTensor]) -> TensorInfo:
    if (tensor := encoded.get(info.name)) is None:
        return info
    return replace(info, dtype=tensor.code, shape=tensor.shape)
