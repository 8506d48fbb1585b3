"""Recurrent layers as loops over the sequence. The inputs of all steps are multiplied by one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.dataflow import Along
from ..builder import Builder
from ..loops import EndsByValues, run_loop
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, NodeError, Tensor, check_steps, known
from .named_activations import Activation, named_activations


@dataclass
class Direction:
    """
    Weights and states of one direction: w [G*H, I], r [G*H, H], biases [G*H], states [N, H]. The rows of gates that are
    computed together alternate; in w and its bias, these are all gates.
    """

    w: Tensor
    r: Tensor
    input_bias: Tensor | None
    """The bias of the inputs' products; except for a GRU, it includes the state's bias."""
    state_bias: Tensor | None
    """The bias of the states' products, for a GRU only."""
    hidden: Tensor
    cell: Tensor | None
    peepholes: list[Tensor] | None
    activations: list[Activation]
    reverse: bool


def _part(b: Builder, x: Tensor | None, index: int) -> Tensor | None:
    """One direction of an operand whose first axis counts directions."""
    return None if x is None else b.reshape(b.slice_axis(x, 0, index, 1), x.shape[1:])


def _by_unit(b: Builder, x: Tensor, gates: int, size: int) -> Tensor:
    """
    x with the rows of the first `gates` gates interleaved unit by unit, so that the core that computes a unit computes
    all of its gates.
    """
    if gates == 1:
        return x
    rows = gates * size
    first = b.reshape(b.slice_axis(x, 0, 0, rows), [gates, size, *x.shape[1:]])
    first = b.reshape(b.transpose(first, [1, 0, *range(2, first.rank)]), [rows, *x.shape[1:]])
    return first if rows == x.shape[0] else b.concat([first, b.slice_axis(x, 0, rows, x.shape[0] - rows)], 0)


def _directions(node: Node, x: Tensor, gates: int, together: int, defaults: Sequence[str]) -> list[Direction]:
    """The weights and states of each direction. `together`: as in `_run`."""
    b, size = node.build, node.int("hidden_size", node[2].shape[-1])
    kind = node.str("direction", "forward")
    count = 2 if kind == "bidirectional" else 1
    clip = node.float("clip") if node.has("clip") else None
    functions = named_activations(b, node, node.strs("activations", list(defaults) * count), [clip])
    result: list[Direction] = []
    for index in range(count):
        w, r, bias = (_part(b, node.get(position), index) for position in (1, 2, 3))
        hidden = _part(b, node.get(5), index)
        zero = b.full((x.shape[1], size), 0, x.dtype)
        peepholes = _part(b, node.get(7), index)
        assert w is not None
        assert r is not None
        biases = [None if bias is None else b.slice_axis(bias, 0, n * gates * size, gates * size) for n in range(2)]
        input_bias, state_bias = (
            None if one is None else _by_unit(b, one, alternate, size)
            for one, alternate in zip(biases, (gates, together), strict=True)
        )
        if input_bias is not None and state_bias is not None and node.proto.op_type != "GRU":
            # Both biases are added to the same sum, except in a GRU: its reset gate comes between them.
            input_bias, state_bias = b.add(input_bias, state_bias), None
        result.append(
            Direction(
                _by_unit(b, w, gates, size),
                _by_unit(b, r, together, size),
                input_bias,
                state_bias,
                zero if hidden is None else hidden,
                _part(b, node.get(6), index) or zero if node.proto.op_type == "LSTM" else None,
                None if peepholes is None else [b.slice_axis(peepholes, 0, g * size, size) for g in range(3)],
                functions[index * len(defaults) : (index + 1) * len(defaults)],
                kind == "reverse" or index == 1,
            )
        )
    return result


Step = Callable[[Tensor, Direction], None]


