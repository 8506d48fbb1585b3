"""A problem and a machine as the flat arrays that compiled functions take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..cost_graphs.graph import Flat, Ints, Lists, lists_of, starts_of
from .anneal import anneal
from .anneal_rebuilds import anneal_rebuilds
from .cover import cover, cover_by_effect, take_in_order
from .kinds import Kind
from .model import Model
from .problem import OffloadProblem
from .rebuild import LONGEST, chain_of, rebuilds
from .simulate import run

_EFFORT = 50_000
"""Operations and gaps times candidates that a step of covering by effect may look at."""
SHARES = (1.0, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7)
"""Of the budget, for the profile of a first plan: saving memory needs some room on the way."""
HEAT = 0.003
"""Temperature of annealing at its start, as a share of the compute time."""


@dataclass(frozen=True)
class Evaluator:
    """Runs and changes plans: arrays [c] of kinds."""

    problem: OffloadProblem
    model: Model

    @cached_property
    def _packed(self) -> Ints:
        return self.model.packed(self.problem.size)

    @cached_property
    def _times(self) -> tuple[Ints, Ints, Ints]:
        """[c] ns to copy, to copy compressed, to (de)compress."""
        model, size = self.model, self.problem.size
        return model.copy_ns(size), model.copy_ns(self._packed), model.pack_ns(size)

    @cached_property
    def _by_before(self) -> tuple[Ints, Ints]:
        before = self.problem.before
        return np.argsort(before, kind="stable"), starts_of(before, self.problem.ops)

    def makespan(self, plan: Ints, budget: int, log: Flat | None = None) -> tuple[int, int]:
        """(ns or `NEVER`, rows written to the log) of an execution within the budget."""
        p = self.problem
        due, again_ns, again_room = rebuilds(p.net, plan)
        return run(
            p.duration, p.on_vpu, p.allocated, p.freed, p.live, p.tensor, p.size, self._packed, p.before, p.producer,
            plan, due, again_ns, again_room, *self._by_before, p.graph.tensors, budget, *self._times,
            np.zeros((0, 4), np.int64) if log is None else log,
        )  # fmt: skip

    def room_again(self, plan: Ints) -> Ints:
        """[c] bytes of other results on the way to tensors that are computed again."""
        return rebuilds(self.problem.net, plan)[2]

    def chains(self, plan: Ints) -> Lists:
        """For each gap the operations that run again at its end."""
        due, _, _ = rebuilds(self.problem.net, plan)
        found: list[list[int]] = []
        for gap, kind in enumerate(plan.tolist()):
            ops = np.empty(LONGEST, np.int64)
            count = chain_of(self.problem.net, plan, due, gap, ops) if kind >= Kind.RECOMPUTE else 0
            found.append(ops[: max(0, count)].tolist())
        return lists_of(found)

    @cached_property
    def _cost_again(self) -> Ints:
        """[c] ns to compute each tensor again while everything else is there, -1: not possible."""
        result = np.full(self.problem.gaps, -1, np.int64)
        plan = np.zeros(self.problem.gaps, np.int64)
        for gap in range(self.problem.gaps):
            ops = np.empty(LONGEST, np.int64)
            count = chain_of(self.problem.net, plan, self.problem.after, gap, ops)
            if count >= 0:
                result[gap] = self.problem.duration[ops[:count]].sum()
        return result

    def covered(self, kinds: tuple[Kind, ...], budget: int) -> Ints | None:
        """A plan whose profile stays within the budget; None where these kinds cannot do it."""
        p = self.problem
        time = np.concatenate([[0], np.cumsum(p.duration)])
        length = (time[p.after] - time[p.before + 1]).astype(np.float64)
        score = np.full((len(kinds), p.gaps), -1.0)
        for row, kind in enumerate(kinds):
            if kind < Kind.RECOMPUTE:
                score[row] = length
            else:
                cost = self._cost_again
                score[row] = np.where(cost >= 0, p.size / np.maximum(cost, 1), -1)
        plan = np.zeros(p.gaps, np.int64)
        if min(kinds) >= Kind.RECOMPUTE:
            tries = max(4, min(64, _EFFORT // (p.ops + p.gaps + 1)))
            rows = np.array(kinds, np.int64)
            fits = cover_by_effect(p.net, p.live, p.size, self._packed, rows, score[0], tries, budget, plan)
            return plan if fits else None
        fits = cover(p.net, p.live, p.size, self._packed, np.array(kinds, np.int64), score, budget, plan)
        return plan if fits else None

    def take_in_order(self, order: Ints, kind: Kind, budget: int, plan: Ints) -> None:
        """Add the gaps of an order that relieve an operation over the budget to a plan, until there is none."""
        p = self.problem
        take_in_order(p.net, p.live, p.size, self._packed, order, int(kind), budget, plan)

    def annealed(
        self, start: Ints, kinds: tuple[Kind, ...], budget: int, evaluations: int, seed: int
    ) -> tuple[int, Ints]:
        """(ns, plan) of the best plan found near `start`."""
        p, best = self.problem, start.copy()
        if not p.gaps or evaluations <= 0:
            return self.makespan(start, budget)[0], best
        rows = np.array(kinds, np.int64)
        if min(kinds) >= Kind.RECOMPUTE:
            cost = self._cost_again
            price = 3 * float(np.median(cost[cost >= 0] / p.size[cost >= 0]))
            again = anneal_rebuilds(
                p.net, p.on_vpu, p.allocated, p.freed, p.live, p.size, self._packed, p.producer, *self._by_before,
                budget, *self._times, rows, start, evaluations, seed, price, best,
            )  # fmt: skip
            return int(again), best
        least = anneal(
            p.net, p.on_vpu, p.allocated, p.freed, p.live, p.size, self._packed, p.producer, *self._by_before, budget,
            *self._times, rows, start, evaluations, seed, HEAT, best,
        )  # fmt: skip
        return int(least), best
