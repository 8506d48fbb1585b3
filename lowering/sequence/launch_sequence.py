"""
A network as a launch sequence: the operators of each subgraph, the values that they exchange, and each as a module.

Subgraphs exchange only values with separate memory: constants and reshapes (views of memory with another shape) are
copied into every subgraph that reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import mul
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.planning.network_plan import storage_root
from ...analysis.tasks.task_info import value_bytes
from ...dialects.dataflow import ConstantOp, LoopOp, ReshapeOp, WeightOp
from ...dialects.dataflow.base import ints
from ...dialects.dataflow.entry_function import argument_names, main_function, result_names
from ...dialects.dataflow.loop_reads import values_read
from ...dialects.dataflow.partial import PartialOp
from ...dialects.dataflow.types import dtype_code, shape_of
from ...dialects.locations import located
from ...dialects.manycore import HostConcatOp, HostSliceOp, SubgraphOp, TaskOp, YieldOp, is_on_host
from ...dialects.memory.attributes import Space
from ...support.errors import InputError
from ..ir.immediate_operands import read_from_memory
from ..ir.residence_attribute import spaces_of_results
from ..launch.dram_segments import bytes_of
from ..linker.constants import ConstantTable
from .dram_residency import Value

Operators = tuple[Operation, ...]
"""Operators of a subgraph, in program order."""


@dataclass(frozen=True)
class TensorSegment:
    """A value or constant that holds consecutive bytes of an input or output of the network."""

    kind: Literal["value", "constant"]
    number: int
    offset: int
    """Offset in the tensor, in bytes."""
    nbytes: int


@dataclass(frozen=True)
class NamedTensor:
    """An input or output of the network, and its segments: one value or constant, or several blocks."""

    name: str
    dtype: int
    shape: tuple[int, ...]
    nbytes: int
    segments: tuple[TensorSegment, ...]
    stays_in_dram: bool = False
    """It is an output that stays in DRAM."""


@dataclass(frozen=True)
class SubgraphInterface:
    """The constants and values that one subgraph reads, and its results, by number."""

    constants: tuple[int, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    values: tuple[SSAValue, ...]
    """The results, as values of the function."""


@dataclass(frozen=True)
class LaunchSequence:
    """All launches and the values that they exchange: the input of linking."""

    parts: tuple[SubgraphInterface, ...]
    values: tuple[Value, ...]
    constants: tuple[ConstantOp | WeightOp, ...]
    """One operation for each distinct content."""
    inputs: tuple[NamedTensor, ...]
    outputs: tuple[NamedTensor, ...]


def _input_values(argument: SSAValue) -> list[SSAValue]:
    """The values that the host sends for an input: the input, or blocks of it, in the order of their bytes."""
    users = {op for use in argument.uses if isinstance(op := use.operation, HostSliceOp)}
    block = argument.owner
    assert isinstance(block, Block)
    return [op.results[0] for op in block.ops if op in users] or [argument]


def _slice_offset(op: HostSliceOp) -> int:
    """Byte offset of a block in its input, which is cut along the outermost dimension."""
    strides = accumulate(reversed(shape_of(op.operand)[1:]), mul, initial=value_bytes(op.operand))
    return sum(start * stride for start, stride in zip(reversed(ints(op.starts)), strides, strict=True))


def _output_values(value: SSAValue) -> list[SSAValue]:
    """The values that hold the memory of an output, in the order of its bytes."""
    root = storage_root(value)
    if isinstance(root.owner, HostConcatOp):
        return [storage_root(operand) for operand in root.owner.operands]
    return [root]


def is_operator(op: Operation) -> bool:
    """Whether an operation of @main is executed on the chip: it then belongs to exactly one subgraph."""
    return not isinstance(op, ConstantOp | WeightOp | ReshapeOp | ReturnOp) and not is_on_host(op)


def operator_count(part: Operators) -> int:
    """Number of the network's operators that a subgraph executes. An operator that was split in two counts once."""
    inside = [inner for op in part for inner in _inside(op)]
    return sum(not isinstance(op, PartialOp) for op in inside)


def _inside(op: Operation) -> list[Operation]:
    """The operators inside an operation of a subgraph."""
    if isinstance(op, TaskOp | LoopOp):
        return [one for inner in list(op.body.block.ops)[:-1] for one in _inside(inner)]
    return [] if isinstance(op, ReshapeOp) and isinstance(op.parent_op(), LoopOp) else [op]


