"""Pass `manycore-prefetch`: choose when the constants of tasks are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ..analysis.planning.multi_buffering import lay_out_multi_buffered
from ..analysis.planning.network_estimate import TaskWorks
from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_network import plan_network
from ..analysis.planning.prefetch_candidates import PREFETCH_POLICIES, PrefetchPolicy
from ..analysis.planning.sram_layout import SramLayout, estimated_times
from ..analysis.search import Search
from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore.stage import networks_of
from .shared.chip_option import chip_for
from .shared.prefetch import write_prefetch
from .shared.refuse_subgraphs import refuse_subgraphs
from .shared.refuse_untiled import refuse_untiled


@dataclass(frozen=True)
class ManycorePrefetchPass(ModulePass):
    """
    Set for each tiled task of `@main` how many tasks earlier its constants are loaded, and for how many of its steps,
    so that the estimated cycles of the network are fewest: DRAM is idle while tasks compute, but a core that loads for
    a later task may delay its own. Tasks that already have the attribute do not change.

    `chip`: a name, or the path of a `.toml`; without it, the module's.
    """

    name = "manycore-prefetch"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_subgraphs(op, self.name)
        for network in networks_of(op):
            function = find_main(network)
            refuse_untiled(function, self.name)
            choose_prefetch(function, chip_for(network, self.chip, f"{self.name}{{chip=NAME}}"))


def choose_prefetch(function: FuncOp, chip: Chip) -> None:
    """
    Write `prefetch` to the tiled tasks of a function.

    Raises ResourceError if their buffers do not fit the cores, InputError for a specified prefetch that does not fit.
    """
    network = plan_network(function, chip, column_major(chip))
    works = TaskWorks(network)

    def laid_out(policy: PrefetchPolicy) -> SramLayout:
        return lay_out_multi_buffered(replace(network, policy=policy), chip, works)

    search = Search[SramLayout](lambda layout: sum(estimated_times(network, layout, chip, works)), "estimated")
    for policy in PREFETCH_POLICIES:
        search.try_variant(str(policy), partial(laid_out, policy))
    write_prefetch(network, search.best())
