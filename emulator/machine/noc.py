"""
The network-on-chip: routes of packets over routers and links, and multicast trees.

Routing is XY: along the row first, then along the column. Routers have the numbers of their cores (y * cols + x). A
router has six kinds of outputs: a link to each neighbour (east, west, north = y - 1, south = y + 1), the link into its
own core (`EJECT`), and at the west edge of some rows a DRAM port. A route or multicast tree consists of nodes; a node
is a router that a packet visits, with the outputs that the packet takes there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...chips.dram_ports import port_routers
from ...support.jit import jit

EAST, WEST, NORTH, SOUTH, EJECT, PORT, DELIVER, FETCH = range(8)
"""
Outputs, as bit numbers of a node's mask. The first five are links (`link = router * LINKS + way`). PORT: written to
DRAM through the port of this router. DELIVER: data read from DRAM reaches the core. FETCH: read from the port (the
first node of a read).
"""
LINKS = 5
LINK_NAMES = ("east", "west", "north", "south", "core")
FROM_CORE, FROM_STORE, FROM_DRAM = 4, 5, 6
"""
Inputs of a router, in addition to those from its neighbours (which have the numbers of the outputs to them): packets
from SEND and RECV of its own core, from its STORE, and data read at its DRAM port. A busy link serves the inputs in
round-robin order.
"""
INPUTS = 8
"""Size of the dimension of inputs, for each router and link."""


@dataclass(frozen=True)
class Routes:
    """
    All routes that a program uses, as flat arrays over nodes.

    `router`: router of each node. `mask`: bit w is set if the packet takes output w. `child`: [nodes, 4], the next node
    in the east, west, north and south (-1: none); a FETCH node has its successor in column 0. `port`: DRAM port of PORT
    and FETCH nodes, else -1. `put_root`: [cores, sets], first node of a put from that core to that set (-1: never
    used). `load_root`, `store_root`: [cores], first node of a read from, and of a write to DRAM.
    """

    router: NDArray[np.int32]
    mask: NDArray[np.uint8]
    child: NDArray[np.int32]
    port: NDArray[np.int32]
    put_root: NDArray[np.int32]
    load_root: NDArray[np.int32]
    store_root: NDArray[np.int32]


def build_routes(chip: Chip, core_sets: NDArray[np.bool_], used: NDArray[np.bool_]) -> Routes:
    """
    The routes of all DRAM traffic, and of puts from core c to core set s if `used[c, s]`.

    `core_sets`: bool [sets, cores]; `used`: bool [cores, sets].
    """
    cores, sets = chip.cores, core_sets.shape[0]
    ports, routers = port_routers(chip)
    homes = routers[ports]
    pairs = np.argwhere(used)
    here = np.arange(cores, dtype=np.int64)
    sources = np.concatenate([pairs[:, 0], homes, here]).astype(np.int64)
    # The targets of a route are a core set; after the given sets, there is one set for each core.
    members = np.concatenate([np.nonzero(core_sets)[1], here]).astype(np.int64)
    lengths = np.concatenate([core_sets.sum(axis=1, dtype=np.int64), np.ones(cores, np.int64)])
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    goals = np.concatenate([pairs[:, 1], sets + here, sets + homes]).astype(np.int64)
    ends = np.repeat(np.array([EJECT, DELIVER, PORT], np.int64), [len(pairs), cores, cores])
    journey_port = np.concatenate([np.full(len(pairs), -1, np.int64), ports, ports]).astype(np.int32)
    router, mask, child, port, roots = _grow(chip.cols, cores, sources, goals, bounds, members, ends, journey_port)
    put_root = np.full((cores, max(sets, 1)), -1, np.int32)
    put_root[pairs[:, 0], pairs[:, 1]] = roots[: len(pairs)]
    loads = roots[len(pairs) : len(pairs) + cores]
    return Routes(router, mask, child, port, put_root, loads, roots[len(pairs) + cores :])


@jit
def _grow(
    cols: int,
    cores: int,
    sources: NDArray[np.int64],
    goals: NDArray[np.int64],
    bounds: NDArray[np.int64],
    members: NDArray[np.int64],
    ends: NDArray[np.int64],
    journey_port: NDArray[np.int32],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Nodes of all routes: trees from a source over XY paths to the members of a core set; arrays as in `Routes`."""
    capacity = 1024
    router = np.empty(capacity, np.int32)
    mask = np.empty(capacity, np.uint8)
    child = np.empty((capacity, 4), np.int32)
    port = np.empty(capacity, np.int32)
    roots = np.empty(len(sources), np.int32)
    leaves = np.zeros(cores, np.uint8)
    steps = np.array([1, -1, -cols, cols])
    count = 0
    for journey in range(len(sources)):
        if count + cores + 1 > capacity:
            capacity = 2 * capacity + cores
            router2, mask2 = np.empty(capacity, np.int32), np.empty(capacity, np.uint8)
            child2, port2 = np.empty((capacity, 4), np.int32), np.empty(capacity, np.int32)
            for node in range(count):
                router2[node], mask2[node], port2[node] = router[node], mask[node], port[node]
                for way in range(4):
                    child2[node, way] = child[node, way]
            router, mask, child, port = router2, mask2, child2, port2
        source = sources[journey]
        roots[journey] = count
        row = source // cols * cols
        for index in range(bounds[goals[journey]], bounds[goals[journey] + 1]):
            # Backwards from the member: along the column to the source's row, then along the row, up to a known node.
            at = members[index]
            leaves[at] |= 1 << ends[journey]
            while at != source:
                if at >= row + cols:
                    way = 3
                elif at < row:
                    way = 2
                else:
                    way = 0 if at > source else 1
                at -= steps[way]
                if leaves[at] >> way & 1:
                    break
                leaves[at] |= 1 << way
        if ends[journey] == 6:  # A read starts at the DRAM port, outside the mesh.
            router[count], mask[count], port[count] = source, 1 << 7, journey_port[journey]
            child[count, :] = -1
            child[count, 0] = count + 1
            count += 1
        head = count
        router[count] = source
        count += 1
        while head < count:
            at = router[head]
            mask[head] = leaves[at]
            port[head] = journey_port[journey] if leaves[at] & 32 else -1
            for way in range(4):
                child[head, way] = -1
                if leaves[at] >> way & 1:
                    child[head, way] = count
                    router[count] = at + steps[way]
                    count += 1
            leaves[at] = 0
            head += 1
    return router[:count], mask[:count], child[:count], port[:count], roots
