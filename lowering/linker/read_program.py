"""A module of the `memory` level to an executable: machine code of its launches, data, controller."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ...analysis.allocation.allocate import lower_bound
from ...analysis.planning.task_plan import aligned
from ...chips import Chip
from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...dialects.dataflow.types import DTYPE_CODES
from ...dialects.locations import located
from ...dialects.manycore import ExecuteOp, LaunchOp
from ...dialects.memory import AllocOp, BufferType, CopyOp, FreeOp, GlobalOp, Space, ViewOp, WaitOp
from ...dialects.memory.ops import buffer_of
from ...emulator.executable.executable import Executable, Role, TensorInfo
from ...emulator.executable.task_results import NOTE as RESULTS
from ...emulator.executable.task_results import results_as_json
from ...support.errors import InputError
from ..ir.check_chip import check_chip
from ..launch.check_transfers import check_transfers
from ..launch.dram_segments import padded
from ..launch.launch_schedule import schedule_digest
from ..launch.program_notes import notes_of
from ..launch.read_launch import address_of, read_launch
from ..launch.write_launch import CONSTANTS, CYCLES, FIGURES, WORKING
from .constants import constant_bytes, reference_of
from .controller import Action, Begin, Copy, Join, Start, Wait, controller_words
from .executable_data import DataSection
from .link_codes import link_codes
from .relocate import LaunchCode
from .result_notes import task_results
from .select_launch import select_launch
from .write_program import OPERATORS


def read_program(module: ModuleOp, chip: Chip, known: Mapping[str, LaunchCode] | None = None) -> Executable:
    """
    The executable of a module. `known`: machine code of launches that were compiled before, by digest of the schedule.
    Without it, a user may have written the module, and it is checked against the chip.

    Raises InputError naming an operation that cannot be executed, ResourceError for more core sets than fit in 16 bits.
    """
    if known is None:
        check_chip(module, chip)
    return _Reader(module, chip, known or {}).read()


def is_program(module: ModuleOp) -> bool:
    """Whether a module is at the `memory` level: launches over buffers."""
    return any(isinstance(op, LaunchOp) for op in module.walk())


def initial_data(module: ModuleOp) -> list[DataSection]:
    """Initial contents of the memories, by reference where possible."""
    found: list[DataSection] = []
    for op in find_main(module).body.block.ops:
        if isinstance(op, GlobalOp):
            space: Literal["dram", "host"] = "dram" if buffer_of(op.buffer).space is Space.DRAM else "host"
            at = _range(op.buffer)[0]
            for value in op.values:
                owner = _constant(value)
                content = reference_of(owner) if isinstance(owner, WeightOp) else constant_bytes(owner)
                size = constant_bytes(owner).size
                found.append(DataSection(space, at, content, padded(size)))
                at += padded(size)
    return found


@dataclass(frozen=True)
class _Launch:
    op: LaunchOp
    code: LaunchCode
    segments: NDArray[np.int64]

    @property
    def tasks(self) -> list[ExecuteOp]:
        return list(self.op.tasks.values())


class _Reader:
    def __init__(self, module: ModuleOp, chip: Chip, known: Mapping[str, LaunchCode]) -> None:
        self.module, self.chip = module, chip
        self.function: FuncOp = find_main(module)
        self.codes = dict(known)
        self.ops = list(self.function.body.block.ops)

    def read(self) -> Executable:
        launches = [self._launch(op) for op in self.ops if isinstance(op, LaunchOp)]
        names = [[task.sym_name.data for task in launch.tasks] for launch in launches]
        linked = link_codes(
            self.chip, [launch.code for launch in launches], [launch.segments for launch in launches], names
        )
        weights, _ = self._image(Space.DRAM)
        host_weights, host_address = self._image(Space.HOST)
        return Executable(
            chip=self.chip,
            tensors=self._tensors(),
            programs=linked.programs,
            launches=linked.launches,
            core_sets=linked.core_sets,
            controller=controller_words(self._actions()),
            weights=weights,
            weights_address=0,
            dram_bytes_used=self._end(Space.DRAM),
            source_names=linked.source_names,
            notes=self._notes(launches),
            host_weights=host_weights,
            host_weights_address=host_address,
            host_bytes_used=self._spilled_end(),
        )

    def _launch(self, op: LaunchOp) -> _Launch:
        placed = read_launch(op, self.chip)
        digest = schedule_digest(placed.schedule)
        if digest not in self.codes:
            check_transfers(op, placed.schedule)
            self.codes[digest] = select_launch(placed.schedule, self.chip)[1]
        return _Launch(op, self.codes[digest], np.array(placed.segments, np.int64))

    # ---- memories

    def _end(self, space: Space) -> int:
        """The end of the highest buffer in a memory."""
        return max(
            (_range(value)[1] for value in _buffers(self.function) if buffer_of(value).space is space), default=0
        )

    def _spilled_end(self) -> int:
        """The end of the highest buffer of spilled values in host memory; 0: there are none."""
        last = self.function.body.block.last_op
        assert isinstance(last, ReturnOp)
        returned = set(last.operands)
        spilled = [op.buffer for op in self.ops if isinstance(op, AllocOp) and op.buffer not in returned]
        return max((_range(value)[1] for value in spilled if buffer_of(value).space is Space.HOST), default=0)

    def _image(self, space: Space) -> tuple[NDArray[np.uint8], int]:
        """The initial contents of a memory, and the address of the first byte: in DRAM always 0."""
        entries = [entry for entry in initial_data(self.module) if entry.space == space.value]
        start = 0 if space is Space.DRAM else min((entry.address for entry in entries), default=0)
        data = np.zeros(max((entry.end for entry in entries), default=start) - start, np.uint8)
        for entry in entries:
            at = entry.address - start
            data[at : at + entry.nbytes] = entry.load()
        return data, start

    def _tensors(self) -> list[TensorInfo]:
        """Inputs and outputs, with the DRAM address of those that are copied as a whole."""
        block = self.function.body.block
        last = block.last_op
        assert isinstance(last, ReturnOp)
        table: list[TensorInfo] = []

        def add(value: SSAValue, name: str, role: Role, dram: int) -> None:
            type = value.type
            if not isinstance(type, BufferType):
                message = f"@main has {role} '{name}' of type {type}: expected a buffer, run manycore-to-memory first"
                raise located(InputError(message), value)
            code = DTYPE_CODES[type.element_type]
            if role == "output" and type.space is Space.DRAM and type.offset is not None:  # it stays in DRAM
                table.append(TensorInfo(name, role, code, type.shape, type.offset, type.nbytes))
                return
            if type.space is not Space.HOST or type.offset is None:
                message = f"@main has {role} '{name}' of type {type}: expected a buffer with an offset in host"
                raise located(InputError(message), value)
            table.append(TensorInfo(name, role, code, type.shape, dram, type.nbytes, type.offset))

        whole = self._copied_whole()
        for value, name in zip(block.args, argument_names(self.function), strict=True):
            add(value, name, "input", whole.get((True, value), 0))
        for value, name in zip(last.operands, result_names(self.function), strict=True):
            add(value, name, "output", whole.get((False, value), 0))
        return table

    def _copied_whole(self) -> dict[tuple[bool, SSAValue], int]:
        """(whether to DRAM, host buffer) -> the DRAM address of the first copy of the whole buffer."""
        found: dict[tuple[bool, SSAValue], int] = {}
        for op in self.ops:
            for one, other in _pairs(op):
                inward = buffer_of(one).space is Space.HOST
                host, dram = (one, other) if inward else (other, one)
                base = _viewed(host)
                if buffer_of(base).nbytes == buffer_of(host).nbytes:
                    found.setdefault((inward, base), buffer_of(dram).offset or 0)
        return found

    # ---- the controller

    def _actions(self) -> list[Action]:
        actions: list[Action] = []
        tags: dict[SSAValue, Wait | Join] = {}
        starts = launches = 0
        for op in self.ops:
            match op:
                case CopyOp():
                    wait = Wait(starts % (1 << 16))
                    starts += 1
                    actions.append(Start(wait.tag, tuple(_copy(*pair) for pair in _pairs(op))))
                    tags[op.token] = wait
                case LaunchOp():
                    actions.append(Begin(launches))
                    tags[op.token] = Join(launches)
                    launches += 1
                case WaitOp():
                    if op.token not in tags:
                        raise located(InputError("waits for an operation other than a copy or launch of @main"), op)
                    actions.append(tags[op.token])
                case AllocOp() | FreeOp() | GlobalOp() | ViewOp() | ConstantOp() | WeightOp() | ReturnOp():
                    pass
                case _:
                    error = InputError(f"'{op.name}' in @main: expected buffers, copies, launches and waits")
                    raise located(error, op)
        return actions

    # ---- notes

    def _notes(self, launches: Sequence[_Launch]) -> dict[str, str]:
        figures = [_sram_figures(launch.op) for launch in launches]
        parts = [
            [
                launch.op.sym_name.data,
                _number(launch.op, OPERATORS),
                sum(_figure(task, CYCLES) for task in launch.tasks),
            ]
            for launch in launches
        ]
        tasks = [_task_note(task) for launch in launches for task in launch.tasks]
        return {
            "entry": "main",
            "sram_allocated": str(max((peak for peak, _ in figures), default=0)),
            "sram_lower_bound": str(max((bound for _, bound in figures), default=0)),
            "subgraphs": json.dumps(parts),
            **notes_of(self.module),
            "tasks": json.dumps(tasks, separators=(",", ":")),
            RESULTS: results_as_json(list(task_results([launch.op for launch in launches]))),
        }


def _constant(value: SSAValue) -> ConstantOp | WeightOp:
    """The constant behind a value. Raises InputError if there is none."""
    if not isinstance(value.owner, ConstantOp | WeightOp):
        error = InputError(f"memory.global of {value.type}: expected constants and weights")
        raise located(error, next(iter(value.uses)).operation)
    return value.owner


def _buffers(function: FuncOp) -> list[SSAValue]:
    """All buffers of a function and of its launches."""
    found: list[SSAValue] = [value for value in function.body.block.args if isinstance(value.type, BufferType)]
    found += [op.buffer for op in function.walk() if isinstance(op, AllocOp | GlobalOp)]
    return found


def _range(value: SSAValue) -> tuple[int, int]:
    """
    First byte of a buffer, and the first byte after it with padding. Raises InputError for one without an address.
    """
    start = address_of(value)
    return start, start + padded(buffer_of(value).nbytes)


def _pairs(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """The pairs (source, target) of a copy; none for other operations."""
    return list(zip(op.sources, op.targets, strict=True)) if isinstance(op, CopyOp) else []


def _copy(source: SSAValue, target: SSAValue) -> Copy:
    inward = buffer_of(source).space is Space.HOST
    host, dram = (source, target) if inward else (target, source)
    return Copy(inward, _range(dram)[0], _range(host)[0], buffer_of(source).nbytes)


def _viewed(value: SSAValue) -> SSAValue:
    """The buffer that a value is a view of."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.source
    return value


