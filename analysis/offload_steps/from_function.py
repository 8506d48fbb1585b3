"""The steps of a function of `dataflow` operations, with or without memory saving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.tiling import TilingInterface
from ...dialects.dataflow.types import tensor_bytes, tensor_of
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.attributes import Space
from ...dialects.memory.stash import CompletionOp, CompressOp, MoveOp, RecomputeOp, SwapInOp, SwapOutOp, stash_of
from ...dialects.memory.stash_check import memory_of
from ...dialects.memory.stash_types import StashType
from .steps import Buffer, Memory, Program, Step

COMPUTE, OUT, IN, VPU = "compute", "to host", "from host", "VPU"
"""The queues: computing, copies to and from the host, compression."""


class Costs(Protocol):
    """The costs of steps."""

    def compute(self, op: TilingInterface) -> tuple[str, int]:
        """(unit, ns) of an operation."""
        ...

    def copy_ns(self, nbytes: int) -> int:
        """ns of a copy to or from the host."""
        ...

    def pack_ns(self, nbytes: int) -> int:
        """ns to compress or decompress a tensor of so many bytes (before compression)."""
        ...


@dataclass(frozen=True)
class FunctionSteps:
    """A program and the operation of each of its steps."""

    program: Program
    ops: tuple[Operation, ...]


def is_step(op: Operation) -> bool:
    """Whether an operation takes time: constants, other shapes and tokens do not."""
    if isinstance(op, MoveOp | RecomputeOp | SubgraphOp):
        return True
    return isinstance(op, TilingInterface) and not isinstance(op, ConstantOp | WeightOp | ReshapeOp)


def function_steps(block: Block, costs: Costs) -> FunctionSteps:
    """
    The steps of a function's block in its order; operations for computing run one after the other.

    As in planning, the function's arguments, constants and weights do not count as memory, and a result of the function
    counts until its last reader in the function is complete.
    """
    steps: list[Step] = []
    ops: list[Operation] = []
    made: dict[SSAValue, tuple[int, int, Memory]] = {}
    users: dict[SSAValue, set[int]] = {}
    data: dict[SSAValue, frozenset[int]] = {}
    control: dict[SSAValue, frozenset[int]] = {}
    rooms: list[Buffer] = []
    nothing = frozenset[int]()
    for op in block.ops:
        needs = nothing.union(*(data.get(value, nothing) for value in op.operands))
        waits = nothing.union(*(control.get(value, nothing) for value in op.operands))
        if not is_step(op):
            if isinstance(op, CompletionOp):
                needs, waits = nothing, needs | waits
            for result in op.results:
                data[result], control[result] = needs, waits
            continue
        number = len(steps)
        queues, ns, room = _work(op, costs)
        steps.append(Step(_name(op), queues, ns, tuple(sorted(needs)), tuple(sorted(waits - needs))))
        ops.append(op)
        for value in op.operands:
            users.setdefault(memory_of(value), set()).add(number)
        for result in op.results:
            if result.type.name == "memory.token":
                data[result], control[result] = nothing, frozenset({number})
                continue
            data[result] = frozenset({number})
            users.setdefault(result, set()).add(number)
            made[result] = (number, *_size(result))
        if room:
            rooms.append(Buffer(room, number, (number,)))
    buffers = [
        Buffer(nbytes, maker, tuple(sorted(users[value])), memory) for value, (maker, nbytes, memory) in made.items()
    ]
    return FunctionSteps(Program(tuple(steps), (*buffers, *rooms)), tuple(ops))


def _name(op: Operation) -> str:
    return op.results[0].name_hint or op.name.partition(".")[2]


def _size(value: SSAValue) -> tuple[int, Memory]:
    if isinstance(value.type, StashType):
        return value.type.nbytes, "host" if value.type.space is Space.HOST else "device"
    return tensor_bytes(tensor_of(value)), "device"


def _work(op: Operation, costs: Costs) -> tuple[tuple[str, ...], int, int]:
    """(queues, ns, bytes that only the step itself needs)."""
    match op:
        case SwapOutOp():
            return (OUT,), costs.copy_ns(stash_of(op.result).nbytes), 0
        case SwapInOp():
            return (IN,), costs.copy_ns(stash_of(op.source).nbytes), 0
        case MoveOp():
            tensor = stash_of(op.result if isinstance(op, CompressOp) else op.source).tensor
            return (VPU,), costs.pack_ns(tensor_bytes(tensor)), 0
        case RecomputeOp():
            inside = [one for one in op.body.block.ops if is_step(one)]
            return (COMPUTE,), sum(_compute(one, costs)[1] for one in inside), _room(op, inside)
        case _:
            unit, ns = _compute(op, costs)
            return (COMPUTE, VPU) if unit == VPU else (COMPUTE,), ns, 0


def _compute(op: Operation, costs: Costs) -> tuple[str, int]:
    assert isinstance(op, TilingInterface)
    return costs.compute(op)


def _room(op: RecomputeOp, inside: Sequence[Operation]) -> int:
    """Bytes that the results of the body take at their worst beside the room of those that it yields."""
    last = op.body.block.last_op
    kept = {memory_of(value) for value in last.operands} if last is not None else set[SSAValue]()
    end: dict[SSAValue, int] = {one.results[0]: number for number, one in enumerate(inside)}
    size = {value: _size(value)[0] for value in end}
    for number, one in enumerate(inside):
        end |= {memory_of(value): number for value in one.operands if memory_of(value) in end}
    held = most = 0
    for number, one in enumerate(inside):
        held += size[one.results[0]]
        most = max(most, held)
        held -= sum(size[value] for value, last in end.items() if last == number and value not in kept)
    return max(0, most - sum(size[value] for value in kept if value in size))
