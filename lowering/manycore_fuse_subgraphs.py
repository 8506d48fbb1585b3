"""
Pass `manycore-fuse-subgraphs`: neighbouring subgraphs become one launch if a strategy finds that profitable (spec 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.manycore.stage import networks_of
from ..transforms.shared.chip_option import chip_for
from .ir.refuse_launches import refuse_launches
from .offload.saved_module import saves_memory
from .options.effort import EffortOptions
from .options.subgraph_options import Fusion, FusionBounds, SubgraphOptions, default_jobs
from .session import Session
from .subgraphs.fuse_subgraphs import fuse_subgraphs


@dataclass(frozen=True)
class ManycoreFuseSubgraphsPass(FusionBounds, EffortOptions, ModulePass):
    """
    Fuse neighbouring subgraphs of `@main` that compile as one, if the strategy finds that profitable.

    `strategy`: one of those of `meshloom-compile --fuse`; with `auto`, subgraphs that were cut because more did not fit
    (`to_fit`) are fused again if the launch sequence then takes no longer, and others are not. With `grouped`, the
    groups are as large as `min-macs`, `max-macs`, `min-weight-bytes`, `max-weight-bytes`, `min-tasks`, `max-tasks`
    allow. `chip`: a name, or the path of a `.toml`; without it, the module's. `jobs`, `effort`, `order`, `stop-at`,
    `placement`: as for `meshloom-compile`.
    """

    name = "manycore-fuse-subgraphs"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(0.0)

    chip: str | None = None
    strategy: str = "auto"
    jobs: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_launches(op, self.name)
        fusion = Fusion(self.strategy, FusionBounds(**self.given()))
        jobs = default_jobs() if self.jobs is None else self.jobs
        options = SubgraphOptions(jobs=jobs, effort=self.read_effort())
        for network in networks_of(op):
            if saves_memory(network):
                continue  # the module already has launches
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}")
            fuse_subgraphs(network, fusion, Session.of_pass(chip, options))
