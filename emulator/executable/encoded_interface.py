"""Inputs and outputs of executables, encoded ones included: as tensors for users, and as bytes in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...dialects.step_notes import StepNotes, noted_steps
from ...formats.sparse.encode import Encoded, decode
from ...formats.sparse.encoded_interface import ENCODED, EncodedInterface, EncodedTensor, read_interface
from ...support.errors import InputError
from ...support.sizes import UpTo, shape_fits
from ..machine.memory import BF16, U8, Array, widen_bf16
from .chip_pipeline import NETWORK, ChipPipeline
from .executable import Executable, TensorInfo


@dataclass(frozen=True)
class HostInterface:
    """The inputs and outputs of a network, on one chip or on several."""

    encoded: EncodedInterface
    inputs: tuple[TensorInfo, ...]
    """The inputs for users: encoded ones have shape and type of the dense tensor."""
    outputs: tuple[TensorInfo, ...]
    _shapes: Mapping[str, tuple[int, ...]]
    """Shapes of the inputs in memory."""
    steps: StepNotes = field(default_factory=StepNotes)
    """The relation of inputs and outputs to the numbers of steps of dynamic loops."""

    @staticmethod
    def of(target: Executable | ChipPipeline) -> HostInterface:
        """The interface of an executable. Raises InputError if its note of encoded tensors is damaged."""
        if isinstance(target, Executable):
            inputs, outputs = target.inputs, target.outputs
            encoded = encoded_interface(target)
        else:
            inputs, outputs = target.input_tensors(), target.output_tensors()
            encoded = _of_chips(target)
        # Each stage has the note of the whole network.
        notes = target.notes if isinstance(target, Executable) else target.chips[0].notes
        steps = _fitting_steps(noted_steps(notes), inputs, outputs)
        return HostInterface(
            encoded,
            tuple(
                _of_any_length(_logical(info, encoded.inputs), steps)
                for info in inputs
                if info.name not in steps.hidden
            ),
            tuple(
                _of_any_length(_logical(info, encoded.outputs), steps)
                for info in outputs
                if info.name not in steps.hidden
            ),
            {info.name: tuple(info.shape) for info in inputs},
            steps,
        )

    def in_memory(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """
        Inputs as the chip reads them; encoded ones as bytes. Raises InputError, naming the input, for an input that
        does not match, and for a number of steps, or a length of a sequence, that is too large.
        """
        for name, longest in self.steps.sequences.items():
            _check_lengths(name, np.asarray(inputs.get(name, 0)), longest)
        for name, most in self.steps.most.items():
            given = np.asarray(inputs.get(name, 0))
            if given.size == 1 and given.dtype.kind in "iu" and int(given.reshape(-1)[0]) > most:
                number = int(given.reshape(-1)[0])
                raise InputError(
                    f"input '{name}' is {number}: the network was compiled for at most {most} steps; compile it with "
                    f"--max-steps {number} (in Python: max_steps={number})"
                )
        return self.encoded.pack(self._in_full(inputs), self._shapes)

    def _in_full(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """`inputs`, with those of variable length padded by zeros to their largest size, and with their lengths."""
        found = dict(inputs)
        for name, (axis, least, who) in self.steps.lengths.items():
            if name not in inputs:
                continue
            value, whole = np.asarray(inputs[name]), self._shapes[name]
            sizes = tuple(UpTo(size, least) if dim == axis else size for dim, size in enumerate(whole))
            if not shape_fits(value.shape, sizes):
                raise InputError(
                    f"input '{name}' has shape {list(value.shape)}: the network was compiled for {list(sizes)}; "
                    "compile it with --shape for others"
                )
            length = np.array(value.shape[axis], np.int64)
            if who in found and found[who] != length:
                raise InputError(f"input '{name}' has {length} rows along axis {axis}, another one {found[who]}")
            found[who] = length
            found[name] = np.zeros(whole, value.dtype)
            found[name][(slice(None),) * axis + (slice(int(length)),)] = value
        return found

    def read(
        self, outputs: Mapping[str, Array], given: Mapping[str, Any]
    ) -> tuple[dict[str, Array], dict[str, Encoded]]:
        """
        Dense values of all outputs (bf16 as f32), cut to their numbers of rows, and the encoded outputs in encoded
        form. `given`: the inputs in memory.
        """
        found = self.encoded.unpack(outputs)
        dense = dict(outputs)
        for name, value in found.items():
            array = decode(value)
            dense[name] = widen_bf16(array) if self.encoded.outputs[name].code == BF16 else array
        for name, (axis, who) in self.steps.rows.items():
            count = dense.get(who, given.get(who))
            if name in dense and count is not None and np.size(count) == 1:
                rows = slice(int(np.reshape(count, -1)[0]))
                dense[name] = dense[name][(slice(None),) * axis + (rows,)]
        for who in self.steps.hidden:
            dense.pop(who, None)
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


def _check_lengths(name: str, given: Array, longest: int) -> None:
    """Raises InputError, naming the input, for a length of a sequence that is negative or over `longest`."""
    if given.dtype.kind not in "iu":
        return
    for index, length in enumerate(given.reshape(-1).tolist()):
        if not 0 <= length <= longest:
            raise InputError(f"input '{name}' has the length {length} for sequence {index}: expected 0 to {longest}")


def _fitting_steps(steps: StepNotes, taken: Iterable[TensorInfo], given: Iterable[TensorInfo]) -> StepNotes:
    """The notes of lengths and numbers of steps, without entries that do not match the inputs and outputs."""
    inputs = {info.name: info.shape for info in taken}
    outputs = {info.name: info.shape for info in given}
    return StepNotes(
        {
            name: [axis, who]
            for name, (axis, who) in steps.rows.items()
            if name in outputs and 0 <= axis < len(outputs[name]) and (who in outputs or who in inputs)
        },
        {name: most for name, most in steps.most.items() if name in inputs},
        {
            name: [axis, least, who]
            for name, (axis, least, who) in steps.lengths.items()
            if name in inputs and who in inputs and 0 <= axis < len(inputs[name]) and 0 < least < inputs[name][axis]
        },
        {name: longest for name, longest in steps.sequences.items() if name in inputs},
    )


def _of_any_length(info: TensorInfo, steps: StepNotes) -> TensorInfo:
    """An input or output, with an `UpTo` as the size of its axis of variable length, if it has one in the notes."""
    least: dict[str, int] = {who: least for _, least, who in steps.lengths.values()}
    said = steps.lengths.get(info.name) or steps.rows.get(info.name)
    if said is None:
        return info
    axis, at_least = int(said[0]), least.get(str(said[-1]), 0)
    if at_least >= info.shape[axis]:
        return info
    return replace(info, shape=(*info.shape[:axis], UpTo(info.shape[axis], at_least), *info.shape[axis + 1 :]))


def _logical(info: TensorInfo, encoded: Mapping[str, EncodedTensor]) -> TensorInfo:
    if (tensor := encoded.get(info.name)) is None:
        return info
    return replace(info, dtype=tensor.code, shape=tensor.shape)
