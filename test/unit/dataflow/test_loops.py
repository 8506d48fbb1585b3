"""Property tests of loops: interpretation, canonicalisation and unrolling against the recurrence in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import AddOp, Along, Dataflow, LoopOp, MaximumOp, MulOp, NegOp, SubOp, YieldOp
from meshloom.dialects.dataflow.entry_function import main_function
from meshloom.dialects.dataflow.types import tensor
from meshloom.transforms.canonicalize import CanonicalizePass
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from meshloom.transforms.dataflow_unroll_loops import DataflowUnrollLoopsPass
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

Array = NDArray[np.float32]
WIDTH = 3
BINARY: tuple[tuple[type[AddOp | SubOp | MulOp | MaximumOp], Callable[[Array, Array], Array]], ...] = (
    (AddOp, np.add), (SubOp, np.subtract), (MulOp, np.multiply), (MaximumOp, np.maximum)
)  # fmt: skip


@dataclass
class Recurrence:
    """A random loop, its input arrays, and its results computed by numpy."""

    generator: np.random.Generator
    steps: int
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])

    def along(self) -> Along:
        return Along(int(self.generator.integers(2)), bool(self.generator.integers(2)))

    def build(self) -> tuple[ModuleOp, dict[str, Array]]:
        """The module, and the expected results by name."""
        pick = self.generator.integers
        carried, scans, outside = int(pick(3)), [self.along() for _ in range(pick(3))], int(pick(1, 3))
        vectors = [self._input("vector") for _ in range(carried + outside)]
        matrices = [self._input("matrix", one) for one in scans]
        entry = Block(arg_types=[tensor(f32, array.shape) for array in self.inputs.values()])
        values = dict(zip(self.inputs, entry.args, strict=True))
        body = Block(arg_types=[tensor(f32, [WIDTH])] * (carried + len(scans)))
        build = Builder(InsertPoint.at_end(body))
        known: list[SSAValue] = [*body.args, *(values[name] for name in vectors)]
        work: list[Callable[[list[Array]], Array]] = []
        for _ in range(pick(1, 7)):
            a, b = int(pick(len(known))), int(pick(len(known)))
            if pick(4):
                op, numpy_op = BINARY[pick(len(BINARY))]
                known.append(build.insert(op(known[a], known[b])).result)
                work.append(lambda row, a=a, b=b, f=numpy_op: f(row[a], row[b]))
            else:
                known.append(build.insert(NegOp(known[a])).result)
                work.append(lambda row, a=a: -row[a])
        stacks = [self.along() for _ in range(pick(3))]
        yields = [int(pick(len(known))) for _ in range(carried + len(stacks))]
        build.insert(YieldOp([known[number] for number in yields]))
        initial = [values[name] for name in vectors[:carried]]
        scanned = [(values[name], one) for name, one in zip(matrices, scans, strict=True)]
        loop = LoopOp(self.steps, initial, scanned, stacks, Region(body))
        entry.add_op(loop)
        read = [number for number in range(len(loop.outputs)) if pick(4)]
        names = list(self.inputs), [f"r{number}" for number in read]
        module = ModuleOp([main_function(entry, [loop.outputs[number] for number in read], names)])

        state = [self.inputs[name] for name in vectors[:carried]]
        rows: list[list[Array]] = [[] for _ in stacks]
        for step in range(self.steps):
            row = [*state]
            for name, one in zip(matrices, scans, strict=True):
                place = self.steps - 1 - step if one.backwards else step
                row.append(self.inputs[name][place] if one.axis == 0 else self.inputs[name][:, place])
            row += [self.inputs[name] for name in vectors]
            for compute in work:
                row.append(compute(row))
            state = [row[number] for number in yields[:carried]]
            for kept, number in zip(rows, yields[carried:], strict=True):
                kept.append(row[number])
        results = list(state)
        for kept, one in zip(rows, stacks, strict=True):
            shape = (WIDTH, self.steps) if one.axis else (self.steps, WIDTH)
            whole = np.zeros(shape, np.float32)
            for step, value in enumerate(kept):
                place = self.steps - 1 - step if one.backwards else step
                whole[(slice(None), place) if one.axis else place] = value
            results.append(whole)
        return module, {f"r{number}": results[number] for number in read}

    def _input(self, kind: str, along: Along | None = None) -> str:
        name = f"{kind}{len(self.inputs)}"
        shape = [WIDTH]
        if along is not None:
            shape.insert(along.axis, self.steps)
        self.inputs[name] = self.generator.integers(-3, 4, shape).astype(np.float32)
        return name


def _check(module: ModuleOp, inputs: dict[str, Array], expected: dict[str, Array]) -> None:
    module.verify()
    results = run_main(module, inputs)
    assert list(results) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(results[name], array)


def _context() -> Context:
    context = Context()
    context.load_dialect(Dataflow)
    return context


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_compute_the_recurrence_before_and_after_passes(seed: int) -> None:
    generator = np.random.default_rng(seed)
    case = Recurrence(generator, int(generator.integers(0, 5)))
    module, expected = case.build()
    _check(module, case.inputs, expected)
    unrolled = module.clone()
    DataflowUnrollLoopsPass().apply(_context(), unrolled)
    assert not any(isinstance(op, LoopOp) for op in unrolled.walk())
    _check(unrolled, case.inputs, expected)
    CanonicalizePass().apply(_context(), module)
    _check(module, case.inputs, expected)
    CanonicalizePass().apply(_context(), unrolled)
    _check(unrolled, case.inputs, expected)


@pytest.mark.parametrize("seed", range(20))
def test_canonical_loops_have_no_invariant_operations_or_unused_values(seed: int) -> None:
    """After canonicalisation, all operations of a body depend on the step; no carried or scanned value is unused."""
    generator = np.random.default_rng(seed)
    module, _ = Recurrence(generator, 4).build()
    CanonicalizePass().apply(_context(), module)
    for loop in module.walk():
        if isinstance(loop, LoopOp):
            assert all(argument.first_use is not None for argument in loop.scanned_arguments)
            for argument, last in zip(loop.carried_arguments, loop.final, strict=True):
                assert argument.first_use is not None or last.first_use is not None
            for op in loop.body.block.ops:
                assert isinstance(op, YieldOp) or any(not loop.is_outside(value) for value in op.operands)


def test_gradient_of_a_loop() -> None:
    """The gradient of sum((h0 * a * a * a - target)^2) / n by h0, where a loop of three steps multiplies by a."""
    entry = Block(arg_types=[tensor(f32, [WIDTH]), tensor(f32, [WIDTH])])
    body = Block(arg_types=[tensor(f32, [WIDTH])])
    product = MulOp(body.args[0], entry.args[1])
    body.add_ops([product, YieldOp([product])])
    loop = LoopOp(3, [entry.args[0]], [], [], Region(body))
    entry.add_op(loop)
    module = ModuleOp([main_function(entry, loop.outputs, (["h0", "a"], ["y"]))])
    DataflowDifferentiatePass(loss="mean-squared-error", optimizer="none", parameters=("h0",)).apply(_context(), module)
    h0, a, target = (np.array(values, np.float32) for values in ([1, 2, 3], [0.5, -1, 2], [1, 1, 1]))
    results = run_main(module, {"a": a, "target": target, "h0": h0})
    expected = 2 * (h0 * a**3 - target) * a**3 / WIDTH
    np.testing.assert_allclose(results["grad.h0"], expected, rtol=1e-5)
