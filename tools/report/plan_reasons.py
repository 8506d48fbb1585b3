"""Reasons for a plan's choices: the time with another choice for one tensor."""

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
"""Operations that are executed in all to find reasons; large plans have reasons for their largest tensors only."""


@dataclass(frozen=True)
class Otherwise:
    """The time if one tensor were saved by another kind, the rest as planned."""

    kind: str
    more_ns: int | None
    """The increase of the time; None: it would not fit."""


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
    """How long links, converters or units work to take a tensor away and bring it back, in ns."""
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