def _recurrence(
    b: Builder, one: Direction, products: Tensor, lengths: Tensor | None, ends: EndsByValues | None, step: Step
) -> Tensor:
    """
    The hidden states of all steps [T, 1, N, H], computed from the products with the inputs [T, N, G*H]; afterwards
    `one` has the last states. `ends`: the length of the longest sequence.
    """
    steps, batch, _ = products.shape
    times = None if lengths is None else b.iota(steps, lengths.dtype)

    def body(carried: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        one.hidden, *cells = carried
        one.cell = cells[0] if cells else None
        step(slices[0], one)
        shown = one.hidden
        if lengths is not None:  # sequences that have ended keep their state, and their results are 0
            alive = b.reshape(b.compare("gt", lengths, slices[1]), [batch, 1])
            shown = b.select(alive, one.hidden, 0)
            one.hidden = b.select(alive, one.hidden, carried[0])
            if one.cell is not None:
                one.cell = b.select(alive, one.cell, cells[0])
        return _states(one), [shown]

    scanned = [products, *([] if times is None else [times])]
    along = Along(0, one.reverse)
    states, (rows,) = run_loop(b, steps, _states(one), [(x, along) for x in scanned], [along], body, ends)
    one.hidden = states[0]
    one.cell = states[1] if one.cell is not None else None
    return b.reshape(rows, [steps, 1, *rows.shape[1:]])


def _longest(b: Builder, lengths: Tensor) -> Tensor:
    """The length of the longest sequence; after its end, all sequences keep their states, and their results are 0."""
    return b.cast(b.reshape(b.reduce("max", lengths, [0]), []), INT64)


def _states(one: Direction) -> list[Tensor]:
    return [one.hidden, *([] if one.cell is None else [one.cell])]


def _run(node: Node, gates: int, together: int, defaults: Sequence[str], step: Step) -> list[Tensor]:
    """
    A recurrent layer as a loop of `step`, which updates a direction's states from the products of one time step; the
    columns of the gates alternate there. In the recurrent weights, the columns of the first `together` gates alternate.
    """
    b, x = node.build, node[0]
    if x.rank != 3:
        raise NodeError(f"the sequence has {x.rank} dimensions, expected 3")
    batch_first = bool(node.int("layout", 0))
    if batch_first:
        x = b.transpose(x, [1, 0, 2])
        for index in (5, 6):
            state = node.get(index)
            if state is not None:
                node.inputs[index] = b.transpose(state, [1, 0, 2])
    steps, batch, width = x.shape
    check_steps(steps, "time steps")
    lengths = node.get(4)
    if lengths is not None and lengths.array is not None and np.all(lengths.array == steps):
        lengths = None
    outputs: list[Tensor] = []
    ends = None
    if lengths is not None and lengths.array is None:
        node.scope.note_lengths(lengths, steps)
        ends = EndsByValues(_longest(b, lengths), masked=True)
    directions = _directions(node, x, gates, together, defaults)
    for one in directions:
        flat = b.matmul(b.reshape(x, [steps * batch, width]), b.transpose(one.w, [1, 0]))
        if one.input_bias is not None:
            flat = b.add(flat, one.input_bias)
        one.r = b.transpose(one.r, [1, 0])
        products = b.reshape(flat, [steps, batch, one.w.shape[0]])
        outputs.append(_recurrence(b, one, products, lengths, ends, step))
    states = [
        [b.reshape(state, [1, *state.shape]) for state in (one.hidden, one.cell) if state is not None]
        for one in directions
    ]
    results = [b.concat(outputs, 1), *(b.concat(list(parts), 0) for parts in zip(*states, strict=True))]
    if batch_first:
        results = [b.transpose(results[0], [2, 0, 1, 3]), *(b.transpose(one, [1, 0, 2]) for one in results[1:])]
    return results


def _gates(b: Builder, x: Tensor, count: int, activation: Activation | None = None) -> list[Tensor]:
    """The gates, from products with interleaved columns; `activation` is applied to all gates but the last."""
    batch, size = x.shape[0], x.shape[1] // count

    def gate(number: int) -> Tensor:
        return b.slice(x, [0, number], [batch, size], [1, count])

    if activation is None:
        return [gate(number) for number in range(count)]
    active = activation(b.slice(b.reshape(x, [batch, size, count]), [0, 0, 0], [batch, size, count - 1]))
    # A task begins with a slice: with the last gate at the end, the others are fused with their multiplications.
    return [*_gates(b, b.reshape(active, [batch, size * (count - 1)]), count - 1), gate(count - 1)]


@onnx_op("LSTM")
def lstm(node: Node) -> Sequence[Tensor]:
    """Recurrent layer with gates in the order input, output, forget, cell."""
    b = node.build

    def step(products: Tensor, one: Direction) -> None:
        assert one.cell is not None
        total = b.add(products, b.matmul(one.hidden, one.r))
        gate, inner, outer = one.activations
        if one.peepholes is None:
            i, o, f, c = _gates(b, total, 4, gate)
        else:
            i, o, f, c = _gates(b, total, 4)
            i = gate(b.add(i, b.mul(one.cell, one.peepholes[0])))
            f = gate(b.add(f, b.mul(one.cell, one.peepholes[2])))
        forget = b.sub(known(np.ones((), i.dtype)), i) if node.int("input_forget", 0) else f
        one.cell = b.add(b.mul(forget, one.cell), b.mul(i, inner(c)))
        if one.peepholes is not None:
            o = gate(b.add(o, b.mul(one.cell, one.peepholes[1])))
        one.hidden = b.mul(o, outer(one.cell))

    return _run(node, 4, 4, ("Sigmoid", "Tanh", "Tanh"), step)


@onnx_op("GRU")
def gru(node: Node) -> Sequence[Tensor]:
    """Recurrent layer with gates in the order update, reset, hidden."""
    b = node.build
    after = bool(node.int("linear_before_reset", 0))

    def step(products: Tensor, one: Direction) -> None:
        batch, size = one.hidden.shape
        gate, inner = one.activations

        def update_and_reset(x: Tensor) -> Tensor:
            return b.slice(b.reshape(x, [batch, size, 3]), [0, 0, 0], [batch, size, 2])

        both = update_and_reset(products)
        if after:
            state = b.matmul(one.hidden, one.r)
            if one.state_bias is not None:
                state = b.add(state, one.state_bias)
            active = gate(b.add(update_and_reset(state), both))
            z, r = _gates(b, b.reshape(active, [batch, 2 * size]), 2)
            inside = b.mul(b.slice(state, [0, 2], [batch, size], [1, 3]), r)
        else:
            both = b.reshape(both, [batch, 2 * size])
            both = b.add(both, b.matmul(one.hidden, b.slice_axis(one.r, 1, 0, 2 * size)))
            if one.state_bias is not None:
                both = b.add(both, b.slice_axis(one.state_bias, 0, 0, 2 * size))
            z, r = _gates(b, gate(both), 2)
            inside = b.matmul(b.mul(r, one.hidden), b.slice_axis(one.r, 1, 2 * size, size))
            if one.state_bias is not None:
                inside = b.add(inside, b.slice_axis(one.state_bias, 0, 2 * size, size))
        new = inner(b.add(b.slice(products, [0, 2], [batch, size], [1, 3]), inside))
        # (1 - z) new + z old
        one.hidden = b.add(new, b.mul(z, b.sub(one.hidden, new)))

    return _run(node, 3, 3 if after else 2, ("Sigmoid", "Tanh"), step)


@onnx_op("RNN")
def rnn(node: Node) -> Sequence[Tensor]:
    """Recurrent layer with one gate."""
    b = node.build

    def step(products: Tensor, one: Direction) -> None:
        total = b.add(products, b.matmul(one.hidden, one.r))
        one.hidden = one.activations[0](total)

    return _run(node, 1, 1, ("Tanh",), step)
