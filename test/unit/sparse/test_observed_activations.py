"""Tests of activations with many zeros: they are measured, declared in the IR, and skipped by matrix units."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.analysis.execution.nonzero_activations import by_input, nonzero_activations
from meshloom.analysis.sparse.observed_activations import ObservedActivations
from meshloom.analysis.sparse.product_cycles import skipping_cycles
from meshloom.chips import load_chip
from meshloom.chips.chip import MAP_CACHES, MAP_LANES
from meshloom.dialects import dataflow
from meshloom.dialects.coreasm.isa import MNEMONICS
from meshloom.dialects.dataflow.tiling import EncodedWork
from meshloom.dialects.dataflow.types import tensor
from meshloom.emulator.executable.executable import Executable, read_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.costs_sparse import IndexWork, Product, count_pairs, sparse_matmul_cost
from meshloom.emulator.timing.engine import run_timing
from meshloom.formats.sparse.index_formats import DIRECT, stride
from meshloom.formats.sparse.nonzero import Nonzero
from meshloom.formats.sparse.panels import Lanes, Panels, fullest_lane
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.lowering.driver.compile_sparse import encode_weights
from meshloom.tools.compile import main as compile_main
from meshloom.tools.report.sparse_cycles import sparse_cycles
from meshloom.tools.run import main as run_main_tool
from meshloom.transforms.shared.constants import source_of
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint


def observed(
    counts: NDArray[np.bool_], stored: NDArray[np.bool_], lanes: int = 1, depth: int = 2
) -> ObservedActivations:
    """Activations [inputs, lines, positions] on a unit with `lanes` lanes of `depth` weights each."""
    return ObservedActivations(
        counts, stored, replace(load_chip("edge"), mpu_cols=lanes, mpu_rows=depth, map_lanes="own")
    )


def test_shares_of_adjacent_rows() -> None:
    counts = np.array([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], np.bool_)[:, None]  # one line
    nonzero = observed(counts, np.ones((1, 3, 4), np.bool_)).on_dense_weights()
    assert nonzero.density == round(7 / 16, 3)
    assert [nonzero.of_lane(rows).met for rows in (1, 2, 4)] == [round(7 / 16, 3), round(5 / 8, 3), 0.75]
    # The rows have 2, 2, 1 and 2 nonzero inputs of 4; their two pairs 2 and 3.
    assert nonzero.of_lane(1).spread == round(float(np.std([2, 2, 1, 2])) / 4, 3)
    assert nonzero.of_lane(2).spread == 0.125
    # Of the two loads for 4 weights, each row needs one, the pairs need 1 and 2.
    assert [nonzero.of_lane(rows).loads for rows in (1, 2, 4)] == [0.5, 0.75, 1]
    assert nonzero.of_lane(3).met == pytest.approx(0.625 + (np.log2(3) - 1) * 0.125)
    # For more rows than were measured, rows are assumed to be independent.
    assert nonzero.of_lane(8).met == pytest.approx(1 - 0.25**2)
    assert Nonzero(0.3).of_lane(5).met == pytest.approx(1 - 0.7**5)
    assert not Nonzero().has_zeros


def test_shapes_of_tiles() -> None:
    """
    The share of inputs that a tile needs depends on its shape.

    In each of four lines of four positions, another of four inputs is nonzero: tiles along a line need fewer inputs.
    """
    counts = np.repeat(np.eye(4, dtype=np.bool_)[:, :, None], 4, axis=2)
    nonzero = observed(counts, np.ones((1, 1, 4), np.bool_)).on_dense_weights()
    assert [nonzero.of_lane(4, lines).met for lines in (1, 2, 4)] == [0.25, 0.5, 1]
    assert nonzero.of_lane(4) == nonzero.of_lane(4, 2)
    # Shares are interpolated logarithmically in both directions.
    assert nonzero.of_lane(6, 3).met == pytest.approx(0.5 + np.log2(1.5) * 0.5)


def test_shares_of_stored_weights() -> None:
    """
    Shares count only inputs with stored weights.

    Of two output neurons, one has three weights for zero activations, the other two weights for nonzero ones.
    """
    counts = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [1, 0]], np.bool_)[:, None]  # axes: inputs, 1 line, positions
    stored = np.array([[[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]], np.bool_)
    nonzero = observed(counts, stored, lanes=2, depth=1).in_panels(2, 5)
    assert nonzero.density == (2 + 1) / 2 / 5
    # With a lane for each, the second one takes longest: it needs 2 and 1 of 3 weights, the most of a lane; 2 for both
    # rows.
    assert nonzero.of_lane(1)[2:] == (0.5, 0.5, round(0.5 / 3, 3), 0.5)
    assert nonzero.of_lane(2)[2:] == (0.5, round(2 / 3, 3), 0, round(2 / 3, 3))
    # In separate panels, the share is of the 5 weights that both store.
    alone = observed(counts, stored, lanes=2, depth=1).in_panels(1, 5)
    assert alone.of_lane(1).met == (2 + 1) / 2 / 5
    # The share is the same on one lane, and in parts of 4 and 1 inputs.
    for width, depth in ((2, 5), (1, 4)):
        assert observed(counts, stored, depth=1).in_panels(width, depth).of_lane(1).met == alone.of_lane(1).met


def test_fillers_count() -> None:
    """Fillers count as stored weights: strides of 2 bits need one at input 3 for the gap from 0 to 4."""
    counts = np.array([0, 0, 0, 1, 0], np.bool_)[:, None, None]
    stored = np.array([[[1, 0, 0, 0, 1]]], np.bool_)
    neurons = observed(counts, stored)
    assert neurons.in_panels(1, 5).density == 0
    assert neurons.as_stored(Panels(stride(2), 1, 1, 5, 5)).density == round(1 / 3, 3)
    assert neurons.as_stored(Panels(DIRECT, 1, 1, 5, 5)).density == 0


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 99))
def test_the_share_grows_with_the_number_of_rows(
    inputs: int, lines: int, places: int, density: float, seed: int
) -> None:
    counts = np.random.default_rng(seed).random((inputs, lines, places)) < density
    nonzero = observed(counts, np.ones((1, 1, inputs), np.bool_)).on_dense_weights()
    assert nonzero.density == pytest.approx(float(counts.mean()), abs=6e-4)
    assert Nonzero.from_numbers(nonzero.numbers) == nonzero
    for at in range(1, lines + 1):
        curve = [nonzero.of_lane(at * number, at).met for number in range(1, places + 9)]
        assert all(0 <= low <= high + 1e-12 <= 1 + 1e-12 for low, high in pairwise(curve))


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(MAP_CACHES), st.sampled_from(MAP_LANES), st.integers(1, 3), st.integers(0, 999))
def test_expected_cycles_equal_the_emulated_ones(caches: str, lanes: str, columns: int, seed: int) -> None:
    """The estimate equals the mean cycles of all products, for all measured sizes of tiles and several panel widths."""
    generator = np.random.default_rng(seed)
    chip = replace(load_chip("edge"), mpu_cols=4, mpu_rows=8, map_caches=caches, map_lanes=lanes)
    inputs, outputs, lines, places, width, depth = 40, 24, 4, 8, 4 * columns, 20
    counts = (generator.random((inputs, 1, 1)) < 0.6) & (generator.random((inputs, lines, places)) < 0.5)
    stored = generator.random((outputs, inputs)) < generator.random((outputs, 1))
    nonzero = ObservedActivations(counts, stored[None], chip).in_panels(width, depth)
    if not nonzero.has_zeros:
        return
    starts = [(low, part) for low in range(0, outputs, width) for part in range(0, inputs, depth)]
    for high, wide in ((1, 1), (1, 4), (2, 2), (4, 1), (4, 8)):
        counted: list[int] = []
        fullest = loads = 0.0
        for low, part in starts:
            mine = stored[low : low + width, part : part + depth]
            most, times = fullest_lane(mine.sum(axis=1), Lanes.of(chip, 1))
            fullest, loads = fullest + most, loads + times
            for line in range(0, lines, high):
                for place in range(0, places, wide):
                    hits = counts[part : part + depth, line : line + high, place : place + wide].sum(axis=(1, 2))
                    used, pairs = count_pairs(mine[None], hits[None], (1, high * wide, depth, len(mine)))
                    work = Product(high * wide, depth, used, pairs, IndexWork(), IndexWork())
                    counted.append(sparse_matmul_cost(chip, 0, work, (0, 0, 0)).cycles)
        one = EncodedWork(
            1, high * wide, width, fullest / len(starts), loads / len(starts), 0, True, 0, 0, depth, 0, nonzero, high
        )
        assert skipping_cycles(chip, one, 1) == pytest.approx(float(np.mean(counted)), rel=0.02, abs=0.6)


@pytest.mark.parametrize("seed", range(3))
def test_some_products_wait_for_the_mapping_unit(seed: int) -> None:
    """
    The estimate is right if only some products take longer than the mapping unit.

    Each row has a single nonzero neuron. A tile of 32 rows takes one or two loads, of 6 and 12 cycles and more, while
    the mapping unit takes a fixed number of cycles: the mean of the loads alone is too small.
    """
    generator = np.random.default_rng(seed)
    rows, inputs, width, tiles = 32, 64, 8, 32
    chip = replace(
        load_chip("edge"), mpu_cols=8, mpu_rows=8, map_direct_bits=rows * inputs // 30, map_caches="before",
        map_lanes="own",
    )  # fmt: skip
    often = generator.permutation(1 / np.arange(1, inputs + 1))
    tokens = generator.choice(inputs, (tiles, rows), p=often / often.sum())
    counts = np.moveaxis(np.eye(inputs, dtype=np.bool_)[tokens], 2, 0)
    stored = generator.random((width, inputs)) < 0.3
    nonzero = ObservedActivations(counts, stored[None], chip).in_panels(width, inputs)
    counted: list[int] = []
    for tile in range(tiles):
        used, pairs = count_pairs(stored[None], counts[:, tile].sum(axis=1)[None], (1, rows, inputs, width))
        work = Product(rows, inputs, used, pairs, IndexWork(), IndexWork(direct=rows * inputs))
        counted.append(sparse_matmul_cost(chip, 0, work, (0, 0, 0)).cycles)
    assert min(counted) == 31 < max(counted)
    most, times = fullest_lane(stored.sum(axis=1), Lanes.of(chip, 1))
    one = EncodedWork(1, rows, width, most, times, 0, True, 0, 0, inputs, 0, nonzero, 1)
    assert skipping_cycles(chip, one, 1) == pytest.approx(float(np.mean(counted)), rel=0.02)


def module_of(x: tuple[int, ...], layers: list[dict[str, object]], weights: list[NDArray[np.float32]]) -> ModuleOp:
    """A module with a function @main of convolutions, each followed by a ReLU."""
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
def test_densities_of_convolution_inputs(seed: int) -> None:
    """The measured density equals that by a convolution of ones over the nonzero elements."""
    generator = np.random.default_rng(seed)
    strides, dilations, low, high = ([int(n) for n in generator.integers(at, 3, 2)] for at in (1, 1, 0, 0))
    options: dict[str, object] = {"strides": strides, "dilations": dilations, "pad_low": low, "pad_high": high}
    kernel = (5, 4, *generator.integers(1, 4, 2))
    module = module_of((2, 4, 11, 9), [options], [generator.standard_normal(kernel).astype(np.float32)])
    x = np.maximum(generator.standard_normal((2, 4, 11, 9)), 0).astype(np.float32)
    ((op, counts),) = nonzero_activations(module, {"arg0": x}).items()
    assert isinstance(op, dataflow.ConvOp)
    neurons = by_input(op, counts)
    found = ObservedActivations(neurons, np.ones((1, 5, len(neurons)), np.bool_), load_chip("edge")).in_panels(
        5, len(neurons)
    )
    ones = module_of((2, 4, 11, 9), [options], [np.ones(kernel, np.float32)])
    (counted,) = run_main(ones, {"arg0": (x != 0).astype(np.float32)}).values()
    assert found.density == pytest.approx(float(counted.mean()) / np.prod(kernel[1:]), abs=1e-3)
    assert found.of_lane(1).met == pytest.approx(found.density, abs=1e-3)


def opcodes(executable: Executable) -> set[str]:
    """The mnemonics in the cores' programs."""
    return {MNEMONICS[int(op)] for program in executable.programs for op in np.unique(program.words["op"])}


