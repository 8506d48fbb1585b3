"""Position of the DRAM ports on the mesh, and the port that each core uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .chip import Chip


def port_rows(chip: Chip) -> list[int]:
    """For each DRAM port the row at whose west edge it is: floor((p + 0.5) * rows / ports)."""
    return [(2 * port + 1) * chip.rows // (2 * chip.dram_ports) for port in range(chip.dram_ports)]


def port_of_core(chip: Chip, core: int) -> int:
    """The DRAM port of a core: floor((row + 0.5) * ports / rows), so that rows per port differ by at most one."""
    return (2 * (core // chip.cols) + 1) * chip.dram_ports // (2 * chip.rows)


def port_routers(chip: Chip) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([cores] DRAM port of each core, [ports] router of each port)."""
    ports = np.array([port_of_core(chip, core) for core in range(chip.cores)], np.int64)
    return ports, np.array(port_rows(chip), np.int64) * chip.cols


def port_rate(chip: Chip) -> float:
    """
    Bytes per cycle through one DRAM port if all cores of its rows read the same amount: the smaller of its share of
    the DRAM's bandwidth and the bandwidth of the link beside it. Data leaves a port along its row; only data for cores
    of the first column does not use that link.
    """
    link = chip.link_bytes_per_cycle * chip.cols / max(1, chip.cols - 1)
    return min(chip.dram_bytes_per_cycle / chip.dram_ports, link)


def dram_rate(chip: Chip) -> float:
    """Bytes per cycle through all DRAM ports; see `port_rate`."""
    return chip.dram_ports * port_rate(chip)


def choose_loaders(chip: Chip, cores: Sequence[int]) -> list[int]:
    """
    The cores of a group that read DRAM for the whole group, in ascending order: at most as many as there are ports.

    The first core of each port is chosen, then the second of each, so that the group uses the bandwidth of all its
    ports.
    """
    waiting: dict[int, list[int]] = {}
    for core in cores:
        waiting.setdefault(port_of_core(chip, core), []).append(core)
    count = min(chip.dram_ports, len(cores))
    chosen: list[int] = []
    while len(chosen) < count:
        chosen += [group.pop(0) for group in waiting.values() if group]
    return sorted(chosen[:count])
