"""Converts the block of a function of subgraphs and memory operations to the controller's steps."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...chips import Chip
from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.locations import located
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.stash import (
    AwaitOp,
    CompletionOp,
    CompressOp,
    DecompressOp,
    RecomputeOp,
    SwapInOp,
    SwapOutOp,
    YieldOp,
    stash_of,
)
from ...dialects.memory.stash_check import memory_of
from ...dialects.memory.stash_types import StashType
from ...support.errors import InputError
from ..launch.dram_segments import bytes_of, padded
from ..linker.constants import ConstantTable, constant_bytes
from .compiled_launches import CompiledLaunch, CompiledLaunches
from .device_steps import (
    CORES,
    DeviceSteps,
    Draft,
    Move,
    Purpose,
    Run,
    SegmentLocation,
    Slot,
    copy_draft,
    hoist_arrivals,
    program_of,
)

RESIDENT_SHARE = 256
"""Constants below this fraction (1 / RESIDENT_SHARE) of DRAM stay there: copying them would cost more than it saves."""


def read_block(function: FuncOp, launch_codes: CompiledLaunches, capacity: int) -> DeviceSteps:
    """
    The steps of a function in the order of its block.

    `capacity`: bytes of DRAM, for choosing which constants stay there and how early inputs are copied in. Raises
    InputError for operations that are not allowed here, MeshloomError for launches that do not compile.
    """
    return _Reader(function, launch_codes, capacity).read()


def stays_resident(nbytes: int, capacity: int) -> bool:
    """Whether a constant of `nbytes` bytes stays in DRAM."""
    return padded(nbytes) <= max(capacity // RESIDENT_SHARE, 256)


class _Reader:
    def __init__(self, function: FuncOp, launch_codes: CompiledLaunches, capacity: int) -> None:
        self.function, self.launch_codes, self.capacity = function, launch_codes, capacity
        self.chip: Chip = launch_codes.chip
        self.drafts: list[Draft] = []
        self.sizes: list[int] = []
        self.names: list[str] = []
        self.slots: list[Slot] = []
        self.constants = ConstantTable()
        self.resident: set[int] = set()
        self.buffers: dict[SSAValue, int] = {}
        """Buffers, by the value that they hold."""
        self.brought: dict[int, int] = {}
        """Buffers of constants that are copied in, by number."""
        self.homes: dict[SSAValue, int] = {}
        """Stash -> the slot in host memory."""
        self.control: dict[SSAValue, frozenset[int]] = {}
        """Drafts that a token, or a value that has passed `memory.await`, waits for."""
        self.maker: dict[int, Draft] = {}
        """Buffer -> the draft that fills it."""
        self.inputs: dict[SSAValue, int] = {
            argument: number for number, argument in enumerate(function.body.block.args)
        }
        for number, argument in enumerate(function.body.block.args):
            self.slots.append(Slot("input", number, bytes_of(argument)))

    def read(self) -> DeviceSteps:
        block = self.function.body.block
        last = block.last_op
        assert isinstance(last, ReturnOp)
        leaving: dict[SSAValue, list[int]] = {}
        for number, value in enumerate(last.operands):
            leaving.setdefault(memory_of(value), []).append(number)
            self.slots.append(Slot("output", number, bytes_of(value)))
        for op in block.ops:
            if op is last:
                break
            self._operation(op)
            for value in op.results:
                if value in self.buffers:
                    self._leave(value, leaving.pop(value, []))
        for value, numbers in leaving.items():
            self._leave(value, numbers)
        kept = range(len(self.sizes))
        drafts = hoist_arrivals(self.drafts, [padded(self.sizes[one]) for one in kept], self._room())
        return DeviceSteps(
            program_of(drafts, self.sizes),
            tuple(draft.action for draft in drafts),
            tuple(draft.purpose for draft in drafts),
            tuple(self.names),
            tuple(self.slots),
            tuple(self.constants.ops),
            tuple(sorted(self.resident)),
        )

    def _room(self) -> int:
        taken = sum(padded(constant_bytes(self.constants.ops[number]).size) for number in self.resident)
        return self.capacity - taken

    def _leave(self, value: SSAValue, numbers: list[int]) -> None:
        """Add copies of a value to outputs."""
        for number in numbers:
            slot = len(self.inputs) + number
            owner = value.owner
            if isinstance(owner, ConstantOp | WeightOp):
                location = SegmentLocation("constant", self.constants.number(owner))
                self.resident.add(location.number)
            else:
                location = SegmentLocation("buffer", self._buffer(value))
            self._copy(_name(value), "output", Move(False, location, slot))

    def _copy(self, name: str, purpose: Purpose, move: Move, waits: frozenset[int] = frozenset()) -> Draft:
        """Add a copy of a whole slot of host memory."""
        return self._add(copy_draft(self.chip, name, purpose, move, self.slots[move.slot].nbytes, waits))

    def _add(self, draft: Draft) -> Draft:
        self.drafts.append(draft)
        for buffer in draft.writes:
            self.maker[buffer] = draft
        return draft

    def _new(self, nbytes: int, name: str) -> int:
        self.sizes.append(nbytes)
        self.names.append(name)
        return len(self.sizes) - 1

    def _define(self, value: SSAValue) -> int:
        """Add a new buffer for a value."""
        type = value.type
        nbytes = type.nbytes if isinstance(type, StashType) else bytes_of(value)
        self.buffers[value] = self._new(nbytes, _name(value))
        return self.buffers[value]

    def _buffer(self, value: SSAValue) -> int:
        """The buffer of a value; inputs are copied in at their first use."""
        root = memory_of(value)
        if root not in self.buffers:
            if root not in self.inputs:
                raise InputError(f"value '{_name(root)}' is read where it is not in the device's memory")
            move = Move(True, SegmentLocation("buffer", self._define(root)), self.inputs[root])
            self._copy(_name(root), "input", move)
        return self.buffers[root]

    def _location(self, value: SSAValue) -> SegmentLocation:
        """The location of an operand: a buffer, or a constant that is an operand because it waits for a token."""
        owner = memory_of(value).owner
        if isinstance(owner, ConstantOp | WeightOp):
            return self._constant(owner)
        return SegmentLocation("buffer", self._buffer(value))

    def _constant(self, op: ConstantOp | WeightOp) -> SegmentLocation:
        number = self.constants.number(op)
        nbytes = constant_bytes(op).size
        if number in self.resident or (number not in self.brought and stays_resident(nbytes, self.capacity)):
            self.resident.add(number)
            return SegmentLocation("constant", number)
        if number not in self.brought:
            slot = len(self.slots)
            self.slots.append(Slot("constant", number, nbytes))
            buffer = self.brought[number] = self._new(nbytes, _name(op.results[0]))
            self._copy(self.names[buffer], "input", Move(True, SegmentLocation("buffer", buffer), slot))
        return SegmentLocation("buffer", self.brought[number])

    def _waits(self, op: Operation) -> frozenset[int]:
        return frozenset[int]().union(*(self.control.get(value, frozenset()) for value in op.operands))

    def _operation(self, op: Operation) -> None:
        waits = self._waits(op)
        match op:
            case ConstantOp() | WeightOp():
                return
            case ReshapeOp() | AwaitOp():
                self.control[op.results[0]] = waits
            case CompletionOp():
                made = self.maker.get(self.buffers.get(memory_of(op.value), -1))
                self.control[op.token] = waits | ({id(made)} if made is not None else frozenset())
            case SubgraphOp():
                self._run(self.launch_codes.of_subgraph(op), list(op.inputs), list(op.outputs), "compute", waits)
            case RecomputeOp():
                self._recompute(op, waits)
            case SwapOutOp() | SwapInOp():
                self._swap(op, waits)
            case CompressOp() | DecompressOp():
                self._convert(op, waits)
            case _:
                raise _between_launches(op)

    def _run(
        self,
        compiled: CompiledLaunch,
        operands: list[SSAValue],
        results: list[SSAValue],
        purpose: Purpose,
        waits: frozenset[int],
    ) -> Draft:
        given = [*(self._constant(op) for op in compiled.constants), *map(self._location, operands)]
        made = [self._define(value) for value in results]
        segment_locations = [*given, *(SegmentLocation("buffer", buffer) for buffer in made)]
        writes = list(made)
        name = _name(results[0]) if results else "launch"
        if scratch := compiled.code.segments[-1]:
            buffer = self._new(scratch, f"inside {name}")
            segment_locations.append(SegmentLocation("buffer", buffer))
            writes.append(buffer)
        reads = [location.number for location in given if location.kind == "buffer"]
        run = Run(compiled, tuple(segment_locations))
        return self._add(
            Draft(name, CORES, compiled.cycles, run, purpose, tuple(dict.fromkeys(reads)), tuple(writes), waits)
        )

    def _recompute(self, op: RecomputeOp, waits: frozenset[int]) -> None:
        body: Block = op.body.block
        inside: dict[SSAValue, SSAValue] = dict(zip(body.args, op.inputs, strict=True))
        last = body.last_op
        assert isinstance(last, YieldOp)
        draft: Draft | None = None
        for one in body.ops:
            if isinstance(one, SubgraphOp):
                # The body may run several times, each time with different values.
                copy, operands = one.clone(), [inside[memory_of(value)] for value in one.inputs]
                draft = self._run(self.launch_codes.of_subgraph(one), operands, list(copy.outputs), "recompute", waits)
                for before, now in zip(one.outputs, copy.outputs, strict=True):
                    now.name_hint = before.name_hint
                    inside[before] = now
            elif isinstance(one, ConstantOp | WeightOp):
                inside[one.results[0]] = one.results[0]
            elif not isinstance(one, ReshapeOp | YieldOp):
                raise _between_launches(one)
        for value, result in zip(last.operands, op.values, strict=True):
            root = memory_of(value)
            source = inside[root]
            self.buffers[result] = self._buffer(source)
            self.names[self.buffers[result]] = _name(result)
        self.control[op.token] = frozenset({id(draft)}) if draft is not None else waits

    def _swap(self, op: SwapOutOp | SwapInOp, waits: frozenset[int]) -> None:
        root = memory_of(op.source)
        if isinstance(op, SwapInOp):
            stash = self.control.get(op.source, frozenset())
            move = Move(True, SegmentLocation("buffer", self._define(op.result)), self.homes[op.source])
            draft = self._copy(_name(op.result), "swap in", move, waits | stash)
        elif isinstance(root, BlockArgument):
            # The host still has the input.
            self.homes[op.result] = self.inputs[root]
            self.control[op.token] = waits
            return
        else:
            slot = len(self.slots)
            self.slots.append(Slot("kept", slot, stash_of(op.result).nbytes))
            self.homes[op.result] = slot
            move = Move(False, SegmentLocation("buffer", self._buffer(op.source)), slot)
            draft = self._copy(_name(op.result), "swap out", move, waits)
            self.control[op.result] = frozenset({id(draft)})
        self.control[op.token] = frozenset({id(draft)})

    def _convert(self, op: CompressOp | DecompressOp, waits: frozenset[int]) -> None:
        purpose: Purpose = "compress" if isinstance(op, CompressOp) else "decompress"
        compiled = self.launch_codes.of_conversion(op)
        draft = self._run(compiled, [op.source], [op.result], purpose, waits)
        self.control[op.token] = frozenset({id(draft)})


def _name(value: SSAValue) -> str:
    if value.name_hint:
        return value.name_hint
    owner = value.owner
    return owner.name.partition(".")[2] if isinstance(owner, Operation) else "argument"


def _between_launches(op: Operation) -> InputError:
    message = f"{op.name} is not allowed between launches: put it in a manycore.subgraph"
    return located(InputError(message), op)
