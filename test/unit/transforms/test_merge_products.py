"""Tests of `dataflow-merge-products` on cells with a product for each gate, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import Dataflow, MatmulOp
from meshloom.transforms.dataflow_interleave_gates import DataflowInterleaveGatesPass
from meshloom.transforms.dataflow_merge_products import DataflowMergeProductsPass
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

STEPS, UNITS, INPUTS = 4, 3, 2
ACTIVATIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "neg": np.negative,
}


def _typed(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@pytest.mark.parametrize("seed", range(8))
def test_states_equal_those_of_numpy(seed: int) -> None:
    """
    One product with x and one with h remain, and states equal those of NumPy.

    The cell computes h' = tanh(h + sum of the gates a(x W + h R - b)).
    """
    random = np.random.default_rng(seed)
    count, batch = int(random.integers(2, 5)), int(random.integers(1, 3))
    names = [str(random.choice([*ACTIVATIONS])) for _ in range(count)]
    transposed, scalar_bias = bool(random.integers(2)), bool(random.integers(2))
    constants: dict[str, NDArray[np.float32]] = {}
    for gate in range(count):
        shapes = {"w": (INPUTS, UNITS), "r": (UNITS, UNITS), "b": (1,) if scalar_bias and gate else (UNITS,)}
        for name, shape in shapes.items():
            constants[f"{name}{gate}"] = random.standard_normal(shape).astype(np.float32)
    state, row = _typed(batch, UNITS), _typed(batch, INPUTS)
    body = [f"%s0 = dataflow.reshape %h : ({state}) -> {state}"]
    for gate, name in enumerate(names):
        bias, flag = constants[f"b{gate}"].shape, " transpose_b" if transposed else ""
        body += [
            f"%p{gate} = dataflow.matmul %row, %w{gate} : ({row}, {_typed(INPUTS, UNITS)}) -> {state}",
            f"%q{gate} = dataflow.matmul %h, %r{gate}{flag} : ({state}, {_typed(UNITS, UNITS)}) -> {state}",
            f"%m{gate} = dataflow.add %p{gate}, %q{gate} : ({state}, {state}) -> {state}",
            f"%z{gate} = dataflow.sub %m{gate}, %b{gate} : ({state}, {_typed(*bias)}) -> {state}",
            f"%a{gate} = dataflow.{name} %z{gate} : ({state}) -> {state}",
            f"%s{gate + 1} = dataflow.add %s{gate}, %a{gate} : ({state}, {state}) -> {state}",
        ]
    x, ends = _typed(STEPS, batch, INPUTS), [f'{{dataflow.name = "{name}"}}' for name in ("x", "h", "y")]
    text = [
        f"func.func @main(%x: {x} {ends[0]}, %h0: {state} {ends[1]}) -> ({state} {ends[2]}) {{",
        *(
            f'%{name} = dataflow.constant dense<"0x{array.tobytes().hex().upper()}"> : {_typed(*array.shape)}'
            for name, array in constants.items()
        ),
        f"%last = dataflow.loop {STEPS} steps carry(%h = %h0 : {state}) scan(%row = %x axis 0 : {x}) {{",
        *body,
        f"%t = dataflow.tanh %s{count} : ({state}) -> {state}",
        f"dataflow.yield %t : {state}",
        "}",
        f"func.return %last : {state}",
        "}",
    ]
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    module = Parser(context, "\n".join(text)).parse_module()
    DataflowMergeProductsPass().apply(context, module)
    module.verify()
    assert sum(isinstance(op, MatmulOp) for op in module.walk()) == 2
    values = {
        "x": random.standard_normal((STEPS, batch, INPUTS)).astype(np.float32),
        "h": random.standard_normal((batch, UNITS)).astype(np.float32),
    }
    h = values["h"].astype(np.float64)
    for one in values["x"].astype(np.float64):
        total = h
        for gate, name in enumerate(names):
            r = constants[f"r{gate}"].T if transposed else constants[f"r{gate}"]
            total = total + ACTIVATIONS[name](one @ constants[f"w{gate}"] + h @ r - constants[f"b{gate}"])
        h = np.tanh(total)
    np.testing.assert_allclose(run_main(module, values)["y"], h, rtol=1e-5, atol=1e-5)
    DataflowInterleaveGatesPass().apply(context, module)
    module.verify()
    np.testing.assert_allclose(run_main(module, values)["y"], h, rtol=1e-5, atol=1e-5)
