"""Tests of arrival, required and waiting times, on figures of spec 1, and against the definition on random graphs."""

from __future__ import annotations

import random

import numpy as np
from meshloom.analysis.cost_graphs.graph import lists_of
from meshloom.analysis.offload.slack import UNKNOWN, slack_of


def times(
    inputs: dict[int, list[int]], delay: int = 10
) -> tuple[dict[int, int], dict[int, int], dict[tuple[int, int], int]]:
    """TAT and TRT by node, TTS by edge (source, node)."""
    nodes = list(inputs)
    number = {node: index for index, node in enumerate(nodes)}
    sources = lists_of([[number[source] for source in inputs[node]] for node in nodes])
    slack = slack_of(np.full(len(nodes), delay, np.int64), sources)
    edges = [(source, node) for node in nodes for source in inputs[node]]
    return (
        dict(zip(nodes, slack.arrival.tolist(), strict=True)),
        dict(zip(nodes, slack.required.tolist(), strict=True)),
        dict(zip(edges, slack.waiting.tolist(), strict=True)),
    )


def chain(*nodes: int) -> dict[int, list[int]]:
    return {node: [nodes[index - 1]] if index else [] for index, node in enumerate(nodes)}


def test_figure_3_the_first_tensor_waits_for_its_late_uses() -> None:
    inputs = chain(300, 302, 304, 306, 308, 310)
    inputs[308].append(300)
    inputs[310].append(300)
    arrival, required, waiting = times(inputs)
    assert arrival == {300: 0, 302: 10, 304: 20, 306: 30, 308: 40, 310: 50}
    assert required == {300: 0, 302: 0, 304: 10, 306: 20, 308: 30, 310: 40}
    assert {edge: time for edge, time in waiting.items() if time} == {(300, 308): 30, (300, 310): 40}


def test_figure_4_without_control_edges_restorations_run_at_once() -> None:
    inputs = chain(300, 302, 304, 306, 308, 310)
    inputs |= {301: [300], 312: [301], 311: [304], 322: [311]}
    inputs[308].append(312)
    inputs[310].append(312)
    _, required, waiting = times(inputs)
    assert required[312] == 10, "right after its reduction"
    assert waiting[312, 308] == 10
    assert waiting[312, 310] == 20, "nothing is saved: the tensor is back and waits"


def test_figure_5_with_control_edges_the_restorations_run_late() -> None:
    inputs = chain(*range(400, 420, 2))
    inputs |= {401: [400], 413: [401], 411: [404], 423: [411]}
    inputs[416].append(413)
    inputs[418].append(413)
    inputs[412].append(423)
    # serialize 401 -> 402, 411 -> 408, 412 -> 413; prefetch 414 -> 413
    for first, second in ((401, 402), (411, 408), (412, 413), (414, 413)):
        inputs[second].append(first)
    arrival, required, waiting = times(inputs)
    assert required[402] == arrival[401] == 10
    assert required[413] == arrival[414]
    assert waiting[413, 416] == 0, "it arrives when it is needed"
    assert waiting[401, 413] == arrival[414] - arrival[401] > 0, "meanwhile it is away"


def test_times_equal_the_definition_on_random_graphs() -> None:
    for seed in range(50):
        chance = random.Random(seed)
        count = chance.randint(1, 40)
        names = list(range(count))
        chance.shuffle(names)  # the numbers of nodes are independent of their order
        inputs = [list[int]() for _ in range(count)]
        for index in range(count):
            inputs[names[index]] = [names[k] for k in chance.sample(range(index), chance.randint(0, min(3, index)))]
        delay = [chance.randint(0, 9) for _ in range(count)]
        slack = slack_of(np.array(delay, np.int64), lists_of(inputs))
        edge = 0
        for node in range(count):
            starts = [int(slack.arrival[source]) for source in inputs[node]]
            required = max(starts, default=0)
            assert slack.required[node] == required
            assert slack.arrival[node] == (required + delay[node] if inputs[node] else 0)
            for start in starts:
                assert slack.waiting[edge] == required - start
                edge += 1


def test_nodes_on_a_cycle_stay_unknown() -> None:
    slack = slack_of(np.array([1, 1, 1], np.int64), lists_of([[], [0, 2], [1]]))
    assert slack.arrival.tolist() == [0, UNKNOWN, UNKNOWN]


def test_a_million_nodes_take_seconds() -> None:
    import time

    count = 1_000_000
    chance = np.random.default_rng(0)
    sources = np.stack([np.arange(-1, count - 1), chance.integers(-1, np.arange(count))], axis=1)
    from meshloom.analysis.cost_graphs.graph import Lists

    began = time.process_time()
    slack = slack_of(np.full(count, 3, np.int64), Lists(np.arange(0, 2 * count + 1, 2), sources.reshape(-1)))
    assert time.process_time() - began < 5
    assert slack.required[-1] == 3 * (count - 1)
