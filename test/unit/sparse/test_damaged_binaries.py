"""Tests of executables with damaged encoded weights: an error with the location, or the product with these weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.dialects import sparse
from meshloom.dialects.dataflow import ConstantOp, MatmulOp, WeightOp
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.sparse import IndexAttr, PanelOp
from meshloom.emulator.executable.executable import Executable, from_bytes, to_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.formats.sparse.index_formats import Format, Kind
from meshloom.formats.sparse.panels import Panels, unpack_panels
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.support.errors import InputError
from meshloom.transforms.shared.constants import source_of
from meshloom.transforms.sparse_pack import pack_module
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import InsertPoint

ROWS, INPUTS, OUTPUTS = 3, 500, 30
CHIP = replace(load_chip("tiny"), sram_bytes=12 << 10)
FORMATS = [Format(Kind.DIRECT), Format(Kind.DIRECT, group=4), Format(Kind.STRIDE, 3), Format(Kind.STRIDE, 8)]


@cache
def compiled(format: Format, fading: bool = False) -> tuple[Executable, Panels, NDArray[np.uint8], int]:
    """
    A product with encoded int8 weights in several panels and parts.

    `fading`: the density falls from one output neuron to the next, so that panels have different sizes. Returns the
    executable, its panels, their bytes, and the offset of these in the weights.
    """
    generator = np.random.default_rng(0)
    density = np.linspace(0.6, 0.05, OUTPUTS)[:, None] if fading else 0.3
    values = generator.integers(-9, 10, (OUTPUTS, INPUTS)) * (generator.random((OUTPUTS, INPUTS)) < density)
    values = values.astype(np.int8)
    function = FuncOp("main", FunctionType.from_lists([tensor(i8, (ROWS, INPUTS))], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    (x,) = function.body.block.args
    source = builder.insert(source_of(values, i8, "w")).results[0]
    index = IndexAttr(format.kind, format.bits, axis=0, group=format.group)
    weights = builder.insert(sparse.EncodeOp(source, index, width=8)).result
    dense = MatmulOp(x, source, transpose_b=True)
    product = builder.insert(sparse.MatmulOp.of(dense, x, weights)).result
    dense.erase()
    builder.insert(ReturnOp(product))
    function.function_type = FunctionType.from_lists([x.type], [product.type])
    module = ModuleOp([function])
    packed = module.clone()
    pack_module(packed, CHIP)
    (op,) = (op for op in packed.walk() if isinstance(op, PanelOp))
    owner = op.operands[1].owner
    assert isinstance(owner, ConstantOp | WeightOp)
    data = np.asarray(evaluate(owner, ()), np.uint8)
    executable = compile_module(module, CHIP).executable
    begin = bytes(executable.weights).find(data.tobytes())
    assert begin >= 0
    assert min(op.panels.counts) > 1
    assert bool(op.panels.sizes) == fading
    return executable, op.panels, data, begin


def run(executable: Executable, x: NDArray[np.int8]) -> NDArray[np.int32]:
    (output,) = run_functional(executable, {executable.inputs[0].name: x}).outputs.values()
    return output


@given(
    st.sampled_from(FORMATS),
    st.booleans(),
    st.integers(0, 1 << 30),
    st.integers(1, 8),
    st.sampled_from(["flip", "random", "same"]),
)
@settings(max_examples=80, deadline=None)
def test_a_damaged_index_never_gives_another_result(
    format: Format, fading: bool, seed: int, length: int, how: str
) -> None:
    """
    A damaged index, in a file with a valid checksum, is an error, or gives the product with the weights it describes.

    Counts, headers, strides and bits of random panels are changed; the oracle is `unpack_panels`.
    """
    executable, panels, data, begin = compiled(format, fading)
    generator = np.random.default_rng(seed)
    damaged = data.copy()
    panel = damaged[tuple(generator.integers(0, panels.counts))]
    at = int(generator.integers(0, panels.values_at))
    part = panel[at : min(at + length, panels.values_at)]
    match how:
        case "flip":
            part[0] ^= 1 << generator.integers(0, 8)
        case "random":
            part[:] = generator.integers(0, 256, len(part))
        case _:
            part[:] = generator.choice([0, 255])
    weights = bytearray(executable.weights)
    weights[begin : begin + data.size] = damaged.tobytes()
    changed = from_bytes(to_bytes(replace(executable, weights=bytes(weights))))
    x = generator.integers(-9, 10, (ROWS, INPUTS)).astype(np.int8)
    try:
        now = unpack_panels(damaged, panels, np.dtype(np.int8))
    except InputError:
        with pytest.raises(
            EmulationError, match=r"core \d+, word \d+ 'matmul\.w(\.acc)?' of program .*: operand 2: damaged"
        ):
            run(changed, x)
        return
    assert np.array_equal(run(changed, x), x.astype(np.int32) @ now.T.astype(np.int32))


@given(st.integers(0, 1 << 30))
@settings(max_examples=30, deadline=None)
def test_a_damaged_file_is_refused(seed: int) -> None:
    """A file with a changed bit in the weights, or truncated within them, is refused."""
    executable, _, data, begin = compiled(FORMATS[0])
    written = to_bytes(executable)
    first = written.find(bytes(executable.weights)) + begin
    at = first + int(np.random.default_rng(seed).integers(0, data.size))
    flipped = bytearray(written)
    flipped[at] ^= 1 << seed % 8
    for bad in (bytes(flipped), written[:at]):
        with pytest.raises(InputError, match="damaged"):
            from_bytes(bad, "net.mlx")
