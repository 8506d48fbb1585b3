"""Gradients of every operation against central differences, in f64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from meshloom.dialects import dataflow as d
from meshloom.dialects.dataflow.dialect import OPERATIONS
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.partial_conv import PartialConvOp
from meshloom.dialects.dataflow.partial_matmul import PartialMatmulOp
from meshloom.dialects.dataflow.types import element_of, shape_of, tensor
from meshloom.support.errors import MeshloomError
from meshloom.transforms.differentiate.backward import gradients, rule_of
from meshloom.transforms.differentiate.graph import Graph
from numpy.typing import NDArray
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

Array = NDArray[Any]
Build: TypeAlias = Callable[[Sequence[SSAValue]], Operation]
"""Builds an operation from its operands."""
STEP = 1e-5
_ELEMENTS: dict[str, Attribute] = {"f": f64, "i": i64, "b": i1}


def numbers(*shape: int, seed: int = 0, positive: bool = False) -> Array:
    """Numbers whose distance from each other and from 0 is larger than the step of the differences."""
    count = int(np.prod(shape))
    values = np.random.default_rng(seed).permutation(np.linspace(0.3, 2.1, count)).reshape(shape)
    signs = 1 if positive else np.random.default_rng(seed + 1).choice([-1, 1], shape)
    return values * signs


def run(block: Block, arguments: Sequence[Array], results: Sequence[SSAValue]) -> list[Array]:
    """The values of `results`, given the values of the block's arguments."""
    values: dict[SSAValue, Array] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        assert isinstance(op, d.DataflowOp)
        op.verify()
        values[op.results[0]] = evaluate(op, [values[operand] for operand in op.operands])
    return [values[value] for value in results]


def check(build: Build, *arguments: Array) -> None:
    """Compare the gradients of a weighted sum of the result by each float argument with central differences."""
    types = [tensor(_ELEMENTS[value.dtype.kind], value.shape) for value in arguments]
    block = Block(arg_types=types)
    op = build(block.args)
    block.add_op(op)
    graph = Graph(block)
    result = op.results[0]
    weights = graph.emit(d.ConstantOp.from_array(numbers(*shape_of(result), seed=9), f64))
    loss = graph.sum(graph.mul(result, weights), range(len(shape_of(result))))
    wrt = [argument for argument in block.args if element_of(argument) == f64]
    found = run(block, arguments, gradients(loss, wrt, graph))
    forward = Block(arg_types=types)
    again = build(forward.args)
    forward.add_op(again)
    weight = numbers(*shape_of(result), seed=9)

    def value() -> float:
        return float((run(forward, arguments, [again.results[0]])[0] * weight).sum())

    floats = [argument for argument in arguments if argument.dtype.kind == "f"]
    for argument, gradient in zip(floats, found, strict=True):
        expected = np.zeros_like(argument)
        for place in np.ndindex(argument.shape):
            kept = argument[place]
            argument[place] = kept + STEP
            high = value()
            argument[place] = kept - STEP
            expected[place] = (high - value()) / (2 * STEP)
            argument[place] = kept
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


UNARY = [
    d.NegOp, d.AbsOp, d.ExpOp, d.LogOp, d.SqrtOp, d.RsqrtOp, d.ReciprocalOp, d.TanhOp, d.SigmoidOp, d.ErfOp, d.SinOp,
    d.CosOp, d.ReluOp, d.FloorOp, d.CeilOp, d.RoundOp, d.SignOp,
]  # fmt: skip


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: Callable[..., Operation]) -> None:
    check(lambda v: op(*v), numbers(3, 4, positive=op in (d.LogOp, d.SqrtOp, d.RsqrtOp)))


BINARY = [d.AddOp, d.SubOp, d.MulOp, d.DivOp, d.PowOp, d.MaximumOp, d.MinimumOp, d.ModOp, d.FmodOp]


@pytest.mark.parametrize("op", BINARY)
def test_binary_with_broadcasting(op: Callable[..., Operation]) -> None:
    # The offset ensures that no number of one operand equals, or is a multiple of, one of the other.
    check(lambda v: op(*v), numbers(3, 4, positive=True), 0.017 + numbers(4, seed=5, positive=op is d.PowOp))
    check(lambda v: op(*v), numbers(3, 1, positive=True), 0.017 + numbers(2, 1, 4, seed=5, positive=op is d.PowOp))


def test_select() -> None:
    mask = np.array([True, False, True])
    check(lambda v: d.SelectOp(*v), mask, numbers(2, 3), numbers(2, 1, seed=5))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("batch_a", "batch_b"), [((), ()), ((2,), ()), ((2, 1), (3,)), ((2,), (2,)), ((1,), (2,))])
def test_matmul(transpose_a: bool, transpose_b: bool, batch_a: tuple[int, ...], batch_b: tuple[int, ...]) -> None:
    a = numbers(*batch_a, *((4, 3) if transpose_a else (3, 4)))
    b = numbers(*batch_b, *((2, 4) if transpose_b else (4, 2)), seed=5)
    check(lambda v: d.MatmulOp(v[0], v[1], transpose_a=transpose_a, transpose_b=transpose_b), a, b)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("strides", "dilations", "low", "high"),
    [((1, 1), (1, 1), (0, 0), (0, 0)), ((2, 3), (1, 1), (1, 0), (0, 2)), ((1, 2), (2, 1), (3, 1), (3, 1)),
     ((3, 2), (1, 2), (0, 0), (1, 0)), ((1, 1), (1, 1), (4, 0), (0, 3))],
)  # fmt: skip
def test_conv(
    groups: int, strides: tuple[int, ...], dilations: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...]
) -> None:
    x, w = numbers(2, 2 * groups, 6, 5), numbers(3 * groups, 2, 2, 2, seed=5)
    check(
        lambda v: d.ConvOp(v[0], v[1], strides=strides, dilations=dilations, pad_low=low, pad_high=high, groups=groups),
        x,
        w,
    )


