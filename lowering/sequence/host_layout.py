"""Host memory of a network (inputs, outputs, weights, spilled values), and the copies around its launches."""

from __future__ import annotations

from collections.abc import Iterator

from ...emulator.executable.executable import Role, TensorInfo
from ..launch.dram_segments import ALIGNMENT, padded
from ..linker.constants import constant_bytes
from ..linker.controller import Boundary, Copy
from .dram_residency import DramAllocation, Residency
from .launch_sequence import LaunchSequence, NamedTensor, TensorSegment

NOWHERE = -1
"""The host address of a tensor that has no host memory."""


class HostLayout:
    """The layout of host memory, given the residency in DRAM."""

    def __init__(self, sequence: LaunchSequence, residency: Residency) -> None:
        self._sequence, self._residency = sequence, residency
        self._cursor = 0
        self._input_at: dict[int, int] = {}
        self._inputs: list[tuple[NamedTensor, int]] = []
        self._output_at: list[tuple[NamedTensor, int]] = []
        for tensor in sequence.inputs:
            host = self._reserve(tensor.nbytes)
            self._input_at |= {segment.number: host + segment.offset for segment in tensor.segments}
            self._inputs.append((tensor, host))
        for tensor in sequence.outputs:
            self._output_at.append((tensor, NOWHERE if tensor.stays_in_dram else self._reserve(tensor.nbytes)))
        self.weights_address = self._cursor
        self._block_at = {
            launch: self._reserve(sum(padded(constant_bytes(sequence.constants[one]).size) for one in block))
            for launch, block in residency.blocks.items()
        }
        self._spilled_at = {
            number: self._reserve(sequence.values[number].nbytes) for number in sorted(residency.spilled)
        }
        self.end = self._cursor
        """One past the last byte that is used."""

    def _reserve(self, nbytes: int) -> int:
        at = self._cursor
        self._cursor += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return at

    def block_address(self, launch: int) -> int:
        """The host address of the weights of a launch that are copied in as one block."""
        return self._block_at[launch]

    def kept(self) -> list[tuple[int, int]]:
        """(address, bytes) of the memory of spilled values."""
        return [(address, self._sequence.values[number].nbytes) for number, address in self._spilled_at.items()]

    def tensors(self) -> list[TensorInfo]:
        """The executable's table of inputs and outputs."""
        residency = self._residency
        table: list[TensorInfo] = []

        def add(role: Role, tensor: NamedTensor, dram: int, host: int) -> None:
            table.append(TensorInfo(tensor.name, role, tensor.dtype, tensor.shape, dram, tensor.nbytes, host))

        # Inputs and outputs in several blocks are never in DRAM as a whole: they get address 0.
        for tensor, host in self._inputs:
            number = tensor.segments[0].number
            first = next(one for one in residency.allocations if one.kind == "value" and one.number == number)
            dram = residency.address("value", number, first.first) if len(tensor.segments) == 1 else 0
            add("input", tensor, dram, host)
        for tensor, host in self._output_at:
            if tensor.stays_in_dram:
                last = len(self._sequence.parts) - 1
                dram = residency.address(tensor.segments[0].kind, tensor.segments[0].number, last)
            else:
                dram = self._copied_from(tensor.segments[0]) if len(tensor.segments) == 1 else 0
            add("output", tensor, dram, host)
        return table

    def _copied_from(self, segment: TensorSegment) -> int:
        launch = self._residency.copied_out[segment.number][0] if segment.kind == "value" else 0
        return self._residency.address(segment.kind, segment.number, launch)

    def boundaries(self) -> list[Boundary]:
        """The copies around each launch."""
        sequence, residency = self._sequence, self._residency
        launches = [Boundary() for _ in sequence.parts]
        for one, address in zip(residency.allocations, residency.addresses, strict=True):
            if one.copied_in_for < 0:
                continue
            copy = Copy(True, address, self._source_address(one), one.nbytes)
            if one.first < one.copied_in_for:
                launches[one.first].beside.append(copy)
            else:
                launches[one.copied_in_for].before.append(copy)
        for segment, host in self._outputs():
            copy = Copy(False, self._copied_from(segment), host, segment.nbytes)
            launch, beside = len(launches) - 1, False
            if segment.kind == "value":
                launch, beside = residency.copied_out[segment.number]
            (launches[launch].after_beside if beside else launches[launch].after).append(copy)
        for number, host in self._spilled_at.items():
            launch, beside = residency.copied_out[number]
            copy = Copy(False, residency.address("value", number, launch), host, sequence.values[number].nbytes)
            (launches[launch].after_beside if beside else launches[launch].after).append(copy)
        return launches

    def _source_address(self, one: DramAllocation) -> int:
        """The host address that the initial content of an allocation is copied from."""
        if one.kind == "block":
            return self._block_at[one.number]
        if one.number in self._input_at:
            return self._input_at[one.number]
        if one.number in self._spilled_at:
            return self._spilled_at[one.number]
        return next(at for segment, at in self._outputs() if (segment.kind, segment.number) == ("value", one.number))

    def _outputs(self) -> Iterator[tuple[TensorSegment, int]]:
        """The values that hold the outputs for the host, and their addresses there."""
        for tensor, host in self._output_at:
            for segment in () if tensor.stays_in_dram else tensor.segments:
                yield segment, host + segment.offset
