"""
A whole program as operations of the `memory` level: `@main` on host buffers, with copies, launches and waits in the
order of the controller's program.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...chips import Chip
from ...dialects.dataflow.entry_function import main_function
from ...dialects.dataflow.types import ELEMENT_TYPES, tensor_of, ui8
from ...dialects.locations import at
from ...dialects.manycore import LaunchOp
from ...dialects.manycore.repeat import part_whole
from ...dialects.memory import AllocOp, BufferType, CopyOp, FreeOp, GlobalOp, Space, ViewOp, WaitOp
from ...dialects.memory.ops import buffer_of
from ...dialects.memory.values import held_bytes
from ...dialects.tensor_names import TENSORS, name_result, noted_tensors
from ...emulator.executable.executable import TensorInfo
from ..ir.launch_names import rename_tasks, value_name
from ..ir.name_chip import name_chip
from ..ir.numbered_locations import restore_locations
from ..launch.dram_segments import padded
from ..launch.program_notes import NOTES
from .controller import Begin, Copy, Join, Start, Wait
from .device_program import ConstantBlock, DeviceProgram, PlacedLaunch

OPERATORS = "manycore.operators"
"""Attribute of launches: the number of the network's operators that they execute."""


def write_program(program: DeviceProgram, chip: Chip) -> ModuleOp:
    """The module of a program. The operations of its constants are cloned into it."""
    return _Writer(program).module(chip)


class _Memory:
    """The buffers of a memory that hold current values. They are disjoint."""

    def __init__(self, space: Space, writer: _Writer) -> None:
        self._space, self._writer = space, writer
        self._lows: list[int] = []
        self._at: dict[int, SSAValue] = {}
        """First byte -> buffer."""

    def add(self, value: SSAValue) -> None:
        """Add a buffer. Buffers that overlap it are no longer current."""
        low, high = _range(value)
        first = bisect_right(self._lows, low)
        if first and (low < _range(self._at[self._lows[first - 1]])[1] or self._lows[first - 1] == low):
            first -= 1
        last = max(first, bisect_left(self._lows, high))
        for start in self._lows[first:last]:
            del self._at[start]
        self._lows[first:last] = [low]
        self._at[low] = value

    def get(self, type: BufferType) -> SSAValue:
        """
        A buffer of this type to read: the current buffer at its bytes, or a view of it; allocated if there is none.
        """
        low, high = type.offset or 0, (type.offset or 0) + type.nbytes
        position = bisect_right(self._lows, low) - 1
        value = self._at[self._lows[position]] if position >= 0 else None
        if value is None or _range(value)[1] < high:
            return self.define(type)
        return value if value.type == type else self._writer.add(ViewOp(value, type)).results[0]

    def define(self, type: BufferType) -> SSAValue:
        """
        A buffer of this type to write: the current buffer if it has the same bytes, else a new one. A write to some of
        the bytes of a current buffer takes a new buffer, never a view.
        """
        known = self._at.get(type.offset or 0)
        if known is not None and buffer_of(known).nbytes == type.nbytes:
            return self.get(type)
        made = self._writer.add(AllocOp(type)).results[0]
        self.add(made)
        return made

    def type_at(self, address: int, nbytes: int) -> BufferType:
        """
        The type of the current buffer at an address if it has `nbytes` bytes, with or without its padding; otherwise
        `nbytes` x ui8.
        """
        known = self._at.get(address)
        if known is not None and nbytes in (size := buffer_of(known).nbytes, padded(size)):
            return buffer_of(known)
        return BufferType((nbytes,), ui8, self._space, address)


def _range(value: SSAValue) -> tuple[int, int]:
    """The first byte of a buffer, and one past its last."""
    type = buffer_of(value)
    return type.offset or 0, (type.offset or 0) + type.nbytes


def _placed(type: BufferType, space: Space, offset: int) -> BufferType:
    return BufferType(type.shape, type.element_type, space, offset)


def _host_type(tensor: TensorInfo) -> BufferType:
    return BufferType(tensor.shape, ELEMENT_TYPES[tensor.dtype], Space.HOST, tensor.host_address)


def _free_after_last_use(block: Block) -> None:
    """
    Free each buffer in DRAM after its last use, which for asynchronous uses is the wait for their end. Returned buffers
    are not freed.
    """
    ops = list(block.ops)
    ended = {op.token: op for op in ops if isinstance(op, WaitOp)}
    """Token -> the operation that waits for it."""
    for op in ops:
        if not isinstance(op, AllocOp) or buffer_of(op.buffer).space is not Space.DRAM:
            continue
        last: Operation = op
        waiting = [op.buffer]
        while waiting:
            for use in waiting.pop().uses:
                user = block.find_ancestor_op_in_block(use.operation)
                assert user is not None
                waiting += [result for result in user.results if isinstance(user, ViewOp)]
                end = next((ended[result] for result in user.results if result in ended), user)
                last = end if last.is_before_in_block(end) else last
        if not isinstance(last, ReturnOp):
            block.insert_op_after(FreeOp(op), last)