def test_depthwise_conv_along_one_dimension() -> None:
    check(
        lambda v: d.ConvOp(v[0], v[1], strides=(2,), pad_low=(1,), pad_high=(1,), groups=3),
        numbers(2, 3, 7),
        numbers(3, 1, 3, seed=5),
    )


@pytest.mark.parametrize("parts", [1, 2, 6])
def test_partial_conv(parts: int) -> None:
    x, w = numbers(1, 6, 6, 5), numbers(3, 6, 2, 2, seed=5)
    check(
        lambda v: PartialConvOp(v[0], v[1], parts, strides=(2, 1), dilations=(1, 2), pad_low=(1, 0), pad_high=(0, 2)),
        x,
        w,
    )


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_partial_matmul(parts: int, ta: bool, tb: bool) -> None:
    a, b = numbers(6, 4) if ta else numbers(4, 6), numbers(5, 6, seed=5) if tb else numbers(6, 5, seed=5)
    check(lambda v: PartialMatmulOp(v[0], v[1], parts, transpose_a=ta, transpose_b=tb), a, b)


@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 2)])
def test_reduce(kind: str, axes: tuple[int, ...]) -> None:
    check(lambda v: d.ReduceOp(v[0], kind, axes), numbers(2, 3, 4))


def test_tied_maxima_share_the_gradient() -> None:
    block = Block(arg_types=[tensor(f64, (4,))])
    op = d.ReduceOp(block.args[0], "max", (0,))
    block.add_op(op)
    (gradient,) = run(block, [np.array([1.0, 5, 5, 2])], gradients(op.result, block.args, Graph(block)))
    assert gradient.tolist() == [0, 0.5, 0.5, 0]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum(exclusive: bool, reverse: bool) -> None:
    check(lambda v: d.CumsumOp(v[0], 1, exclusive=exclusive, reverse=reverse), numbers(2, 4))


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize(
    ("window", "strides", "dilations", "low", "high"),
    [((1, 1, 2, 2), (1, 1, 2, 2), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
     ((1, 1, 3, 2), (1, 1, 2, 1), (1, 1, 1, 2), (0, 0, 1, 1), (0, 0, 1, 0)),
     ((2, 1, 1, 3), (1, 1, 1, 3), (1, 1, 1, 1), (1, 0, 0, 2), (0, 0, 0, 2)),
     ((1, 1, 2, 2), (1, 1, 3, 3), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0))],
)  # fmt: skip
def test_windows(
    kind: str,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    low: tuple[int, ...],
    high: tuple[int, ...],
) -> None:
    check(
        lambda v: d.ReduceWindowOp(
            v[0], kind, window, strides=strides, dilations=dilations, pad_low=low, pad_high=high
        ),
        numbers(2, 2, 5, 6),
    )


def test_gradient_of_tied_maxima_of_a_window_goes_to_the_first() -> None:
    block = Block(arg_types=[tensor(f64, (6,))])
    op = d.ReduceWindowOp(block.args[0], "max", (3,), strides=(3,))
    block.add_op(op)
    graph = Graph(block)
    loss = graph.sum(op.result, (0,))
    (gradient,) = run(block, [np.array([7.0, 7, 1, 0, 0, 0])], gradients(loss, block.args, graph))
    assert gradient.tolist() == [1, 0, 0, 1, 0, 0]


MOVEMENTS: list[Build] = [
    lambda v: d.ReshapeOp(v[0], (4, 3, 2)),
    lambda v: d.TransposeOp(v[0], (2, 0, 1)),
    lambda v: d.SliceOp(v[0], (0, 1, 0), (2, 2, 2), (1, 1, 2)),
    lambda v: d.SliceOp(v[0], (1, 2, 3), (2, 3, 2), (-1, -1, -3)),
    lambda v: d.SliceOp(v[0], (0, 0, 0), (2, 0, 4)),
    lambda v: d.ConcatOp([v[0], v[0]], 1),
    lambda v: d.PadOp(v[0], (0, 1, 2), (1, 0, 0), (0, 2, 1), 3.0),
    lambda v: d.BroadcastOp(v[0], (5, 2, 3, 4)),
]


@pytest.mark.parametrize("build", MOVEMENTS)
def test_movement(build: Build) -> None:
    check(build, numbers(2, 3, 4))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_gather(axis: int, shape: tuple[int, ...]) -> None:
    indices = np.random.default_rng(3).integers(-2, 2, shape)
    check(lambda v: d.GatherOp(v[0], v[1], axis), numbers(2, 3, 4), indices)


@pytest.mark.parametrize("mode", ["add", "set"])
@pytest.mark.parametrize("batch", [0, 1])
def test_scatter(mode: str, batch: int) -> None:
    """The indices contain duplicates: with mode "set", only the last of two updates has a gradient."""
    indices = np.array([[0, -1, 0], [1, 2, 1]]) if batch else np.array([1, -1, 0])
    updates = numbers(*indices.shape, *((2,) if batch else (3, 2)), seed=5)
    check(lambda v: d.ScatterOp(mode, v[0], v[1], v[2], batch), numbers(2, 3, 2), indices, updates)


def test_every_operation_has_a_rule() -> None:
    sources = (d.ConstantOp, d.WeightOp)
    missing = [op.name for op in OPERATIONS if op not in sources and not _has_rule(op)]
    assert missing == []


def _has_rule(kind: type[Operation]) -> bool:
    try:
        return rule_of(kind.__new__(kind)) is not None
    except MeshloomError:
        return False
