"""Small random networks."""

from __future__ import annotations

import numpy as np
from meshloom.mapping.topology.topology import Topology, from_directed


def random_network(
    seed: int, vertices: int = 60, degree: int = 4, *, even: bool = False, largest_size: int = 1
) -> Topology:
    """Random directed edges to vertices of near numbers; `even`: a source sends the same spikes to all its targets."""
    generator = np.random.default_rng(seed)
    rows = [np.unique((u + generator.integers(1, 9, degree)) % vertices) for u in range(vertices)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    targets = np.concatenate(rows)
    spikes = generator.integers(1, 20, len(targets))
    if even:
        spikes = np.repeat(generator.integers(1, 20, vertices), np.diff(indptr))
    return from_directed(indptr, targets, spikes, generator.integers(1, largest_size + 1, vertices))
