"""Parts and variants of cost graphs: the forward phase alone, and loads of weights as separate operations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...support.errors import InputError
from .graph import LOAD_PHASE, CostGraph, Ints, Lists, lists_of

FORWARD = "fwd"
LOAD_UNIT = "DMA"


def forward_graph(graph: CostGraph) -> CostGraph:
    """The operations of phase "fwd" alone, as in inference. Raises InputError if there are none."""
    kept = [op for op, phase in enumerate(graph.phases) if phase == FORWARD]
    if not kept:
        raise InputError(f"{graph.name} has no operations of phase '{FORWARD}'")
    return subgraph(graph, np.array(kept, np.int64))


def subgraph(graph: CostGraph, ops: Ints) -> CostGraph:
    """
    The operations `ops` (ascending), with the tensors that they use; results of other operations are available from the
    start.
    """
    kept = [int(op) for op in ops]
    ins = [graph.inputs.row(op) for op in kept]
    outs = [graph.outputs.row(op) for op in kept]
    tensors = sorted({tensor for row in (*ins, *outs) for tensor in row})
    number = {tensor: index for index, tensor in enumerate(tensors)}
    return replace(
        graph,
        op_names=tuple(graph.op_names[op] for op in kept),
        op_ids=tuple(graph.op_ids[op] for op in kept),
        unit=graph.unit[ops],
        duration=graph.duration[ops],
        flops=graph.flops[ops],
        phases=tuple(graph.phases[op] for op in kept),
        inputs=lists_of([[number[tensor] for tensor in row] for row in ins]),
        outputs=lists_of([[number[tensor] for tensor in row] for row in outs]),
        tensor_ids=tuple(graph.tensor_ids[tensor] for tensor in tensors),
        tensor_kinds=tuple(graph.tensor_kinds[tensor] for tensor in tensors),
        tensor_shapes=tuple(graph.tensor_shapes[tensor] for tensor in tensors),
        size=graph.size[np.array(tensors, np.int64)],
    )


def with_weight_loads(graph: CostGraph, bandwidth: float) -> CostGraph:
    """
    Each weight is loaded by an operation on unit "DMA", just before its first reader in program order.

    `bandwidth` in bytes per second; a load takes size / bandwidth, rounded up to a whole ns. Raises InputError if it is
    not a positive number.
    """
    if not 0 < bandwidth < float("inf"):
        raise InputError(f"a bandwidth of {bandwidth:g} bytes per second: expected a positive number")
    weights = [
        (int(graph.readers[tensor][0]), tensor)
        for tensor, kind in enumerate(graph.tensor_kinds)
        if kind == "weight" and graph.producer[tensor] < 0 and len(graph.readers[tensor])
    ]
    if not weights:
        return graph
    first_reader = np.array([reader for reader, _ in weights], np.int64)
    tensor = np.array([one for _, one in weights], np.int64)
    # Old operations keep their relative order; a load sorts in right before the first operation that needs it.
    position = np.concatenate([np.arange(graph.ops) * 2 + 1, first_reader * 2])
    order = np.argsort(position, kind="stable")
    sequence = [int(number) for number in order]
    loads = len(weights)
    duration = np.ceil(graph.size[tensor] * 1e9 / bandwidth).astype(np.int64)
    unit_names = graph.unit_names if LOAD_UNIT in graph.unit_names else (*graph.unit_names, LOAD_UNIT)
    ids = tuple(max(graph.op_ids) + 1 + load for load in range(loads))

    def merged(old: Ints, new: Ints) -> Ints:
        return np.concatenate([old, new])[order]

    def joined(old: Lists, new: list[list[int]]) -> Lists:
        rows = [old.row(op) for op in range(graph.ops)] + new
        return lists_of([rows[number] for number in sequence])

    names = (*graph.op_names, *(f"load {graph.tensor_ids[one]}" for _, one in weights))
    phases = (*graph.phases, *[LOAD_PHASE] * loads)
    return replace(
        graph,
        op_names=tuple(names[op] for op in sequence),
        op_ids=tuple((*graph.op_ids, *ids)[op] for op in sequence),
        unit_names=unit_names,
        unit=merged(graph.unit, np.full(loads, unit_names.index(LOAD_UNIT))),
        duration=merged(graph.duration, duration),
        flops=merged(graph.flops, np.zeros(loads, np.int64)),
        phases=tuple(phases[op] for op in sequence),
        inputs=joined(graph.inputs, [[] for _ in range(loads)]),
        outputs=joined(graph.outputs, [[one] for _, one in weights]),
    )
