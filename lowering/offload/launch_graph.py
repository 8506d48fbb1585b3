"""
The planning problem of launches: durations in cycles, sizes in DRAM.

Inputs arrive by separate operations, directly before the launch that reads them first, so that they may be offloaded
like values; their copies are on the host all the time. Constants that are copied in are resident from the first to the
last launch that reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.ir import SSAValue

from ...analysis.cost_graphs.graph import CostGraph, Ints, lists_of
from ...analysis.cost_graphs.select import FORWARD
from ...analysis.offload.problem import OffloadProblem, offload_problem
from ...chips import Chip
from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.types import shape_of
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.attributes import Space
from ...dialects.memory.stash import RecomputeOp, SwapInOp, SwapOutOp, stash_of
from ...dialects.memory.stash_check import memory_of
from ...dialects.memory.stash_types import StashType, TokenType
from ...emulator.machine.costs import host_cycles
from ...transforms.offload.budget import FormatModel
from ...transforms.offload.script import FunctionParts, Step
from ..launch.dram_segments import bytes_of, padded
from ..linker.constants import ConstantTable, constant_bytes
from ..subgraphs.subgraph import name_of
from .compiled_launches import CompiledLaunches
from .device_steps import CORES
from .read_block import stays_resident


@dataclass(frozen=True)
class LaunchModel(FormatModel):
    """Costs of a chip's host link, and of conversions as launches; times in cycles."""

    chip: Chip = field(kw_only=True)
    pack_cycles: Mapping[int, int] = field(default_factory=dict[int, int], kw_only=True)
    """Cycles by padded bytes before compression."""

    def copy_ns(self, size: Ints) -> Ints:
        """[c] cycles of a copy to or from the host."""
        return np.array([host_cycles(self.chip, int(one)) for one in size], np.int64)

    def pack_ns(self, size: Ints) -> Ints:
        """[c] cycles of a conversion."""
        return np.array([self.pack_cycles.get(int(one), 0) for one in size], np.int64)

    def packed(self, size: Ints) -> Ints:
        """[c] bytes after compression."""
        return np.array([padded(int(one)) for one in super().packed(size)], np.int64)


@dataclass(frozen=True)
class LaunchProblem:
    """The planning problem, and the operations of the function that it models."""

    problem: OffloadProblem
    launch: tuple[int, ...]
    """For each operation the subgraph's number, -1: the arrival of an input."""
    arrives: tuple[int, ...]
    """For each operation the input that arrives (its tensor), -1: a launch."""
    resident_bytes: int
    """Bytes of the resident constants, padded."""


def launch_problem(parts: FunctionParts, launch_codes: CompiledLaunches, capacity: int) -> LaunchProblem:
    """
    The planning problem of a function of launches; `capacity` in bytes of DRAM. Existing memory operations are part of
    it.

    Tensors are those of the function, then one for each launch with internal values in DRAM. Launches and conversions
    use all cores, but are planned as if they ran in parallel: if they excluded each other, the planner would convert
    only once an operation lacks memory, and then the result of the conversion would not fit either.
    """
    graph = _Graph(parts, launch_codes.chip)
    constants = ConstantTable()
    spans: dict[int, tuple[int, int]] = {}
    for number, op in enumerate(parts.ops):
        work = _work(op, launch_codes)
        graph.launch(number, op, work)
        for constant in work.constants:
            key = constants.number(constant)
            spans[key] = (spans.get(key, (graph.count, 0))[0], graph.count)
        graph.count += 1
    problem = offload_problem(graph.finish())
    resident = 0
    allocated, freed = problem.allocated.copy(), problem.freed.copy()
    live, working_set = problem.live.copy(), problem.working_set.copy()
    for key, (first, last) in spans.items():
        nbytes = constant_bytes(constants.ops[key]).size
        size = padded(nbytes)
        if stays_resident(nbytes, capacity):
            resident += size
            continue
        allocated[first] += size
        freed[last] += size
        live[first : last + 1] += size
        working_set[first : last + 1] += size
    problem = replace(problem, allocated=allocated, freed=freed, live=live, working_set=working_set)
    return LaunchProblem(problem, tuple(graph.launches), tuple(graph.arrives), resident)


