"""Tests of `dataflow-interleave-gates` on random cells of several gates, units and activations, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import Dataflow, SliceOp
from meshloom.dialects.dataflow.base import ints
from meshloom.transforms.dataflow_interleave_gates import DataflowInterleaveGatesPass
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser

Function: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
ACTIVATIONS: dict[str, Function] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "abs": np.abs,
    "neg": np.negative,
}
STEPS = 4


@dataclass(frozen=True)
class Cell:
    """h' = tanh(h + a0(z[p0]) + a1(z[p1]) ...) with z = h R + x W + b, gates in the order p, and activations a."""

    w: NDArray[np.float32]
    r: NDArray[np.float32]
    b: NDArray[np.float32]
    order: tuple[int, ...]
    activations: tuple[str, ...]

    @staticmethod
    def of_seed(random: np.random.Generator) -> Cell:
        """A random cell."""
        count, units, inputs = (int(random.integers(low, high)) for low, high in ((2, 6), (2, 8), (1, 5)))
        shapes = ((inputs, count * units), (units, count * units), (count * units,))
        w, r, b = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
        order = tuple(int(gate) for gate in random.permutation(count))
        return Cell(w, r, b, order, tuple(str(random.choice([*ACTIVATIONS])) for _ in order))

    def last(self, x: NDArray[Any], h: NDArray[Any]) -> NDArray[Any]:
        """The state after the last step, computed in f64."""
        units = self.r.shape[0]
        for row in x.astype(np.float64):
            z = h @ self.r + row @ self.w + self.b
            gates = (z[:, gate * units : (gate + 1) * units] for gate in self.order)
            h = np.tanh(h + sum(ACTIVATIONS[name](gate) for name, gate in zip(self.activations, gates, strict=True)))
        return h

    def text(self, batch: int) -> str:
        """The cell as a loop in textual IR."""
        (inputs, size), units = self.w.shape, self.r.shape[0]
        state, wide, all_steps = (
            f"tensor<{shape}xf32>" for shape in (f"{batch}x{units}", f"{batch}x{size}", f"{STEPS}x{batch}x{size}")
        )
        x = f"tensor<{STEPS}x{batch}x{inputs}xf32>"
        ends = '{dataflow.name = "x"}', '{dataflow.name = "h"}', '{dataflow.name = "y"}'
        lines = [
            f"func.func @main(%x: {x} {ends[0]}, %h0: {state} {ends[1]}) -> ({state} {ends[2]}) {{",
            *(
                f'%{name} = dataflow.constant dense<"0x{array.astype("<f4").tobytes().hex().upper()}">'
                f" : tensor<{'x'.join(map(str, array.shape))}xf32>"
                for name, array in (("w", self.w), ("r", self.r), ("b", self.b))
            ),
            f"%p = dataflow.matmul %x, %w : ({x}, tensor<{inputs}x{size}xf32>) -> {all_steps}",
            f"%last = dataflow.loop {STEPS} steps carry(%h = %h0 : {state}) scan(%q = %p axis 0 : {all_steps}) {{",
            f"%m = dataflow.matmul %h, %r : ({state}, tensor<{units}x{size}xf32>) -> {wide}",
            f"%n = dataflow.add %m, %q : ({wide}, {wide}) -> {wide}",
            f"%z = dataflow.add %n, %b : ({wide}, tensor<{size}xf32>) -> {wide}",
            f"%s0 = dataflow.reshape %h : ({state}) -> {state}",
        ]
        for number, (gate, name) in enumerate(zip(self.order, self.activations, strict=True)):
            lines += [
                f"%g{number} = dataflow.slice %z starts [0, {gate * units}] sizes [{batch}, {units}] steps [1, 1]"
                f" : ({wide}) -> {state}",
                f"%a{number} = dataflow.{name} %g{number} : ({state}) -> {state}",
                f"%s{number + 1} = dataflow.add %s{number}, %a{number} : ({state}, {state}) -> {state}",
            ]
        lines += [f"%t = dataflow.tanh %s{len(self.order)} : ({state}) -> {state}", f"dataflow.yield %t : {state}", "}"]
        return "\n".join([*lines, f"func.return %last : {state}", "}"])


def step_along_units(op: Operation) -> int:
    """The step of a slice along the last axis."""
    assert isinstance(op, SliceOp)
    return ints(op.steps)[-1]


@pytest.mark.parametrize("seed", range(8))
def test_states_equal_those_of_numpy(seed: int) -> None:
    random = np.random.default_rng(seed)
    cell, batch = Cell.of_seed(random), int(random.integers(1, 4))
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    module = Parser(context, cell.text(batch)).parse_module()
    DataflowInterleaveGatesPass().apply(context, module)
    module.verify()
    x = random.standard_normal((STEPS, batch, len(cell.w))).astype(np.float32)
    h = random.standard_normal((batch, len(cell.r))).astype(np.float32)
    np.testing.assert_allclose(run_main(module, {"x": x, "h": h})["y"], cell.last(x, h), rtol=1e-5, atol=1e-5)
    # Values whose elements are permuted lose their names.
    assert {result.name_hint for op in module.walk() for result in op.results}.isdisjoint({"p", "m", "n", "z"})
    gates = [op for op in module.walk() if isinstance(op, SliceOp) and step_along_units(op) > 1]
    assert len(gates) == len(cell.order)
