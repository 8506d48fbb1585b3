"""The split rule that cuts after operators that the user names."""

from __future__ import annotations

from dataclasses import dataclass

from .op_graph import OpGraph, Segment, positions
from .split_rule import check_cuts


@dataclass(frozen=True)
class AfterNamedOperators:
    """Cut after the operators of these names. Raises MeshloomError for names that no operator of the graph has."""

    names: tuple[str, ...]

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        after = positions(segment.order)[graph.numbers_of(self.names)] + 1
        return check_cuts(segment, after.tolist())
