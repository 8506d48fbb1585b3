"""Packets at the links of the timing kernel: entering a node of a route, and waiting for a link."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import Array, jit_with
from ..machine.noc import INPUTS
from .event_wheel import FLAGS, LANE, NEXT, NODE, WAY, new_event
from .kernel_arrays import NODE_KIND, NODE_NEXT, NODE_WAY, TURN, WAITING


@jit_with(_nrt=False)
def enter(events: Array, nodes: Array, event: Any, node: Any, flags: Any) -> None:
    """Move the packet of `event` to `node`, by copying the node's row to the event."""
    events[8 * event + FLAGS] = flags | nodes[4 * node + NODE_KIND] << 2
    events[8 * event + WAY] = nodes[4 * node + NODE_WAY]
    events[8 * event + NODE] = nodes[4 * node + NODE_NEXT]


@jit_with(_nrt=False)
def wait_for(links: Array, heads: Array, tails: Array, events: Array, way: Any, came: Any, event: Any) -> bool:
    """Append `event` to the queue of router input `came` for link `way`. Returns whether no other event waits."""
    queue = INPUTS * np.int64(way) + came
    others = links[4 * way + WAITING]
    if others >> came & 1:
        events[8 * tails[queue] + NEXT] = event
    else:
        heads[queue] = event
        links[4 * way + WAITING] = others | 1 << came
    tails[queue] = event
    return others == 0


@jit_with(_nrt=False)
def new_turn(events: Array, counters: Array, way: Any) -> int:
    """A new event that reserves link `way` for a waiting packet."""
    turn = new_event(events, counters)
    events[8 * turn + LANE] = 0  # before all packets, as matrix units send none
    events[8 * turn + FLAGS] = TURN << 2
    events[8 * turn + WAY] = way
    return turn
