"""
Slack of tensors, in linear time (spec 1, Definitions).

The outputs of a node are ready at its arrival time (TAT). It starts at its required time (TRT), at which the last of
its inputs has arrived; until then an input waits for its slack (TTS). Every node runs as early as possible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import CostGraph, Flat, Ints, Lists

UNKNOWN = -1
"""Time of a node that is never reached: it is on a cycle, or depends on one."""


@dataclass(frozen=True)
class Slack:
    """Times of n nodes and of their e inputs, in the unit of the delays."""

    arrival: Ints
    """[n] TAT"""
    required: Ints
    """[n] TRT"""
    waiting: Ints
    """[e] TTS of each input, in the order of the inputs."""


def slack_of(delay: Ints, sources: Lists) -> Slack:
    """
    Times of nodes that take `delay` [n]; `sources` [n] names the node that each input comes from.

    A source of -1 is outside the graph: it is available from the start. A node without inputs is a source of the graph,
    all its times are 0. Linear in nodes and inputs.
    """
    producer = sources.values
    inside = producer >= 0
    starts = np.concatenate([[0], np.cumsum(np.bincount(producer[inside], minlength=len(delay)))]).astype(np.int64)
    sinks = np.empty(int(starts[-1]), np.int64)
    arrival, required = np.full((2, len(delay)), UNKNOWN, np.int64)
    waiting = np.full(len(producer), UNKNOWN, np.int64)
    _propagate(delay, sources.starts, producer, starts, sinks, arrival, required, waiting)
    return Slack(arrival, required, waiting)


def graph_slack(graph: CostGraph) -> Slack:
    """Times of a cost graph's operations, and of their operands (in the order of `graph.inputs`), in ns."""
    return slack_of(graph.duration, Lists(graph.inputs.starts, graph.producer[graph.inputs.values]))


@jit
def _propagate(
    delay: Flat, starts: Flat, producer: Flat, sink_starts: Flat, sinks: Flat, arrival: Flat, required: Flat,
    waiting: Flat,
) -> None:  # fmt: skip
    """Fill the last three arguments; `sinks` is working memory for the inputs' nodes by source."""
    n = len(delay)
    fill = sink_starts[:n].copy()
    missing = np.zeros(n, np.int64)
    for node in range(n):
        for edge in range(starts[node], starts[node + 1]):
            if producer[edge] >= 0:
                sinks[fill[producer[edge]]] = node
                fill[producer[edge]] += 1
                missing[node] += 1
    queue = np.empty(n, np.int64)
    head = tail = 0
    for node in range(n):
        if missing[node] == 0:
            queue[tail] = node
            tail += 1
    while head < tail:
        node = queue[head]
        head += 1
        latest = 0
        for edge in range(starts[node], starts[node + 1]):
            if producer[edge] >= 0:
                latest = max(latest, arrival[producer[edge]])
        required[node] = latest
        arrival[node] = latest + delay[node] if starts[node + 1] > starts[node] else 0
        for edge in range(starts[node], starts[node + 1]):
            waiting[edge] = latest - (arrival[producer[edge]] if producer[edge] >= 0 else 0)
        for position in range(sink_starts[node], sink_starts[node + 1]):
            sink = sinks[position]
            missing[sink] -= 1
            if missing[sink] == 0:
                queue[tail] = sink
                tail += 1
