"""Explanation of what limits a run: sums over its critical path and bounds, as data and as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...support.errors import MeshloomError
from ..executable.executable import Executable
from ..timing.engine import TimingResult
from .achievable import PARTS, Achievable, achievable_of
from .critical_path import Piece, critical_path
from .task_bounds import TaskOverBound, tasks_over_bound
from .waterfall import IDEAL, Waterfall, waterfall

LEAST_SHARE = 0.005
"""Share of the run's cycles below which sums are combined in one line, the rest."""
LAYERS = 5
"""Number of layers in the text."""


@dataclass(frozen=True)
class Share:
    """The cycles on the critical path of one unit for one reason."""

    unit: str
    """The unit of the instructions; "" if there is none."""
    reason: str
    """One of `critical_path.REASONS`."""
    cycles: int


@dataclass(frozen=True)
class Explanation:
    """The parts of a run's cycles, and their comparison with bounds."""

    cycles: int
    shares: tuple[Share, ...]
    """Shares of the critical path, the longest first; they add up to `cycles`."""
    tasks: tuple[tuple[str, int], ...]
    """(operation, cycles on the critical path), the longest first."""
    over_bound: tuple[TaskOverBound, ...]
    """The operations that exceed their bounds by the most cycles."""
    path: tuple[Piece, ...]
    waterfall: Waterfall | None = None
    """From the roofline to the run's cycles; None if the executable has no note of the network's own work."""
    achievable: Achievable | None = None
    """The achievable time; None if the executable has no note of the network's layers."""

    def __str__(self) -> str:
        return explain_text(self)

    def figures(self) -> dict[str, Any]:
        """The sums as a JSON-serialisable table."""
        return {
            "cycles": self.cycles,
            "critical_path": [
                {"unit": share.unit, "reason": share.reason, "cycles": share.cycles} for share in self.shares
            ],
            "tasks": [{"task": task, "cycles": cycles} for task, cycles in self.tasks],
            "over_bound": [asdict(one) for one in self.over_bound],
            **({} if self.waterfall is None else {"waterfall": self.waterfall.parts}),
        }


def explain(exe: Executable, timing: TimingResult) -> Explanation:
    """
    The explanation of a run. Raises MeshloomError if it was not traced (`run_timing(exe, trace=True)`).
    """
    if timing.trace is None:
        raise MeshloomError("this run was not traced: time it with a trace")
    path = critical_path(exe, timing)
    by_share: dict[tuple[str, str], int] = {}
    by_task: dict[str, int] = {}
    for piece in path:
        key = (piece.unit_name, piece.reason)
        by_share[key] = by_share.get(key, 0) + piece.cycles
        by_task[piece.task] = by_task.get(piece.task, 0) + piece.cycles
    shares = sorted((Share(unit, reason, cycles) for (unit, reason), cycles in by_share.items()), key=_longest)
    tasks = sorted(by_task.items(), key=lambda item: -item[1])
    over = tasks_over_bound(exe, timing, path)
    return Explanation(
        timing.cycles, tuple(shares), tuple(tasks), tuple(over), tuple(path), waterfall(exe, timing, path),
        achievable_of(exe),
    )  # fmt: skip


def _longest(share: Share) -> int:
    return -share.cycles


def explain_text(explanation: Explanation) -> str:
    """The explanation as text: parts of the critical path, and operations that exceed their bounds most."""
    total = max(explanation.cycles, 1)
    lines = [f"composition of the {explanation.cycles:,} cycles (critical path):"]
    rest = 0
    for share in explanation.shares:
        if share.cycles < LEAST_SHARE * total:
            rest += share.cycles
            continue
        what = f"{share.unit or 'chip':<6}{share.reason}"
        lines.append(f"  {share.cycles:>12,}  {100 * share.cycles / total:5.1f}%  {what}")
    if rest:
        lines.append(f"  {rest:>12,}  {100 * rest / total:5.1f}%  {'':<6}others, each below {100 * LEAST_SHARE:g}%")
    if explanation.waterfall is not None:
        lines += _waterfall_lines(explanation.waterfall)
    if explanation.achievable is not None:
        lines += _layer_lines(explanation.achievable)
    if explanation.over_bound:
        lines.append("operations with the most cycles above their own bound:")
    for one in explanation.over_bound:
        tiles = f", {one.achievable:,.0f} with these tiles" if round(one.achievable) > round(one.bound) else ""
        why = f"{one.task}: bound {one.bound:,.0f} ({one.set_by}){tiles}; {one.why}"
        lines.append(f"  {one.cycles:>12,}  {100 * one.cycles / total:5.1f}%  {why}")
    return "\n".join(lines)


def _waterfall_lines(found: Waterfall) -> list[str]:
    """Lines for the parts of the run's cycles beyond the roofline."""
    bound = found.parts[IDEAL]
    lines = [f"from the roofline of {bound:,.0f} (set by {found.unit}) to the run, {found.ratio:.2f} x:"]
    for part, cycles in found.parts.items():
        if abs(cycles) >= LEAST_SHARE * bound:
            lines.append(f"  {cycles:>12,.0f}  {cycles / bound:5.2f} x  {part}")
    return lines


def _layer_lines(found: Achievable) -> list[str]:
    """Lines for the layers that take most of the achievable time, with its parts."""
    lines = [f"layers with the most of the {found.cycles:,.0f} achievable cycles:"]
    for layer in found.longest(LAYERS):
        figures = layer.figures()
        parts = [f"{figures[part]:,.0f} {text}" for part, text in PARTS.items() if round(figures.get(part, 0.0))]
        share = 100 * layer.cycles / max(found.cycles, 1)
        lines.append(f"  {layer.cycles:>12,.0f}  {share:5.1f}%  {layer.name}: {', '.join(parts) or 'nothing'}")
    return lines