def _number(op: Operation, name: str) -> int:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else 0


def _figure(task: ExecuteOp, name: str) -> int:
    """One of `FIGURES`."""
    given = task.attributes.get(FIGURES)
    value = given.data.get(name) if isinstance(given, DictionaryAttr) else None
    return value.value.data if isinstance(value, IntegerAttr) else 0


def _task_note(task: ExecuteOp) -> dict[str, object]:
    """Figures of a task for reports, which are not in the binary."""
    return {
        "name": task.sym_name.data,
        "ops": [op.name.removeprefix("dataflow.") for op in task.ops],
        "grid": list(task.tiling.grid),
        "cores": len(set(task.tiling.cores)),
        "steps": list(task.tiling.steps),
        "sram": buffer_of(task.target).space is Space.SRAM,
        "constants": _figure(task, CONSTANTS),
        "working": _figure(task, WORKING),
        "cycles": _figure(task, CYCLES),
    }


def _sram_figures(launch: LaunchOp) -> tuple[int, int]:
    """Bytes of SRAM up to the end of the highest buffer of a launch, and the most bytes that are in use at once."""
    allocs = [op for op in launch.body.block.ops if isinstance(op, AllocOp)]
    sram = [(op, buffer_of(op.buffer)) for op in allocs if buffer_of(op.buffer).space is Space.SRAM]
    peak = max(((type.offset or 0) + aligned(type.nbytes) for _, type in sram), default=0)
    timed = [(aligned(type.nbytes), op.interval) for op, type in sram if op.interval is not None]
    sizes, first, last = (
        np.array(column, np.int64)
        for column in (
            [size for size, _ in timed], [begin for _, (begin, _) in timed], [end for _, (_, end) in timed],
        )
    )  # fmt: skip
    return peak, lower_bound(sizes, first, last)
