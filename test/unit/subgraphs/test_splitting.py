"""Tests of the parts of a serial order, and of the rules that cut it, against exhaustive searches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from example_graphs import FIGURE_1, FIGURE_2, FIGURE_4, from_file, named, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.cost_graphs.function_graph import block_graph
from meshloom.analysis.subgraphs.data_outputs import AtDataOutputs, target_nodes
from meshloom.analysis.subgraphs.key_nodes import cut_nodes
from meshloom.analysis.subgraphs.least_cut import AtFewestBytes, PartBounds
from meshloom.analysis.subgraphs.named_cuts import AfterNamedOperators
from meshloom.analysis.subgraphs.op_graph import (
    NodeInfo,
    OpGraph,
    Segment,
    Segments,
    is_data_output,
    live_bytes,
    serial_order,
)
from meshloom.analysis.subgraphs.rules import RULES, RuleSettings, make_rule
from meshloom.analysis.subgraphs.segments_between import AtKeyNodes, merge_small, segments_between
from meshloom.analysis.subgraphs.split_rule import AllTogether, FirstThatSplits, SplitRule, split, split_part
from meshloom.analysis.subgraphs.weight_bytes import AtWeightBytes
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.support.errors import InputError, MeshloomError
from meshloom.tools.read_module import read_module


def parts_of(graph: OpGraph, segments: Segments) -> list[list[str]]:
    segments.check(graph)
    return [[graph.names[int(node)] for node in part.nodes] for part in segments.parts]


def whole(graph: OpGraph) -> Segment:
    return Segment(serial_order(graph), 0, len(graph))


# ---- the order and its parts ----


def test_outputs_follow_their_producer_and_loads_come_before_their_reader() -> None:
    # Nodes 0 and 1 load weights; 4 reads 3; 5 only outputs the result of 2.
    graph = OpGraph.build(
        [(0, 4), (1, 3), (2, 3), (3, 4), (2, 5)], "load4 load3 a b c out".split(), NodeInfo(weight_loads=[0, 1])
    )
    order = serial_order(graph)
    assert [graph.names[int(node)] for node in order] == ["a", "out", "load3", "b", "load4", "c"]
    Segments.whole(order).check(graph)


@given(graph=random_graphs())
@settings(max_examples=100, deadline=None)
def test_serial_order_respects_dependencies(graph: OpGraph) -> None:
    Segments.whole(serial_order(graph)).check(graph)


def test_wrong_partitions_are_found() -> None:
    chain = named("a b", "b c")
    order = np.arange(3)
    for order, bounds, message in (
        (np.array([0, 0, 1]), (0, 3), "each of 3 nodes once"),
        (order, (0, 2, 2, 3), "should increase"),
        (order, (0, 2), "should increase from 0 to 3"),
        (np.array([1, 0, 2]), (0, 3), "'b' comes before 'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            Segments(order, bounds).check(chain)
    with pytest.raises(ValueError, match="topological order"):
        OpGraph.build([(1, 0)], "ab")


@given(graph=random_graphs())
@settings(max_examples=100, deadline=None)
def test_live_bytes_are_those_of_values_read_later(graph: OpGraph) -> None:
    order = serial_order(graph)
    place = {int(node): position for position, node in enumerate(order)}
    expected = [
        sum(
            int(graph.result_bytes[node])
            for node in range(len(graph))
            if place[node] < cut and any(place[int(reader)] >= cut for reader in graph.successors[node])
        )
        for cut in range(len(graph) + 1)
    ]
    assert live_bytes(graph, order).tolist() == expected


# ---- data outputs ----


def test_figure_2() -> None:
    targets = [FIGURE_2.names[node] for node in np.flatnonzero(target_nodes(FIGURE_2))]
    assert targets == ["2", "4", "6"]
    parts = parts_of(FIGURE_2, split(FIGURE_2, serial_order(FIGURE_2), AtDataOutputs()))
    assert parts == [["1", "2", "3"], ["4", "5"], ["6", "7"], ["8", "9"]]


def test_figure_2_with_another_numbering() -> None:
    shuffled = named("1 2", "2 4", "4 6", "6 8", "8 9", "6 7", "4 5", "2 3")
    parts = parts_of(shuffled, split(shuffled, serial_order(shuffled), AtDataOutputs()))
    assert parts == [["1", "2", "3"], ["4", "5"], ["6", "7"], ["8", "9"]]


@pytest.mark.parametrize("last", ["figure_2", "figure_2_matmul"])
def test_figure_2_as_a_program(last: str) -> None:
    """
    The parts of figure 2 as a program.

    Returned results are the figure's nodes 3, 5, 7 and 9. The last operator, 8, computes, on the vector unit (tanh) or
    on the matrix unit, and is therefore no data output of 6.
    """
    module = read_module(Path(__file__).parents[2] / "data" / f"{last}.mlir", {})
    graph = block_graph(find_main(module).body.block).graph
    assert not is_data_output(graph).any()
    targets = [graph.names[node] for node in np.flatnonzero(target_nodes(graph))]
    assert targets == ["n2", "n4", "n6"]
    parts = parts_of(graph, split(graph, serial_order(graph), AtDataOutputs()))
    assert parts == [["n1", "n2"], ["n4"], ["n6"], ["n8"]]


def test_a_last_operator_that_computes_is_no_data_output() -> None:
    """Node 3 is a data output of 2 if it computes nothing; if it computes, 2 has two branches to computing nodes."""
    edges = [(0, 1), (1, 2), (1, 3), (3, 4)]
    names = ["1", "2", "3", "4", "5"]
    for macs, others in (([8] * 5, [0] * 5), ([0] * 5, [8] * 5)):
        nothing = [0 if name == "3" else 1 for name in names]
        passing = OpGraph.build(
            edges,
            names,
            NodeInfo(
                macs=[a * b for a, b in zip(macs, nothing, strict=True)],
                other_ops=[a * b for a, b in zip(others, nothing, strict=True)],
            ),
        )
        assert is_data_output(passing).tolist() == [False, False, True, False, False]
        assert np.flatnonzero(target_nodes(passing)).tolist() == [1]
        computing = OpGraph.build(edges, names, NodeInfo(macs=macs, other_ops=others))
        assert not is_data_output(computing).any()
        assert not target_nodes(computing).any()
        assert serial_order(computing).tolist() == [0, 1, 2, 3, 4]


def test_a_result_that_is_only_an_output_is_no_target() -> None:
    """A result that is an output in two shapes, and that no computing node reads, is no target."""
    graph = OpGraph.build([(0, 1), (1, 2)], "abc", NodeInfo(macs=[8, 8, 0], outputs=[1, 2]))
    assert is_data_output(graph).tolist() == [False, False, True]
    assert not target_nodes(graph).any()


def test_outputs_with_readers_are_targets() -> None:
    chain = OpGraph.build([(0, 1), (1, 2), (2, 3)], "abcd", NodeInfo(outputs=[1, 3]))
    assert parts_of(chain, split(chain, serial_order(chain), AtDataOutputs())) == [["a", "b"], ["c", "d"]]


def test_outputs_at_the_end_cause_no_cut() -> None:
    assert AtDataOutputs()(FIGURE_1, whole(FIGURE_1)) == []


# ---- fewest bytes ----


def all_cuts(count: int, parts: int) -> list[tuple[int, ...]]:
    return [tuple(cuts) for cuts in combinations(range(1, count), parts - 1)]


def allowed(graph: OpGraph, order: Sequence[int], cuts: Sequence[int], weights: int) -> bool:
    return all(
        high - low == 1 or sum(int(graph.weight_bytes[order[p]]) for p in range(low, high)) <= weights
        for low, high in pairwise((0, *cuts, len(order)))
    )


@given(graph=random_graphs(), weights=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_fewest_bytes_within_bounds(graph: OpGraph, weights: int) -> None:
    segment = whole(graph)
    crossing = live_bytes(graph, segment.order)
    order = segment.order.tolist()
    cuts = AtFewestBytes(bounds=PartBounds(weight_bytes=weights))(graph, segment)
    ways = [way for parts in range(1, len(graph) + 1) for way in all_cuts(len(graph), parts)]
    costs = [(sum(int(crossing[c]) for c in way), len(way)) for way in ways if allowed(graph, order, way, weights)]
    assert allowed(graph, order, cuts, weights)
    assert (sum(int(crossing[c]) for c in cuts), len(cuts)) == min(costs)


@given(graph=random_graphs(), parts=st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_fewest_bytes_into_a_number_of_parts(graph: OpGraph, parts: int) -> None:
    segment = whole(graph)
    crossing = live_bytes(graph, segment.order)
    cuts = AtFewestBytes(parts=parts, least_share=0.0)(graph, segment)
    expected = min(sum(int(crossing[c]) for c in way) for way in all_cuts(len(graph), min(parts, len(graph))))
    assert len(cuts) == min(parts, len(graph)) - 1
    assert sum(int(crossing[c]) for c in cuts) == expected


def test_parts_have_their_share_of_the_work() -> None:
    # Eight equal operators; the fewest bytes are live after the first and before the last.
    graph = OpGraph.build(
        [(n, n + 1) for n in range(7)],
        [str(n) for n in range(8)],
        NodeInfo(macs=[10] * 8, result_bytes=[1, 9, 9, 5, 9, 9, 1, 1]),
    )
    assert AtFewestBytes(parts=2, least_share=0.0)(graph, whole(graph)) == [1]
    assert AtFewestBytes(parts=2, least_share=0.6)(graph, whole(graph)) == [4]


def test_bounds_of_every_kind() -> None:
    graph = OpGraph.build(
        [(n, n + 1) for n in range(5)], "abcdef", NodeInfo(macs=[4] * 6, result_bytes=[1] * 6, weight_bytes=[2] * 6)
    )
    for bounds in (PartBounds(macs=8), PartBounds(nodes=2), PartBounds(weight_bytes=5), PartBounds(live_bytes=2)):
        assert AtFewestBytes(bounds=bounds)(graph, whole(graph)) == [2, 4]
    assert AtFewestBytes(bounds=PartBounds(macs=1))(graph, whole(graph)) == [1, 2, 3, 4, 5]
    assert AtFewestBytes(parts=2, bounds=PartBounds(nodes=2))(graph, whole(graph)) == [2, 4]


# ---- key nodes ----


def test_boxes_of_figure_4() -> None:
    keys = cut_nodes(FIGURE_4)
    two = parts_of(FIGURE_4, segments_between(FIGURE_4, keys))
    assert two == [["k1", "a", "b", "k2"], ["c", "d", "k3"]]
    assert parts_of(FIGURE_4, segments_between(FIGURE_4, keys, span=2)) == [["k1", "a", "b", "k2", "c", "d", "k3"]]
    assert parts_of(FIGURE_4, segments_between(FIGURE_4, keys, at_least=1))[0] == ["k1"]
    assert AtKeyNodes()(FIGURE_4, whole(FIGURE_4)) == [4]


def test_small_parts_join_a_neighbour() -> None:
    # The parts have 3, 1, 4, 1, 1 and 1 positions.
    cuts = [3, 4, 8, 9, 10]
    assert merge_small(cuts, 0, 11, 1) == cuts
    assert merge_small(cuts, 0, 11, 2) == [
        4,
        8,
    ]  # the part of 1 is merged with its predecessor; the last three form a part
    assert merge_small(cuts, 0, 11, 4) == [4]  # the first two parts form one, the last three are too few
    assert merge_small([1, 4], 0, 6, 2) == [4]  # the first has no predecessor
    assert merge_small([1, 2, 3, 4, 5], 0, 6, 2) == [2, 4]  # a chain
    assert merge_small([1, 2, 3, 4], 0, 5, 2) == [2]
    assert merge_small([1, 2], 0, 3, 9) == []


@given(cuts=st.sets(st.integers(1, 29)), at_least=st.integers(1, 8))
def test_merged_parts_are_large_enough(cuts: set[int], at_least: int) -> None:
    merged = merge_small(sorted(cuts), 0, 30, at_least)
    assert set(merged) <= cuts
    assert merged == sorted(set(merged))
    assert all(high - low >= at_least for low, high in pairwise((0, *merged, 30))) or not merged


@pytest.mark.parametrize("name", ["resnet50", "unet", "bert12", "vgg16"])
def test_updates_stay_with_their_operator(name: str) -> None:
    step = from_file(name, forward=False)
    segments = segments_between(step, cut_nodes(step))
    segments.check(step)
    assert len(segments) > 10
    part_of = np.zeros(len(step), np.int64)
    for number, part in enumerate(segments.parts):
        part_of[part.nodes] = number
    for node in np.flatnonzero(step.is_update):
        assert part_of[node] == max(part_of[other] for other in step.predecessors[int(node)])


def test_weight_loads_are_in_the_part_of_their_first_reader() -> None:
    graph = from_file("resnet50", forward=True, weight_loads=True)
    segments = segments_between(graph, cut_nodes(graph), at_least=4)
    segments.check(graph)
    first = segments[0].nodes
    assert 0 < int(graph.is_weight_load[first].sum()) < 10


@given(graph=random_graphs(), at_least=st.integers(1, 3), span=st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_segments_between_key_nodes_are_a_partition(graph: OpGraph, at_least: int, span: int) -> None:
    segments = segments_between(graph, cut_nodes(graph), at_least=at_least, span=span)
    segments.check(graph)
    if at_least == span == 1:
        ends = {int(segments.order[bound - 1]) for bound in segments.bounds[1:]}
        assert ends >= set(cut_nodes(graph).tolist())


# ---- other rules, and all of them ----


def test_weight_bytes() -> None:
    graph = OpGraph.build([(n, n + 1) for n in range(5)], "abcdef", NodeInfo(weight_bytes=[3, 3, 0, 9, 2, 4]))
    assert parts_of(graph, split(graph, serial_order(graph), AtWeightBytes(6))) == [list("abc"), ["d"], list("ef")]


def test_named_operators() -> None:
    rule = AfterNamedOperators(("mean", "axpy"))
    assert [FIGURE_1.names[int(whole(FIGURE_1).order[cut - 1])] for cut in rule(FIGURE_1, whole(FIGURE_1))] == [
        "mean",
        "axpy",
    ]
    with pytest.raises(MeshloomError, match="no operator is named 'conv3'; the operators are relu, conv1, "):
        AfterNamedOperators(("relu", "conv3"))(FIGURE_1, whole(FIGURE_1))


def test_combinations() -> None:
    hand, outputs = AfterNamedOperators(("mean",)), AtDataOutputs()
    segment = whole(FIGURE_1)
    assert FirstThatSplits((outputs, hand))(FIGURE_1, segment) == hand(FIGURE_1, segment)
    both = AllTogether((hand, AfterNamedOperators(("relu",))))
    assert both(FIGURE_1, segment) == [1, *hand(FIGURE_1, segment)]


def test_a_part_is_split_again() -> None:
    segments = split(FIGURE_2, serial_order(FIGURE_2), AtDataOutputs())
    again = split_part(FIGURE_2, segments, 0, AfterNamedOperators(("1", "8")))
    assert parts_of(FIGURE_2, again) == [["1"], ["2", "3"], ["4", "5"], ["6", "7"], ["8", "9"]]
    assert split_part(FIGURE_2, segments, 1, AtDataOutputs()).bounds == segments.bounds


RANDOM_RULES: tuple[SplitRule, ...] = (
    AtDataOutputs(),
    AtFewestBytes(parts=3),
    AtFewestBytes(bounds=PartBounds(nodes=2)),
    AtKeyNodes(at_least=1),
    AtWeightBytes(6),
)


@given(graph=random_graphs(), rule=st.sampled_from(RANDOM_RULES), data=st.data())
@settings(max_examples=200, deadline=None)
def test_cuts_are_inside_the_segment(graph: OpGraph, rule: SplitRule, data: st.DataObject) -> None:
    order = serial_order(graph)
    start = data.draw(st.integers(0, len(graph) - 1))
    segment = Segment(order, start, data.draw(st.integers(start + 1, len(graph))))
    cuts = rule(graph, segment)
    assert cuts == sorted(set(cuts))
    assert all(segment.start < cut < segment.stop for cut in cuts)


def test_rules_by_name() -> None:
    settings = RuleSettings(parts=2, weight_bytes=5, names=("2",))
    for name in RULES:
        make_rule((name,), settings)(FIGURE_2, whole(FIGURE_2))
    both = make_rule(("data-outputs+named",), RuleSettings(names=("1",)))
    assert both(FIGURE_2, whole(FIGURE_2)) == [1, 3, 5, 7]
    with pytest.raises(InputError, match="parts = 0 should be at least 1"):
        RuleSettings(parts=0)
    with pytest.raises(InputError, match="no split rule is named 'any': choose from data-outputs"):
        make_rule(("any",), settings)
