"""Graphs for the tests: the figures of the specifications, graphs of files, random ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from meshloom.analysis.subgraphs.op_graph import NodeInfo, OpGraph

Edges = list[tuple[int, int]]
DATA = Path(__file__).parents[3] / "bench" / "data" / "graphs"


def named(*edges: str) -> OpGraph:
    """A graph of edges such as "relu conv1"; nodes are numbered in the order in which they appear."""
    names: list[str] = []
    pairs: list[tuple[str, str]] = []
    for edge in edges:
        source, target = edge.split()
        pairs.append((source, target))
        names += [name for name in (source, target) if name not in names]
    return OpGraph.build([(names.index(a), names.index(b)) for a, b in pairs], names)


def names_of(graph: OpGraph, nodes: np.ndarray) -> list[str]:
    return [graph.names[int(node)] for node in nodes]


FIGURE_1 = named(
    "relu conv1", "conv1 matmul", "matmul mean", "mean add1", "relu conv2", "conv2 axpy", "axpy sub", "sub add2",
    "add1 softmax", "add2 softmax",
)  # fmt: skip
"""Spec 3: two branches of four operators each."""

FIGURE_2 = named("1 2", "2 3", "2 4", "4 5", "4 6", "6 7", "6 8", "8 9")
"""Spec 2: nodes 3, 5, 7 and 9 only output."""

FIGURE_3 = named("conv matmul", "conv mean", "matmul softmax", "mean softmax")

FIGURE_4 = named("k1 a", "k1 b", "a k2", "b k2", "k2 c", "k2 d", "c k3", "d k3")
"""Spec 3: two diamonds in a row."""


def from_file(name: str, *, forward: bool, weight_loads: bool = False) -> OpGraph:
    """A graph of bench/data, or its forward phase; with `weight_loads`, a node for the load of each weight is added."""
    data = json.loads((DATA / f"{name}.json").read_text())
    ops = [op for op in data["ops"] if not forward or op["phase"] == "fwd"]
    kinds = {tensor["id"]: tensor["kind"] for tensor in data["tensors"]}
    sizes = {tensor["id"]: tensor["size"] for tensor in data["tensors"]}
    weights = [id for id, kind in kinds.items() if kind == "weight"] if weight_loads else []
    producer = {id: number for number, id in enumerate(weights)}
    producer |= {id: number for number, op in enumerate(ops, len(weights)) for id in op["outs"]}
    edges = [
        (producer[id], number) for number, op in enumerate(ops, len(weights)) for id in op["ins"] if id in producer
    ]
    return OpGraph.build(
        edges,
        [f"load{id}" for id in weights] + [f"{op['name']}.{op['id']}" for op in ops],
        NodeInfo(
            result_bytes=[sizes[id] for id in weights] + [sum(sizes[id] for id in op["outs"]) for op in ops],
            weight_bytes=[0] * len(weights)
            + [sum(sizes[id] for id in op["ins"] if kinds[id] == "weight") for op in ops],
            macs=[0] * len(weights) + [op["flops"] // 2 for op in ops],
            inputs=[n for n, op in enumerate(ops, len(weights)) if any(kinds[id] == "input" for id in op["ins"])],
            weight_loads=range(len(weights)),
            updates=[
                number
                for number, op in enumerate(ops, len(weights))
                if any(kinds[id] == "wgrad" for id in (*op["ins"], *op["outs"]))
            ],
        ),
    )


@st.composite
def random_graphs(draw: st.DrawFn, most: int = 9) -> OpGraph:
    """Graphs of up to `most` nodes with random edges, bytes and work; outputs may have readers as well."""
    count = draw(st.integers(1, most))
    edges = [(source, target) for target in range(count) for source in range(target) if draw(st.integers(0, 2)) == 0]
    read = {source for source, _ in edges}
    outputs = [node for node in range(count) if node not in read or draw(st.integers(0, 5)) == 0]

    def numbers(high: int) -> list[int]:
        return draw(st.lists(st.integers(0, high), min_size=count, max_size=count))

    return OpGraph.build(
        edges,
        [f"n{node}" for node in range(count)],
        NodeInfo(result_bytes=numbers(9), weight_bytes=numbers(5), macs=numbers(20), outputs=outputs),
    )


def edges_of(graph: OpGraph) -> Edges:
    return [(a, int(b)) for a in range(len(graph)) for b in graph.successors[a]]
