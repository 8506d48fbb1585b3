"""The split rule that cuts by the bytes of weights."""

from __future__ import annotations

from dataclasses import dataclass

from .op_graph import OpGraph, Segment


@dataclass(frozen=True)
class AtWeightBytes:
    """The fewest parts whose weights have at most `limit` bytes each; an operator with more is a separate part."""

    limit: int

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        cuts: list[int] = []
        held = 0
        for position, node in enumerate(segment.nodes, segment.start):
            weights = int(graph.weight_bytes[node])
            if held and held + weights > self.limit:
                cuts.append(position)
                held = 0
            held += weights
        return cuts
