"""
The graph of a network's operators as flat arrays, and its parts: segments of one serial order. Nodes are numbered in an
order that respects dependencies (the program's). A *serial order* is any permutation that respects them. Cutting it at
positions gives parts that run one after the other. Each is convex (no path leaves and re-enters it), and a value that a
later part reads is *live* across every cut between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError

Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """For each node n its neighbours on one side, ascending and once each: `indices[indptr[n]:indptr[n + 1]]`."""

    indptr: Ints
    indices: Ints

    @staticmethod
    def of(count: int, sources: Ints, targets: Ints) -> Adjacency:
        """From the two ends of each edge (repeated edges count once)."""
        pairs = np.unique(sources * np.int64(max(count, 1)) + targets)
        sources, targets = np.divmod(pairs, max(count, 1))
        indptr = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(sources, minlength=count), out=indptr[1:])
        return Adjacency(indptr, targets)

    def __getitem__(self, node: int) -> Ints:
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    @cached_property
    def degrees(self) -> Ints:
        """Number of neighbours of each node."""
        return np.diff(self.indptr)

    @cached_property
    def owners(self) -> Ints:
        """The node that each entry of `indices` belongs to."""
        return np.repeat(np.arange(len(self.degrees)), self.degrees)


@dataclass(frozen=True, eq=False)
class NodeInfo:
    """The properties of the nodes of a graph besides their edges; numbers that are not given are 0."""

    op_types: Sequence[str] | None = None
    macs: Sequence[int] | Ints | None = None
    other_ops: Sequence[int] | Ints | None = None
    weight_bytes: Sequence[int] | Ints | None = None
    result_bytes: Sequence[int] | Ints | None = None
    outputs: Sequence[int] | None = None
    """Nodes whose results are the network's. None: the nodes without readers."""
    inputs: Sequence[int] | None = None
    """Nodes that read an input of the network. None: the nodes without operands, except weight loads."""
    weight_loads: Sequence[int] = ()
    updates: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class OpGraph:
    """
    Operators and their dependences (spec 2, "Node information"). All arrays have one entry for each node.

    `weight_bytes` are those of the weights that the node reads (each reader counts them). `is_output`: the result is
    one of the network's. `reads_input`: the node reads an input of the network. `is_weight_load`: the node only fetches
    weights. `is_update`: the node computes the gradient of a weight or updates one, or is deferrable; it is assigned to
    the last operator that it reads.
    """

    names: tuple[str, ...]
    op_types: tuple[str, ...]
    successors: Adjacency
    predecessors: Adjacency
    macs: Ints
    other_ops: Ints
    weight_bytes: Ints
    result_bytes: Ints
    is_output: Flags
    reads_input: Flags
    is_weight_load: Flags
    is_update: Flags

    @staticmethod
    def build(edges: Sequence[tuple[int, int]] | Ints, names: Sequence[str], info: NodeInfo | None = None) -> OpGraph:
        """
        A graph from its edges (producer, reader). Raises ValueError for an edge that does not lead to a later node.
        """
        info = NodeInfo() if info is None else info
        count = len(names)
        pairs = np.asarray(edges, np.int64).reshape(-1, 2)
        sources, targets = pairs[:, 0], pairs[:, 1]
        if len(pairs) and (sources.min() < 0 or targets.max() >= count or bool((sources >= targets).any())):
            raise ValueError("an edge should lead from a node to a later one: number nodes in a topological order")
        successors = Adjacency.of(count, sources, targets)
        predecessors = Adjacency.of(count, targets, sources)
        loads = _marks(count, info.weight_loads)
        return OpGraph(
            names=tuple(names),
            op_types=tuple(info.op_types) if info.op_types is not None else ("",) * count,
            successors=successors,
            predecessors=predecessors,
            macs=_numbers(count, info.macs),
            other_ops=_numbers(count, info.other_ops),
            weight_bytes=_numbers(count, info.weight_bytes),
            result_bytes=_numbers(count, info.result_bytes),
            is_output=successors.degrees == 0 if info.outputs is None else _marks(count, info.outputs),
            reads_input=(predecessors.degrees == 0) & ~loads if info.inputs is None else _marks(count, info.inputs),
            is_weight_load=loads,
            is_update=_marks(count, info.updates),
        )

    def __len__(self) -> int:
        return len(self.names)

    def numbers_of(self, names: Sequence[str]) -> list[int]:
        """All nodes with one of these names. Raises InputError for names that no node has."""
        wanted = set(names)
        if unknown := sorted(wanted - set(self.names)):
            some = ", ".join(self.names[:5]) + (", ..." if len(self.names) > 5 else "")
            raise InputError(f"no operator is named '{unknown[0]}'; the operators are {some}")
        return [number for number, name in enumerate(self.names) if name in wanted]


def _marks(count: int, nodes: Sequence[int]) -> Flags:
    marks = np.zeros(count, np.bool_)
    marks[np.asarray(nodes, np.int64)] = True
    return marks