@dataclass(frozen=True)
class _Work:
    """The costs of an operation: cycles, temporary bytes in DRAM, constants."""

    cycles: int
    room: int = 0
    constants: tuple[ConstantOp | WeightOp, ...] = ()


def _work(op: Step, launch_codes: CompiledLaunches) -> _Work:
    match op:
        case SubgraphOp():
            compiled = launch_codes.of_subgraph(op)
            return _Work(compiled.cycles, compiled.code.segments[-1], compiled.constants)
        case RecomputeOp():
            found = [_work(one, launch_codes) for one in op.body.block.ops if isinstance(one, SubgraphOp)]
            inner = sum(padded(bytes_of(value)) for one in op.body.block.ops for value in one.results)
            return _Work(
                sum(one.cycles for one in found),
                inner + max((one.room for one in found), default=0),
                tuple(constant for one in found for constant in one.constants),
            )
        case SwapOutOp():
            return _Work(host_cycles(launch_codes.chip, stash_of(op.result).nbytes))
        case SwapInOp():
            return _Work(host_cycles(launch_codes.chip, stash_of(op.source).nbytes))
        case _:
            return _Work(launch_codes.of_conversion(op).cycles)


def _bytes_on_device(value: SSAValue) -> int:
    """Padded bytes that a value takes in DRAM."""
    if isinstance(type := value.type, StashType):
        return 0 if type.space is Space.HOST else padded(type.nbytes)
    return padded(bytes_of(value))


def _shape(value: SSAValue) -> tuple[int, ...]:
    return stash_of(value).tensor.get_shape() if isinstance(value.type, StashType) else shape_of(value)


class _Graph:
    """A cost graph while it grows."""

    def __init__(self, parts: FunctionParts, chip: Chip) -> None:
        self.chip = chip
        self.count = 0
        self.number = {value: index for index, value in enumerate(parts.tensors)}
        self.sizes = [_bytes_on_device(value) for value in parts.tensors]
        self.shapes = [_shape(value) for value in parts.tensors]
        self.names: list[str] = []
        self.durations: list[int] = []
        self.ins: list[list[int]] = []
        self.outs: list[list[int]] = []
        self.launches: list[int] = []
        self.arrives: list[int] = []
        self.there = {self.number[value] for op in parts.ops for value in op.results if value in self.number}

    def launch(self, number: int, op: Step, work: _Work) -> None:
        """
        Add an operation, after the arrival of inputs that it reads first. Afterwards, `count` is the number of the
        operation.
        """
        read = [value for value in op.operands if not isinstance(value.type, TokenType)]
        ins = list(dict.fromkeys(self.number[memory_of(value)] for value in read))
        for tensor in ins:
            if tensor not in self.there:
                self.there.add(tensor)
                self._add("input", host_cycles(self.chip, self.sizes[tensor]), [], [tensor], -1, tensor)
                self.count += 1
        outs = [self.number[value] for value in op.results if value in self.number]
        if work.room:
            outs.append(len(self.sizes))
            self.sizes.append(padded(work.room))
            self.shapes.append((work.room,))
        name = name_of(op) if isinstance(op, SubgraphOp) else op.name.partition(".")[2]
        self._add(name, work.cycles, ins, outs, number, -1)

    def _add(self, name: str, cycles: int, ins: list[int], outs: list[int], launch: int, arrives: int) -> None:
        self.names.append(name)
        self.durations.append(cycles)
        self.ins.append(ins)
        self.outs.append(outs)
        self.launches.append(launch)
        self.arrives.append(arrives)

    def finish(self) -> CostGraph:
        count = len(self.names)
        return CostGraph(
            "launches",
            tuple(self.names),
            tuple(range(count)),
            (CORES,),
            np.zeros(count, np.int64),
            np.array(self.durations, np.int64),
            np.zeros(count, np.int64),
            (FORWARD,) * count,
            lists_of(self.ins),
            lists_of(self.outs),
            tuple(range(len(self.sizes))),
            ("act",) * len(self.sizes),
            tuple(self.shapes),
            np.array(self.sizes, np.int64),
        )
