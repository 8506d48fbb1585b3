"""Bounds on the cycles of each operation of a network, and the reasons why operations exceed them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import QUEUES, Unit
from ..executable.executable import Executable
from ..machine.costs import RATE
from ..timing.engine import TimingResult
from ..timing.kernel_arrays import KIND, LOAD, STORE
from .busiest import COMPUTING
from .critical_path import BUSY_LINKS, BUSY_PORT, COMPUTES, DRAM_RATE, HOPS, LATENCY, LINK_RATE, SEMAPHORE, Piece
from .launch_trace import launch_traces


@dataclass
class TaskWork:
    """The work of one operation in a run."""

    macs: NDArray[np.float64]
    """[cores] multiply-accumulates of matrix units, in f32-equivalents."""
    vpu_ops: NDArray[np.float64]
    """[cores] element operations, in f32-equivalents."""
    dram_bytes: int = 0
    loading: int = 0
    """Cycles of loading weights, and of filling and draining arrays, summed over all cores."""
    busy: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, QUEUES), np.int64))
    """[cores, 8] busy cycles of each unit."""


@dataclass(frozen=True)
class TaskOverBound:
    """An operation, its cycles on the critical path, and why these exceed its bound."""

    task: str
    cycles: int
    """Cycles on the critical path."""
    bound: float
    """
    The maximum of the cycles of its products at the rate of all matrix units, of its vector operations at the rate of
    all vector units, and of its DRAM traffic at the rate of all ports. If other operations run concurrently and hide
    its work, `cycles` may be below the bound.
    """
    set_by: str
    achievable: float
    """
    As `bound`, but with the cycles of the program's instructions for products and vector operations, distributed over
    all cores: more than `bound` if tiles do not fill arrays and lanes.
    """
    why: str


def task_work(exe: Executable, timing: TimingResult) -> dict[str, TaskWork]:
    """The work of each operation in a traced run, by name."""
    chip = exe.chip
    found: dict[str, TaskWork] = {}
    names: list[str] = [*exe.source_names, ""]
    lengths = np.cumsum([0, *(len(program.words) + 1 for program in exe.programs)])
    sources = np.full(lengths[-1], len(exe.source_names), np.int64)
    for at, program in zip(lengths.tolist(), exe.programs, strict=False):
        sources[at : at + len(program.sources)] = np.minimum(program.sources, len(exe.source_names))
    for _, _, trace in launch_traces(exe, timing):
        tables = trace.tables
        words = tables.words[tables.first]
        rate = RATE[(words["dtype"] & 15).astype(np.int64)]
        source, core = sources[lengths[trace.program] + trace.word], trace.lane // QUEUES
        unit, kind = trace.lane % QUEUES, tables.classes[trace.row, KIND]
        macs = np.where(unit == Unit.MPU, (tables.costs.macs / rate)[trace.row], 0.0)
        vpu_ops = (tables.costs.vpu_ops / rate)[trace.row]
        traffic = np.where((kind == LOAD) | (kind == STORE), tables.costs.traffic[trace.row], 0)
        numbers: list[int] = np.unique(source).tolist()
        for number in numbers:
            of = source == number
            work = found.setdefault(names[number], TaskWork(np.zeros(chip.cores), np.zeros(chip.cores)))
            if not len(work.busy):
                work.busy = np.zeros((chip.cores, QUEUES), np.int64)
            work.macs += np.bincount(core[of], weights=macs[of], minlength=chip.cores)
            work.vpu_ops += np.bincount(core[of], weights=vpu_ops[of], minlength=chip.cores)
            work.dram_bytes += int(traffic[of].sum())
            work.loading += int(tables.costs.loading[trace.row[of]].sum())
            np.add.at(work.busy, (core[of], unit[of]), (trace.end - trace.start)[of])
    return found


def least_cycles(exe: Executable, work: TaskWork) -> tuple[float, str]:
    """(the bound of an operation in cycles, the unit that sets it)."""
    chip, cores = exe.chip, len(exe.chip.usable_cores)
    by_unit = {
        "MPU": float(work.macs.sum()) / (cores * chip.mpu_rows * chip.mpu_cols),
        "VPU": float(work.vpu_ops.sum()) / (cores * chip.vpu_lanes),
        "DRAM": work.dram_bytes / chip.dram_bytes_per_cycle,
    }
    unit = max(by_unit, key=lambda name: by_unit[name])
    return by_unit[unit], unit


def achievable_cycles(exe: Executable, work: TaskWork) -> float:
    """Cycles of an operation if its instructions and its DRAM traffic are distributed evenly over all cores."""
    cores = len(exe.chip.usable_cores)
    busy = max(float(work.busy[:, unit].sum()) / cores for unit in COMPUTING)
    return max(busy, least_cycles(exe, work)[0])


def tasks_over_bound(
    exe: Executable, timing: TimingResult, path: Iterable[Piece], count: int = 5
) -> list[TaskOverBound]:
    """The `count` operations whose time on the critical path exceeds their bound most, the worst first."""
    pieces: dict[str, list[Piece]] = {}
    for piece in path:
        if piece.task:
            pieces.setdefault(piece.task, []).append(piece)
    work = task_work(exe, timing)
    found: list[TaskOverBound] = []
    for task, own in pieces.items():
        bound, unit = least_cycles(exe, work[task])
        cycles = sum(piece.cycles for piece in own)
        if cycles > bound:
            achievable = achievable_cycles(exe, work[task])
            found.append(TaskOverBound(task, cycles, bound, unit, achievable, _why(exe, work[task], own)))
    return sorted(found, key=lambda one: one.bound - one.cycles)[:count]


def _why(exe: Executable, work: TaskWork, pieces: list[Piece]) -> str:
    """A description of the reason for most of an operation's time on the critical path."""
    by_reason: dict[tuple[int, str], int] = {}
    for piece in pieces:
        key = (piece.unit, piece.reason)
        by_reason[key] = by_reason.get(key, 0) + piece.cycles
    (unit, reason), _ = max(by_reason.items(), key=lambda item: item[1])
    match reason:
        case str() if reason == COMPUTES:
            return _computing(exe, work, unit)
        case str() if reason in (DRAM_RATE, BUSY_PORT, LATENCY) and unit == Unit.STORE:
            return "its results are stored after all other work"
        case str() if unit == Unit.LOAD:
            through = "the DRAM ports" if reason in (DRAM_RATE, BUSY_PORT, LATENCY) else "the links"
            return f"loads are not hidden: {through} are slower than the work that runs meanwhile"
        case str() if reason in (LINK_RATE, BUSY_LINKS, HOPS, SEMAPHORE):
            return "exchange between cores"
        case _:
            return "instructions wait for the sequencer"


def _computing(exe: Executable, work: TaskWork, unit: int) -> str:
    """Why units take longer than at their peak rate: too few, uneven, or not filled."""
    chip, name = exe.chip, Unit(unit).name
    busy = work.busy[:, unit]
    at_work = int((busy > 0).sum())
    reasons: list[str] = []
    if at_work < len(chip.usable_cores):
        reasons.append(f"only {at_work} of {len(chip.usable_cores)} cores take part")
    if at_work and busy.max() > 1.2 * busy[busy > 0].mean():
        reasons.append(f"the busiest core has {busy.max() / busy[busy > 0].mean():.1f} x the mean")
    if name in ("MPU", "VPU"):
        peak = chip.mpu_rows * chip.mpu_cols if name == "MPU" else chip.vpu_lanes
        done = work.macs if name == "MPU" else work.vpu_ops
        filled = float(done.sum()) / max(int(busy.sum()) * peak, 1)
        what = "array" if name == "MPU" else "lanes"
        reasons.append(f"{what} filled to {100 * filled:.0f}% while busy")
    return f"{name}: {', '.join(reasons) or 'copies in SRAM'}"
