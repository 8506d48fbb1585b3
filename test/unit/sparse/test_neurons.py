"""Activations that are often zero: measured, declared in the IR, left out by matrix units while the program runs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.interpret import make_inputs, run_main
from meshloom.analysis.neuron_densities import neuron_densities
from meshloom.analysis.sparse.nonzero import Nonzero, measured
from meshloom.chips import load_chip
from meshloom.dialects import dataflow
from meshloom.dialects.coreasm.isa import MNEMONICS
from meshloom.dialects.dataflow.types import tensor
from meshloom.emulator.executable import Executable, read_executable
from meshloom.emulator.functional import run_functional
from meshloom.emulator.timing import run_timing
from meshloom.lowering.pipeline import compile_module
from meshloom.lowering.sparse_weights import encode_weights
from meshloom.tools.compile import main as compile_main
from meshloom.tools.run import main as run_main_tool
from meshloom.tools.sparse_layers import sparse_cycles
from meshloom.transforms.known_values import source_of
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint


def test_shares_of_neighbouring_rows() -> None:
    counts = np.array([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], np.bool_)  # [inputs, rows]
    nonzero = measured(counts)
    assert nonzero.density == round(7 / 16, 3)
    assert [nonzero.of_lane(rows).met for rows in (1, 2, 4)] == [round(7 / 16, 3), round(5 / 8, 3), 0.75]
    # Rows meet 2, 2, 1 and 2 of 4 inputs; both pairs of them, 2 and 3.
    assert nonzero.of_lane(1).spread == round(float(np.std([2, 2, 1, 2])) / 4, 3)
    assert nonzero.of_lane(2).spread == 0.125
    assert nonzero.of_lane(3).met == pytest.approx(0.625 + (np.log2(3) - 1) * 0.125)
    # Beyond what was seen, rows are taken as independent.
    assert nonzero.of_lane(8).met == pytest.approx(1 - 0.25**2)
    assert Nonzero(0.3).of_lane(5).met == pytest.approx(1 - 0.7**5)
    assert not Nonzero().has_zeros


def test_what_stored_weights_meet() -> None:
    """Two neurons side by side: one has its three weights where nothing is, the other its two where all is."""
    counts = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [1, 0]], np.bool_)  # [inputs, rows]
    stored = np.array([[[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]], np.bool_)
    nonzero = measured(counts, stored, lanes=2)
    assert nonzero.density == (2 + 1) / 2 / 5
    # In lanes side by side, the second takes longest: 2 and 1 of the 3 weights that the fullest has, 2 in both rows.
    assert nonzero.of_lane(1) == (0.5, 0.5, round(0.5 / 3, 3))
    assert nonzero.of_lane(2) == (0.5, round(2 / 3, 3), 0)
    # One after the other on the same lane: the mean of both.
    alone = measured(counts, stored)
    assert alone.of_lane(1).met == round((0 + 0 + 2 + 1) / 4 / 2.5, 3)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 9), st.integers(1, 40), st.floats(0, 1), st.integers(0, 99))
def test_more_rows_meet_more(inputs: int, rows: int, density: float, seed: int) -> None:
    counts = np.random.default_rng(seed).random((inputs, rows)) < density
    nonzero = measured(counts)
    assert nonzero.density == round(float(counts.mean()), 3)
    assert Nonzero.from_numbers(nonzero.numbers) == nonzero
    curve = [nonzero.of_lane(number).met for number in range(1, 100)]
    assert all(0 <= low <= high + 1e-12 <= 1 + 1e-12 for low, high in pairwise(curve))


def module_of(x: tuple[int, ...], layers: list[dict[str, object]], weights: list[NDArray[np.float32]]) -> ModuleOp:
    """@main: convolutions, each followed by a ReLU."""
    function = FuncOp("main", FunctionType.from_lists([tensor(f32, x)], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    value: SSAValue = function.body.block.args[0]
    for options, numbers in zip(layers, weights, strict=True):
        source = builder.insert(source_of(numbers, f32, "w")).results[0]
        value = builder.insert(dataflow.ConvOp(value, source, **options)).result  # pyright: ignore[reportArgumentType]
        value = builder.insert(dataflow.ReluOp(value)).result
    builder.insert(ReturnOp(value))
    function.function_type = FunctionType.from_lists([function.body.block.args[0].type], [value.type])
    return ModuleOp([function])


@pytest.mark.parametrize("seed", range(4))
def test_what_convolutions_see(seed: int) -> None:
    """The pairs that a convolution of ones counts among what is not zero, over all pairs."""
    generator = np.random.default_rng(seed)
    strides, dilations, low, high = ([int(n) for n in generator.integers(at, 3, 2)] for at in (1, 1, 0, 0))
    options: dict[str, object] = {"strides": strides, "dilations": dilations, "pad_low": low, "pad_high": high}
    kernel = (5, 4, *generator.integers(1, 4, 2))
    module = module_of((2, 4, 11, 9), [options], [generator.standard_normal(kernel).astype(np.float32)])
    x = np.maximum(generator.standard_normal((2, 4, 11, 9)), 0).astype(np.float32)
    (found,) = neuron_densities(module, {"arg0": x}, {}).values()
    ones = module_of((2, 4, 11, 9), [options], [np.ones(kernel, np.float32)])
    (seen,) = run_main(ones, {"arg0": (x != 0).astype(np.float32)}).values()
    assert found.density == pytest.approx(float(seen.mean()) / np.prod(kernel[1:]), abs=1e-3)
    assert found.lanes
    assert found.of_lane(1).met == found.density


def opcodes(executable: Executable) -> set[str]:
    """Mnemonics of the cores' programs."""
    return {MNEMONICS[int(op)] for program in executable.programs for op in np.unique(program.words["op"])}


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_zeros_of_activations_are_left_out(density: float) -> None:
    """Whatever the weights: as dense ones by `matmul.z`, as encoded ones by `matmul.zw`."""
    generator = np.random.default_rng(2)
    chip = load_chip("edge")
    shapes = [(64, 8, 3, 3), (64, 64, 3, 3)]
    weights = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    weights = [np.where(generator.random(array.shape) < density, array, np.float32(0)) for array in weights]
    module = module_of((1, 8, 44, 44), [{}, {}], weights)
    inputs = make_inputs(module, 0)
    (expected,) = run_main(module, inputs).values()
    dense = compile_module(module.clone(), chip).executable
    weights_only = module.clone()
    encode_weights(weights_only, chip)
    both = module.clone()
    plans = encode_weights(both, chip, inputs)
    assert [plan.encode_neurons for plan in plans] == [False, True]
    executables = [dense, *(compile_module(one, chip).executable for one in (weights_only, both))]
    # Cores that need each other's activations send them without zeros.
    assert "put.z" in opcodes(executables[2])
    assert opcodes(executables[2]) & {"matmul.z", "matmul.zw"} == {"matmul.z" if density == 1 else "matmul.zw"}
    cycles: list[int] = []
    for executable in executables:
        run = run_functional(executable, inputs, check=True)
        cycles.append(run_timing(executable, mapped=run.mapped).cycles)
        np.testing.assert_allclose(run.outputs["result0"], expected, rtol=0, atol=1e-5 * float(expected.max()))
    assert cycles[2] < 0.95 * cycles[0]
    # Without measurements, zeros of a ReLU are left out with encoded weights alone.
    assert cycles[2] <= cycles[1]
    # Right for any input: none of this one's activations are where the measured ones were.
    other = {"arg0": np.ones((1, 8, 44, 44), np.float32)}
    (wanted,) = run_main(module, other).values()
    run = run_functional(executables[2], other, check=True)
    np.testing.assert_allclose(run.outputs["result0"], wanted, rtol=0, atol=1e-5 * float(wanted.max()))
    # With the inputs that it was made for, the compiler knew what each layer takes.
    layers = sparse_cycles(executables[2], run_functional(executables[2], inputs).mapped)
    assert layers
    assert all(abs(declared / counted - 1) < 0.05 for declared, counted in layers.values())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small network of convolutions and ReLUs."""
    generator = np.random.default_rng(0)
    shapes = {"a": (32, 3, 3, 3), "b": (64, 32, 3, 3), "c": (10, 64, 3, 3)}
    initializers = [
        numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32) / 10, name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["image", "a"], ["p"]),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("Conv", ["q", "b"], ["r"]),
        helper.make_node("Relu", ["r"], ["s"]),
        helper.make_node("Conv", ["s", "c"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 22, 22])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10, 16, 16])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def test_on_the_command_line(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, image = tmp_path / "net.mlx", tmp_path / "image.npy"
    np.save(image, np.random.default_rng(5).standard_normal((1, 3, 22, 22)).astype(np.float32))
    compile_it = [str(model), "--chip", "edge", "-o", str(program), "--sparse"]
    assert compile_main([*compile_it, "--calibrate", f"image={image}"]) == 0
    assert "matmul.z" in opcodes(read_executable(program))
    assert run_main_tool([str(program), "--input", f"image={image}", "--validate", "--check", str(model)]) == 0
    assert run_main_tool([str(program), "--random", "1", "--check", str(model)]) == 0
    first = program.read_bytes()
    assert compile_main([*compile_it, "--calibrate", f"image={image}"]) == 0
    assert program.read_bytes() == first
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--calibrate", "random"], "--calibrate measures activations for --sparse: give both"),
        (["--sparse", "--calibrate", "photo.npy"], "--calibrate 'photo.npy': expected NAME=FILE.npy"),
        (["--sparse", "--calibrate", "image=none.npy"], "cannot read none.npy"),
        (["--sparse", "--calibrate", "photo={file}"], "no input is named photo; the inputs are image"),
        (["--sparse", "--calibrate", "image={file}"], "input 'image' has shape [2, 2]: expected [1, 3, 22, 22]"),
    ],
)
def test_bad_calibration(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], problem: str
) -> None:
    file, program = tmp_path / "wrong.npy", tmp_path / "net.mlx"
    np.save(file, np.zeros((2, 2), np.float32))
    options = [option.format(file=file) for option in options]
    assert compile_main([str(model), "--chip", "edge", "-o", str(program), *options]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "Traceback" not in error
    assert not program.exists()