def operators(function: FuncOp) -> Operators:
    """All operators of the function, in order."""
    return tuple(op for op in function.body.block.ops if is_operator(op))


def sources(
    part: Operators, given: Sequence[SSAValue] = (), with_host: bool = False
) -> tuple[list[Operation], list[SSAValue]]:
    """
    The operations of a subgraph's module, and the storage roots that it reads from outside, both in the function's
    order. The operations are those of the subgraph, and the constants and reshapes that they read (`with_host`: also
    the host's operations that they read). `given`: additional values that the module returns.
    """
    inside = set(part)
    held: set[Operation] = set(part)
    entering: dict[SSAValue, None] = {}
    waiting = [*reversed(given), *(value for op in reversed(part) for value in reversed(values_read(op)))]
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if isinstance(owner, ConstantOp | WeightOp):
            held.add(owner)
        elif isinstance(owner, Operation) and (isinstance(owner, ReshapeOp) or (with_host and is_on_host(owner))):
            if owner not in held:
                held.add(owner)
                waiting.extend(reversed(owner.operands))
        elif isinstance(value, BlockArgument) or owner not in inside:
            entering[value] = None
    block = next(iter(held)).parent_block() if held else None
    ordered = [op for op in block.ops if op in held] if block is not None else []
    return ordered, _by_definition(entering, block)


def _by_definition(values: Iterable[SSAValue], block: Block | None) -> list[SSAValue]:
    """Values in the order of their definition: arguments of the block, then results of its operations."""
    if block is None:
        return list(values)
    wanted = set(values)
    arguments = [value for value in block.args if value in wanted]
    return [*arguments, *(result for op in block.ops for result in op.results if result in wanted)]


def _results_read_outside(part: Operators) -> list[SSAValue]:
    """
    Results of a subgraph's operators that are read outside: by other operators or the return, in the function's order.
    """
    inside = set(part)
    found: list[SSAValue] = []
    block = part[0].parent_block() if part else None
    for op in block.ops if block is not None else ():
        if op in inside:
            found += [result for result in op.results if _is_read_outside(result, inside)]
    return found


def _is_read_outside(result: SSAValue, inside: set[Operation]) -> bool:
    """Whether operations outside read a result, or a reshape of it."""
    readers = [result]
    while readers:
        for use in readers.pop().uses:
            user = _in_function(use.operation)
            if isinstance(user, ReshapeOp):
                readers.append(user.results[0])
            elif user not in inside:
                return True
    return False


def _in_function(op: Operation) -> Operation:
    """The operation of the function that is, or encloses, this one."""
    while isinstance(loop := op.parent_op(), LoopOp):
        op = loop
    return op


@dataclass(frozen=True)
class SubgraphModule:
    """A subgraph as a separate module."""

    module: ModuleOp
    constants: tuple[ConstantOp | WeightOp, ...]
    """The network's constants of which the module has copies and that it reads from memory, in the module's order."""
    arguments: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]


def module_of_operators(part: Operators) -> SubgraphModule:
    """A module whose `@main` has the operators of a subgraph, takes its inputs and returns its results."""
    ops, entering = sources(part)
    leaving = _results_read_outside(part)
    block = Block(arg_types=[value.type for value in entering])
    mapping: dict[SSAValue, SSAValue] = dict(zip(entering, block.args, strict=True))
    for value, argument in zip(entering, block.args, strict=True):
        argument.name_hint = value.name_hint
    block.add_ops([op.clone(mapping) for op in ops])
    module = ModuleOp([main_function(block, [mapping[value] for value in leaving])])
    return SubgraphModule(module, tuple(read_from_memory(ops)), tuple(entering), tuple(leaving))


def module_key(part: Operators) -> tuple[object, ...]:
    """A key of everything that `module_of_operators` depends on."""
    inside = set(part)
    read: dict[Operation, tuple[SSAValue, ...]] = {}
    waiting = list(reversed(part))
    while waiting:
        op = waiting.pop()
        if op not in read:
            read[op] = tuple(values_read(op))
            owners = [value.owner for value in values_read(op)]
            waiting += [one for one in owners if isinstance(one, ConstantOp | WeightOp | ReshapeOp)]
    leaving = tuple(_is_read_outside(result, inside) for op in part for result in op.results)
    return tuple(read.items()), leaving


