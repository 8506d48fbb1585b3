"""
Planted mappings: the neurons of `sheet` networks are in a plane, which is divided into one part for each core.

Most edges connect neurons that are close in the plane, so that placing neighbouring parts on neighbouring cores is a
good mapping. It is not optimal: opposite borders of the plane are connected, and a few edges are random.
"""

from __future__ import annotations

import numpy as np
from mapping_peers import Cores
from meshloom.mapping.mesh import Mesh
from numpy.typing import NDArray

SHEETS = {
    "sheet10k": (10, 32, 32),
    "sheet100k": (10, 100, 100),
    "sheet1M": (16, 250, 250),
    "cortex10k": (1, 100, 100),
    "cortex100k": (1, 320, 320),
    "cortex1M": (1, 1000, 1000),
}
"""(layers, rows, columns) of the generated sheets, numbered in this order before they are shuffled."""


def planted(name: str, mesh: Mesh, seed: int) -> Cores:
    """The cores [n] of the shuffled sheet `name`: the plane in stripes of as many neurons each, these in columns."""
    layers, rows, columns = SHEETS[name]
    n = layers * rows * columns
    number = np.arange(n, dtype=np.int64)
    y, x = number // columns % rows, number % columns
    row = _evenly(y, mesh.height)
    core_of = np.empty(n, np.int32)
    for of_row in range(mesh.height):
        there = np.flatnonzero(row == of_row)
        core_of[there] = of_row * mesh.width + _evenly(x[there], mesh.width)
    # The generator's way to shuffle.
    shuffled = np.random.default_rng(seed + 7).permutation(n)
    found = np.empty_like(core_of)
    found[shuffled] = core_of
    return found


def _evenly(position: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Number of the part of each, by position, all parts of the same size but for one vertex."""
    part = np.empty_like(position)
    part[np.argsort(position, kind="stable")] = np.arange(len(position)) * parts // len(position)
    return part
