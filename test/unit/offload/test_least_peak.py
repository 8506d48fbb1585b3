"""Tests of the least peak over all orders, against an exhaustive search."""

from __future__ import annotations

from itertools import permutations

import pytest
from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.offload.least_peak import least_peak

from .training_graphs import chain_graph, training_graph


def reference_peak(graph: CostGraph, order: tuple[int, ...]) -> int:
    """The peak of an order: results are live from the start of their operation to the end of their last reader."""
    last = {t: op for op in order for t in (*graph.inputs.row(op), *graph.outputs.row(op))}
    live: dict[int, int] = {}
    peak = 0
    for op in order:
        live |= {t: int(graph.size[t]) for t in graph.outputs.row(op)}
        peak = max(peak, sum(live.values()))
        live = {t: size for t, size in live.items() if last[t] != op}
    return peak


def is_topological(graph: CostGraph, order: tuple[int, ...]) -> bool:
    place = {op: index for index, op in enumerate(order)}
    return all(place[before] < place[op] for op in order for before in graph.predecessors.row(op))


@pytest.mark.parametrize("seed", range(60))
def test_no_order_has_a_smaller_peak(seed: int) -> None:
    graph = training_graph(seed, most=4)
    if graph.ops > 8:
        pytest.skip("too many orders")
    least = min(
        reference_peak(graph, order) for order in permutations(range(graph.ops)) if is_topological(graph, order)
    )
    found = least_peak(graph)
    assert found.proven
    assert is_topological(graph, found.order)
    assert found.peak == reference_peak(graph, found.order) == least


def test_a_search_with_few_states_reports_the_peak_of_its_order() -> None:
    graph = training_graph(3, most=12)
    found = least_peak(graph, most_states=1)
    assert found.peak == reference_peak(graph, found.order)
    assert least_peak(chain_graph(4)).proven
