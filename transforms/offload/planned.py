"""
The script of a plan: its operations in the order of execution, with copies from the host as late as possible without
delays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...analysis.cost_graphs.graph import Ints
from ...analysis.offload.kinds import Kind
from ...analysis.offload.plan import OffloadPlan
from ...analysis.offload.problem import OffloadProblem
from ...analysis.offload.simulate import AGAIN, IN, OP, OUT, PACK, UNPACK
from .script import Absence, Act, Item, Script

_ACTS = {OP: Act.RUN, OUT: Act.OUT, IN: Act.IN, PACK: Act.COMPRESS, UNPACK: Act.DECOMPRESS, AGAIN: Act.AGAIN}


@dataclass(frozen=True)
class Planned:
    """A script, the times of its items, and the operations that copies from the host wait for."""

    script: Script
    start: Ints
    end: Ints
    prefetch: tuple[tuple[int, int], ...]
    """Control edges (from, to), as numbers of items: copies from the host wait for these operations."""


@dataclass
class _Row:
    act: int
    number: int
    start: int
    end: int
    after: _Row | None = None


def planned_script(problem: OffloadProblem, plan: OffloadPlan) -> Planned:
    """The execution of a plan, without unused copies."""
    rows = [_Row(int(act), int(number), int(start), int(end)) for act, number, start, end in plan.log]
    there = _numbers(rows)
    rows = [row for row in rows if _is_used(row, there, problem, plan)]
    _delay_copies(rows, problem, plan)
    order = sorted(range(len(rows)), key=lambda number: (rows[number].start, rows[number].end, number))
    position = {id(rows[number]): index for index, number in enumerate(order)}
    absences = tuple(
        Absence(int(problem.tensor[gap]), Kind(int(kind)), tuple(plan.chains.row(gap)))
        for gap, kind in enumerate(plan.kind)
    )
    items = tuple(Item(_ACTS[rows[number].act], rows[number].number) for number in order)
    prefetch = [(position[id(row.after)], position[id(row)]) for row in rows if row.after is not None]
    return Planned(
        Script(items, absences),
        np.array([rows[number].start for number in order], np.int64),
        np.array([rows[number].end for number in order], np.int64),
        tuple(sorted(prefetch)),
    )


def _numbers(rows: list[_Row]) -> dict[int, set[int]]:
    """The numbers of the rows of each act."""
    found: dict[int, set[int]] = {act: set() for act in _ACTS}
    for row in rows:
        found[row.act].add(row.number)
    return found


def _is_used(row: _Row, there: dict[int, set[int]], problem: OffloadProblem, plan: OffloadPlan) -> bool:
    """Whether the tensor that a row offloads is restored later."""
    if row.act == OUT:
        kind = plan.kind[row.number]
        same = problem.tensor == problem.tensor[row.number]
        return any(gap in there[IN] for gap in np.flatnonzero(same & (plan.kind == kind)).tolist())
    if row.act == PACK:
        if plan.kind[row.number] == Kind.COMPRESS:
            return row.number in there[UNPACK]
        return row.number in there[OUT] and _is_used(_Row(OUT, row.number, 0, 0), there, problem, plan)
    return True


def _delay_copies(rows: list[_Row], problem: OffloadProblem, plan: OffloadPlan) -> None:
    """Delay copies from the host: they begin after the last operation that leaves enough time before their use."""
    computing = sorted((row for row in rows if row.act in (OP, AGAIN)), key=lambda row: row.end)
    ends = np.array([row.end for row in computing], np.int64)
    copies = sorted((row for row in rows if row.act == IN), key=lambda row: row.start)
    limit = int(plan.time_ns)
    latest: list[int] = []
    readers = _readers(rows, problem, plan)
    for row in reversed(copies):
        needed = min((one.start for one in readers[row.number] if one.start >= row.end), default=limit)
        limit = min(limit, needed) - (row.end - row.start)
        latest.append(limit)
    free = 0
    for row, last in zip(copies, reversed(latest), strict=True):
        length = row.end - row.start
        before = int(np.searchsorted(ends, max(last, row.start), side="right")) - 1
        if before >= 0:
            row.after = computing[before]
            row.start = max(row.start, row.after.end)
        row.start = max(row.start, free)
        row.end = free = row.start + length


def _readers(rows: list[_Row], problem: OffloadProblem, plan: OffloadPlan) -> dict[int, list[_Row]]:
    """For each copy from the host, the rows that may read its tensor."""
    graph = problem.graph
    by_tensor: dict[int, list[_Row]] = {}
    unpack: dict[int, _Row] = {}
    for row in rows:
        if row.act == UNPACK:
            unpack[row.number] = row
        ops = [row.number] if row.act == OP else plan.chains.row(row.number) if row.act == AGAIN else []
        for tensor in {tensor for op in ops for tensor in graph.inputs.row(op)}:
            by_tensor.setdefault(tensor, []).append(row)
        if row.act in (PACK, OUT) and plan.kind[row.number] in (Kind.COMPRESS, Kind.SWAP):
            by_tensor.setdefault(int(problem.tensor[row.number]), []).append(row)
    found: dict[int, list[_Row]] = {}
    for row in rows:
        if row.act == IN:
            gap = row.number
            packed = plan.kind[gap] == Kind.COMPRESS_SWAP
            found[gap] = [unpack[gap]] if packed else by_tensor.get(int(problem.tensor[gap]), [])
    return found
