"""
Conversion of routes for the timing kernel, and bytes on all links from the bytes that entered each route.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...support.jit import Array, jit
from ..machine.noc import FROM_CORE, FROM_DRAM, FROM_STORE, LINKS, Routes
from .kernel_arrays import FORK, FROM_PORT, HERE, INTO_CORE, INTO_PORT, ONE_LINK


def route_nodes(routes: Routes, cores: int) -> NDArray[np.uint32]:
    """[nodes * 4] the nodes for the kernel; columns as in `kernel_arrays.NODE_KIND`."""
    return _route_nodes(routes.router, routes.mask, routes.child, routes.port, routes.store_root, cores)


@jit
def _route_nodes(router: Array, mask: Array, child: Array, port: Array, store_root: Array, cores: int) -> Array:
    nodes = np.zeros(4 * len(mask), np.uint32)
    came_from = np.full(len(mask), FROM_CORE, np.uint32)
    came_from[store_root] = FROM_STORE
    for node in range(len(mask)):
        if mask[node] & 0x80:
            came_from[child[node, 0]] = FROM_DRAM
        else:
            for out in range(4):
                if child[node, out] >= 0:
                    came_from[child[node, out]] = out ^ 1  # a packet that leaves to the east arrives from the west
    for node in range(len(mask)):
        ways = int(mask[node])
        kind, way, following = FORK, router[node] * LINKS, node
        if ways & 0x80:
            kind, way, following = FROM_PORT, cores * LINKS + port[node], child[node, 0]
        elif ways & 0x20:
            kind, way = INTO_PORT, cores * LINKS + port[node]
        elif ways == 16:
            kind, way = INTO_CORE, way + 4
        elif ways & (ways - 1) == 0:
            kind = ONE_LINK
            for out in range(4):
                if ways == 1 << out:
                    way, following = way + out, child[node, out]
        if (kind == FROM_PORT or kind == ONE_LINK) and mask[following] & 0x40:
            following = HERE
        at = 4 * node
        nodes[at], nodes[at + 1], nodes[at + 2], nodes[at + 3] = kind | came_from[node] << 3, way, following, ways & 31
    return nodes


def bytes_carried(
    chip: Chip, routes: Routes, entered: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """
    (bytes on links [cores * 5], read at ports [ports], written at ports [ports]).

    `entered`: [nodes] bytes that entered the routes that start at each node.
    """
    links = np.zeros(chip.cores * LINKS, np.int64)
    read, written = np.zeros(chip.dram_ports, np.int64), np.zeros(chip.dram_ports, np.int64)
    _carry(routes.router, routes.mask, routes.child, routes.port, entered.copy(), links, read, written)
    return links, read, written


@jit
def _carry(
    router: Array, mask: Array, child: Array, port: Array, passing: Array, links: Array, read: Array, written: Array
) -> None:
    """Add up the bytes in one pass over the nodes, which are sorted topologically."""
    for node in range(len(mask)):
        nbytes = passing[node]
        if nbytes == 0:
            continue
        ways = int(mask[node])
        if ways & 0x80:
            read[port[node]] += nbytes
            passing[child[node, 0]] += nbytes
            continue
        if ways & 0x20:
            written[port[node]] += nbytes
        for out in range(LINKS):
            if ways >> out & 1:
                links[router[node] * LINKS + out] += nbytes
                if out < 4:
                    passing[child[node, out]] += nbytes
