"""Pass `manycore-cut-stages`: cut a network into stages, one for each chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.semantic_effect import SemanticEffect, reassociating
from ...transforms.shared.chip_option import chip_for
from ...transforms.shared.options import Number
from ..ir.replace_module import replace_module
from ..options.effort import EffortOptions
from ..session import Session
from .compile_chips import compile_for_chips
from .search_options import SearchOptions


@dataclass(frozen=True)
class ManycoreCutStagesPass(EffortOptions, ModulePass):
    """
    Cut `@main` into up to `chips` stages (`manycore.stage`), as many as make it faster: the stages are compiled and
    timed, and the cuts moved until there is no improvement. Where `subgraphs` names a rule, or the module has
    subgraphs, cuts lie between subgraphs.

    `chip`: a name, or the path of a `.toml`; without it, the module's. `subgraphs`, `fuse`, `budget` of each
    chip, `save`, `compress-to`, `launch-bytes`, `offload`, `effort`, `order`, `stop-at`, `placement`: as for
    `meshloom-compile`.
    """

    name = "manycore-cut-stages"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    chips: int
    chip: str | None = None
    subgraphs: str = "auto"
    fuse: str = "auto"
    budget: Number | None = None
    save: str | None = None
    compress_to: str | None = None
    launch_bytes: Number | None = None
    offload: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = chip_for(op, self.chip, f"{self.name}{{chip=NAME}}")
        saving = self.budget, self.save, self.compress_to, self.launch_bytes, self.offload
        asked = SearchOptions(None, self.chips, self.subgraphs, self.fuse, (), *saving, **self.how())
        options = asked.checked(sparse=False)
        session = Session.of_pass(chip, options.subgraphs)
        found = compile_for_chips(op.clone(), self.chips, session, options.budget)
        replace_module(op, dict(found.above)["stages"])