class _Writer:
    def __init__(self, program: DeviceProgram) -> None:
        self.program = program
        self.block = Block()
        self.tensors = noted_tensors(program.notes)
        self.dram = _Memory(Space.DRAM, self)
        self.host = _Memory(Space.HOST, self)

    def add(self, op: Operation) -> Operation:
        """Append an operation."""
        self.block.add_op(op)
        return op

    def module(self, chip: Chip) -> ModuleOp:
        program = self.program
        inputs = [tensor for tensor in program.tensors if tensor.role == "input"]
        outputs = [tensor for tensor in program.tensors if tensor.role == "output"]
        for tensor in inputs:
            argument = self.block.insert_arg(_host_type(tensor), len(self.block.args))
            argument.name_hint = value_name(tensor.name, "tensor")
            self.host.add(argument)
        results: dict[str, SSAValue] = {}
        for tensor in outputs:
            if tensor.host_address < 0:
                continue
            alloc = self.add(AllocOp(_host_type(tensor)))
            alloc.results[0].name_hint = value_name(tensor.name, "tensor")
            self.host.add(alloc.results[0])
            results[tensor.name] = alloc.results[0]
        for block in program.data:
            self._global(block)
        for address, nbytes in program.kept:
            self.host.define(BufferType((nbytes,), ui8, Space.HOST, address))
        tokens: dict[Begin | int, SSAValue] = {}
        for action in program.actions:
            match action:
                case Start(tag, copies):
                    tokens[tag] = self._copy(copies)
                case Wait(tag):
                    self.add(WaitOp(tokens[tag]))
                case Begin(number):
                    tokens[action] = self._launch(program.launches[number])
                case Join(number):
                    self.add(WaitOp(tokens[Begin(number)]))
        for tensor in outputs:
            if tensor.host_address < 0:  # it stays in DRAM
                type = BufferType(tensor.shape, ELEMENT_TYPES[tensor.dtype], Space.DRAM, tensor.dram_address)
                results[tensor.name] = self.dram.get(type)
        names = [tensor.name for tensor in inputs], [tensor.name for tensor in outputs]
        module = ModuleOp([main_function(self.block, [results[name] for name in names[1]], names)])
        _free_after_last_use(self.block)
        name_chip(module, chip)
        carried = {key: text for key, text in program.notes.items() if key != TENSORS}  # tasks have these names now
        if carried:
            notes: dict[str, Attribute] = {key: StringAttr(text) for key, text in sorted(carried.items())}
            module.attributes[NOTES] = DictionaryAttr(notes)
        return module

    def _global(self, block: ConstantBlock) -> None:
        """Append a `memory.global` with a block of constants."""
        ops = [op.clone() for op in block.constants]
        for op in ops:
            self.add(op)
        types = [tensor_of(op.results[0]) for op in block.constants]
        space = Space.DRAM if block.space == "dram" else Space.HOST
        if len(types) == 1:
            (tensor,) = types
            type = BufferType(tensor.get_shape(), tensor.element_type, space, block.address)
        else:
            type = BufferType((sum(map(held_bytes, types)),), ui8, space, block.address)
        with at(block.constants):
            made = GlobalOp([op.results[0] for op in ops], type)
        made.buffer.name_hint = ops[0].results[0].name_hint if len(ops) == 1 else None
        self.add(made)
        (self.dram if space is Space.DRAM else self.host).add(made.buffer)

    def _copy(self, copies: tuple[Copy, ...]) -> SSAValue:
        """Append one copy operation for all of these copies. Returns its token."""
        pairs: list[tuple[SSAValue, SSAValue]] = []
        for copy in copies:
            # Both buffers take the type of the current buffer at the source.
            memory, address = (self.host, copy.host) if copy.to_device else (self.dram, copy.dram)
            known = memory.type_at(address, copy.nbytes)
            dram = _placed(known, Space.DRAM, copy.dram)
            host = _placed(known, Space.HOST, copy.host)
            if copy.to_device:
                pairs.append((self.host.get(host), self.dram.define(dram)))
            else:
                pairs.append((self.dram.get(dram), self.host.get(host)))
        made = self.add(CopyOp([source for source, _ in pairs], [target for _, target in pairs]))
        return made.results[0]

    def _launch(self, placed: PlacedLaunch) -> SSAValue:
        """Append a launch, on buffers with addresses. Returns its token."""
        function = placed.function
        launch = next(op for op in function.body.block.ops if isinstance(op, LaunchOp))
        written = {part_whole(task.target) for task in launch.tasks.values()}
        mapping: dict[SSAValue, SSAValue] = {}
        for argument, address in zip(function.body.block.args, placed.segments, strict=False):
            type = _placed(buffer_of(argument), Space.DRAM, address)
            mapping[argument] = self.dram.define(type) if argument in written else self.dram.get(type)
        clone = launch.clone(mapping)
        clone.properties["sym_name"] = StringAttr(placed.name)
        clone.attributes[OPERATORS] = IntegerAttr(placed.operators, i64)
        base = placed.segments[-1]
        for op in clone.body.block.ops:
            if isinstance(op, AllocOp) and (type := buffer_of(op.buffer)).space is Space.DRAM:
                moved = _placed(type, Space.DRAM, (type.offset or 0) + base)
                Rewriter.replace_value_with_new_type(op.buffer, moved)
        for task, values in zip(clone.tasks.values(), placed.values, strict=False):
            name_result(task, values, self.tensors)
        rename_tasks(clone, placed.tasks)
        restore_locations(clone, placed.locations)
        self.add(clone)
        return clone.token
