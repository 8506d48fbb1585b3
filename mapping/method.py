"""The result, request and interface of all methods of mapping, and the callbacks of a running method."""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Mapping as Dict
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from time import process_time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh
from .topology.topology import Topology


@dataclass(frozen=True)
class Mapping:
    """The core of each vertex, and the time that the method took."""

    core_of_vertex: NDArray[np.int32]
    """[vertices] core number."""
    seconds: Dict[str, float] = field(default_factory=dict[str, float])
    """CPU seconds of each step, in the order of the steps."""


class Objective(StrEnum):
    """The objective of a mapping. All costs are reported, whatever the objective."""

    HOPS = "hops"
    """Sum over undirected edges of weight x hops."""
    MULTICAST = "multicast"
    """Delivered traffic: sum over sources and the other cores they reach of the largest number of spikes x hops."""
    LINK = "link"
    """The load of the busiest link under XY routing."""
    CYCLES = "cycles"
    """The cycles of a step: load of the busiest link, core input or core output if sources send along trees."""
    CUT = "cut"
    """Sum of the weights of undirected edges between different cores."""


class Effort(StrEnum):
    """The amount of search of a mapping: a higher effort takes more time and finds a better mapping."""

    FAST = "fast"
    NORMAL = "normal"
    HIGH = "high"


class Checkpoints(Protocol):
    """A store for the results of steps, by which an interrupted run can be resumed."""

    def save(self, step: str, arrays: Dict[str, NDArray[np.generic]]) -> None:
        """Store the result of a step under the step's name."""
        ...

    def restore(self, step: str) -> dict[str, NDArray[np.generic]] | None:
        """The stored result of this step from an earlier run with the same input and options; None if there is none."""
        ...


class NoCheckpoints:
    """Checkpoints that store nothing."""

    def save(self, step: str, arrays: Dict[str, NDArray[np.generic]]) -> None:
        """Does nothing."""

    def restore(self, step: str) -> dict[str, NDArray[np.generic]] | None:
        """Returns None."""
        return None


class Watch:
    """The callbacks of a method, which time and report its steps, and store and restore their results."""

    def __init__(self, checkpoints: Checkpoints | None = None) -> None:
        self.checkpoints: Checkpoints = checkpoints or NoCheckpoints()
        self.seconds: dict[str, float] = {}

    def on_step(self, step: str) -> None:
        """Called as a step begins; subclasses that show progress override it."""

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """Time the body under `name`; times of equal names add up. Steps may not be nested."""
        self.on_step(name)
        start = process_time()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + process_time() - start


@dataclass(frozen=True)
class MapRequest:
    """The request to a method: topology, mesh, and options."""

    topology: Topology
    mesh: Mesh
    capacity: int
    """Largest sum of the sizes of the vertices on a core."""
    objective: Objective = Objective.HOPS
    effort: Effort = Effort.NORMAL
    seed: int = 0
    watch: Watch = field(default_factory=Watch)
    """Collects the CPU seconds of the steps; it does not change the result."""


class MapMethod(Protocol):
    """
    A method of mapping, including baselines. The result depends only on the request.

    Raises MeshloomError if the vertices do not fit.
    """

    def __call__(self, request: MapRequest, /) -> Mapping: ...


def default_capacity(total_size: int, mesh: Mesh) -> int:
    """The default capacity of a core, ceil(1.05 x total size / usable cores): 5% more than an even share."""
    cores = len(mesh.usable_cores)
    return -(-total_size * 105 // (100 * cores))
