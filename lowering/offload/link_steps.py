"""From steps with places to an executable: launches at their addresses, host memory, the controller's program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...dialects.dataflow.entry_function import argument_names, result_names
from ...dialects.dataflow.types import dtype_code, shape_of
from ...emulator.executable import Executable, Role, TensorInfo
from ..constants import constant_bytes
from ..controller import Copy, stepwise_program
from ..dram_layout import ALIGNMENT, padded
from ..link_network import link_codes
from ..task_notes import joined_notes
from .device_layout import DeviceLayout, ordered_waits
from .device_steps import Move, Place, Run


class _Host:
    """Host memory: inputs, outputs, constants that are copied in, and what is kept there for a while."""

    def __init__(self, layout: DeviceLayout) -> None:
        self.addresses: list[int] = [0] * len(layout.steps.slots)
        self.bounds: dict[str, tuple[int, int]] = {}
        cursor = 0
        for kind in ("input", "output", "constant", "kept"):
            start = cursor
            for number, slot in enumerate(layout.steps.slots):
                if slot.kind == kind:
                    self.addresses[number] = cursor
                    cursor += -(-slot.nbytes // ALIGNMENT) * ALIGNMENT
            self.bounds[kind] = (start, cursor)

    def weights(self, layout: DeviceLayout) -> NDArray[np.uint8]:
        """The bytes of the constants' area."""
        start, end = self.bounds["constant"]
        data = np.zeros(end - start, np.uint8)
        for slot, address in zip(layout.steps.slots, self.addresses, strict=True):
            if slot.kind == "constant":
                content = constant_bytes(layout.steps.constants[slot.number])
                data[address - start : address - start + content.size] = content
        return data


def link_steps(chip: Chip, function: FuncOp, layout: DeviceLayout, notes: Mapping[str, str]) -> Executable:
    """
    The executable. `notes` of the caller join those of the tasks.

    Raises ResourceError for more sets of receivers than can be named.
    """
    steps = layout.steps
    runs = [action for action in steps.actions if isinstance(action, Run)]
    names = [run.piece.task_names for run in runs]
    segments = [_segments(run, layout) for run in runs]
    linked = link_codes(chip, [run.piece.code for run in runs], segments, names)
    host = _Host(layout)
    weights = host.weights(layout)
    kept = host.bounds["kept"]
    return Executable(
        chip=chip,
        tensors=_tensors(function, layout, host),
        programs=linked.programs,
        launches=linked.launches,
        core_sets=linked.core_sets,
        controller=_controller(layout, host),
        weights=_resident(layout),
        weights_address=0,
        dram_bytes_used=layout.used,
        source_names=linked.source_names,
        notes={**notes, "tasks": joined_notes([run.piece.code.notes for run in runs], names)},
        host_weights=weights,
        host_weights_address=host.bounds["constant"][0] if weights.size else 0,
        host_bytes_used=kept[1] if kept[1] > kept[0] else 0,
    )


def _address(place: Place, layout: DeviceLayout) -> int:
    return layout.constants[place.number] if place.kind == "constant" else layout.addresses[place.number]


def _segments(run: Run, layout: DeviceLayout) -> NDArray[np.int64]:
    """DRAM address of each segment; what needs no place within the launch gets 0."""
    found = np.zeros(len(run.piece.code.segments), np.int64)
    found[: len(run.places)] = [_address(place, layout) for place in run.places]
    return found


def _tensors(function: FuncOp, layout: DeviceLayout, host: _Host) -> list[TensorInfo]:
    block = function.body.block
    last = block.last_op
    assert last is not None
    where: dict[int, int] = {}
    for action in layout.steps.actions:
        if isinstance(action, Move):
            where.setdefault(action.slot, _address(action.place, layout))
    values = [*block.args, *last.operands]
    names = [*argument_names(function), *result_names(function)]
    roles: list[Role] = [*["input" for _ in block.args], *["output" for _ in last.operands]]
    table: list[TensorInfo] = []
    for number, (value, name, role) in enumerate(zip(values, names, roles, strict=True)):
        slot = layout.steps.slots[number]
        info = TensorInfo(
            name, role, dtype_code(value), shape_of(value), where.get(number, 0), slot.nbytes, host.addresses[number]
        )
        table.append(info)
    return table


def _resident(layout: DeviceLayout) -> NDArray[np.uint8]:
    constants = {number: constant_bytes(layout.steps.constants[number]) for number in layout.constants}
    end = max((layout.constants[number] + padded(content.size) for number, content in constants.items()), default=0)
    data = np.zeros(end, np.uint8)
    for number, content in constants.items():
        data[layout.constants[number] : layout.constants[number] + content.size] = content
    return data


def _controller(layout: DeviceLayout, host: _Host) -> NDArray[np.void]:
    steps = layout.steps
    todo: list[Copy | None] = [
        None
        if isinstance(action, Run)
        else Copy(
            action.to_device, _address(action.place, layout), host.addresses[action.slot],
            steps.slots[action.slot].nbytes,
        )
        for action in steps.actions
    ]  # fmt: skip
    return stepwise_program(todo, ordered_waits(steps.program))