def module_of_subgraph(subgraph: SubgraphOp) -> SubgraphModule:
    """A subgraph as a separate module."""
    constants = tuple(read_from_memory(list(subgraph.body.block.ops)))
    copy = subgraph.clone()
    body = copy.body.detach_block(0)
    copy.erase()  # it reads the operands
    last = body.last_op
    assert isinstance(last, YieldOp)
    values = list(last.operands)
    Rewriter.erase_op(last)
    return SubgraphModule(ModuleOp([main_function(body, values)]), constants, (), ())


def launch_sequence(function: FuncOp, parts: Sequence[Operators]) -> LaunchSequence:
    """The launch sequence of a function's subgraphs (each operator in one of them, in a topological order)."""
    return _SequenceBuilder(function).build(parts)


class _SequenceBuilder:
    """Numbers the values and constants that the launches of a function use."""

    def __init__(self, function: FuncOp) -> None:
        self._function = function
        self._constants = ConstantTable()
        self._numbers: dict[SSAValue, int] = {}
        self._producer: dict[SSAValue, int] = {}
        self._readers: dict[SSAValue, list[int]] = {}
        for value in [root for argument in function.body.block.args for root in _input_values(argument)]:
            self._add_value(value, -1)

    def build(self, parts: Sequence[Operators]) -> LaunchSequence:
        interfaces = tuple(self._interface(launch, part) for launch, part in enumerate(parts))
        inputs, outputs = self._inputs(), self._outputs()
        copied, staying = (
            {
                segment.number
                for one in outputs
                if one.stays_in_dram == staying
                for segment in one.segments
                if segment.kind == "value"
            }
            for staying in (False, True)
        )
        values = tuple(
            Value(
                bytes_of(value), self._producer[value], tuple(self._readers[value]), number in copied, number in staying
            )
            for value, number in self._numbers.items()
        )
        return LaunchSequence(interfaces, values, tuple(self._constants.ops), tuple(inputs), tuple(outputs))

    def _add_value(self, value: SSAValue, producer: int) -> None:
        self._numbers[value] = len(self._numbers)
        self._producer[value] = producer
        self._readers[value] = []

    def _interface(self, launch: int, part: Operators) -> SubgraphInterface:
        """The interface of a subgraph, whose results get numbers."""
        ops, entering = sources(part)
        for value in entering:
            self._readers[value].append(launch)
        leaving = _results_read_outside(part)
        for value in leaving:
            self._add_value(value, launch)
        return SubgraphInterface(
            tuple(map(self._constants.number, read_from_memory(ops))),
            tuple(self._numbers[value] for value in entering),
            tuple(self._numbers[value] for value in leaving),
            tuple(leaving),
        )

    def _inputs(self) -> list[NamedTensor]:
        arguments = zip(self._function.body.block.args, argument_names(self._function), strict=True)
        return [self._tensor(value, name, _input_values(value)) for value, name in arguments]

    def _outputs(self) -> list[NamedTensor]:
        function = self._function
        last = function.body.block.last_op
        returned = list(last.operands) if last is not None else []
        names = zip(returned, result_names(function), strict=True)
        outputs = [self._tensor(value, name, _output_values(value)) for value, name in names]
        spaces = zip(outputs, spaces_of_results(function), strict=True)
        outputs = [replace(one, stays_in_dram=space is Space.DRAM) for one, space in spaces]
        for one in outputs:
            if one.stays_in_dram and len(one.segments) > 1:
                message = (
                    f"result '{one.name}' of @main is copied in {len(one.segments)} blocks: it cannot stay in dram"
                )
                raise located(InputError(message), function)
        return outputs

    def _tensor(self, value: SSAValue, name: str, roots: Sequence[SSAValue]) -> NamedTensor:
        segments = tuple(self._segments(roots))
        return NamedTensor(name, dtype_code(value), shape_of(value), bytes_of(value), segments)

    def _segments(self, roots: Sequence[SSAValue]) -> Iterator[TensorSegment]:
        """The segments of an input or output that has its bytes in these values, in order."""
        offset = 0
        for root in roots:
            owner = root.owner
            if isinstance(owner, HostSliceOp):
                offset = _slice_offset(owner)
            if isinstance(owner, ConstantOp | WeightOp):
                yield TensorSegment("constant", self._constants.number(owner), offset, bytes_of(root))
            else:
                yield TensorSegment("value", self._numbers[root], offset, bytes_of(root))
            offset += bytes_of(root)


def constant_bytes_read(part: Operators) -> int:
    """Bytes of the constants and weights that a subgraph reads from memory."""
    return sum(bytes_of(op.results[0]) for op in read_from_memory(sources(part)[0]))
