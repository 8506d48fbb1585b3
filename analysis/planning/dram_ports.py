"""The DRAM port of each core, and the position of each port."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip


def port_homes(chip: Chip) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([cores] DRAM port of each core, [ports] the router at which each port is)."""
    rows = [(2 * port + 1) * chip.rows // (2 * chip.dram_ports) for port in range(chip.dram_ports)]
    # As the network-on-chip has it: the port of the nearest row, of equally near ones the first.
    nearest = [min(range(len(rows)), key=lambda port: (abs(rows[port] - y), port)) for y in range(chip.rows)]
    ports = np.repeat(np.array(nearest, np.int64), chip.cols)
    return ports, np.array([row * chip.cols for row in rows], np.int64)
