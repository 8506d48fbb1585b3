"""Tests of fixed thresholds on the figures of spec 1: the tensors that are offloaded, and every control edge."""

from __future__ import annotations

from typing import Any

import pytest
from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.cost_graphs.read import parse_cost_graph
from meshloom.analysis.offload.kinds import Kind
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.slack import graph_slack
from meshloom.transforms.offload.script import Act, Script
from meshloom.transforms.offload.thresholds import Thresholds, candidates, threshold_script

FAST = Model(link=1e12)
DELAY = 1000
"""Duration of each node, in ns."""


def graph_of(edges: dict[int, list[int]], sizes: dict[int, int] | None = None) -> CostGraph:
    """
    A cost graph of nodes, given with the nodes that they read, in order.

    Each node has one result, of the size in `sizes`, or else 100 bytes.
    """
    number = {node: index for index, node in enumerate(edges)}
    tensors: list[dict[str, Any]] = [
        {"id": index, "shape": [], "size": (sizes or {}).get(node, 100), "kind": "act"}
        for node, index in number.items()
    ]
    ops: list[dict[str, Any]] = [
        {
            "id": node,
            "name": str(node),
            "unit": "MPU",
            "ins": [number[source] for source in sources],
            "outs": [number[node]],
            "flops": 0,
            "dur_ns": DELAY,
            "phase": "fwd",
        }
        for node, sources in edges.items()
    ]
    data: dict[str, Any] = {"tensors": tensors, "ops": ops}
    return parse_cost_graph(data)


FIGURE_3 = {300: [], 302: [300], 304: [302], 306: [304], 308: [306, 300], 310: [308, 300]}
FIGURE_5 = {
    400: [], 402: [400], 404: [402], 406: [404], 408: [406], 410: [408], 412: [410, 404], 414: [412],
    416: [414, 400], 418: [416, 400],
}  # fmt: skip
SIZES_5 = {400: 500, 404: 400, 402: 200, 406: 90, 408: 200}
FIGURE_9 = {
    800: [],
    802: [800],
    804: [802],
    806: [804],
    808: [806, 800],
    810: [808],
    811: [810],
    812: [811],
    814: [812, 800],
}


def named(graph: CostGraph, script: Script, edges: list[tuple[int, int]]) -> set[tuple[str, str]]:
    """Edges by names: nodes by their numbers in the figure, the rest as `ACT SOURCE` or `ACT SOURCE#ABSENCE`."""

    def name(item: int) -> str:
        one = script.items[item]
        if one.act is Act.RUN:
            return graph.op_names[one.number]
        absence = script.absences[one.number]
        which = "" if one.act in (Act.OUT, Act.COMPRESS) else f"#{one.number}"
        return f"{one.act.value} {graph.op_names[graph.producer[absence.tensor]]}{which}"

    return {(name(source), name(target)) for source, target in edges}


def test_figure_3_two_inputs_have_slack() -> None:
    """The edges (300, 308) and (300, 310) have the slack of three and four nodes, all others have none."""
    graph = graph_of(FIGURE_3)
    found = candidates(graph, graph_slack(graph), Thresholds(slack=DELAY))
    assert [(graph.op_ids[op], graph.op_ids[graph.producer[tensor]]) for op, tensor in found] == [
        (308, 300),
        (310, 300),
    ]


def test_figure_5() -> None:
    """Control edges equal the figure's: 401->402, 411->408, 412->413 serialize, 414->413 prefetches; 423 as well."""
    graph = graph_of(FIGURE_5, SIZES_5)
    script, edges = threshold_script(graph, FAST, Kind.SWAP, Thresholds(slack=2 * DELAY, size=150))
    assert named(graph, script, edges) == {
        ("out 400", "402"),
        ("out 404", "408"),
        ("410", "in 404#0"),
        ("412", "in 400#1"),
        ("414", "in 400#1"),
    }
    order = [(one.act, one.number) for one in script.items]
    # One reduction per tensor, directly after its source; 416 and 418 share a restoration, after 414.
    assert order.count((Act.IN, 1)) == 1
    assert len(script.absences) == 2
    position = {graph.op_ids[number]: place for place, (act, number) in enumerate(order) if act is Act.RUN}
    assert order[position[400] + 1][0] is Act.OUT
    assert position[414] < order.index((Act.IN, 1)) < position[416]


