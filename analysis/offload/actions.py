"""The actions of a plan: for each tensor the kind of saving, its times, and the operations before and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..cost_graphs.graph import Ints
from .kinds import Kind
from .plan import OffloadPlan
from .problem import OffloadProblem
from .simulate import AGAIN, IN, OP, OUT, PACK, UNPACK

WORDS = {
    Kind.SWAP: "swap",
    Kind.COMPRESS: "compress",
    Kind.COMPRESS_SWAP: "compress+swap",
    Kind.RECOMPUTE: "recompute",
    Kind.RECOMPUTE_EACH: "recompute",
    Kind.RECOMPUTE_AHEAD: "recompute",
}


@dataclass(frozen=True)
class Action:
    """One offload of a tensor between two uses. Operations are numbers in the order of the graph."""

    kind: str
    gap: int
    tensor: int
    bytes: int
    producer: int
    after: int
    """The use after which it is offloaded."""
    before: int
    """The use for which it is restored."""
    leave_ns: int
    """Time at which its copy (or compression) begins; for recomputation, at which it is dropped."""
    gone_ns: int
    """Time at which its memory becomes free."""
    return_ns: int
    """Time at which its memory is allocated again: its copy back, decompression or recomputation begins."""
    back_ns: int
    """Time at which it can be used again."""
    prefetch_after: int
    """The last operation that is complete when its restoration begins."""
    serialize_before: int
    """The first operation that starts after its memory is free."""
    idle_ns: int
    """Time between the two uses."""
    worst: int
    """The operation between the two uses with the most bytes in memory without saving."""
    over: int
    """Bytes by which that operation exceeds the budget."""
    again: tuple[int, ...]
    """Operations that run again to recompute it."""


def actions(problem: OffloadProblem, plan: OffloadPlan, budget: int) -> Iterator[Action]:
    """All actions of an execution, in the order of their beginnings."""
    times = {row: {int(n): (int(s), int(e)) for _, n, s, e in plan.log[plan.log[:, 0] == row]} for row in range(6)}
    spans = times[OP]
    starts, ends = (np.array([spans[op][side] for op in range(problem.ops)], np.int64) for side in (0, 1))
    plain = plan.kind == Kind.SWAP
    copied = {int(problem.tensor[gap]): span for gap, span in times[OUT].items() if plain[gap]}
    found: list[Action] = []
    for gap in np.flatnonzero(plan.kind != Kind.KEEP).tolist():
        kind, tensor = Kind(int(plan.kind[gap])), int(problem.tensor[gap])
        first, last = int(problem.before[gap]), int(problem.after[gap])
        away = _away(kind, gap, tensor, int(ends[first]), times, copied)
        if away is None:
            continue
        leave, gone, come, back = away
        worst = first + 1 + int(np.argmax(problem.live[first + 1 : last]))
        found.append(
            Action(
                WORDS[kind], gap, tensor, int(problem.size[gap]), int(problem.producer[gap]), first, last,
                leave, gone, come, back, int(np.searchsorted(ends, come, side="right")) - 1,
                _first_from(starts, gone), int(starts[last] - ends[first]), worst,
                max(0, int(problem.live[worst]) - budget), tuple(plan.chains.row(gap)),
            )
        )  # fmt: skip
    yield from sorted(found, key=lambda action: (action.leave_ns, action.gap))


def _away(
    kind: Kind,
    gap: int,
    tensor: int,
    used: int,
    times: dict[int, dict[int, tuple[int, int]]],
    copied: dict[int, tuple[int, int]],
) -> tuple[int, int, int, int] | None:
    """
    The times (leave, gone, return, back), see `Action`, of a tensor whose last use before a gap ends at `used`; None if
    it stays.
    """
    if kind >= Kind.RECOMPUTE:
        again = times[AGAIN].get(gap)
        return None if again is None else (used, used, *again)
    row = IN if kind is Kind.SWAP else UNPACK
    if gap not in times[row]:
        return None
    come, back = times[row][gap]
    if kind is Kind.SWAP:
        out = copied[tensor]
        return out[0], max(used, out[1]), come, back
    if kind is Kind.COMPRESS_SWAP:
        come = times[IN][gap][0]
    leave, gone = times[PACK].get(gap, (used, used))
    return leave, gone, come, back


def _first_from(starts: Ints, moment: int) -> int:
    return min(int(np.searchsorted(starts, moment)), len(starts) - 1)
