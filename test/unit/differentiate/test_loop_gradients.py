"""Gradients of loops against central differences in f64, and against those of the unrolled loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects import dataflow as d
from meshloom.dialects.dataflow.entry_function import main_function
from meshloom.dialects.dataflow.types import shape_of, tensor
from meshloom.support.errors import InputError
from meshloom.transforms.canonicalize import CanonicalizePass
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f64, i64
from xdsl.dialects.func import Func
from xdsl.ir import Block, Region, SSAValue
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint

Array = NDArray[Any]
Mode = Literal["save", "recompute", "unroll"]
MODES: tuple[Mode, ...] = ("save", "recompute")
ROW = (2, 3)
STEP = 1e-6


def _context() -> Context:
    context = Context()
    for dialect in (d.Dataflow, Func):
        context.load_dialect(dialect)
    return context


class _Network:
    """A loop of random operations, which may include an inner loop, and a scalar loss of its results."""

    def __init__(self, seed: int, steps: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.inputs: dict[str, Array] = {}
        pick = self.generator.integers
        self.types: list[Any] = []
        states = [self._float(ROW) for _ in range(pick(1, 4))]
        scans = [d.Along(int(pick(3)), bool(pick(2))) for _ in range(pick(1, 3))]
        wholes = [self._float(along.of_all(ROW, steps)) for along in scans]
        outer, square = self._float((3,)), self._float((3, 3))
        self.inputs["words"] = self.generator.integers(0, 3, steps)
        self.entry = Block(
            arg_types=[tensor(f64, value.shape) for name, value in self.inputs.items() if name != "words"]
        )
        words = self.entry.insert_arg(tensor(i64, [steps]), len(self.entry.args))
        values = dict(zip(self.inputs, self.entry.args, strict=True))
        body = Block(arg_types=[tensor(f64, ROW)] * (len(states) + len(scans)) + [tensor(i64, ())])
        build = Builder(InsertPoint.at_end(body))
        known: list[SSAValue] = list(body.args[:-1])
        for _ in range(pick(2, 8)):
            known.append(self._value(build, known, body.args[-1], values[outer], values[square], steps > 0))
        stacks = [d.Along(int(pick(3)), bool(pick(2))) for _ in range(pick(1, 3))]
        chosen = [known[int(pick(len(known)))] for _ in range(len(states) + len(stacks))]
        build.insert(d.YieldOp(chosen))
        scanned = [(values[name], along) for name, along in zip(wholes, scans, strict=True)]
        loop = d.LoopOp(steps, [values[name] for name in states], [*scanned, (words, d.Along(0))], stacks, Region(body))
        self.entry.add_op(loop)
        self.loss = self._loss(loop.outputs)

    def _float(self, shape: tuple[int, ...]) -> str:
        name = f"a{len(self.inputs)}"
        self.inputs[name] = self.generator.uniform(-0.9, 0.9, shape)
        return name

    def _value(
        self, build: Builder, known: Sequence[SSAValue], word: SSAValue, row: SSAValue, square: SSAValue, nested: bool
    ) -> SSAValue:
        pick = self.generator.integers
        a, b = (known[int(pick(len(known)))] for _ in range(2))
        match int(pick(9)):
            case 0:
                return build.insert(d.MatmulOp(a, square)).result
            case 1:
                return build.insert(d.MulOp(a, b)).result
            case 2:
                return build.insert(d.TanhOp(a)).result
            case 3:
                return build.insert(d.SubOp(a, row)).result
            case 4:
                two = build.insert(d.ConstantOp.splat(1, tensor(i64, ())))
                mask = build.insert(d.CompareOp(word, two, "lt"))
                return build.insert(d.SelectOp(mask, a, b)).result
            case 5:
                left = build.insert(d.SliceOp(a, [0, 1], [2, 2]))
                right = build.insert(d.SliceOp(b, [1, 0], [2, 1], [-1, 1]))
                return build.insert(d.ConcatOp([left, right], 1)).result
            case 6:
                return build.insert(d.ExpOp(build.insert(d.MulOp(a, row)))).result
            case 7 if nested:
                return self._inner_loop(build, a, b, square)
            case _:
                return build.insert(d.AddOp(a, b)).result

    def _inner_loop(self, build: Builder, a: SSAValue, b: SSAValue, square: SSAValue) -> SSAValue:
        """A loop over the columns of b; its state starts as a, which the body also reads from outside."""
        body = Block(arg_types=[tensor(f64, ROW), tensor(f64, [2])])
        inner = Builder(InsertPoint.at_end(body))
        column = inner.insert(d.ReshapeOp(body.args[1], (2, 1)))
        mixed = inner.insert(d.MatmulOp(body.args[0], square))
        new = inner.insert(d.TanhOp(inner.insert(d.AddOp(inner.insert(d.MulOp(mixed, column)), a))))
        inner.insert(d.YieldOp([new.result, body.args[1]]))
        stack = [d.Along(1, True)]
        loop = build.insert(d.LoopOp(3, [a], [(b, d.Along(1, bool(self.generator.integers(2))))], stack, Region(body)))
        return build.insert(d.AddOp(loop.outputs[0], loop.outputs[1])).result

    def _loss(self, values: Sequence[SSAValue]) -> SSAValue:
        """The sum of the weighted sums of all results of the loop."""
        total: SSAValue | None = None
        build = Builder(InsertPoint.at_end(self.entry))
        for value in values:
            shape = shape_of(value)
            if 0 in shape:
                continue
            weights = self.generator.uniform(0.5, 1.5, shape)
            part = build.insert(d.MulOp(value, build.insert(d.ConstantOp.from_array(weights, f64))))
            whole = build.insert(d.ReduceOp(part, "sum", range(len(shape))))
            flat = build.insert(d.ReshapeOp(whole, ())).result
            total = flat if total is None else build.insert(d.AddOp(total, flat)).result
        assert total is not None
        return total

    def module(self) -> ModuleOp:
        """The network, from all inputs to the loss."""
        module = ModuleOp([main_function(self.entry, [self.loss], (list(self.inputs), ["loss"]))])
        module.verify()
        return module


def _gradients(module: ModuleOp, inputs: dict[str, Array], mode: Mode) -> dict[str, Array]:
    step = module.clone()
    DataflowDifferentiatePass(loss="result", optimizer="none", parameters=("*",), loops=mode).apply(_context(), step)
    step.verify()
    found = run_main(step, inputs)
    CanonicalizePass().apply(_context(), step)
    step.verify()
    again = run_main(step, inputs)
    for name, value in found.items():
        np.testing.assert_allclose(again[name], value, rtol=1e-12, atol=1e-12)
    return {name.removeprefix("grad."): value for name, value in found.items() if name != "loss"}


def _differences(module: ModuleOp, inputs: dict[str, Array], name: str) -> Array:
    expected = np.zeros_like(inputs[name])
    for place in np.ndindex(expected.shape):
        kept = inputs[name][place]
        losses: list[float] = []
        for moved in (kept + STEP, kept - STEP):
            inputs[name][place] = moved
            losses.append(float(run_main(module, inputs)["loss"]))
        inputs[name][place] = kept
        expected[place] = (losses[0] - losses[1]) / (2 * STEP)
    return expected


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_loops_equal_differences(seed: int) -> None:
    network = _Network(seed, 3)
    module = network.module()
    found = {mode: _gradients(module, network.inputs, mode) for mode in MODES}
    for name, value in network.inputs.items():
        if value.dtype == np.float64:
            expected = _differences(module, network.inputs, name)
            for mode in MODES:
                np.testing.assert_allclose(found[mode][name], expected, rtol=1e-5, atol=1e-6, err_msg=f"{mode} {name}")


@pytest.mark.parametrize("seed", range(12, 72))
def test_gradients_of_random_loops_equal_those_of_unrolled_loops(seed: int) -> None:
    """With 0 to 4 steps; with 0, the scanned values have no elements, which differentiation refuses."""
    network = _Network(seed, seed % 5)
    module = network.module()
    if not seed % 5:
        with pytest.raises(InputError, match="has no elements"):
            _gradients(module, network.inputs, "save")
        return
    expected = _gradients(module, network.inputs, "unroll")
    for mode in MODES:
        found = _gradients(module, network.inputs, mode)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-11, err_msg=f"{mode} {name}")


RECURRENCE = """
func.func @main(%x: tensor<9x1x2xf32> {dataflow.name = "x"}, %w: tensor<2x3xf32> {dataflow.name = "w"},
                %r: tensor<3x3xf32> {dataflow.name = "r"}, %b: tensor<3xf32> {dataflow.name = "b"}) -> tensor<1x3xf32> {
  %h0 = dataflow.constant dense<0.000000e+00> : tensor<1x3xf32>
  %last = dataflow.loop 9 steps carry(%h = %h0 : tensor<1x3xf32>) scan(%row = %x axis 0 : tensor<9x1x2xf32>) {
    %p = dataflow.matmul %row, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
    %q = dataflow.matmul %h, %r : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    %s = dataflow.add %p, %q : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
    %z = dataflow.add %s, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
    %t = dataflow.tanh %z : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %u = dataflow.tanh %t : (tensor<1x3xf32>) -> tensor<1x3xf32>
    dataflow.yield %u : tensor<1x3xf32>
  }
  func.return %last : tensor<1x3xf32>
}
"""


def _differentiated(mode: Mode) -> tuple[ModuleOp, d.LoopOp, d.LoopOp]:
    module = Parser(_context(), RECURRENCE).parse_module()
    step = DataflowDifferentiatePass(
        loss="mean-squared-error", optimizer="none", parameters=("w", "r", "b"), loops=mode
    )
    step.apply(_context(), module)
    CanonicalizePass().apply(_context(), module)
    forward, backward = (op for op in module.walk() if isinstance(op, d.LoopOp))
    return module, forward, backward


def test_backward_loops_read_saved_values_or_recompute() -> None:
    """`save` stacks both hyperbolic tangents and the carried value; `recompute` only that, and computes both again."""
    _, forward, backward = _differentiated("save")
    assert len(forward.stacked) == 3
    assert sum(isinstance(op, d.MatmulOp) for op in backward.body.block.ops) == 1
    _, forward, backward = _differentiated("recompute")
    assert len(forward.stacked) == 1
    assert sum(isinstance(op, d.MatmulOp) for op in backward.body.block.ops) == 3
    assert backward.step_count == 9


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_weights_are_one_product_over_all_steps(mode: Mode) -> None:
    """The gradients of w [2, 3] and r [3, 3] are products of the rows of all 9 steps; the loop carries no matrix."""
    module, _, backward = _differentiated(mode)
    assert [shape_of(value) for value in backward.initial if len(shape_of(value)) == 2] == [(1, 3)]
    outside = [op for op in module.walk() if isinstance(op, d.MatmulOp) and not isinstance(op.parent_op(), d.LoopOp)]
    assert {(shape_of(op.lhs), shape_of(op.rhs)) for op in outside} == {((9, 2), (9, 3)), ((9, 3), (9, 3))}
