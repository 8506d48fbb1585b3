"""Integer products of `dataflow`, interpreted and on an emulated chip, against sums of Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.emulator.functional.engine import run_functional
from meshloom.lowering.driver.compile_module import compile_module
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

TYPES = {
    "i8": np.int8,
    "ui8": np.uint8,
    "i16": np.int16,
    "ui16": np.uint16,
    "i32": np.int32,
    "ui32": np.uint32,
    "i64": np.int64,
    "ui64": np.uint64,
}
MATMUL = "dataflow.matmul %a, %b"
CONV = "dataflow.conv %a, %b strides [1] dilations [1] pad [1] to [1] groups 1"


def extremes(dtype: Any, shape: tuple[int, ...], kind: str) -> Any:
    """Numbers that are all at one end of the type's range, or each at either end."""
    info = np.iinfo(dtype)
    rng: Any = np.random.default_rng(0)
    low, high = np.asarray([info.min, info.max], dtype)
    if kind == "both":
        return rng.choice(np.asarray([low, high]), shape)
    return np.broadcast_to(low if kind == "least" else high, shape).copy()


def context() -> Context:
    """A context with the dialects of the modules."""
    result = Context()
    for dialect in (Builtin, Func, Dataflow):
        result.load_dialect(dialect)
    return result


def computed(operation: str, kind: str, a: NDArray[Any], b: NDArray[Any], shape: tuple[int, ...]) -> list[NDArray[Any]]:
    """The results of an operation, interpreted and on a chip."""
    result = "i32" if kind in ("i8", "ui8", "i16", "ui16") else kind
    left, right, out = (
        f"tensor<{'x'.join(map(str, s))}x{t}>" for s, t in ((a.shape, kind), (b.shape, kind), (shape, result))
    )
    text = f"""
    func.func @main(%a : {left} {{dataflow.name = "a"}}, %b : {right} {{dataflow.name = "b"}})
        -> ({out} {{dataflow.name = "y"}}) {{
      %y = {operation} : ({left}, {right}) -> {out}
      func.return %y : {out}
    }}"""
    module = Parser(context(), text).parse_module()
    module.verify()
    inputs = {"a": a, "b": b}
    interpreted = interpret_function(module, inputs)["y"]
    executable = compile_module(module, load_chip("tiny")).executable
    return [interpreted, run_functional(executable, inputs, check=True).outputs["y"]]


def wrapped(values: list[int], dtype: Any) -> NDArray[Any]:
    """Integers of any size, wrapped to a type."""
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = np.asarray([value % 2**bits for value in values], f"u{bits // 8}")
    return unsigned.view(dtype)


@pytest.mark.parametrize("kinds", [("most", "most"), ("least", "most"), ("both", "both")])
@pytest.mark.parametrize("kind", TYPES)
def test_products_are_exact(kind: str, kinds: tuple[str, str]) -> None:
    """Sums of 1,100 products exceed the exact range of f32 for bytes, and the range of the result for wide types."""
    dtype = TYPES[kind]
    a, b = extremes(dtype, (2, 1100), kinds[0]), extremes(dtype, (1100, 3), kinds[1])
    rows, columns = a.tolist(), b.T.tolist()
    sums = [sum(x * y for x, y in zip(row, column, strict=True)) for row in rows for column in columns]
    for got in computed(MATMUL, kind, a, b, (2, 3)):
        assert got.reshape(-1).tolist() == wrapped(sums, got.dtype).tolist()


@pytest.mark.parametrize("kind", TYPES)
def test_convolutions_are_exact(kind: str) -> None:
    dtype = TYPES[kind]
    a, b = extremes(dtype, (1, 400, 4), "most"), extremes(dtype, (2, 400, 3), "both")
    wide = [[0, *row, 0] for row in a[0].tolist()]
    sums = [
        sum(row[at + tap] * taps[tap] for row, taps in zip(wide, output, strict=True) for tap in range(3))
        for output in b.tolist()
        for at in range(4)
    ]
    for got in computed(CONV, kind, a, b, (1, 2, 4)):
        assert got.reshape(-1).tolist() == wrapped(sums, got.dtype).tolist()