@pytest.mark.parametrize(
    ("kind", "acts"),
    [
        (Kind.SWAP, [Act.OUT, Act.IN]),
        (Kind.COMPRESS, [Act.COMPRESS, Act.DECOMPRESS]),
        (Kind.COMPRESS_SWAP, [Act.COMPRESS, Act.OUT, Act.IN, Act.DECOMPRESS]),
    ],
)
def test_figures_6_to_8_kinds(kind: Kind, acts: list[Act]) -> None:
    """On 500 -> 501 -> 507 -> 508, parallel to 502, 504, 506: the operations of each kind, and two control edges."""
    graph = graph_of({500: [], 502: [500], 504: [502], 506: [504], 508: [506, 500]})
    script, edges = threshold_script(graph, FAST, kind, Thresholds(slack=DELAY))
    assert [one.act for one in script.items if one.act is not Act.RUN] == acts
    leaves, comes = ("compress 500" if kind is Kind.COMPRESS else "out 500"), f"{acts[len(acts) // 2].value} 500#0"
    assert named(graph, script, edges) == {(leaves, "502"), ("506", comes)}


def test_figure_9_one_reduction_two_restorations() -> None:
    """807 restores for 808, prefetched at 806; 813 restores for 814, prefetched at 812 and serialized after 808."""
    graph = graph_of(FIGURE_9)
    script, edges = threshold_script(graph, FAST, Kind.SWAP, Thresholds(slack=DELAY))
    assert [one.act for one in script.items].count(Act.OUT) == 1
    assert named(graph, script, edges) == {
        ("out 800", "802"),
        ("806", "in 800#0"),
        ("808", "in 800#1"),
        ("812", "in 800#1"),
    }


def test_more_candidates_than_n() -> None:
    """With a limit `n`, the largest tensors are selected, and of equal ones those of the first inputs."""
    graph = graph_of(FIGURE_5, SIZES_5)
    slack = graph_slack(graph)

    def pairs(most: int) -> list[tuple[int, int]]:
        found = candidates(graph, slack, Thresholds(2 * DELAY, 150, most))
        return [(graph.op_ids[op], graph.op_ids[graph.producer[tensor]]) for op, tensor in found]

    assert pairs(3) == [(412, 404), (416, 400), (418, 400)]
    assert pairs(2) == [(416, 400), (418, 400)]
    assert pairs(1) == [(416, 400)]


def test_a_restoration_precedes_its_reader_if_later_readers_are_left_out() -> None:
    """Of the two late readers of 300 in figure 3, only the first is selected; 310 reads the same restored tensor."""
    graph = graph_of(FIGURE_3)
    script, _ = threshold_script(graph, FAST, Kind.SWAP, Thresholds(slack=DELAY, most=1))
    acts = [one.act if one.act is not Act.RUN else graph.op_ids[one.number] for one in script.items]
    assert acts.count(Act.IN) == 1
    assert acts.index(306) < acts.index(Act.IN) < acts.index(308)


def test_slow_links_start_restorations_earlier() -> None:
    """A copy of 2,000 ns starts after 410, two nodes before the end of 414, to end when 416's other input arrives."""
    graph = graph_of(FIGURE_5, SIZES_5)
    slow = Model(link=500 / 2e-6)
    script, edges = threshold_script(graph, slow, Kind.SWAP, Thresholds(slack=2 * DELAY, size=450))
    assert ("410", "in 400#0") in named(graph, script, edges)
