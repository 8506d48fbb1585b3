"""Tests of `dataflow-hoist-from-loops`: random loops against a recurrence in NumPy, and loops of networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import (
    AddOp,
    Along,
    ArgReduceOp,
    BroadcastOp,
    ConcatOp,
    ConvOp,
    CumsumOp,
    GatherOp,
    LoopOp,
    MatmulOp,
    MulOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReshapeOp,
    SliceOp,
    TanhOp,
    TransposeOp,
    YieldOp,
)
from meshloom.dialects.dataflow.entry_function import main_function
from meshloom.dialects.dataflow.types import shape_of, tensor
from meshloom.frontend.onnx_import import import_onnx
from meshloom.transforms.dataflow_hoist_from_loops import DataflowHoistFromLoopsPass, hoist_from_loops
from meshloom.transforms.shared.all_steps import Operand, Steps, can_do_all_steps, do_all_steps
from numpy.typing import NDArray
from recurrent_networks import Recurrent, build
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

Array = NDArray[Any]
WIDTH, STEPS = 3, 4
Build = Callable[[Sequence[SSAValue]], Operation]

OPERATIONS: tuple[tuple[str, tuple[tuple[int, ...], ...], Build], ...] = (
    ("add", ((2, 3), (3,)), lambda v: AddOp(*v)),
    ("add of a scalar", ((), (2, 3)), lambda v: AddOp(*v)),
    ("tanh", ((2, 3),), lambda v: TanhOp(*v)),
    ("product", ((2, 3), (3, 4)), lambda v: MatmulOp(*v)),
    ("transposed product", ((3, 2), (4, 3)), lambda v: MatmulOp(v[0], v[1], transpose_a=True, transpose_b=True)),
    ("batched product", ((5, 2, 3), (3, 4)), lambda v: MatmulOp(*v)),
    ("product of a batch", ((2, 3), (5, 3, 4)), lambda v: MatmulOp(*v)),
    ("convolution", ((2, 3, 5, 5), (4, 3, 3, 3)), lambda v: ConvOp(v[0], v[1], pad_low=[1, 1], pad_high=[0, 1])),
    ("pooling", ((2, 3, 5),), lambda v: ReduceWindowOp(v[0], "max", window=[1, 1, 2])),
    ("sum", ((2, 3, 5),), lambda v: ReduceOp(v[0], "sum", [0, 2])),
    ("index of the largest", ((2, 3),), lambda v: ArgReduceOp(v[0], "max", 1)),
    ("running sum", ((2, 3),), lambda v: CumsumOp(v[0], 1, exclusive=True, reverse=True)),
    ("reshape", ((2, 3),), lambda v: ReshapeOp(v[0], (3, 2, 1))),
    ("broadcast", ((3,),), lambda v: BroadcastOp(v[0], (2, 3))),
    ("transpose", ((2, 3, 4),), lambda v: TransposeOp(v[0], [2, 0, 1])),
    ("slice", ((5, 4),), lambda v: SliceOp(v[0], [4, 1], [2, 3], [-2, 1])),
    ("concat", ((2, 3), (2, 1)), lambda v: ConcatOp(v, 1)),
    ("pad", ((2, 3),), lambda v: PadOp(v[0], [1, 0], [0, 2], [0, 1], 7.0)),
    ("gather along the first axis", ((4, 3), (-2, 2)), lambda v: GatherOp(v[0], v[1], 0)),
    ("gather along the last axis", ((2, 4), (-2, 2)), lambda v: GatherOp(v[0], v[1], 1)),
)
"""Names, shapes of operands (those that begin with -2 are indices below 4), and functions that build the operation."""


def _run(block: Block, results: Sequence[SSAValue], inputs: Sequence[Array]) -> list[Array]:
    names = [f"a{number}" for number in range(len(inputs))], [f"r{number}" for number in range(len(results))]
    module = ModuleOp([main_function(block, list(results), names)])
    module.verify()
    return list(run_main(module, dict(zip(names[0], inputs, strict=True))).values())


def _cases() -> list[Any]:
    cases: list[Any] = []
    for name, shapes, make in OPERATIONS:
        for chosen in range(1, 2 ** len(shapes)):
            stepped = tuple(bool(chosen >> number & 1) for number in range(len(shapes)))
            cases.append(pytest.param(shapes, make, stepped, id=f"{name} {stepped}"))
    return cases


@pytest.mark.parametrize(("shapes", "make", "stepped"), _cases())
def test_an_operation_for_all_steps_equals_that_of_each_step(
    shapes: tuple[tuple[int, ...], ...], make: Build, stepped: tuple[bool, ...]
) -> None:
    generator = np.random.default_rng(7)
    arrays: list[Array] = []
    for shape, steps in zip(shapes, stepped, strict=True):
        words = shape[:1] == (-2,)
        size = (STEPS,) * steps + (shape[1:] if words else shape)
        arrays.append(generator.integers(0, 4, size) if words else generator.standard_normal(size).astype(np.float32))
    elements = [i64 if array.dtype == np.int64 else f32 for array in arrays]
    one = Block(
        arg_types=[
            tensor(element, array.shape[1:] if steps else array.shape)
            for element, array, steps in zip(elements, arrays, stepped, strict=True)
        ]
    )
    op = make(one.args)
    one.add_op(op)
    if not can_do_all_steps(op, stepped):
        assert isinstance(op, GatherOp | ConvOp)
        assert stepped[1]
        return
    whole = Block(arg_types=[tensor(element, array.shape) for element, array in zip(elements, arrays, strict=True)])
    steps = Steps(STEPS)
    operands = [Operand(value, with_steps) for value, with_steps in zip(whole.args, stepped, strict=True)]
    result = do_all_steps(op, operands, steps)
    whole.add_ops(steps.ops)
    (together,) = _run(whole, [result], arrays)
    rows = [[array[step] if s else array for array, s in zip(arrays, stepped, strict=True)] for step in range(STEPS)]
    expected: list[Array] = []
    for row in rows:
        again = Block(arg_types=[value.type for value in one.args])
        same = make(again.args)
        again.add_op(same)
        expected += _run(again, [same.results[0]], row)
    assert together.shape == (STEPS, *shape_of(op.results[0]))
    np.testing.assert_allclose(together, np.stack(expected), rtol=1e-5, atol=1e-6)


class _Random:
    """A loop of random sums, products and matrix products of carried, scanned and outer values, and its recurrence."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        pick = self.generator.integers
        self.steps = int(pick(0, 5))
        self.inputs: list[Array] = []
        scans = [Along(int(pick(3)), bool(pick(2))) for _ in range(pick(1, 4))]
        states = [self._array((2, WIDTH)) for _ in range(pick(1, 3))]
        outer = [self._array((2, WIDTH)), self._array((WIDTH,))]
        square, tall = self._array((WIDTH, WIDTH)), self._array((2 * WIDTH, WIDTH))
        wholes = [self._array(along.of_all((2, WIDTH), self.steps)) for along in scans]
        entry = Block(arg_types=[tensor(f32, array.shape) for array in self.inputs])
        inside = dict(zip(range(len(self.inputs)), entry.args, strict=True))
        body = Block(arg_types=[tensor(f32, [2, WIDTH])] * (len(states) + len(scans)))
        build = Builder(InsertPoint.at_end(body))
        known: list[SSAValue] = [*body.args, *(inside[number] for number in outer)]
        matrices = [(inside[number], self.inputs[number]) for number in (square, tall)]
        work = [self._operation(build, known, matrices) for _ in range(pick(2, 9))]
        rows = [number for number, value in enumerate(known) if shape_of(value) == (2, WIDTH)]
        stacks = [Along(int(pick(3)), bool(pick(2))) for _ in range(pick(1, 3))]
        yields = [int(self.generator.choice(rows)) for _ in range(len(states) + len(stacks))]
        build.insert(YieldOp([known[number] for number in yields]))
        scanned = [(inside[number], along) for number, along in zip(wholes, scans, strict=True)]
        self.loop = LoopOp(self.steps, [inside[number] for number in states], scanned, stacks, Region(body))
        entry.add_op(self.loop)
        names = [f"a{number}" for number in range(len(self.inputs))], [f"r{n}" for n in range(len(yields))]
        self.module = ModuleOp([main_function(entry, list(self.loop.outputs), names)])

        carried = [self.inputs[number] for number in states]
        kept: list[list[Array]] = [[] for _ in stacks]
        for step in range(self.steps):
            row = [*carried]
            for number, along in zip(wholes, scans, strict=True):
                row.append(self.inputs[number].take(along.position(step, self.steps), along.axis))
            row += [self.inputs[number] for number in outer]
            for compute in work:
                row.append(compute(row))
            carried = [row[number] for number in yields[: len(states)]]
            for into, number in zip(kept, yields[len(states) :], strict=True):
                into.append(row[number])
        self.expected = [*carried, *map(_stacked, kept, stacks)]

    def _operation(
        self, build: Builder, known: list[SSAValue], matrices: Sequence[tuple[SSAValue, Array]]
    ) -> Callable[[list[Array]], Array]:
        """
        Add a random operation on the values `known`, and append its result; `matrices` are [W, W] and [2 W, W].

        Returns a function that computes the operation on arrays.
        """
        rows = [number for number, value in enumerate(known) if shape_of(value) == (2, WIDTH)]
        a, b = (int(self.generator.choice(rows)) for _ in range(2))
        (square, squares), (tall, talls) = matrices
        match int(self.generator.integers(5)):
            case 0:
                known.append(build.insert(MatmulOp(known[a], square)).result)
                return lambda row: row[a] @ squares
            case 1:
                joined = build.insert(ConcatOp([known[a], known[b]], 1))
                known.append(build.insert(MatmulOp(joined, tall)).result)
                return lambda row: np.concatenate([row[a], row[b]], 1) @ talls
            case 2:
                known.append(build.insert(MulOp(known[a], known[b])).result)
                return lambda row: row[a] * row[b]
            case _:
                c = int(self.generator.integers(len(known)))
                known.append(build.insert(AddOp(known[a], known[c])).result)
                return lambda row: row[a] + row[c]

    def _array(self, shape: tuple[int, ...]) -> int:
        """Small integers, whose sums and products over few steps are exact in any order; the number of the input."""
        self.inputs.append(self.generator.integers(-1, 2, shape).astype(np.float32))
        return len(self.inputs) - 1

    def check(self) -> None:
        self.module.verify()
        results = run_main(self.module, {f"a{number}": array for number, array in enumerate(self.inputs)})
        for result, expected in zip(results.values(), self.expected, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def _stacked(values: list[Array], along: Along) -> Array:
    """The values of all steps, stacked to one array."""
    if not values:
        return np.zeros(along.of_all((2, WIDTH), 0), np.float32)
    return np.stack(values[::-1] if along.backwards else values, along.axis)


@pytest.mark.parametrize("seed", range(120))
def test_hoisting_keeps_results_of_random_loops(seed: int) -> None:
    case = _Random(seed)
    case.check()
    hoist_from_loops(case.module)
    case.check()
    before = str(case.module)
    hoist_from_loops(case.module)
    case.check()
    assert len(str(case.module).splitlines()) <= len(before.splitlines())


@pytest.mark.parametrize("seed", range(40))
def test_no_operation_on_scanned_values_only_is_left(seed: int) -> None:
    case = _Random(seed)
    hoist_from_loops(case.module)
    for loop in case.module.walk():
        if isinstance(loop, LoopOp) and loop.step_count > 1:
            free = set(loop.scanned_arguments)
            for op in loop.body.block.ops:
                alone = all(value in free or loop.is_outside(value) for value in op.operands)
                assert not (alone and any(value in free for value in op.operands)) or isinstance(op, YieldOp)


@pytest.mark.parametrize("kind", ["Scan", "Loop"])
def test_products_with_inputs_are_hoisted_from_scans_and_loops(kind: str) -> None:
    """The product of a cell, [1, 4 + 8] x [12, 32], is split: the part with x becomes one product of all 6 steps."""
    module = import_onnx(build(Recurrent.parse(f"{kind}:1:8:4:6")))
    DataflowHoistFromLoopsPass().apply(Context(), module)
    (loop,) = (op for op in module.walk() if isinstance(op, LoopOp))
    inner = [op for op in loop.body.block.ops if isinstance(op, MatmulOp)]
    outer = [op for op in module.walk() if isinstance(op, MatmulOp) and op not in inner]
    assert [(shape_of(op.lhs), shape_of(op.rhs)) for op in inner] == [((1, 8), (8, 32))]
    assert [(shape_of(op.lhs), shape_of(op.rhs)) for op in outer] == [((6, 4), (4, 32))]
