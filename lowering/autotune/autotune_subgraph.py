"""Autotuning of one subgraph: plans of its tasks, placements of its tiles and prefetch policies, compared by cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

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
    share: float = 1.0
    """It is accepted if its cycles are below this share of those of the best variant so far."""


def autotune_subgraph(function: FuncOp, plans: Sequence[Plan], chip: Chip, effort: Effort) -> AutotunedSubgraph:
    """
    The fastest variant, found in three stages: all of `plans`, with tiles placed by the first method of `effort`; the
    best of them with the other placement methods; the best of these with other prefetch policies (`PREFETCH_POLICIES`).
    Ties go to the first. The function's tasks get the order and the tilings of the result.

    If no variant compiles, raises the error of the first one, as `lay_out_subgraph` or `encode_subgraph` does.
    """
    search = _SubgraphSearch(function, chip, effort)
    default, *others = effort.placements
    for plan in plans:
        search.try_placement(plan, default)
    base = search.best.network
    for method in others:
        search.try_placement(Plan(f"tiles placed by '{method}'", base), method)
    search.try_policies(search.best)
    search.apply(search.best.plan)
    return search.result()


def autotune_prefetch(function: FuncOp, plan: Plan, chip: Chip, effort: Effort) -> AutotunedSubgraph:
    """The fastest prefetch policy for a network with fixed tiles and cores. Raises as `autotune_subgraph`."""
    search = _SubgraphSearch(function, chip, effort)
    search.try_plan(plan, plan.network)
    search.try_policies(search.best)
    return search.result()


@dataclass
class _SubgraphSearch:
    function: FuncOp
    chip: Chip
    effort: Effort
    _mapping_fails: bool = False
    """Whether a placement for fewer bytes x hops was tried and saved no cycles."""
    _laid_out: LaidOutSubgraph | None = None
    """The variant that was tried last."""
    _seen: set[tuple[PrefetchPolicy, tuple[TaskOp, ...], tuple[Tiling, ...]]] = field(
        default_factory=set[tuple[PrefetchPolicy, tuple[TaskOp, ...], tuple[Tiling, ...]]]
    )

    @cached_property
    def search(self) -> Search[PlacedSubgraph]:
        """The variants that were tried."""
        return Search(self._cycles, self.effort.measure, self.effort.prune_ratio, self.effort.sufficient_cycles)

    @property
    def best(self) -> PlacedSubgraph:
        """The fastest variant. Raises the first of the errors if none compiled."""
        return self.search.best()

    def try_placement(self, plan: Plan, method: str) -> None:
        """Try a plan with its tiles placed by a method."""
        extra = method != self.effort.placements[0]
        if self.search.is_over(plan.name) or (extra and method in MAPPED and not self._may_map(plan)):
            return
        self.apply(plan.network)
        placed = place_function(self.function, self.chip, plan.network, method, memo=memo_for(self.chip))
        of_best = inf
        if extra and method in HOPS:
            of_best = self.effort.of_best
        elif extra and method == "greedy":
            of_best = self.effort.greedy_prune_ratio
        before = self.best if extra else None
        self.try_plan(plan, placed, of_best=of_best)
        self._mapping_fails = self._mapping_fails or (extra and method in HOPS and self.best is before)

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
        estimates = {variant.laid_out.estimated_cycles}
        for policy in PREFETCH_POLICIES:
            if self.search.is_over(str(policy)):
                continue
            self.try_plan(Plan(str(policy), variant.network), replace(variant.plan, policy=policy), estimates)

    def apply(self, network: NetworkPlan) -> None:
        """Give the function's tasks the order and the tilings of a plan."""
        arrange_tasks(self.function.body.block, [info.op for info in network.tasks])
        write_tilings(network)

    def try_plan(self, plan: Plan, placed: NetworkPlan, known: set[int] | None = None, of_best: float = inf) -> bool:
        """
        Try a plan with the placement `placed`, unless it was tried before, its estimate is in `known` (to which new
        ones are added), or the estimate is more than `of_best` times that of the best. Returns whether it was tried,
        now or before.
        """
        key = placed.policy, tuple(info.op for info in placed.tasks), tuple(task.tiling for task in placed.plans)
        if key in self._seen:
            return True
        self._seen.add(key)
        try:
            laid_out = self._laid_out = lay_out_subgraph(self.function, placed, self.chip, self._laid_out)
        except MeshloomError as error:
            self.search.fail(plan.name, error)
            return False
        if known is not None:
            if laid_out.estimated_cycles in known:
                return False
            known.add(laid_out.estimated_cycles)

        def make() -> PlacedSubgraph:
            made = PlacedSubgraph(plan.network, laid_out, self.chip)
            if self.effort.measure == "emulated":
                _ = made.encoded  # raises MeshloomError here if it cannot be encoded
            return made

        return self.search.try_variant(
            plan.name, make, estimate=laid_out.estimated_cycles, share=plan.share, of_best=of_best
        )

    def result(self) -> AutotunedSubgraph:
        """The result of the search."""
        best = self.best
        timed = self.search.is_timed and self.effort.measure == "emulated"
        return AutotunedSubgraph(best, tuple(self.search.trials), best.emulated_cycles if timed else None)

    def _cycles(self, variant: PlacedSubgraph) -> int:
        return variant.laid_out.estimated_cycles if self.effort.measure == "estimated" else variant.emulated_cycles
