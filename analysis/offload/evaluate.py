"""Evaluation of plans: a problem and a model of the machine as the flat arrays that compiled functions use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..cost_graphs.graph import Flat, Ints, Lists, lists_of, starts_of
from .anneal import anneal
from .anneal_recomputation import anneal_recomputation
from .crossover import crossover
from .greedy_pruning import prune_greedily
from .initial_cover import cover_by_effect, initial_cover, take_in_order
from .kinds import Kind
from .model import Model
from .problem import OffloadProblem
from .recompute import LONGEST, chain_of, recomputations
from .simulate import NEVER, run

if TYPE_CHECKING:
    from .search import Found

HEAT = 0.003
"""Temperature of annealing at its start, as a share of the compute time."""


PRICES = 16
"""Number of cost limits for recomputation in first plans."""
HEAT_AGAIN = 0.001
"""As `HEAT`, for plans with recomputation only."""


@dataclass(frozen=True)
class Evaluator:
    """Simulates, constructs and improves plans, which are arrays [c] of kinds."""

    problem: OffloadProblem
    model: Model

    @cached_property
    def smallest_plans(self) -> dict[tuple[Kind, ...], Found]:
        """Kinds -> the known plans of least memory, see `least_budget_plan`."""
        return {}

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
        due, again_ns, again_room = recomputations(p.net, plan)
        return run(
            p.duration, p.on_vpu, p.allocated, p.freed, p.live, p.tensor, p.size, self._packed, p.before, p.producer,
            plan, due, again_ns, again_room, *self._by_before, p.graph.tensors, budget, *self._times,
            np.zeros((0, 4), np.int64) if log is None else log,
        )  # fmt: skip

    @property
    def nothing_saved(self) -> Ints:
        """[c] the plan in which all tensors stay."""
        return np.zeros(self.problem.gaps, np.int64)

    def room_again(self, plan: Ints) -> Ints:
        """[c] bytes of intermediate results of recomputations."""
        return recomputations(self.problem.net, plan)[2]

    def chains(self, plan: Ints) -> Lists:
        """For each gap the operations that are recomputed at its end."""
        due, _, _ = recomputations(self.problem.net, plan)
        found: list[list[int]] = []
        ops, stack = np.empty(LONGEST, np.int64), np.empty(4 * LONGEST, np.int64)
        for gap, kind in enumerate(plan.tolist()):
            count = chain_of(self.problem.net, plan, due, gap, ops, stack) if kind >= Kind.RECOMPUTE else 0
            found.append(ops[: max(0, count)].tolist())
        return lists_of(found)

    @cached_property
    def _cost_again(self) -> Ints:
        """[c] ns to recompute each tensor while all others are in memory, -1: not possible."""
        result = np.full(self.problem.gaps, -1, np.int64)
        plan = np.zeros(self.problem.gaps, np.int64)
        ops, stack = np.empty(LONGEST, np.int64), np.empty(4 * LONGEST, np.int64)
        for gap in range(self.problem.gaps):
            count = chain_of(self.problem.net, plan, self.problem.after, gap, ops, stack)
            if count >= 0:
                result[gap] = self.problem.duration[ops[:count]].sum()
        return result

    @cached_property
    def _length(self) -> NDArray[np.float64]:
        """[c] ns of the operations in each gap."""
        p = self.problem
        time = np.concatenate([[0], np.cumsum(p.duration)])
        return (time[p.after] - time[p.before + 1]).astype(np.float64)

    @cached_property
    def _bytes_again(self) -> NDArray[np.float64]:
        """[c] bytes saved per ns of recomputation, -1: not possible."""
        return np.where(self._cost_again >= 0, self.problem.size / np.maximum(self._cost_again, 1), -1.0)

    @cached_property
    def _alike(self) -> tuple[Ints, Ints, Ints]:
        """
        Class of each gap [c], equal for tensors of one size with producers and users of one name; and the members of
        each class.
        """
        p, names = self.problem, self.problem.graph.op_names
        numbers: dict[tuple[int, str, str, str], int] = {}
        rows = [
            (int(p.size[gap]), names[int(p.producer[gap])], names[int(p.before[gap])], names[int(p.after[gap])])
            for gap in range(p.gaps)
        ]
        alike = np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)
        return alike, starts_of(alike, len(numbers)), np.argsort(alike, kind="stable")

    def covered(self, kinds: tuple[Kind, ...], budget: int, tries: int, together: bool) -> Ints | None:
        """
        A plan whose profile stays within the budget; None if these kinds are not sufficient. See `cover_by_effect`.
        """
        p = self.problem
        score = np.empty((len(kinds), p.gaps))
        for row, kind in enumerate(kinds):
            score[row] = self._length if kind < Kind.RECOMPUTE else self._bytes_again
        plan = np.zeros(p.gaps, np.int64)
        if min(kinds) >= Kind.RECOMPUTE:
            rows = np.array(kinds, np.int64)
            fits = cover_by_effect(p.net, p.live, p.size, self._packed, rows, score[0], tries, budget, together, plan)
            return plan if fits else None
        fits = initial_cover(p.net, p.live, p.size, self._packed, np.array(kinds, np.int64), score, budget, plan)
        return plan if fits else None

    def thinned(self, kinds: tuple[Kind, ...], budget: int, prices: int) -> tuple[int, Ints] | None:
        """
        (ns, plan) of the best of the plans that recompute all tensors below some cost per byte, and are then pruned.

        The first `prices` plans that fit are tried; None if none fits.
        """
        p, cost = self.problem, self._cost_again
        rate = np.where(cost >= 0, cost / p.size, np.inf)
        rows, log = np.array(kinds, np.int64), np.zeros((0, 4), np.int64)
        finite = np.unique(rate[rate < np.inf])
        order = np.argsort(-cost, kind="stable")
        best: tuple[int, Ints] | None = None
        fitting = 0
        for price in finite[np.unique(np.linspace(0, len(finite) - 1, PRICES).astype(np.int64))] if len(finite) else ():
            for kind in kinds:
                plan = np.where(rate <= price, int(kind), int(Kind.KEEP))
                time: int = prune_greedily(
                    p.net, p.on_vpu, p.allocated, p.freed, p.live, p.size, self._packed, p.producer, *self._by_before,
                    budget, *self._times, rows, order, log, plan,
                )  # fmt: skip
                fitting += time < NEVER
                if time < NEVER and (best is None or time < best[0]):
                    best = time, plan
            if fitting >= prices * len(kinds):
                break
        return best

    def take_in_order(self, order: Ints, kind: Kind, budget: int, plan: Ints) -> bool:
        """
        Add the gaps of an order that relieve an operation over the budget to a plan. Returns whether the plan then
        fits.
        """
        p = self.problem
        return take_in_order(p.net, p.live, p.size, self._packed, order, int(kind), budget, plan)

    @cached_property
    def _orders(self) -> Ints:
        """[o, c] orders of the gaps for crossover: by cost of recomputation, length, size x length, time, size."""
        p, length = self.problem, self._length
        cost = np.where(self._cost_again < 0, np.inf, self._cost_again)
        keys = (cost / p.size, -length, -length * p.size, p.before, -p.size)
        return np.stack([np.argsort(key, kind="stable") for key in keys])

    def crossed(
        self, one: Ints, other: Ints, kinds: tuple[Kind, ...], budget: int, cuts: int, keep: int
    ) -> list[tuple[int, Ints]]:
        """(ns, plan) of the fastest crossovers of two plans; at most `keep`."""
        p = self.problem
        simple = [kind for kind in kinds if kind < Kind.RECOMPUTE]
        rows = np.array(simple or kinds, np.int64)
        score = np.tile(self._length if simple else self._bytes_again, (len(rows), 1))
        best = np.zeros((keep, p.gaps), np.int64)
        times = crossover(
            p.net, p.on_vpu, p.allocated, p.freed, p.live, p.size, self._packed, p.producer, *self._by_before, budget,
            *self._times, rows, score, self._orders, cuts, one, other, best,
        )  # fmt: skip
        return [(int(time), plan) for time, plan in zip(times, best, strict=True) if time < NEVER]

    def annealed(
        self, start: Ints, kinds: tuple[Kind, ...], budget: int, evaluations: int, seed: int
    ) -> tuple[int, Ints]:
        """(ns, plan) of the best plan that annealing from `start` finds."""
        p, best = self.problem, start.copy()
        if not p.gaps or evaluations <= 0:
            return self.makespan(start, budget)[0], best
        rows = np.array(kinds, np.int64)
        if min(kinds) >= Kind.RECOMPUTE:
            cost = self._cost_again
            price = 3 * float(np.median(cost[cost >= 0] / p.size[cost >= 0]))
            again = anneal_recomputation(
                p.net, p.on_vpu, p.allocated, p.freed, p.live, p.size, self._packed, p.producer, *self._by_before,
                budget, *self._times, rows, *self._alike, start, evaluations, seed, price,
                HEAT_AGAIN, best,
            )  # fmt: skip
            return int(again), best
        least = anneal(
            p.net, p.on_vpu, p.allocated, p.freed, p.live, p.size, self._packed, p.producer, *self._by_before, budget,
            *self._times, rows, start, evaluations, seed, HEAT, best,
        )  # fmt: skip
        return int(least), best
