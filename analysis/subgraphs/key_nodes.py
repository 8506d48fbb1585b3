"""
Key nodes: operators at which a graph narrows to one value, or branches (spec 3, step 2).

Three sets, all in linear time from positions in one topological order (no path is ever listed):

- *cut nodes* lie on every path from input to output of the transitive reduction, which is equivalent to: every other
  operator comes before or after, in every order. All orders of a graph are then concatenations of orders of the parts
  between cut nodes. Without transitive reduction, one skip connection excludes the whole branch that it skips.
- *path cut nodes* lie on every path of the graph itself: the intersection of all paths. They dominate the outputs and
  post-dominate the inputs. They are cut nodes as well.
- *branch nodes* are where two or more branches leave or meet.

All are nodes of the *core* of a graph: without weight loads and other nodes that do not depend on an input, and with
the gradients and updates of weights, and deferrable nodes, contracted into the last operator that they read (otherwise
no node of a training step is a key node).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .op_graph import Flags, Ints, OpGraph


@dataclass(frozen=True, eq=False)
class Core:
    """
    The graph for key nodes: core node i is graph node `nodes[i]`, numbered along the order. `sources[e]` and
    `targets[e]` are the ends of edge e, possibly repeated.
    """

    nodes: Ints
    sources: Ints
    targets: Ints
    enters: Flags
    """Whether a node reads an input, or a result from outside."""
    leaves: Flags
    """Whether a node computes an output, or a result that is read outside."""
    representative: Ints
    """For each node of the graph its core node, or the one that it is contracted into; -1 for excluded nodes."""

    @staticmethod
    def of(graph: OpGraph, order: Ints | None = None) -> Core:
        """The core of the nodes of an order, or of a segment of one; by default of all, in the program's order."""
        order = np.arange(len(graph)) if order is None else order
        inside = np.zeros(len(graph), np.bool_)
        inside[order] = True
        entering = _entering(graph, order, inside)
        reached = entering & ~graph.is_weight_load & ~graph.is_update
        representative = np.full(len(graph), -1)
        nodes: list[int] = []
        for node in order:
            before = graph.predecessors[node]
            if graph.is_weight_load[node]:
                continue
            if graph.is_update[node]:
                representative[node] = max((representative[other] for other in before), default=-1)
                continue
            if reached[node] or any(representative[other] >= 0 for other in before):
                representative[node] = len(nodes)
                nodes.append(int(node))
        kept = np.asarray(nodes, np.int64)
        owners, readers = graph.successors.owners, graph.successors.indices
        direct = representative[readers] >= 0
        direct &= (representative[owners] >= 0) & ~graph.is_update[readers]
        sources, targets = representative[owners[direct]], representative[readers[direct]]
        leaves = graph.is_output.copy()
        leaves[owners[~inside[readers]]] = True
        ends = leaves[kept]
        ends[np.setdiff1d(np.arange(len(kept)), sources)] = True
        return Core(kept, sources, targets, reached[kept], ends, representative)


def _entering(graph: OpGraph, order: Ints, inside: Flags) -> Flags:
    """Nodes of a segment that read an input of the network or a result from before the segment."""
    entering = graph.reads_input & inside
    owners, readers = graph.successors.owners, graph.successors.indices
    entering[readers[~inside[owners] & inside[readers] & ~graph.is_weight_load[owners]]] = True
    if not bool((entering & ~graph.is_weight_load & ~graph.is_update).any()):
        # There are no inputs: paths begin at nodes without operands.
        read = np.zeros(len(graph), np.bool_)
        read[readers[inside[owners] & ~graph.is_weight_load[owners]]] = True
        entering = inside & ~read
    return entering


def cut_nodes(graph: OpGraph, order: Ints | None = None) -> Ints:
    """
    Nodes that every other node of the core comes before or after in every order, first to last.

    A node at position p of a topological order depends on all nodes before it if and only if each of these has a reader
    at p or earlier: a chain of such reads ends at p. The same holds for the nodes after it.
    """
    core = Core.of(graph, order)
    count = len(core.nodes)
    if count == 0:
        return core.nodes
    first_read = np.full(count, count)
    np.minimum.at(first_read, core.sources, core.targets)
    last_operand = np.full(count, -1)
    np.maximum.at(last_operand, core.targets, core.sources)
    position = np.arange(count)
    latest_before = np.concatenate(([-1], np.maximum.accumulate(first_read)[:-1]))
    earliest_after = np.concatenate((np.minimum.accumulate(last_operand[::-1])[::-1][1:], [count]))
    return core.nodes[(latest_before <= position) & (position <= earliest_after)]


def path_cut_nodes(graph: OpGraph, order: Ints | None = None) -> Ints:
    """
    Nodes on every path of the core from input to output, first to last.

    A path that avoids the node at position p has an edge from before p to after it, and each such edge is on a path.
    """
    core = Core.of(graph, order)
    count = len(core.nodes)
    jumps = np.zeros(count + 1, np.int64)
    # Edge (a, b) passes over a + 1 ... b - 1; the edge into v from outside over all before v, the edge out of it over
    # all after.
    np.add.at(jumps, core.sources + 1, 1)
    np.subtract.at(jumps, core.targets, 1)
    entering, leaving = np.flatnonzero(core.enters), np.flatnonzero(core.leaves)
    jumps[0] += len(entering)
    np.subtract.at(jumps, entering, 1)
    np.add.at(jumps, leaving + 1, 1)
    return core.nodes[np.cumsum(jumps)[:count] == 0]


def branch_nodes(graph: OpGraph, order: Ints | None = None) -> Ints:
    """Nodes of the core that two or more others read, or that read two or more others, first to last."""
    core = Core.of(graph, order)
    count = len(core.nodes)
    pairs = np.unique(core.sources * np.int64(max(count, 1)) + core.targets)
    sources, targets = np.divmod(pairs, max(count, 1))
    leaving, meeting = np.bincount(sources, minlength=count), np.bincount(targets, minlength=count)
    return core.nodes[(leaving > 1) | (meeting > 1)]
