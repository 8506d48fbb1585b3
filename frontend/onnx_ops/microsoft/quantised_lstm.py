"""The LSTM that quantises inputs and states at run time, and multiplies them by quantised weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....dialects.dataflow import Along
from ... import arrays
from ...builder import Builder
from ...loops import run_loop
from ...node import Node
from ...tensors import FLOAT32, INT64, NodeError, Tensor, check_steps, known
from ..integer_products import Centred, centred, integer_matmul
from ..named_activations import Activation, named_activations
from ..quantised import dynamically_quantised
from . import microsoft_op


@dataclass(frozen=True)
class _Weights:
    """Quantised weights [K, 4 H] of one direction, and their scale: one, or one for each column."""

    values: Centred
    scale: Tensor

    def product(self, b: Builder, x: Tensor) -> Tensor:
        """The product of x [M, K], quantised by the range of its values, and the weights: f32 [M, 4 H]."""
        codes, scale, zero = dynamically_quantised(b, x)
        exact = integer_matmul(b, centred(b, codes, zero), self.values)
        return b.mul(b.cast(exact, FLOAT32), b.mul(scale, self.scale))


@dataclass(frozen=True)
class _Direction:
    weights: _Weights
    recurrent: _Weights
    bias: Tensor | None
    """The sum of the biases of inputs and states, [4 H]."""
    peepholes: list[Tensor] | None
    """Weights from the cell state to the input, output and forget gate, each [H]."""
    activations: list[Activation]
    hidden: Tensor
    cell: Tensor
    """The cell state before the first step, [N, H]."""
    reverse: bool


@microsoft_op("DynamicQuantizeLSTM")
def dynamic_quantise_lstm(node: Node) -> Sequence[Tensor]:
    """LSTM with transposed, quantised weights; inputs and states become uint8 by the range of their values."""
    b, x = node.build, node[0]
    if x.rank != 3:
        raise NodeError(f"the sequence has {x.rank} dimensions, expected 3")
    check_steps(x.shape[0], "time steps")
    kind = node.str("direction", "forward")
    results = [_run(node, x, _direction(node, x, i, kind)) for i in range(2 if kind == "bidirectional" else 1)]
    outputs, hidden, cell = zip(*results, strict=True)
    return [b.concat(outputs, 1), b.concat(hidden, 0), b.concat(cell, 0)]


def _direction(node: Node, x: Tensor, index: int, kind: str) -> _Direction:
    b, size = node.build, node.int("hidden_size", node[2].shape[1])
    names = node.strs("activations", ["Sigmoid", "Tanh", "Tanh"] * (index + 1))
    clip = node.float("clip") if node.has("clip") else None
    # Only the operands of gates are clipped, not the cell state, which is the operand of the third function.
    activations = named_activations(b, node, names, (clip, clip, None))[3 * index : 3 * index + 3]
    bias, peepholes = (_part(b, node.get(at), index) for at in (3, 7))
    hidden, cell = (_part(b, node.get(at), index) for at in (5, 6))
    zero = b.full((x.shape[1], size), 0, x.dtype)
    if bias is not None:
        bias = b.add(b.slice_axis(bias, 0, 0, 4 * size), b.slice_axis(bias, 0, 4 * size, 4 * size))
    return _Direction(
        _weights(node, 1, 8, index),
        _weights(node, 2, 10, index),
        bias,
        None if peepholes is None else [b.slice_axis(peepholes, 0, gate * size, size) for gate in range(3)],
        activations,
        hidden or zero,
        cell or zero,
        kind == "reverse" or index == 1,
    )


def _weights(node: Node, index: int, scale: int, direction: int) -> _Weights:
    """The weights of one direction in operand `index`; operands `scale` and `scale` + 1 are scale and zero point."""
    b = node.build
    parts = [_part(b, node[at], direction) for at in (index, scale, scale + 1)]
    values, factor, zero = (part for part in parts if part is not None)
    return _Weights(centred(b, values, zero), factor)


def _part(b: Builder, x: Tensor | None, index: int) -> Tensor | None:
    """One direction of an operand whose first axis counts directions."""
    return None if x is None else b.reshape(b.slice_axis(x, 0, index, 1), x.shape[1:])


def _run(node: Node, x: Tensor, one: _Direction) -> tuple[Tensor, Tensor, Tensor]:
    """All states [S, 1, N, H], and the last hidden and cell state [1, N, H]."""
    b = node.build
    steps, batch, width = x.shape
    lengths = node.get(4)
    if lengths is not None and lengths.array is not None and np.all(lengths.array == steps):
        lengths = None
    if one.reverse:
        x = _reversed(b, x, lengths)
    products = one.weights.product(b, b.reshape(x, [steps * batch, width]))
    products = b.reshape(products, [steps, batch, products.shape[1]])
    scanned = [(products, Along(0))]
    if lengths is not None:
        scanned.append((b.iota(steps, lengths.dtype), Along(0)))

    def step(carried: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        hidden, cell = carried
        new, new_cell = _step(node, b.add(slices[0], one.recurrent.product(b, hidden)), cell, one)
        if lengths is None:
            return [new, new_cell], [new]
        # Sequences that have ended keep their state, and their results are 0.
        alive = b.reshape(b.compare("gt", lengths, slices[1]), [batch, 1])
        return [b.select(alive, new, hidden), b.select(alive, new_cell, cell)], [b.select(alive, new, 0)]

    (hidden, cell), (states,) = run_loop(b, steps, [one.hidden, one.cell], scanned, [Along(0)], step)
    states = b.reshape(states, [steps, 1, *hidden.shape])
    if one.reverse:
        states = b.reshape(_reversed(b, b.reshape(states, [steps, *hidden.shape]), lengths), states.shape)
    return states, b.reshape(hidden, [1, *hidden.shape]), b.reshape(cell, [1, *cell.shape])


def _reversed(b: Builder, x: Tensor, lengths: Tensor | None) -> Tensor:
    """
    x [S, N, K] with the elements of each sequence reversed from its own end.

    The quantisation of a step depends on the range over all sequences, and hence on this alignment.
    """
    steps, batch, width = x.shape
    if lengths is None:
        return b.slice(x, [steps - 1, 0, 0], x.shape, [-1, 1, 1])
    times = known(arrays.arange(steps).reshape(steps, 1))
    last = b.sub(b.reshape(b.cast(lengths, INT64), [1, batch]), 1)
    turned = b.select(b.compare("le", times, last), b.sub(last, times), times)
    entries = known(arrays.arange(batch).reshape(1, batch))
    index = b.reshape(b.add(b.mul(turned, batch), entries), [steps * batch])
    return b.reshape(b.gather(b.reshape(x, [steps * batch, width]), index, 0), x.shape)


def _step(node: Node, total: Tensor, cell: Tensor, one: _Direction) -> tuple[Tensor, Tensor]:
    """
    Hidden and cell state [N, H] after one step, from `total` [N, 4 H], the products in the order input, output, forget,
    cell.
    """
    b = node.build
    if one.bias is not None:
        total = b.add(total, one.bias)
    size = total.shape[1] // 4
    i, o, f, c = (b.slice_axis(total, 1, gate * size, size) for gate in range(4))
    gate, inner, outer = one.activations
    if one.peepholes is not None:
        i, f = b.add(i, b.mul(cell, one.peepholes[0])), b.add(f, b.mul(cell, one.peepholes[2]))
    i = gate(i)
    forget = b.sub(known(np.ones((), i.dtype)), i) if node.int("input_forget", 0) else gate(f)
    cell = b.add(b.mul(forget, cell), b.mul(i, inner(c)))
    if one.peepholes is not None:
        o = b.add(o, b.mul(cell, one.peepholes[1]))
    return b.mul(gate(o), outer(cell)), cell
