"""Tests of `dataflow-fold-affine`: values are kept within rounding, and no operations are added."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.execution.interpret import numbers, run_main
from meshloom.dialects.dataflow import (
    AddOp,
    ConstantOp,
    ConvOp,
    DivOp,
    MatmulOp,
    MulOp,
    NegOp,
    ReluOp,
    SubOp,
    WeightOp,
)
from meshloom.dialects.dataflow.constants import Array, scalar_array
from meshloom.dialects.dataflow.types import DTYPE_CODES, element_of, tensor
from meshloom.formats.weights import STORE
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from meshloom.transforms.shared.constants import rounded, source_of
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, bf16, f16, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint

KINDS = ("add", "sub", "subtract from", "mul", "div", "neg", "relu", "used twice")
SHAPES = ((), (1,), (3, 1, 1), (1, 3, 1, 1), (4, 4), (1, 3, 4, 4))
BOUND: dict[Attribute, float] = {f64: 1e-12, f32: 2e-5, f16: 0.1, bf16: 0.5}
"""Tolerance relative to the largest magnitude; it is large, because chains may cancel."""


def new_main(element: Attribute, shape: tuple[int, ...]) -> tuple[ModuleOp, FuncOp, Builder, SSAValue]:
    function = FuncOp("main", FunctionType.from_lists([tensor(element, shape)], []))
    return (
        ModuleOp([function]),
        function,
        Builder(InsertPoint.at_end(function.body.block)),
        function.body.block.args[0],
    )


def finish(function: FuncOp, builder: Builder, *values: SSAValue) -> None:
    builder.insert(ReturnOp(*values))
    inputs = [argument.type for argument in function.body.block.args]
    function.function_type = FunctionType.from_lists(inputs, [value.type for value in values])


def run(module: ModuleOp, x: Array, element: Attribute) -> list[Array]:

    results = run_main(module, {"arg0": rounded(x, element)})
    return [numbers(array, tensor(element, array.shape)).astype(np.float64) for array in results.values()]


def fold(module: ModuleOp) -> Counter[str]:
    DataflowFoldAffinePass().apply(Context(), module)
    module.verify()
    return Counter(op.name.removeprefix("dataflow.") for op in module.walk())


@st.composite
def networks(draw: st.DrawFn) -> tuple[ModuleOp, Attribute, np.random.Generator]:
    """Random networks: a contraction or none, then a chain of operations, some of which cannot be folded."""
    element = draw(st.sampled_from(tuple(BOUND)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    module, function, builder, value = new_main(element, (1, 3, 4, 4))
    results: list[SSAValue] = []

    def known(shape: tuple[int, ...]) -> SSAValue:
        away_from_zero = random.uniform(0.5, 2, shape) * random.choice((-1, 1), shape)
        array = rounded(np.asarray(away_from_zero), element)
        if random.random() < 0.5:
            return builder.insert(ConstantOp.from_array(array, element)).result
        ref = STORE.put(array)
        return builder.insert(
            WeightOp("w", tensor(element, shape), source="mem", offset=0, nbytes=ref.bytes, sha256=ref.sha256)
        ).result

    match draw(st.sampled_from(("none", "conv", "depthwise", "matmul", "rows"))):
        case "conv":
            value = builder.insert(ConvOp(value, known((3, 3, 3, 3)), pad_low=[1, 1], pad_high=[1, 1])).result
        case "depthwise":
            value = builder.insert(ConvOp(value, known((3, 1, 1, 1)), groups=3)).result
        case "matmul":
            value = builder.insert(MatmulOp(value, known((4, 4)), transpose_b=draw(st.booleans()))).result
        case "rows":
            value = builder.insert(MatmulOp(known((3, 4, 4)), value, transpose_a=draw(st.booleans()))).result
        case _:
            pass
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6)):
        other = known(draw(st.sampled_from(SHAPES)))
        match kind:
            case "add":
                pair = (value, other) if draw(st.booleans()) else (other, value)
                value = builder.insert(AddOp(*pair)).result
            case "mul":
                pair = (value, other) if draw(st.booleans()) else (other, value)
                value = builder.insert(MulOp(*pair)).result
            case "sub":
                value = builder.insert(SubOp(value, other)).result
            case "subtract from":
                value = builder.insert(SubOp(other, value)).result
            case "div":
                value = builder.insert(DivOp(value, other)).result
            case "neg":
                value = builder.insert(NegOp(value)).result
            case "relu":
                value = builder.insert(ReluOp(value)).result
            case _:
                results.append(value)
    finish(function, builder, value, *results)
    return module, element, random


@settings(max_examples=150, deadline=None, derandomize=True)
@given(networks())
def test_values_are_kept(network: tuple[ModuleOp, Attribute, np.random.Generator]) -> None:
    module, element, random = network
    x = random.standard_normal((1, 3, 4, 4))
    names = Counter(op.name for op in module.walk())
    before = run(module, x, element)
    after_names = fold(module)
    after = run(module, x, element)
    for old, new in zip(before, after, strict=True):
        assert np.abs(old - new).max() <= BOUND[element] * max(1.0, np.abs(old).max())
    elementwise = ("add", "sub", "mul", "div", "neg")
    assert sum(after_names[name] for name in elementwise) <= sum(names[f"dataflow.{name}"] for name in elementwise)


def test_large_constants_become_weights() -> None:
    module, function, builder, x = new_main(f32, (1, 2000))
    for number in (2.0, 3.0):
        scale = rounded(np.linspace(1, number, 2000), f32)
        x = builder.insert(MulOp(x, builder.insert(source_of(scale, f32, "r_scale")))).result
    x.name_hint = "r"
    finish(function, builder, x)
    assert fold(module) == Counter({"builtin.module": 1, "func.func": 1, "func.return": 1, "weight": 1, "mul": 1})
    (weight,) = (op for op in module.walk() if isinstance(op, WeightOp))
    assert weight.source.data == "mem"
    values = np.linspace(1, 2, 2000).astype(np.float32).astype(np.float64) * np.linspace(1, 3, 2000).astype(np.float32)
    got = run(module, np.ones((1, 2000)), f32)[0]
    assert np.array_equal(got[0], values.astype(np.float32))


@pytest.mark.parametrize("element", [f16, bf16])
def test_narrow_weights_of_a_wide_product_are_kept(element: Attribute) -> None:
    module, function, builder, x = new_main(element, (2, 2))
    weights = builder.insert(ConstantOp.from_array(rounded(np.ones((2, 2)), element), element))
    product = builder.insert(MatmulOp(x, weights, result_element=f32))
    scale = builder.insert(ConstantOp.from_array(scalar_array(1 / 3, f32), f32))
    finish(function, builder, builder.insert(MulOp(product, scale)).result)
    assert fold(module)["mul"] == 1


def test_all_element_types_are_accepted() -> None:
    for element in DTYPE_CODES:
        module, function, builder, x = new_main(element, (2,))
        assert element_of(x) == element
        finish(function, builder, x)
        fold(module)
