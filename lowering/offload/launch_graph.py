"""
The planning problem of launches: durations in cycles, sizes as they take place in DRAM.

Inputs come by operations of their own, directly before the launch that reads them first, so that they may leave and
come back as values do; their copies are at the host all the time. Constants that are copied in stay from the first to
the last launch that reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.ir import SSAValue

from ...analysis.cost_graphs.graph import CostGraph, Ints, lists_of
from ...analysis.cost_graphs.select import FORWARD
from ...analysis.offload.problem import OffloadProblem, offload_problem
from ...chips import Chip
from ...dialects.dataflow.types import shape_of
from ...dialects.memory.stash_check import memory_of
from ...emulator.costs import host_cycles
from ...transforms.offload.budget import FormatModel
from ...transforms.offload.script import FunctionParts
from ..constants import ConstantTable, constant_bytes
from ..dram_layout import bytes_of, padded
from ..subgraph import name_of
from .device_steps import CORES
from .pieces import Piece
from .read_block import stays_resident


@dataclass(frozen=True)
class LaunchModel(FormatModel):
    """A chip's host link, and conversions as launches of their own; times in cycles."""

    chip: Chip = field(kw_only=True)
    pack_cycles: Mapping[int, int] = field(default_factory=dict[int, int], kw_only=True)
    """By padded bytes before compression."""

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
    """What the planner works on, and what its operations are."""

    problem: OffloadProblem
    launch: tuple[int, ...]
    """For each operation the subgraph's number, -1: the arrival of an input."""
    arrives: tuple[int, ...]
    """For each operation the input that arrives (its tensor), -1: a launch."""
    resident_bytes: int
    """Constants that stay in DRAM, padded."""


def launch_problem(parts: FunctionParts, pieces: Sequence[Piece], chip: Chip, capacity: int) -> LaunchProblem:
    """
    The problem of a function of subgraphs; `pieces` has the code of each, `capacity` is what DRAM holds.

    Tensors are those of the function, then what launches with values of their own in DRAM need for these. Launches and
    conversions use all cores, but are planned as if they ran side by side: if they excluded each other, the planner
    would convert only once an operation has no room, and then there is none for the result of the conversion either.
    """
    graph = _Graph(parts, chip)
    constants = ConstantTable()
    spans: dict[int, tuple[int, int]] = {}
    for number, (op, piece) in enumerate(zip(parts.ops, pieces, strict=True)):
        graph.launch(number, list(op.operands), list(op.results), piece, name_of(op))
        for constant in piece.constants:
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


class _Graph:
    """A cost graph while it grows."""

    def __init__(self, parts: FunctionParts, chip: Chip) -> None:
        self.chip = chip
        self.count = 0
        self.number = {value: index for index, value in enumerate(parts.tensors)}
        self.sizes = [padded(bytes_of(value)) for value in parts.tensors]
        self.shapes = [shape_of(value) for value in parts.tensors]
        self.names: list[str] = []
        self.durations: list[int] = []
        self.ins: list[list[int]] = []
        self.outs: list[list[int]] = []
        self.launches: list[int] = []
        self.arrives: list[int] = []
        self.there = {self.number[value] for op in parts.ops for value in op.results}

    def launch(self, number: int, operands: list[SSAValue], results: list[SSAValue], piece: Piece, name: str) -> None:
        """A launch, after the inputs that it reads first. `count` is left at its own number."""
        ins = list(dict.fromkeys(self.number[memory_of(value)] for value in operands))
        for tensor in ins:
            if tensor not in self.there:
                self.there.add(tensor)
                self._add("input", host_cycles(self.chip, self.sizes[tensor]), [], [tensor], -1, tensor)
                self.count += 1
        outs = [self.number[value] for value in results]
        if scratch := piece.code.segments[-1]:
            outs.append(len(self.sizes))
            self.sizes.append(padded(scratch))
            self.shapes.append((scratch,))
        self._add(name, piece.cycles, ins, outs, number, -1)

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
