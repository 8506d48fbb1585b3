"""Products and convolutions with weights of 4 bits, two per byte, against numpy: steps, groups, odd sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.emulator.functional.engine import run_functional
from meshloom.formats.pairs import pack_pairs, pairs_along, unpack_pairs
from meshloom.lowering.driver.compile_module import compile_module
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

I4, U4 = "vector<2xi4>", "vector<2xui4>"


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (4, 6), (7, 2)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_packing_two_per_byte_and_unpacking(shape: tuple[int, int], axis: int) -> None:
    rng = np.random.default_rng(0)
    signed, plain = rng.integers(-8, 8, shape, np.int8), rng.integers(0, 16, shape, np.uint8)
    for values in (signed, plain):
        packed = pack_pairs(values, axis)
        assert packed.shape[axis] == pairs_along(shape[axis])
        assert np.array_equal(unpack_pairs(packed.view(values.dtype), axis, shape[axis]), values)


def test_the_first_of_two_is_in_the_low_bits() -> None:
    assert pack_pairs(np.array([1, 2, -1], np.int8), 0).tolist() == [0x21, 0x0F]


def parsed(arguments: dict[str, str], operation: str, result: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    named = ", ".join(f'%{name}: {type} {{dataflow.name = "{name}"}}' for name, type in arguments.items())
    types = ", ".join(arguments.values())
    return Parser(
        context,
        f"""func.func @main({named}) -> ({result} {{dataflow.name = "y"}}) {{
          %y = {operation} : ({types}) -> {result}
          func.return %y : {result}
        }}""",
    ).parse_module()


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def integers(shape: Sequence[int], element: str) -> NDArray[np.int8]:
    low, high = (-8, 8) if element == I4 else (0, 16)
    return np.random.default_rng(1).integers(low, high, shape).astype(np.int8)


def held(values: NDArray[np.int8], axis: int, element: str) -> NDArray[np.uint8] | NDArray[np.int8]:
    packed = pack_pairs(values, axis)
    return packed.view(np.int8) if element == I4 else packed


@pytest.mark.parametrize("sram_bytes", [6 << 10, pytest.param(64 << 10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("sizes", "element", "wide"),
    [((1, 701, 90), I4, "f32"), ((6, 129, 33), U4, "f32"), ((40, 400, 110), I4, "i8"), ((3, 64, 7), I4, "f16")],
)
def test_products_in_steps(
    sizes: tuple[int, int, int], element: str, wide: str, transposed: bool, sram_bytes: int
) -> None:
    rows, depth, columns = sizes
    w = integers((depth, columns), element)
    numbers = np.random.default_rng(0).integers(-100, 100, (rows, depth))
    x = numbers.astype({"f32": np.float32, "f16": np.float16, "i8": np.int8}[wide])
    if wide == "f16":
        x = x / np.float16(64)
    axis, narrow = (1, w.T) if transposed else (0, w)
    packed = held(np.ascontiguousarray(narrow), axis, element)
    types = {"x": tensor(x.shape, wide), "w": tensor(packed.shape, element)}
    flag = " transpose_b" if transposed else ""
    result = tensor((rows, columns), {"f32": "f32", "f16": "f32", "i8": "i32"}[wide])
    module = parsed(types, f"dataflow.matmul %x, %w{flag}", result)
    executable = compile_module(module, replace(load_chip("tiny"), sram_bytes=sram_bytes)).executable
    got = run_functional(executable, {"x": x, "w": packed}, check=True).outputs["y"]
    expected = x.astype(np.float64) @ w.astype(np.float64)
    assert np.abs(got - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("channels", "outputs", "groups"), [(3, 5, 1), (16, 8, 1), (12, 6, 2), (15, 9, 3)], ids=lambda one: str(one)
)
def test_convolutions(channels: int, outputs: int, groups: int) -> None:
    w = integers((outputs, channels // groups, 3, 2), I4)
    x = np.random.default_rng(0).integers(-9, 9, (1, channels, 9, 8)).astype(np.float32)
    packed = held(w, 1, I4)
    module = parsed(
        {"x": tensor(x.shape, "f32"), "w": tensor(packed.shape, I4)},
        f"dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 0] groups {groups}",
        tensor((1, outputs, 9, 8), "f32"),
    )
    executable = compile_module(module, replace(load_chip("tiny"), sram_bytes=8 << 10)).executable
    got = run_functional(executable, {"x": x, "w": packed}, check=True).outputs["y"]
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 0)]).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[0]
    parts = [
        np.einsum("chwij,ocij->ohw", windows[g * channels // groups : (g + 1) * channels // groups], kernel)
        for g, kernel in enumerate(np.split(w.astype(np.float64), groups))
    ]
    assert np.array_equal(got[0], np.concatenate(parts))
