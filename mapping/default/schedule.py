"""The work of annealing for hops and for the cut, by effort."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.graph import Graph
from ..method import Effort


@dataclass(frozen=True)
class Work:
    """The work of one annealing: `sweeps` sweeps (one proposal per vertex each), but at most `work` proposals."""

    sweeps: float
    work: float
    least: float = 0.0
    """Least number of proposals on a small graph, where full cores leave few possible moves."""

    def sweeps_of(self, graph: Graph) -> float:
        """Number of sweeps for a graph, at least 10 if any; a fiftieth of the edges counts as proposals, too."""
        sweep = max(1.0, graph.vertices + 0.02 * graph.indices.size)
        return min(max(self.sweeps, self.least / sweep), max(10.0, self.work / sweep))

    def bounds(self, graph: Graph) -> bool:
        """Whether the graph is so large that it gets fewer sweeps."""
        return self.sweeps_of(graph) < self.sweeps


@dataclass(frozen=True)
class Schedule:
    """The annealings of an effort."""

    starts: int
    """Number of anneals of the coarsest graph from a hot start; one if its work is bounded."""
    start: Work
    """The work of each start."""
    kept: int
    """Number of starts that are refined, up to the first graph whose work is bounded."""
    coarse: Work
    """The work on each merged graph, from the best start."""
    trial: Work
    """The work on the graph itself, from each start that has been refined up to there."""
    fine: Work
    """The work on the graph itself, from the best mapping."""
    spare: float = 0.1
    """Share of its capacity by which a core may exceed it at first in every annealing."""

    def limits(self, capacity: int, last: int | None = None) -> tuple[int, int]:
        """The largest load of a core at first, and in the end: `last`, by default the capacity."""
        last = last or capacity
        return max(last, capacity + int(self.spare * capacity)), last

    def merged_limits(self, graph: Graph, capacity: int) -> tuple[int, int]:
        """As `limits`, for merged vertices: a core accepts a vertex if at least half of it fits."""
        return self.limits(capacity, capacity + int(graph.size.max(initial=0)) // 2)


SCHEDULES = {
    Effort.FAST: Schedule(1, Work(150, 4e6), 1, Work(150, 1e7), Work(40, 2e6), Work(80, 1e7, 1e5)),
    Effort.NORMAL: Schedule(4, Work(400, 1e7), 3, Work(500, 3e7), Work(200, 5e6), Work(800, 4e7, 1e6)),
    Effort.HIGH: Schedule(8, Work(2000, 1e8), 5, Work(3000, 4e8), Work(800, 4e7), Work(2500, 4e8, 1e7)),
}
