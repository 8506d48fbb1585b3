"""Pass `manycore-inline-subgraphs`: inline all subgraphs into the function, the inverse of outlining."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.manycore import SubgraphOp
from .shared.outline import InlineSubgraph
from .shared.rewrite_once import rewrite_once


@dataclass(frozen=True)
class ManycoreInlineSubgraphsPass(ModulePass):
    """Replace every subgraph by its body."""

    name = "manycore-inline-subgraphs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_once(op, {SubgraphOp: (InlineSubgraph(),)})