def _numbers(count: int, values: Sequence[int] | Ints | None) -> Ints:
    return np.zeros(count, np.int64) if values is None else np.asarray(values, np.int64)


@dataclass(frozen=True, eq=False)
class Segment:
    """Positions `start` to `stop` (exclusive) of a serial order: the argument of a split rule."""

    order: Ints
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def nodes(self) -> Ints:
        """Its nodes, in order."""
        return self.order[self.start : self.stop]


@dataclass(frozen=True, eq=False)
class Segments:
    """A partition: part k holds the nodes at positions `bounds[k]` to `bounds[k + 1]` (exclusive) of `order`."""

    order: Ints
    bounds: tuple[int, ...] = field(default=())
    """From 0 to the number of nodes, increasing."""

    @staticmethod
    def whole(order: Ints) -> Segments:
        """The partition with a single part."""
        return Segments(order, (0, len(order)))

    @staticmethod
    def cut(order: Ints, cuts: Sequence[int]) -> Segments:
        """Parts between these positions (inside the order, any sequence, repetition allowed)."""
        return Segments(order, tuple(sorted({0, len(order), *cuts})))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, part: int) -> Segment:
        return Segment(self.order, self.bounds[part], self.bounds[part + 1])

    @property
    def parts(self) -> list[Segment]:
        """All parts, in order."""
        return [Segment(self.order, start, stop) for start, stop in pairwise(self.bounds)]

    @property
    def cuts(self) -> tuple[int, ...]:
        """The positions between parts."""
        return self.bounds[1:-1]

    def check(self, graph: OpGraph) -> None:
        """Raises ValueError if this is not a partition of the graph, or a part needs a result of a later one."""
        if sorted(map(int, self.order)) != list(range(len(graph))):
            raise ValueError(f"the order should hold each of {len(graph)} nodes once")
        increasing = all(low < high for low, high in pairwise(self.bounds))
        if (
            not self.bounds
            or (self.bounds[0], self.bounds[-1]) != (0, len(graph))
            or not (increasing or not len(graph))
        ):
            raise ValueError(f"bounds = {list(self.bounds)} should increase from 0 to {len(graph)}")
        position = positions(self.order)
        late = position[graph.successors.owners] > position[graph.successors.indices]
        if bool(late.any()):
            edge = int(np.flatnonzero(late)[0])
            reader, source = graph.successors.indices[edge], graph.successors.owners[edge]
            raise ValueError(f"'{graph.names[reader]}' comes before '{graph.names[source]}', whose result it reads")


def positions(order: Ints) -> Ints:
    """The position of each node in an order: its inverse."""
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def live_bytes(graph: OpGraph, order: Ints) -> Ints:
    """
    Bytes of results that cross each position: entry p (0 to the number of nodes) counts values computed before position
    p and read at p or later. Results that are only outputs are not counted: they are copied to the host at once.
    """
    count = len(graph)
    crossing = np.zeros(count + 1, np.int64)
    if count == 0:
        return crossing
    position = positions(order)
    last = position.copy()
    np.maximum.at(last, graph.successors.owners, position[graph.successors.indices])
    # A value is live across the positions after its own, up to its last reader's.
    np.add.at(crossing, position + 1, np.where(last > position, graph.result_bytes, 0))
    np.subtract.at(crossing, last + 1, np.where(last > position, graph.result_bytes, 0))
    return np.cumsum(crossing)


def serial_order(graph: OpGraph) -> Ints:
    """
    The program's order, with each node that only outputs data directly after its operands, and each weight load
    directly before its first reader, so that neither is live across cuts unnecessarily.
    """
    number = np.arange(len(graph))
    owners, readers = graph.successors.owners, graph.successors.indices
    loads = graph.is_weight_load & (graph.predecessors.degrees == 0) & (graph.successors.degrees > 0)
    position = number.astype(np.float64)
    # Output nodes are placed first, by their last operand that is not a load; then loads, by their readers.
    last_operand = np.full(len(graph), -1)
    computed = ~loads[owners]
    np.maximum.at(last_operand, readers[computed], owners[computed])
    ends = is_data_output(graph) & (last_operand >= 0)
    position[ends] = last_operand[ends] + 0.5
    first_reader = np.full(len(graph), np.inf)
    np.minimum.at(first_reader, owners, position[readers])
    position[loads] = first_reader[loads] - 0.25
    return np.lexsort((number, position)).astype(np.int64)


def is_data_output(graph: OpGraph) -> Flags:
    """
    Nodes that output data without computation (spec 2, S11): their result is an output of the network, no operator
    reads it, and it takes no work, as in a reshape. A last operator that computes is not one of them.
    """
    computes = (graph.macs > 0) | (graph.other_ops > 0)
    return graph.is_output & (graph.successors.degrees == 0) & ~computes