@pytest.mark.parametrize("density", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
def test_zeros_of_activations_are_skipped(density: float) -> None:
    """Zeros of activations are skipped with dense weights (`matmul.z`) and with encoded ones (`matmul.zw`)."""
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
    # Cores send activations to each other without zeros.
    assert "put.z" in opcodes(executables[2])
    assert opcodes(executables[2]) & {"matmul.z", "matmul.zw"} == {"matmul.z" if density == 1 else "matmul.zw"}
    cycles: list[int] = []
    for executable in executables:
        run = run_functional(executable, inputs, check=True)
        cycles.append(run_timing(executable, mapped=run.mapped).cycles)
        np.testing.assert_allclose(run.outputs["result0"], expected, rtol=0, atol=1e-5 * float(expected.max()))
    assert cycles[2] < 0.95 * cycles[0]
    # Without measurements, zeros of a ReLU are skipped with encoded weights only.
    assert cycles[2] <= cycles[1]
    # Results are right for inputs other than the measured ones.
    other = {"arg0": np.ones((1, 8, 44, 44), np.float32)}
    (wanted,) = run_main(module, other).values()
    run = run_functional(executables[2], other, check=True)
    np.testing.assert_allclose(run.outputs["result0"], wanted, rtol=0, atol=1e-5 * float(wanted.max()))
    # For the measured inputs, declared cycles are close to the counted ones.
    layers = sparse_cycles(executables[2], run_functional(executables[2], inputs).mapped)
    assert layers
    assert all(abs(declared / counted - 1) < 0.05 for declared, counted in layers.values())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small ONNX network of convolutions and ReLUs."""
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
