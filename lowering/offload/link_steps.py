"""Link steps with addresses to one program: relocated launches, host memory, and the actions of the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...dialects.dataflow.types import dtype_code, shape_of
from ...emulator.executable.executable import Role, TensorInfo
from ..launch.dram_segments import ALIGNMENT
from ..launch.lower_launch import LoweredLaunch, lower_launch
from ..linker.controller import Action, Copy, stepwise_actions
from ..linker.device_program import ConstantBlock, DeviceProgram, PlacedLaunch
from .device_layout import DeviceLayout, ordered_waits
from .device_steps import Move, Run, SegmentLocation, Slot


def _host_addresses(slots: Sequence[Slot]) -> list[int]:
    """Host addresses of inputs, outputs, constants that are copied in, and temporaries."""
    addresses, cursor = [0] * len(slots), 0
    for kind in ("input", "output", "constant", "kept"):
        for number, slot in enumerate(slots):
            if slot.kind == kind:
                addresses[number] = cursor
                cursor += -(-slot.nbytes // ALIGNMENT) * ALIGNMENT
    return addresses


def link_steps(function: FuncOp, layout: DeviceLayout, notes: Mapping[str, str], chip: Chip) -> DeviceProgram:
    """The linked program. `notes`: those of the caller."""
    steps = layout.steps
    host = _host_addresses(steps.slots)
    launches: list[PlacedLaunch] = []
    lowered: dict[str, LoweredLaunch] = {}
    """Functions with a launch, by content, since many launches may be equal."""
    for step, action in zip(steps.program.steps, steps.actions, strict=True):
        if isinstance(action, Run):
            compiled = action.compiled
            segments = _segments(action, layout)
            names, digest = compiled.task_names, compiled.code.digest
            if digest not in lowered:
                lowered[digest] = lower_launch(find_main(compiled.code.tiled.module), chip)
            values = compiled.values_named(lowered[digest].values)
            code = lowered[digest].function
            launches.append(PlacedLaunch(step.name, code, names, segments, len(names), compiled.locations, values))
    resident = [
        ConstantBlock("dram", address, (steps.constants[number],))
        for number, address in sorted(layout.constants.items())
    ]
    held = [
        ConstantBlock("host", address, (steps.constants[slot.number],))
        for slot, address in zip(steps.slots, host, strict=True)
        if slot.kind == "constant"
    ]
    kept = [(address, slot.nbytes) for slot, address in zip(steps.slots, host, strict=True) if slot.kind == "kept"]
    tensors = tuple(_tensors(function, layout, host))
    actions = tuple(_actions(layout, host))
    return DeviceProgram(tuple(launches), actions, (*resident, *held), tensors, tuple(kept), notes)


def _address(location: SegmentLocation, layout: DeviceLayout) -> int:
    return layout.constants[location.number] if location.kind == "constant" else layout.addresses[location.number]


def _segments(run: Run, layout: DeviceLayout) -> tuple[int, ...]:
    """DRAM address of each segment; empty segments get 0."""
    missing = len(run.compiled.code.segments) - len(run.segment_locations)
    return (*(_address(location, layout) for location in run.segment_locations), *(0 for _ in range(missing)))


def _tensors(function: FuncOp, layout: DeviceLayout, host: Sequence[int]) -> list[TensorInfo]:
    block = function.body.block
    last = block.last_op
    assert last is not None
    where: dict[int, int] = {}
    for action in layout.steps.actions:
        if isinstance(action, Move):
            where.setdefault(action.slot, _address(action.location, layout))
    values = [*block.args, *last.operands]
    names = [*argument_names(function), *result_names(function)]
    roles: list[Role] = [*["input" for _ in block.args], *["output" for _ in last.operands]]
    table: list[TensorInfo] = []
    for number, (value, name, role) in enumerate(zip(values, names, roles, strict=True)):
        slot = layout.steps.slots[number]
        info = TensorInfo(
            name, role, dtype_code(value), shape_of(value), where.get(number, 0), slot.nbytes, host[number]
        )
        table.append(info)
    return table


def _actions(layout: DeviceLayout, host: Sequence[int]) -> list[Action]:
    steps = layout.steps
    waits = ordered_waits(steps.program)
    todo: list[Copy | None] = [
        None
        if isinstance(action, Run)
        else Copy(
            action.to_device, _address(action.location, layout), host[action.slot],
            steps.slots[action.slot].nbytes,
        )
        for action in steps.actions
    ]  # fmt: skip
    return stepwise_actions(todo, waits)
