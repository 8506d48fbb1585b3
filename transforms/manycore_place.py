"""Pass `manycore-place`: choose the cores of the tiles of tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ..analysis.placement.estimate import PlaceObjective
from ..analysis.placement.methods import find_place_method
from ..analysis.placement.tile_graph import cores_of, tile_graph
from ..analysis.planning.network_plan import NetworkPlan
from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_memo import PlanMemo
from ..analysis.planning.plan_network import plan_network
from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import TilingAttr
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError, MeshloomError
from ..support.phases import phase
from .shared.chip_option import chip_for
from .shared.refuse_subgraphs import refuse_subgraphs
from .shared.refuse_untiled import refuse_untiled


@dataclass(frozen=True)
class ManycorePlacePass(ModulePass):
    """
    Place the tiles of the tiled tasks of `@main` to minimise the traffic over links and DRAM ports.

    Grids, steps and the residency of values do not change, only `cores` of the tilings.
    `method`: see `analysis.placement.methods`; `literal`, `hops` and `multicast` map the graph of tiles as
    `meshloom-map` maps networks. `objective` of the others: `multicast` (cycles of the busiest link, core and port) or
    `traffic` (bytes x links). A placement with which the tasks do not fit their cores is not used.
    """

    name = "manycore-place"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    chip: str | None = None
    method: str = "default"
    objective: str = "multicast"
    seed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.objective not in list(PlaceObjective):
            raise InputError(f"objective '{self.objective}': choose one of {', '.join(PlaceObjective)}")
        refuse_subgraphs(op, self.name)
        for network in networks_of(op):
            self._place(find_main(network), chip_for(network, self.chip, f"{self.name}{{chip=NAME}}"))

    def _place(self, function: FuncOp, chip: Chip) -> None:
        refuse_untiled(function, self.name)
        network = plan_network(function, chip, column_major(chip))
        place_function(function, chip, network, self.method, PlaceObjective(self.objective), self.seed)


@phase("place tiles")
def place_function(
    function: FuncOp,
    chip: Chip,
    network: NetworkPlan,
    method: str = "default",
    objective: PlaceObjective = PlaceObjective.MULTICAST,
    seed: int = 0,
    memo: PlanMemo | None = None,
) -> NetworkPlan:
    """
    Place the tiles of a planned function of tasks and write the cores to their tilings. Returns the new plan.

    `memo`: the one that planned its tasks. The function is changed only if its tasks fit with the placement. Raises
    InputError for an unknown method. A network with loops does not change.
    """
    place = find_place_method(method)
    if network.loops:
        return network  # the distribution of values that steps pass on must not change
    graph, planned = tile_graph(network), cores_of(network)
    placed = place(graph, chip, planned, objective, seed)
    if (placed == planned).all():
        return network
    before = [info.op.tiling for info in network.tasks]
    like = {number: first for (number, _), (first, _) in network.kept.items()}
    for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True)):
        # Tasks that share resident constants stay on the same cores.
        own = like.get(number, number)
        cores = tuple(placed[graph.first[own] : graph.first[own + 1]].tolist())
        info.op.tiling = TilingAttr.of(replace(plan.tiling, cores=cores))
    try:
        return replace(plan_network(function, chip, column_major(chip), memo), policy=network.policy)
    except MeshloomError:
        for info, tiling in zip(network.tasks, before, strict=True):
            info.op.tiling = tiling
        return network
