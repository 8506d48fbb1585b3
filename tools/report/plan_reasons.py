"""Alternatives to a plan: the time with another decision for one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...analysis.offload.actions import WORDS, Action
from ...analysis.offload.evaluate import Evaluator
from ...analysis.offload.kinds import Kind
from ...analysis.offload.plan import OffloadPlan
from ...analysis.offload.simulate import NEVER

STAYS = "kept"
"""The word for a tensor that is not saved."""
WORK = 20_000_000
"""Limit of simulated operations for all alternatives; in large plans only the largest tensors have alternatives."""


@dataclass(frozen=True)
class Otherwise:
    """The time with another kind for one tensor, the other tensors as planned."""

    kind: str
    more_ns: int | None
    """The increase of the time; None: the plan would not fit."""


def reasons(
    evaluator: Evaluator, plan: OffloadPlan, budget: int, done: Sequence[Action], kinds: Iterable[Kind]
) -> dict[int, list[Otherwise]]:
    """By gap; `budget` in bytes. The largest tensors first, as many as `WORK` allows."""
    groups: dict[str, list[Kind]] = {STAYS: [Kind.KEEP]}
    for kind in kinds:
        groups.setdefault(WORDS[kind], []).append(kind)
    runs = len(list(kinds)) + 1
    most = WORK // max(1, evaluator.problem.ops * runs)
    largest = sorted(done, key=lambda one: (-one.bytes, one.gap))[:most]
    return {one.gap: list(_otherwise(evaluator, plan, budget, one, groups)) for one in largest}


def _otherwise(
    evaluator: Evaluator, plan: OffloadPlan, budget: int, action: Action, groups: dict[str, list[Kind]]
) -> Iterator[Otherwise]:
    changed = plan.kind.copy()
    for word, kinds in groups.items():
        if word == action.kind:
            continue
        least = NEVER
        for kind in kinds:
            changed[action.gap] = int(kind)
            least = min(least, evaluator.makespan(changed, budget)[0])
        yield Otherwise(word, None if least >= NEVER else least - plan.time_ns)


def moving_ns(evaluator: Evaluator, action: Action) -> int:
    """Time of links, converters or units to offload and to restore a tensor, in ns."""
    import numpy as np

    model, size = evaluator.model, np.array([action.bytes], np.int64)
    pack, packed = model.pack_ns(size), model.copy_ns(model.packed(size))
    times = {
        "swap": 2 * model.copy_ns(size),
        "compress": 2 * pack,
        "compress+swap": 2 * (pack + packed),
        "recompute": evaluator.problem.duration[list(action.again)].sum(keepdims=True),
    }
    return int(times[action.kind][0])
