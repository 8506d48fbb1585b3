"""Subgraphs during compilation: contiguous parts of a function's serial order, with their compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from ...analysis.cost_graphs.function_graph import BlockGraph, is_source
from ...analysis.subgraphs.op_graph import Segments
from ...dialects.manycore import TaskOp
from ..cache.compile_cache import Outcome
from ..cache.subgraph_code import SubgraphCode
from ..cache.subgraph_text import SubgraphText
from ..sequence.dram_residency import Residency
from ..sequence.inline_subgraphs import Group
from ..sequence.launch_sequence import LaunchSequence, Operators, is_operator
from ..sequence.residency_decisions import Residence


@dataclass
class Subgraph:
    """A contiguous part of the serial order."""

    label: str
    nodes: tuple[Operation, ...]
    """Operations of the function, reshapes among them."""
    text: SubgraphText | None = None
    text_of: tuple[object, ...] = ()
    """Key of the module that `text` was printed from (`module_key`)."""
    key: str = ""
    outcome: Outcome | None = None
    members: tuple[Subgraph, ...] = ()
    """The subgraphs that it was fused from."""
    to_fit: bool = False
    """Whether it is a separate launch because a larger one does not fit."""
    residence: Residence = field(default_factory=Residence)
    """The residency that its text specifies for its results and weights."""

    @property
    def operators(self) -> Operators:
        """Its operators, in order."""
        return tuple(op for op in self.nodes if is_operator(op))

    @property
    def is_specified(self) -> bool:
        """
        Whether it consists of several tasks whose tiling and memory the text specifies: results that stay in the cores
        cannot pass from one launch to another.
        """
        operators = self.operators
        return len(operators) > 1 and all(isinstance(op, TaskOp) and op.placement is not None for op in operators)

    @property
    def ends(self) -> tuple[str, str]:
        """Names of its first and last operator."""
        names = [name_of(op) for op in self.operators] or [""]
        return names[0], names[-1]

    @property
    def code(self) -> SubgraphCode:
        """Its machine code; it must have compiled."""
        assert isinstance(self.outcome, SubgraphCode)
        return self.outcome


@dataclass(frozen=True)
class Subgraphs:
    """A network in subgraphs that all compile and fit in DRAM in turn."""

    parts: tuple[Subgraph, ...]
    sequence: LaunchSequence
    residency: Residency
    segments: Segments
    nodes: BlockGraph


def is_node(op: Operation) -> bool:
    """Whether an operation is a node of the serial order."""
    return not is_source(op) and not op.has_trait(IsTerminator)


def name_of(op: Operation) -> str:
    """The name of an operation in messages: its result's name, or its kind."""
    hint = next((result.name_hint for result in op.results if result.name_hint), None)
    return hint or op.name.partition(".")[2]


def subgraphs_of(groups: Sequence[Group]) -> list[Subgraph]:
    """
    Subgraphs of groups of operations, each with at least one operator; a single empty one if there are no operations.
    """
    return with_work([_of_group(one) for one in groups]) or [Subgraph("all", ())]


def _of_group(group: Group) -> Subgraph:
    nodes = tuple(filter(is_node, group.operations))
    return Subgraph(group.name, nodes, to_fit=group.to_fit, residence=group.residence)


def with_work(parts: Sequence[Subgraph]) -> list[Subgraph]:
    """The groups without those that only reshape: these join the previous group, or the next."""
    kept: list[Subgraph] = []
    waiting: tuple[Operation, ...] = ()
    for part in parts:
        if part.operators:
            kept.append(replace(part, nodes=(*waiting, *part.nodes)) if waiting else part)
            waiting = ()
        elif kept:
            kept[-1] = replace(kept[-1], nodes=(*kept[-1].nodes, *part.nodes))
        else:
            waiting = (*waiting, *part.nodes)
    if waiting:
        kept.append(Subgraph("all", waiting))
    return kept
