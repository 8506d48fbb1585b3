"""
The waterfall of a run: from the roofline, the bound of the binding kind of unit, to the cycles of the run.

The unit that sets the roofline is that of all matrix units, vector units or DRAM ports together. Its cycles in the run
are the network's own work at the full rate, additional work, work below the full rate, and waits. The reason for a wait
is the piece of the critical path at that time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import QUEUES, Unit
from ..executable.executable import Executable
from ..machine.costs import RATE
from ..timing.engine import TimingResult
from ..timing.kernel_arrays import KIND, LOAD, STORE
from .critical_path import BUSY_PORT, COMPUTES, DRAM_RATE, FULL_QUEUE, HOST, SEQUENCER, Piece
from .launch_trace import launch_traces
from .stats import count_work, network_roofline
from .task_bounds import task_work

IDEAL, REPEATED, FILLING, LOADING = "ideal", "repeated work", "array not filled", "fill and drain"
PRODUCTS, VECTORS, COPIES, UNEVEN = "matrix units", "vector units", "copies in SRAM", "uneven units"
EXCHANGES, WAITING, DISPATCH = "exchanges", "waiting for DRAM", "sequencer"
PARTS = {
    IDEAL: "the network's own work, evenly over all units of the kind that sets the roofline, at their full rate",
    REPEATED: "work done more than once, such as borders of tiles; below 0: work done by another unit",
    FILLING: "matrix units busy with a part of their array; other units, with a part of their lanes",
    LOADING: "matrix units load weights, or their array fills and drains",
    PRODUCTS: "the unit waits for products, at the full rate of matrix units",
    VECTORS: "the unit waits for operations of vector units",
    COPIES: "the unit waits for copies within SRAM, or for the mapping unit",
    UNEVEN: "the unit waits for units of the same kind that have more work",
    EXCHANGES: "the unit waits for messages between cores",
    WAITING: "the unit waits for transfers from or to DRAM",
    DISPATCH: "the unit waits for the sequencer, a queue, or the host",
}
"""The parts of a waterfall in order, with descriptions."""


@dataclass(frozen=True)
class Waterfall:
    """The parts of a run's cycles."""

    unit: str
    """The unit that sets the roofline."""
    parts: dict[str, float]
    """Cycles of each part of `PARTS`; they add up to the cycles of the run."""

    @property
    def ratio(self) -> float:
        """Cycles of the run over the roofline."""
        return sum(self.parts.values()) / self.parts[IDEAL]

    def figures(self) -> dict[str, Any]:
        """The parts divided by the roofline, as a JSON-serialisable table."""
        return {name: round(cycles / self.parts[IDEAL], 3) for name, cycles in self.parts.items() if round(cycles)}


@dataclass(frozen=True)
class _Work:
    """Work of one kind of unit in a run, in cycles of all units of the kind together."""

    times: NDArray[np.int64]
    """[n, 2] begin and end of each instruction, in cycles of the run."""
    cycles: NDArray[np.float64]
    """[n] cycles of each instruction, divided by the number of units."""
    useful: float
    """Cycles of the work at the full rate."""
    loading: float


def waterfall(exe: Executable, timing: TimingResult, path: Sequence[Piece]) -> Waterfall | None:
    """
    The waterfall of a traced run with this critical path; None for an executable without a note of its network's own
    work, or without such work.

    Raises EmulationError for a malformed note `ideal`.
    """
    bound = network_roofline(exe, count_work(exe, [number for number, _, _ in timing.launches]))
    if bound is None or not path or bound.bound <= 0:
        return None
    unit = bound.binding
    work = _port_work(exe, timing) if unit == "DRAM" else _unit_work(exe, timing, Unit[unit])
    at_work = float(work.cycles.sum())
    parts = dict.fromkeys(PARTS, 0.0)
    parts[IDEAL] = bound.bound
    parts[REPEATED] = work.useful - bound.bound
    parts[LOADING] = work.loading
    parts[FILLING] = at_work - work.useful - work.loading
    bounds = np.array([path[0].start, *(piece.end for piece in path)])
    idle = np.diff(bounds) - np.diff(_done(work, bounds))
    products = _products(exe, timing)
    for piece, cycles in zip(path, idle.tolist(), strict=True):
        for part, share in _waits_for(piece, unit, products).items():
            parts[part] += share * cycles
    return Waterfall(unit, parts)


