"""Pass `manycore-outline-subgraphs`: divide the operations of a function into a launch sequence of subgraphs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.cost_graphs.function_graph import block_graph
from ..analysis.subgraphs.op_graph import serial_order
from ..analysis.subgraphs.rules import RuleSettings, make_rule
from ..analysis.subgraphs.split_rule import split
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.manycore import SubgraphOp
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError
from .shared.outline import outline


@dataclass(frozen=True)
class ManycoreOutlineSubgraphsPass(ModulePass):
    """
    Cut `@main` into subgraphs that run one after the other, by the first of `rule` that cuts (see docs/subgraphs.md).

    `data-outputs` and `key-nodes` cut by the structure of the graph (`at-least` operators per subgraph, every `span`th
    key node); `fewest-bytes` where the fewest bytes cross, into `parts` subgraphs or within `weight-bytes`, `macs` and
    `nodes` per subgraph; `weight-bytes` fills subgraphs with weights; `named` cuts after the operators `names`. If no
    rule cuts, everything is one subgraph. A module that has subgraphs already is refused.
    """

    name = "manycore-outline-subgraphs"

    rule: tuple[str, ...] = ("data-outputs", "fewest-bytes")
    parts: int | None = None
    weight_bytes: int | None = None
    macs: int | None = None
    nodes: int | None = None
    at_least: int = 2
    span: int = 1
    names: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        settings = RuleSettings(
            self.parts, self.weight_bytes, self.macs, self.nodes, self.at_least, self.span, self.names
        )
        unroll_loops(op)
        rule = make_rule(self.rule, settings)
        for network in networks_of(op):
            block = find_main(network).body.block
            if any(isinstance(inner, SubgraphOp) for inner in block.ops):
                raise InputError("@main already has subgraphs: run manycore-inline-subgraphs first")
            nodes = block_graph(block)
            if nodes.ops:
                outline(block, nodes, split(nodes.graph, serial_order(nodes.graph), rule))
