"""Tests of operators that the search for key nodes ignores: gradients, updates, and loosely connected operators."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.cost_graphs.function_graph import block_graph
from meshloom.analysis.subgraphs.deferrable_nodes import deferrable_nodes
from meshloom.analysis.subgraphs.key_nodes import cut_nodes
from meshloom.analysis.subgraphs.op_graph import OpGraph
from meshloom.analysis.subgraphs.segments_between import segments_between
from meshloom.analysis.subgraphs.updates import state_types, update_nodes
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.frontend.onnx_import import import_onnx

STEPS = sorted((Path(__file__).parents[2] / "data" / "training_steps").glob("*/model.onnx"))


def test_state_is_returned_with_the_types_of_inputs() -> None:
    inputs = ["image", "w1", "w2", "m1"]
    assert state_types(["loss", "w1", "w2", "m1"], inputs) == {"w1", "w2", "m1"}
    assert state_types(["answer"], inputs) == frozenset()
    assert state_types(["image"], ["image"]) == frozenset()  # a network from images to images is no training step
    assert state_types(["loss", "w1", "w1"], ["w1"]) == frozenset()  # one input cannot be the state of two outputs
    assert state_types(["loss", "w", "w"], ["w", "w", "image"]) == {"w"}


def test_updates_lead_to_one_weight_only() -> None:
    # Forward x -> a -> b -> loss, backward db -> da; gradients gb, ga of weights of different types, new values nb, na.
    names = [str(name) for name in "a b loss db gb nb da ga na".split()]
    edges = ["a b", "b loss", "loss db", "a gb", "db gb", "gb nb", "db da", "da ga", "ga na"]
    pairs = np.array([[names.index(name) for name in edge.split()] for edge in edges])
    graph = OpGraph.build(pairs, names)
    outputs = [(names.index("loss"), "f32"), (names.index("nb"), "wb"), (names.index("na"), "wa")]
    found = update_nodes(graph.successors, outputs, frozenset({"wa", "wb"}))
    assert [names[node] for node in found] == ["gb", "nb", "da", "ga", "na"]  # da leads to wa only, too
    step = replace(graph, is_update=np.isin(np.arange(len(graph)), found))
    assert [names[int(node)] for node in cut_nodes(step)] == ["a", "b", "loss", "db"]


def test_a_mask_parallel_to_a_chain_is_deferrable() -> None:
    # A chain of 40; 35 reads `mask`, which reads 5; 7 reads `short`, which reads 5.
    names = [str(number) for number in range(40)]
    order = [*names[:6], "mask", "short", *names[6:]]
    edges = [(order.index(a), order.index(b)) for a, b in pairwise(names)]
    edges += [(order.index("5"), order.index("mask")), (order.index("mask"), order.index("35"))]
    edges += [(order.index("5"), order.index("short")), (order.index("short"), order.index("7"))]
    graph = OpGraph.build(edges, order)
    assert [order[node] for node in deferrable_nodes(graph.successors, graph.macs)] == ["mask"]
    products = np.zeros(len(graph), np.int64)
    products[order.index("mask")] = 1
    assert deferrable_nodes(graph.successors, products) == []
    without = replace(graph, is_update=np.array([name == "mask" for name in order]))
    # All except `short` and 6, which can be executed in either order.
    assert [order[int(node)] for node in cut_nodes(without)] == [name for name in names if name != "6"]


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.parent.name)
def test_whole_training_steps_have_key_nodes(path: Path) -> None:
    graph = block_graph(find_main(import_onnx(path, {})).body.block).graph
    assert len(cut_nodes(replace(graph, is_update=np.zeros(len(graph), np.bool_)))) == 0
    assert len(cut_nodes(graph)) > 50
    segments = segments_between(graph, cut_nodes(graph))
    segments.check(graph)
    assert len(segments) > 30


def test_there_are_training_steps() -> None:
    assert STEPS
