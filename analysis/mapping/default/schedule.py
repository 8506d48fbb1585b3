"""How much work the annealings for few hops and for a small cut get, by effort."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.graph import Graph
from ..mapping import Effort


@dataclass(frozen=True)
class Work:
    """One annealing: so many sweeps (a proposal a vertex each), or what `work` proposals are where that is less."""

    sweeps: float
    work: float

    def sweeps_of(self, graph: Graph) -> float:
        """Sweeps for a graph (a fiftieth of a vertex's edges counts as a proposal too), at least 10."""
        return max(10.0, min(self.sweeps, self.work / (graph.vertices + 0.02 * graph.indices.size)))


@dataclass(frozen=True)
class Schedule:
    """The annealings of an effort."""

    starts: int
    """How many times the smallest graph is annealed from a hot start: once where the work is bounded."""
    start: Work
    """Each start."""
    coarse: Work
    """The merged graph, from the best start."""
    fine: Work
    """The graph itself."""


SCHEDULES = {
    Effort.FAST: Schedule(1, Work(150, 5e6), Work(250, 2e7), Work(80, 1e7)),
    Effort.NORMAL: Schedule(4, Work(600, 3e7), Work(1000, 9e7), Work(600, 5e7)),
    Effort.HIGH: Schedule(8, Work(3000, 2e8), Work(5000, 6e8), Work(2000, 3e8)),
}
