"""Control flow, resolved at import: branches are chosen or selected between, loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..node import Node
from ..registry import onnx_op
from ..tensors import Absent, AlreadyReported, NodeError, Tensor, TensorSequence, known

LONGEST_LOOP = 4096
"""Iterations up to which loops are unrolled."""


@onnx_op("If")
def if_op(node: Node) -> Sequence[Tensor]:
    """The branch that a known condition chooses; else both branches, and a selection of each result."""
    condition = node[0]
    if condition.array is not None:
        return node.scope.subgraph(node.graph("then_branch" if condition.array.reshape(-1)[0] else "else_branch"))
    try:
        chosen = node.scope.subgraph(node.graph("then_branch"))
        other = node.scope.subgraph(node.graph("else_branch"))
    except AlreadyReported:
        raise NodeError(
            "a branch cannot be imported, and the condition is known only at run time: known at import, it would "
            "leave one branch out",
            condition.value,
        ) from None
    if any(isinstance(x, TensorSequence | Absent) for x in (*chosen, *other)):
        raise NodeError(
            "the condition is known only at run time and the branches give sequences or optionals", condition.value
        )
    if [(x.shape, x.dtype) for x in chosen] != [(x.shape, x.dtype) for x in other]:
        raise NodeError(
            "the condition is known only at run time and the branches give different shapes", condition.value
        )
    scalar = node.build.reshape(condition, [])
    return [node.build.select(scalar, x, y) for x, y in zip(chosen, other, strict=True)]


@onnx_op("Loop")
def loop(node: Node) -> Sequence[Tensor]:
    """Unrolled; the number of iterations must be known at import."""
    body, b = node.graph("body"), node.build
    limit = None if node.get(0) is None else int(node.known(0, "the trip count").reshape(-1)[0])
    going = node.get(1)
    state = [node.any(index) for index in range(2, len(node.inputs))]
    scans: list[list[Tensor]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    iteration = 0
    while limit is None or iteration < limit:
        if going is not None and not node.constant(going, "the loop's condition").reshape(-1)[0]:
            break
        if iteration >= LONGEST_LOOP:
            raise NodeError(f"loops of more than {LONGEST_LOOP} iterations are not supported")
        inputs = [known(iteration, np.int64), known(True) if going is None else going, *state]
        going, *results = node.scope.subgraph(body, inputs)
        if limit is not None and node.get(1) is None and going.array is None:
            raise NodeError("a loop's condition must be known at import")
        state = results[: len(state)]
        for scan, value in zip(scans, results[len(state) :], strict=True):
            scan.append(b.reshape(value, [1, *value.shape]))
        iteration += 1
    if any(not scan for scan in scans):
        raise NodeError("a loop without iterations has outputs of unknown shape")
    return [*state, *(b.concat(scan, 0) for scan in scans)]


@onnx_op("Scan", since=9)
def scan(node: Node) -> Sequence[Tensor]:
    """Unrolled over the sequence."""
    body, b = node.graph("body"), node.build
    count = node.int("num_scan_inputs")
    state, inputs = node.all()[:-count], node.all()[-count:]
    axes = [x.axis(a) for x, a in zip(inputs, node.ints("scan_input_axes", [0] * count), strict=True)]
    backwards = node.ints("scan_input_directions", [0] * count)
    outputs = len(body.output) - len(state)
    length = inputs[0].shape[axes[0]]
    if not 0 < length <= LONGEST_LOOP:
        raise NodeError(f"scans over {length} elements are not supported")
    rows: list[list[Tensor]] = [[] for _ in range(outputs)]
    for step in range(length):
        parts: list[Tensor] = []
        for x, axis, back in zip(inputs, axes, backwards, strict=True):
            one = b.slice_axis(x, axis, length - 1 - step if back else step, 1)
            parts.append(b.reshape(one, [*x.shape[:axis], *x.shape[axis + 1 :]]))
        results = node.scope.subgraph(body, [*state, *parts])
        state = results[: len(state)]
        for row, value in zip(rows, results[len(state) :], strict=True):
            row.append(value)
    directions = node.ints("scan_output_directions", [0] * outputs)
    out_axes = node.ints("scan_output_axes", [0] * outputs)
    stacked: list[Tensor] = []
    for row, back, axis in zip(rows, directions, out_axes, strict=True):
        at = axis % (row[0].rank + 1)
        wide = [b.reshape(x, [*x.shape[:at], 1, *x.shape[at:]]) for x in row]
        stacked.append(b.concat(wide[::-1] if back else wide, at))
    return [*state, *stacked]
