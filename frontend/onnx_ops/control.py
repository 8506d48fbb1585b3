"""
Control flow. A branch is chosen at import, or both are computed and their results selected; counted loops stay loops;
other loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from ...dialects.dataflow import Along
from ..loops import build_loop, unroll
from ..model_file import static_size
from ..node import Node, numpy_dtype
from ..registry import onnx_op
from ..tensors import INT64, Absent, AlreadyReported, NodeError, Tensor, TensorSequence, known
from .dynamic_loops import dynamic_loop

LONGEST_LOOP = 4096
"""The largest number of iterations of a loop."""


@onnx_op("If")
def if_op(node: Node) -> Sequence[Tensor]:
    """The branch that a known condition selects; otherwise both branches, and a selection of each result."""
    condition = node[0]
    if condition.array is not None:
        return node.scope.subgraph(node.graph("then_branch" if condition.array.reshape(-1)[0] else "else_branch"))
    try:
        chosen = node.scope.subgraph(node.graph("then_branch"))
        other = node.scope.subgraph(node.graph("else_branch"))
    except AlreadyReported:
        raise NodeError(
            "a branch cannot be imported, and both are needed, as the condition is known only at run time",
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
    """
    A loop if the condition always holds, or if the number of iterations is known at run time only (see `--max-steps`);
    otherwise the loop is unrolled.
    """
    going, count = node.get(1), node.get(0)
    unknown = next((one for one in (count, going) if one is not None and one.array is None), None)
    if unknown is not None:
        try:
            return dynamic_loop(node, LONGEST_LOOP, unknown.value)
        except AlreadyReported:
            raise NodeError(
                "its body cannot be imported once for all iterations, nor be unrolled, as the number of iterations "
                "is known only at run time",
                unknown.value,
            ) from None
    limit = None if count is None else int(node.known(0, "the trip count").reshape(-1)[0])
    state = [node.any(index) for index in range(2, len(node.inputs))]
    always = going is None or (going.array is not None and bool(going.array.reshape(-1)[0]))
    if limit is not None and 1 < limit <= LONGEST_LOOP and always and _may_be_carried(state):
        try:
            with node.scope.tentatively():
                return _counted_loop(node, limit, state)
        except (NodeError, AlreadyReported):
            pass  # the unrolled iterations may have more known values
    try:
        return _unrolled_loop(node, limit, going, state)
    except EndsAtRunTime as error:
        return dynamic_loop(node, LONGEST_LOOP, error.needs)


class EndsAtRunTime(NodeError):
    """The condition that ends a loop is known at run time only."""


def _may_be_carried(state: Sequence[Tensor]) -> bool:
    """
    Whether a loop may carry these values: no sequences, and no known integers, which are counters whose values the body
    or a later operator needs at import.
    """
    return not any(
        isinstance(one, TensorSequence | Absent) or (one.array is not None and not one.is_float) for one in state
    )


def _counted_loop(node: Node, steps: int, state: Sequence[Tensor]) -> list[Tensor]:
    body, b = node.graph("body"), node.build

    def step(carried: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        going, *results = node.scope.subgraph(body, [slices[0], known(True), *carried])
        if going.array is None or not going.array.reshape(-1)[0]:
            raise NodeError("the condition changes")
        return results[: len(state)], results[len(state) :]

    stacks = [Along(0)] * (len(body.output) - 1 - len(state))
    numbers = b.iota(steps, INT64)
    return build_loop(b, steps, state, [(numbers, Along(0))], stacks, step)


def _unrolled_loop(node: Node, limit: int | None, going: Tensor | None, state: list[Tensor]) -> list[Tensor]:
    body, b = node.graph("body"), node.build
    scans: list[list[Tensor]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    iteration = 0
    while limit is None or iteration < limit:
        if going is not None and going.array is None:
            raise EndsAtRunTime("the loop's condition must be known at import", going.value)
        if going is not None and going.array is not None and not going.array.reshape(-1)[0]:
            break
        if iteration >= LONGEST_LOOP:
            raise NodeError(f"loops of more than {LONGEST_LOOP} iterations are not supported")
        inputs = [known(iteration, np.int64), known(True) if going is None else going, *state]
        going, *results = node.scope.subgraph(body, inputs)
        state = results[: len(state)]
        for scan, value in zip(scans, results[len(state) :], strict=True):
            scan.append(b.reshape(value, [1, *value.shape]))
        iteration += 1
    if not iteration and scans:
        return [*state, *_empty_scans(node, body, state)]
    return [*state, *(b.concat(scan, 0) for scan in scans)]


def _empty_scans(node: Node, body: onnx.GraphProto, state: Sequence[Tensor]) -> list[Tensor]:
    """
    The empty scan outputs of a loop without iterations, in the shapes that the body declares. If it declares none, the
    body is imported to find them; its operations have no users.
    """
    parts = [_declared(info) for info in body.output[1 + len(state) :]]
    if None in parts:
        parts = node.scope.subgraph(body, [known(0, np.int64), known(True), *state])[1 + len(state) :]
    return [node.build.full((0, *part.shape), 0, part.dtype) for part in parts if part is not None]


def _declared(info: onnx.ValueInfoProto) -> Tensor | None:
    """An empty tensor of the declared shape and type; None if the declaration is incomplete."""
    if not info.type.tensor_type.HasField("shape"):
        return None
    sizes = [static_size(dim) for dim in info.type.tensor_type.shape.dim]
    shape = tuple(size for size in sizes if size is not None)
    return Tensor(shape, numpy_dtype(info.type.tensor_type.elem_type)) if len(shape) == len(sizes) else None


@onnx_op("Scan", since=9)
def scan(node: Node) -> Sequence[Tensor]:
    """A loop over the elements of sequences."""
    body, b = node.graph("body"), node.build
    count = node.int("num_scan_inputs")
    state, inputs = node.all()[:-count], node.all()[-count:]
    axes = [x.axis(a) for x, a in zip(inputs, node.ints("scan_input_axes", [0] * count), strict=True)]
    backwards = node.ints("scan_input_directions", [0] * count)
    outputs = len(body.output) - len(state)
    length = inputs[0].shape[axes[0]]
    if length > LONGEST_LOOP:
        raise NodeError(f"scans over {length} elements are not supported")
    scanned = [(x, Along(axis, bool(back))) for x, axis, back in zip(inputs, axes, backwards, strict=True)]
    directions = node.ints("scan_output_directions", [0] * outputs)
    out_axes = node.ints("scan_output_axes", [0] * outputs)
    stacks: list[Along] = []

    def step(carried: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        results = node.scope.subgraph(body, [*carried, *slices])
        rows = results[len(state) :]
        # The ranks of the stacked values are known now.
        stacks[:] = [
            Along(row.axis(axis, row.rank + 1), bool(back))
            for row, axis, back in zip(rows, out_axes, directions, strict=True)
        ]
        return results[: len(state)], rows

    if any(isinstance(x, TensorSequence | Absent) for x in inputs):
        raise NodeError("sequences cannot be scanned")
    if any(x.shape[along.axis] != length for x, along in scanned):
        raise NodeError(f"the inputs that are scanned have different lengths, the first {length}")
    if length > 1 and _may_be_carried(state) and any(x.array is None for x in (*state, *inputs)):
        try:
            with node.scope.tentatively():
                return build_loop(b, length, state, scanned, stacks, step)
        except (NodeError, AlreadyReported):
            pass  # the unrolled steps may have more known values
    states, stacked = unroll(b, length, state, scanned, stacks, step)
    return [*states, *stacked]
