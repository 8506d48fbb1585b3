"""Encoded inputs and outputs of executables: as tensors for users, and as bytes in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...dialects.step_notes import StepNotes, noted_steps
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
    steps: StepNotes = field(default_factory=StepNotes)
    """What they have to do with loops whose number of steps is known at run time only."""

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
            noted_steps(target.notes) if isinstance(target, Executable) else StepNotes(),
        )

    def in_memory(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """
        Inputs in the form of the chip, encoded ones as bytes. Raises InputError, naming the input, also for a number of
        steps that is too large.
        """
        for name, most in self.steps.most.items():
            given = np.asarray(inputs.get(name, 0))
            if given.size == 1 and given.dtype.kind in "iu" and int(given.reshape(-1)[0]) > most:
                number = int(given.reshape(-1)[0])
                raise InputError(
                    f"input '{name}' is {number}: the network was compiled for at most {most} steps; compile it with "
                    f"--max-steps {number} (in Python: max_steps={number})"
                )
        return self.encoded.pack(inputs, self._shapes)

    def read(self, outputs: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Encoded]]:
        """
        Dense values of all outputs (bf16 as f32), with as many rows as there are, and the encoded ones in their encoded
        form.
        """
        found = self.encoded.unpack(outputs)
        dense = dict(outputs)
        for name, value in found.items():
            array = decode(value)
            dense[name] = widen_bf16(array) if self.encoded.outputs[name].code == BF16 else array
        for name, rows in self.steps.rows.items():
            if name in dense and rows in dense and dense[rows].size == 1:
                dense[name] = dense[name][: int(dense[rows].reshape(-1)[0])]
        for rows in set(self.steps.rows.values()):
            dense.pop(rows, None)
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
