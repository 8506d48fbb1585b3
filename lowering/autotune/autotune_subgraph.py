"""Autotuning of one subgraph: plans of its tasks, placements of its tiles and prefetch policies, compared by cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import TypeAlias

from xdsl.dialects.func import FuncOp

from ...analysis.placement.methods import HOPS, MAPPED
from ...analysis.planning.network_plan import NetworkPlan
from ...analysis.planning.plan_memo import memo_for
from ...analysis.planning.prefetch_candidates import PREFETCH_POLICIES, PrefetchPolicy
from ...analysis.search import Search, Trial
from ...chips import Chip
from ...dialects.manycore import TaskOp, Tiling
from ...support.errors import MeshloomError
from ...transforms.manycore_place import place_function
from ...transforms.manycore_tile import write_tilings
from ...transforms.shared.reorder import arrange_tasks
from ..linker.launch_image import launch_cycles
from ..options.effort import Effort
from .encode_subgraph import EncodedSubgraph, LaidOutSubgraph, encode_subgraph, lay_out_subgraph

MOST_PAIRS = 1 << 19
"""
Largest product of tiles and cores for which placements are searched; beyond it the search takes more than a tenth of
the compilation time.
"""


@dataclass(frozen=True)
class PlacedSubgraph:
    """A planned network with a core for each tile, and its code."""

    network: NetworkPlan
    """The network with the placement that planning chose."""
    laid_out: LaidOutSubgraph
    chip: Chip

    @property
    def plan(self) -> NetworkPlan:
        """The network with the new placement."""
        return self.laid_out.network

    @cached_property
    def encoded(self) -> EncodedSubgraph:
        """The machine code. Raises MeshloomError if it cannot be encoded."""
        return encode_subgraph(self.laid_out, self.chip)

    @cached_property
    def emulated_cycles(self) -> int:
        """Cycles of one launch in isolation, by the timing engine."""
        return launch_cycles(self.encoded.code, self.chip)


@dataclass(frozen=True)
class AutotunedSubgraph:
    """The fastest variant that was tried."""

    placed: PlacedSubgraph
    trials: tuple[Trial, ...]
    cycles: int | None
    """Emulated cycles, if the variant was emulated."""


@dataclass(frozen=True)
class Plan:
    """A candidate plan of the network."""

    name: str
    """Its name in the log."""
    network: NetworkPlan


def autotune_subgraph(function: FuncOp, plans: Sequence[Plan], chip: Chip, effort: Effort) -> AutotunedSubgraph:
    """
    The fastest variant, found in three stages: all of `plans`, with tiles placed by the first method of `effort` and
    the prefetch policy (`PREFETCH_POLICIES`) that is estimated to be fastest; the best of them with the other placement
    methods; the best of these with other prefetch policies. Ties go to the first. The function's tasks get the order
    and the tilings of the result.

    If no variant compiles, raises the error of the first one, as `lay_out_subgraph` or `encode_subgraph` does.
    """
    search = _SubgraphSearch(function, chip, effort)
    default, *others = effort.placements
    search.try_plans(plans, default)
    base = search.best.network
    for method in others:
        search.try_placement(Plan(f"tiles placed by '{method}'", base), method)
    search.try_policies(search.best)
    search.apply(search.best.plan)
    return search.result()


def autotune_prefetch(function: FuncOp, plan: Plan, chip: Chip, effort: Effort) -> AutotunedSubgraph:
    """The fastest prefetch policy for a network with fixed tiles and cores. Raises as `autotune_subgraph`."""
    search = _SubgraphSearch(function, chip, effort)
    search.try_plans([plan], None)
    search.try_policies(search.best)
    return search.result()


_Key: TypeAlias = tuple[PrefetchPolicy, tuple[TaskOp, ...], tuple[Tiling, ...]]


@dataclass
class _SubgraphSearch:
    function: FuncOp
    chip: Chip
    effort: Effort
    _mapping_fails: bool = False
    """Whether a placement for fewer bytes x hops was tried and saved no cycles."""
    _last: LaidOutSubgraph | None = None
    """The variant that was laid out last."""
    _laid_out: dict[_Key, LaidOutSubgraph | MeshloomError] = field(
        default_factory=dict[_Key, LaidOutSubgraph | MeshloomError]
    )
    """All variants that were laid out, or the error."""
    _tried: set[_Key] = field(default_factory=set[_Key])

    @cached_property
    def search(self) -> Search[PlacedSubgraph]:
        """The variants that were tried."""
        return Search(self._cycles, self.effort.measure, self.effort.prune_ratio, self.effort.sufficient_cycles)

    @property
    def best(self) -> PlacedSubgraph:
        """The fastest variant. Raises the first of the errors if none compiled."""
        return self.search.best()

    def try_plans(self, plans: Sequence[Plan], method: str | None) -> None:
        """
        Try plans with their tiles placed by a method (None: as they are), all with one prefetch policy: the one of the
        least estimate for the plan that has the least estimate with the first policy.
        """
        placed = [self._placed(plan, method) for plan in plans]
        estimates = [self._estimate(plan, network) for plan, network in zip(plans, placed, strict=True)]
        first = estimates.index(min(estimates))
        by_policy = [replace(placed[first], policy=policy) for policy in PREFETCH_POLICIES]
        policy = min(by_policy, key=partial(self._estimate, plans[first])).policy
        for plan, network in zip(plans, placed, strict=True):
            variant = replace(network, policy=policy)
            if self._estimate(plan, variant) == inf:  # it needs too much memory
                variant = network
            name = plan.name if variant.policy == PREFETCH_POLICIES[0] else f"{plan.name}, {variant.policy}"
            if not self.search.is_over(name):
                self.try_plan(Plan(name, replace(plan.network, policy=variant.policy)), variant)

    def try_placement(self, plan: Plan, method: str) -> None:
        """Try a plan with its tiles placed by another method than the first one."""
        if self.search.is_over(plan.name) or (method in MAPPED and not self._may_map(plan)):
            return
        placed = self._placed(plan, method)
        of_best = self.effort.greedy_prune_ratio if method == "greedy" else self.effort.of_best
        before = self.best
        self.try_plan(plan, placed, of_best=of_best)
        self._mapping_fails = self._mapping_fails or (method in HOPS and self.best is before)

    def _placed(self, plan: Plan, method: str | None) -> NetworkPlan:
        """A plan with its tiles placed by a method; None: as they are."""
        self.apply(plan.network)
        if method is None:
            return plan.network
        return place_function(self.function, self.chip, plan.network, method, memo=memo_for(self.chip))

    def _may_map(self, plan: Plan) -> bool:
        """
        Whether to try placement methods. They are skipped, with a note, if fewer bytes x hops do not save cycles or
        there are too many pairs of tile and core.
        """
        tiles, cores = sum(len(task.tiling.cores) for task in plan.network.plans), len(self.chip.usable_cores)
        if self._mapping_fails:
            self.search.skip(plan.name, "few bytes x hops do not save cycles")
        elif tiles * cores > MOST_PAIRS:
            self.search.skip(plan.name, f"{tiles:,} tiles for {cores} cores are too many to map")
        else:
            return True
        return False

    def try_policies(self, variant: PlacedSubgraph) -> None:
        """Try a variant with the other prefetch policies, those with a new estimate."""
        estimates = {float(variant.laid_out.estimated_cycles)}
        for policy in PREFETCH_POLICIES:
            if self.search.is_over(str(policy)):
                continue
            plan, placed = Plan(str(policy), variant.network), replace(variant.plan, policy=policy)
            estimate = self._estimate(plan, placed)
            if estimate not in estimates:
                estimates.add(estimate)
                self.try_plan(plan, placed, of_best=self.effort.of_best)

    def apply(self, network: NetworkPlan) -> None:
        """Give the function's tasks the order and the tilings of a plan."""
        arrange_tasks(self.function.body.block, [info.op for info in network.tasks])
        write_tilings(network)

    def try_plan(self, plan: Plan, placed: NetworkPlan, of_best: float = inf) -> None:
        """
        Try a plan with the placement `placed`, unless it was tried before or its estimate is more than `of_best` times
        that of the best.
        """
        key = _key(placed)
        if key in self._tried:
            return
        self._tried.add(key)
        laid_out = self._lay_out(plan, placed)
        if isinstance(laid_out, MeshloomError):
            self.search.fail(plan.name, laid_out)
            return

        def make() -> PlacedSubgraph:
            made = PlacedSubgraph(plan.network, laid_out, self.chip)
            if self.effort.measure == "emulated":
                _ = made.encoded  # raises MeshloomError here if it cannot be encoded
            return made

        self.search.try_variant(plan.name, make, estimate=laid_out.estimated_cycles, of_best=of_best)

    def _estimate(self, plan: Plan, placed: NetworkPlan) -> float:
        """Estimated cycles of a plan with a placement; infinite if it does not fit the chip."""
        laid_out = self._lay_out(plan, placed)
        return inf if isinstance(laid_out, MeshloomError) else laid_out.estimated_cycles

    def _lay_out(self, plan: Plan, placed: NetworkPlan) -> LaidOutSubgraph | MeshloomError:
        """The layout of a plan with a placement, or why there is none."""
        key = _key(placed)
        if key not in self._laid_out:
            self.apply(plan.network)
            try:
                self._laid_out[key] = self._last = lay_out_subgraph(self.function, placed, self.chip, self._last)
            except MeshloomError as error:
                self._laid_out[key] = error
        return self._laid_out[key]

    def result(self) -> AutotunedSubgraph:
        """The result of the search."""
        best = self.best
        timed = self.search.is_timed and self.effort.measure == "emulated"
        return AutotunedSubgraph(best, tuple(self.search.trials), best.emulated_cycles if timed else None)

    def _cycles(self, variant: PlacedSubgraph) -> int:
        return variant.laid_out.estimated_cycles if self.effort.measure == "estimated" else variant.emulated_cycles


def _key(network: NetworkPlan) -> _Key:
    """All that distinguishes the variants of a subgraph."""
    return network.policy, tuple(info.op for info in network.tasks), tuple(task.tiling for task in network.plans)
