"""The cores that a network is mapped onto, and the temperatures of an annealing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.jit import Array
from ..kernels.capacity import fit, fit_merged
from ..kernels.graph import Graph
from ..mesh import Mesh


@dataclass(frozen=True)
class Target:
    """The cores that vertices may be mapped to."""

    mesh: Mesh
    cores: Array
    """Numbers of the cores that may be used."""
    capacity: int
    """Largest sum of the sizes of the vertices on a core."""

    @property
    def usable(self) -> Array:
        """[mesh.cores] whether a core may be used."""
        usable = np.zeros(self.mesh.cores, np.bool_)
        usable[self.cores] = True
        return usable

    def fit(self, graph: Graph, core_of: Array) -> None:
        """Move vertices in place until every core holds at most the capacity (see `capacity.fit`)."""
        fit(graph, core_of, self.mesh.x, self.mesh.y, self.cores, self.capacity)

    def fitted_merged(self, graph: Graph, core_of: Array) -> Target:
        """As `fit`, for merged vertices; the target with the smallest sufficient capacity (see `fit_merged`)."""
        capacity = fit_merged(graph, core_of, self.mesh.x, self.mesh.y, self.cores, self.capacity)
        return Target(self.mesh, self.cores, capacity)


@dataclass(frozen=True)
class Cooling:
    """The cooling of an annealing: first and last temperature, and the number of sweeps (proposals per vertex)."""

    hot: float
    cold: float
    sweeps: float
