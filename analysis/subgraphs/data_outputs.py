"""
The first split of spec 2 (S11, S12): after operators whose result is an output and is read by other operators as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .op_graph import Flags, OpGraph, Segment, is_data_output, positions
from .split_rule import check_cuts


def target_nodes(graph: OpGraph) -> Flags:
    """
    *Target operator nodes*: two or more output branches, one to a data output and another to a computing node.

    The branch to a data output is either the result itself as an output of the network, or a node that outputs data
    without computation (`is_data_output`). A computing node is any other.
    """
    ends = is_data_output(graph)
    owners, readers = graph.successors.owners, graph.successors.indices
    to_end = np.zeros(len(graph), np.bool_)
    to_other = np.zeros(len(graph), np.bool_)
    to_end[owners[ends[readers]]] = True
    to_other[owners[~ends[readers]]] = True
    return (to_end | graph.is_output) & to_other


@dataclass(frozen=True)
class AtDataOutputs:
    """
    Cut at the second branch of each target node: after the target and the nodes that only output its result.

    A network whose outputs are all at its end has no target, and is not cut.
    """

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        ends = is_data_output(graph)
        position = positions(segment.order)
        cuts: list[int] = []
        for target in segment.nodes[target_nodes(graph)[segment.nodes]]:
            at = int(position[target])
            # The nodes that output its result follow directly in `serial_order`.
            while at + 1 < segment.stop and ends[follower := segment.order[at + 1]]:
                if target not in graph.predecessors[int(follower)]:
                    break
                at += 1
            cuts.append(at + 1)
        return check_cuts(segment, cuts)
