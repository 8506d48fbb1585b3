"""Host memory of a linked network (inputs, outputs, weights, kept values), and the copies that go with each launch."""

from __future__ import annotations

from collections.abc import Iterator

from ...emulator.executable.executable import Role, TensorInfo
from ..launch.dram_segments import ALIGNMENT, padded
from ..linker.constants import constant_bytes
from ..linker.controller import Boundary, Copy
from .dram_residency import Residency, Stay
from .launch_sequence import LaunchSequence, NamedTensor, TensorSegment

NOWHERE = -1
"""In place of a host address."""


class HostLayout:
    """The layout of host memory, given the residency in DRAM."""

    def __init__(self, sequence: LaunchSequence, residency: Residency) -> None:
        self._serial, self._residency = sequence, residency
        self._cursor = 0
        self._input_at: dict[int, int] = {}
        self._inputs: list[tuple[NamedTensor, int]] = []
        self._output_at: list[tuple[NamedTensor, int]] = []
        for tensor in sequence.inputs:
            host = self._reserve(tensor.nbytes)
            self._input_at |= {segment.number: host + segment.offset for segment in tensor.segments}
            self._inputs.append((tensor, host))
        for tensor in sequence.outputs:
            self._output_at.append((tensor, NOWHERE if tensor.stays else self._reserve(tensor.nbytes)))
        self.weights_address = self._cursor
        self._block_at = {
            launch: self._reserve(sum(padded(constant_bytes(sequence.constants[one]).size) for one in block))
            for launch, block in residency.blocks.items()
        }
        self._kept_at = {number: self._reserve(sequence.values[number].nbytes) for number in sorted(residency.spilled)}
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
        """(address, bytes) of values that are kept temporarily."""
        return [(address, self._serial.values[number].nbytes) for number, address in self._kept_at.items()]

    def tensors(self) -> list[TensorInfo]:
        """The executable's table of inputs and outputs."""
        residency = self._residency
        table: list[TensorInfo] = []

        def add(role: Role, tensor: NamedTensor, dram: int, host: int) -> None:
            table.append(TensorInfo(tensor.name, role, tensor.dtype, tensor.shape, dram, tensor.nbytes, host))

        # Inputs and outputs in blocks are not in DRAM as a whole.
        for tensor, host in self._inputs:
            number = tensor.segments[0].number
            first = next(stay for stay in residency.stays if stay.kind == "value" and stay.number == number)
            dram = residency.address("value", number, first.first) if len(tensor.segments) == 1 else 0
            add("input", tensor, dram, host)
        for tensor, host in self._output_at:
            if tensor.stays:
                last = len(self._serial.parts) - 1
                dram = residency.address(tensor.segments[0].kind, tensor.segments[0].number, last)
            else:
                dram = self._leaves_from(tensor.segments[0]) if len(tensor.segments) == 1 else 0
            add("output", tensor, dram, host)
        return table

    def _leaves_from(self, segment: TensorSegment) -> int:
        launch = self._residency.leaving[segment.number][0] if segment.kind == "value" else 0
        return self._residency.address(segment.kind, segment.number, launch)

    def boundaries(self) -> list[Boundary]:
        """The copies around each launch."""
        sequence, residency = self._serial, self._residency
        launches = [Boundary() for _ in sequence.parts]
        for stay, address in zip(residency.stays, residency.addresses, strict=True):
            if stay.arrives_for < 0:
                continue
            copy = Copy(True, address, self._home(stay), stay.nbytes)
            if stay.first < stay.arrives_for:
                launches[stay.first].beside.append(copy)
            else:
                launches[stay.arrives_for].before.append(copy)
        for segment, host in self._outputs():
            copy = Copy(False, self._leaves_from(segment), host, segment.nbytes)
            launch, beside = len(launches) - 1, False
            if segment.kind == "value":
                launch, beside = residency.leaving[segment.number]
            (launches[launch].after_beside if beside else launches[launch].after).append(copy)
        for number, host in self._kept_at.items():
            launch, beside = residency.leaving[number]
            copy = Copy(False, residency.address("value", number, launch), host, sequence.values[number].nbytes)
            (launches[launch].after_beside if beside else launches[launch].after).append(copy)
        return launches

    def _home(self, stay: Stay) -> int:
        """The host address of the initial content of a stay."""
        if stay.kind == "block":
            return self._block_at[stay.number]
        if stay.number in self._input_at:
            return self._input_at[stay.number]
        if stay.number in self._kept_at:
            return self._kept_at[stay.number]
        return next(at for segment, at in self._outputs() if (segment.kind, segment.number) == ("value", stay.number))

    def _outputs(self) -> Iterator[tuple[TensorSegment, int]]:
        """The values that hold the outputs for the host, and their addresses there."""
        for tensor, host in self._output_at:
            for segment in () if tensor.stays else tensor.segments:
                yield segment, host + segment.offset