def _waits_for(piece: Piece, unit: str, products: Mapping[str, dict[str, float]]) -> dict[str, float]:
    """Shares of the parts in the time in which `unit` is idle and `piece` is on the critical path."""
    moving = piece.unit in (Unit.LOAD, Unit.STORE)
    if piece.unit < 0 or piece.reason in (SEQUENCER, FULL_QUEUE, HOST):
        return {DISPATCH: 1.0}
    if moving:
        uneven = unit == "DRAM" and piece.reason in (DRAM_RATE, BUSY_PORT)
        return {UNEVEN if uneven else WAITING: 1.0}
    if piece.reason != COMPUTES:
        return {EXCHANGES: 1.0}
    if piece.unit_name == unit:
        return {UNEVEN: 1.0}
    if piece.unit == Unit.MPU:
        return products[piece.task]
    return {VECTORS if piece.unit == Unit.VPU else COPIES: 1.0}


def _products(exe: Executable, timing: TimingResult) -> dict[str, dict[str, float]]:
    """For each operation the shares of the parts in the time of its matrix units."""
    peak = exe.chip.mpu_rows * exe.chip.mpu_cols
    found: dict[str, dict[str, float]] = {}
    for task, work in task_work(exe, timing).items():
        busy = max(int(work.busy[:, Unit.MPU].sum()), 1)
        full, loading = float(work.macs.sum()) / peak / busy, work.loading / busy
        found[task] = {PRODUCTS: full, LOADING: loading, FILLING: 1.0 - full - loading}
    return found


def _done(work: _Work, at: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cycles of work until each of the times `at`; the work of an instruction is distributed evenly over its time."""
    if not len(work.times):
        return np.zeros(len(at))
    rate = work.cycles / np.maximum(work.times[:, 1] - work.times[:, 0], 1)
    moments, place = np.unique(work.times.ravel(), return_inverse=True)
    change = np.bincount(place, weights=np.stack([rate, -rate], 1).ravel())
    done = np.concatenate([[0.0], np.cumsum(np.cumsum(change)[:-1] * np.diff(moments))])
    return np.interp(at, moments, done)


def _unit_work(exe: Executable, timing: TimingResult, unit: Unit) -> _Work:
    """The work of one kind of unit on all cores."""
    cores = len(exe.chip.usable_cores)
    peak = exe.chip.mpu_rows * exe.chip.mpu_cols if unit == Unit.MPU else exe.chip.vpu_lanes
    times: list[NDArray[np.int64]] = []
    useful = loading = 0.0
    for begin, _, trace in launch_traces(exe, timing):
        own = trace.lane % QUEUES == unit
        costs, row = trace.tables.costs, trace.row[own]
        rate = RATE[(trace.tables.words[trace.tables.first]["dtype"] & 15).astype(np.int64)]
        amount = costs.macs if unit == Unit.MPU else costs.vpu_ops
        useful += float((amount / rate)[row].sum()) / (peak * cores)
        loading += float(costs.loading[row].sum()) / cores
        times.append(np.stack([trace.start[own], trace.end[own]], 1) + begin)
    joined = np.concatenate(times)
    return _Work(joined, (joined[:, 1] - joined[:, 0]) / cores, useful, loading)


def _port_work(exe: Executable, timing: TimingResult) -> _Work:
    """The work of the DRAM ports."""
    times: list[NDArray[np.int64]] = []
    traffic: list[NDArray[np.int64]] = []
    for begin, _, trace in launch_traces(exe, timing):
        kind = trace.tables.classes[trace.row, KIND]
        own = (kind == LOAD) | (kind == STORE)
        times.append(np.stack([trace.start[own], trace.end[own]], 1) + begin)
        traffic.append(trace.tables.costs.traffic[trace.row[own]])
    cycles = np.concatenate(traffic) / exe.chip.dram_bytes_per_cycle
    return _Work(np.concatenate(times), cycles, float(cycles.sum()), 0.0)
