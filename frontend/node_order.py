"""The nodes of a graph that its outputs need, each after those whose results it reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx


def needed_nodes(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """
    The nodes that the outputs depend on, in the order of the file, except that nodes that read results of later nodes
    are moved after these. ONNX forbids such an order, but ONNX Runtime's quantiser writes it for nodes with subgraphs,
    and ONNX Runtime accepts it.
    """
    wanted = set(outputs)
    kept: list[onnx.NodeProto] = []
    for node in reversed(_sorted(nodes)):
        if any(name in wanted for name in node.output if name):
            kept.append(node)
            wanted.update(node.input)
            wanted.update(_inner_names(node))
    return kept[::-1]


def _sorted(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """
    The nodes in an order in which each comes after those whose results it reads, and is moved no further than needed.
    Nodes of a cycle keep their order.
    """
    makers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    begun = [False] * len(nodes)
    found: list[onnx.NodeProto] = []
    for first in range(len(nodes)):
        waiting = [(first, False)]
        while waiting:
            number, ready = waiting.pop()
            if ready:
                found.append(nodes[number])
            elif not begun[number]:
                begun[number] = True
                waiting.append((number, True))
                read = [makers[name] for name in (*nodes[number].input, *_inner_names(nodes[number])) if name in makers]
                waiting.extend((maker, False) for maker in sorted(read, reverse=True) if not begun[maker])
    return found


def _inner_names(node: onnx.NodeProto) -> set[str]:
    """The names that the subgraphs of a node read from enclosing scopes."""
    found: set[str] = set()
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {info.name for info in (*graph.input, *graph.initializer)}
            for inner in graph.node:
                found |= {*inner.input, *_inner_names(inner)} - own
                own.update(inner.output)
            found |= {info.name for info in graph.output} - own
    return found
