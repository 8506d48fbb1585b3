"""The units between which a network is cut for several chips: their order, costs and dependences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ...analysis.subgraphs.chip_stages import Carried, Floats, Held, HostWeights, stage_costs
from ...chips import Chip
from ...dialects.manycore import TaskOp
from ...emulator.machine.costs import host_cycles
from ..linker.constants import constant_bytes
from ..sequence.launch_sequence import Operators, launch_sequence, sources
from ..subgraphs.subgraph import Subgraph

_NUMBERED = re.compile(r"op\$(\d+)")
"""The number of an operator in the names of a compiled subgraph, see `subgraph_text`."""


@dataclass
class Units:
    """Operators that stay together, and their estimated cycles, which are corrected as stages are compiled."""

    parts: list[Operators]
    cycles: list[float]
    carried: tuple[Carried, ...]
    held: tuple[Held, ...]

    @staticmethod
    def of(function: FuncOp, parts: list[Operators], cycles: list[float], chip: Chip) -> Units:
        """Units of a function, in a topological order."""
        sequence = launch_sequence(function, parts)
        carried = tuple(
            Carried(value.producer, value.readers, value.is_output, float(host_cycles(chip, value.nbytes)))
            for value in sequence.values
        )
        readers: list[list[int]] = [[] for _ in sequence.constants]
        for number, part in enumerate(sequence.parts):
            for constant in part.constants:
                readers[constant].append(number)
        held = tuple(
            Held(tuple(sorted(set(mine))), constant_bytes(op).size)
            for op, mine in zip(sequence.constants, readers, strict=True)
        )
        return Units(parts, cycles, carried, held)

    def stage_costs(self, chip: Chip, capacity: float) -> Floats:
        """As `analysis.subgraphs.chip_stages.stage_costs`, with at most `capacity` bytes of constants on a chip."""
        weights = HostWeights(capacity, 1 / chip.host_bytes_per_cycle)
        return stage_costs(self.cycles, self.carried, self.held, weights)

    def scale(self, low: int, high: int, cycles: float) -> None:
        """Scale the cycles of the units from `low` up to `high` to this observed sum."""
        expected = sum(self.cycles[low:high])
        for number in range(low, high):
            share = self.cycles[number] / expected if expected > 0 else 1 / (high - low)
            self.cycles[number] = cycles * share


def unit_cycles(
    units: Sequence[Operators], compiled: Sequence[Subgraph], cycles_of_part: Callable[[Subgraph], float]
) -> list[float]:
    """
    Cycles of each unit: those of the compiled subgraph that contains it (`cycles_of_part`), divided in proportion to
    the estimate of planning for each task.
    """
    cycles_of: dict[Operation, float] = {}
    for part in compiled:
        expected = _expected(part)
        total = sum(expected.values())
        for op in part.operators:
            share = expected.get(op, 0.0) / total if total > 0 else 1 / len(part.operators)
            cycles_of[op] = cycles_of_part(part) * share
    return [sum(cycles_of.get(op, 0.0) for op in unit) for unit in units]


def _expected(part: Subgraph) -> dict[Operation, float]:
    """Cycles that planning estimates, by the root operator of each task."""
    held = sources(part.operators)[0]
    tasks = {op.sym_name.data: op for op in part.operators if isinstance(op, TaskOp)}
    found: dict[Operation, float] = {}
    for name, cycles in zip(part.code.tasks, part.code.task_cycles, strict=True):
        numbered = _NUMBERED.search(name)
        op = held[int(numbered[1])] if numbered is not None else tasks.get(name)
        if op is not None:
            found[op] = found.get(op, 0.0) + float(cycles)
    return found
