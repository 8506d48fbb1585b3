"""Tests of compiled sparse programs, against the interpreter, on chips with little memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import Chip, load_chip
from meshloom.dialects import dataflow, sparse
from meshloom.dialects.coreasm.isa import Unit
from meshloom.dialects.dataflow.base import DataflowOp
from meshloom.dialects.dataflow.constants import widen_bf16
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.tiling import Box
from meshloom.dialects.dataflow.types import tensor, ui8
from meshloom.dialects.manycore import TaskOp
from meshloom.dialects.sparse import IndexAttr, PanelConvOp, PanelOp
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.formats.sparse import panels as panels_module
from meshloom.formats.sparse.index_formats import Kind
from meshloom.lowering.dataflow_to_manycore import DataflowToManycorePass
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.transforms.shared.constants import rounded, source_of
from meshloom.transforms.sparse_pack import pack_module
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, bf16, f16, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

FORMATS = [(Kind.DIRECT, 1), *((Kind.STRIDE, bits) for bits in range(2, 9))]
ELEMENTS: list[Attribute] = [f32, f16, bf16, i8]


def module_of(build: Callable[[Builder, SSAValue], SSAValue], x: tuple[int, ...], element: Attribute) -> ModuleOp:
    """A module with a function @main of one argument, whose body `build` makes."""
    function = FuncOp("main", FunctionType.from_lists([tensor(element, x)], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    (argument,) = function.body.block.args
    result = build(builder, argument)
    builder.insert(ReturnOp(result))
    function.function_type = FunctionType.from_lists([argument.type], [result.type])
    module = ModuleOp([function])
    module.verify()
    return module


def weights_of(
    builder: Builder,
    generator: np.random.Generator,
    shape: tuple[int, ...],
    element: Attribute,
    axis: int,
    fading: bool = False,
) -> SSAValue:
    """
    Encoded random weights; about a tenth of the output neurons has none.

    `fading`: the density falls from 1 for the first output neuron to 0 for the last.
    """
    density = generator.choice([0.02, 0.1, 0.4, 1.0])
    mask = generator.random(shape) < density
    mask &= (generator.random(shape[axis]) < 0.9).reshape([-1 if dim == axis else 1 for dim in range(len(shape))])
    if fading:
        chance = np.linspace(1, 0, shape[axis]).reshape([-1 if dim == axis else 1 for dim in range(len(shape))])
        mask = generator.random(shape) < chance
    numbers = generator.integers(-9, 10, shape) * mask
    stored = numbers.astype(np.int8) if element == i8 else rounded(numbers / 8.0, element)
    source = builder.insert(source_of(stored, element, "w")).results[0]
    kind, bits = FORMATS[int(generator.integers(len(FORMATS)))]
    group = int(generator.choice([1, 1, 4])) if np.prod(shape) // shape[axis] >= 4 else 1
    return builder.insert(sparse.EncodeOp(source, IndexAttr(kind, bits, axis=axis, group=group))).result


def small_chip(generator: np.random.Generator) -> Chip:
    """A chip whose cores have little SRAM, so that tasks take many steps."""
    name = str(generator.choice(["tiny", "edge"]))
    return replace(load_chip(name), sram_bytes=int(generator.choice([12, 24, 64]) << 10))


def check(module: ModuleOp, chip: Chip, packed: int = 1) -> None:
    """Compare the results of the compiled program with those of the interpreter; integers must be equal."""
    inputs = make_inputs(module, 3)
    expected = run_main(module, inputs)
    panels = module.clone()
    pack_module(panels, chip)
    assert sum(isinstance(op, PanelOp) for op in panels.walk()) == packed
    for name, value in run_main(panels, inputs).items():
        assert value.tobytes() == expected[name].tobytes()
    executable = compile_module(module, chip).executable
    result = run_functional(executable, inputs, check=True)
    for name, value in expected.items():
        got, wanted = result.outputs[name], value
        if wanted.dtype == np.uint16:
            wanted = widen_bf16(wanted)
        if wanted.dtype.kind == "i":
            assert got.tolist() == wanted.tolist()
        else:
            digits = 1e-4 if value.dtype == np.float32 else 2e-2
            allowed = digits * float(np.abs(wanted).max()) + 1e-6
            np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=0, atol=allowed)
    assert run_timing(executable, mapped=result.mapped).cycles > 0


@pytest.mark.parametrize("seed", range(12))
def test_products(seed: int) -> None:
    generator = np.random.default_rng(seed)
    element = ELEMENTS[seed % len(ELEMENTS)]
    rows, inputs, outputs = (int(generator.integers(1, limit)) for limit in (40, 400, 150))
    flags = generator.random(2) < 0.5
    x = (inputs, rows) if flags[0] else (rows, inputs)
    batch = (2,) if generator.random() < 0.3 else ()

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        shape, axis = ((outputs, inputs), 0) if flags[1] else ((inputs, outputs), 1)
        weights = weights_of(builder, generator, shape, element, axis)
        # Only attributes and types of the dense operation are used.
        dense = dataflow.MatmulOp(
            argument, weights, transpose_a=bool(flags[0]), transpose_b=bool(flags[1]),
            result_element=f32 if element in (f16, bf16) and generator.random() < 0.5 else None,
        )  # fmt: skip
        product = builder.insert(sparse.MatmulOp.of(dense, argument, weights)).result
        dense.erase()
        if element == i8:
            return product
        return builder.insert(dataflow.ReluOp(product)).result

    check(module_of(build, (*batch, *x), element), small_chip(generator))


@pytest.mark.parametrize("seed", range(12))
def test_convolutions(seed: int) -> None:
    generator = np.random.default_rng(seed + 100)
    element = ELEMENTS[seed % len(ELEMENTS)]
    spatial = int(generator.integers(1, 3))
    channels, outputs = int(generator.integers(1, 24)), int(generator.integers(1, 80))
    kernel = tuple(int(size) for size in generator.integers(1, 4, spatial))
    image = tuple(int(size) for size in generator.integers(8, 14, spatial))

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (outputs, channels, *kernel), element, 0)
        low, high = (tuple(int(size) for size in generator.integers(0, 2, spatial)) for _ in range(2))
        strides, dilations = (tuple(int(size) for size in generator.integers(1, 3, spatial)) for _ in range(2))
        dense = dataflow.ConvOp(argument, weights, strides=strides, dilations=dilations, pad_low=low, pad_high=high)
        result = builder.insert(sparse.ConvOp.of(dense, argument, weights)).result
        dense.erase()
        return result

    check(module_of(build, (int(generator.integers(1, 3)), channels, *image), element), small_chip(generator))


@pytest.mark.parametrize("seed", range(10))
def test_convolutions_in_groups(seed: int) -> None:
    """Results are right for panels within one group, and for tiles within one group or of several whole ones."""
    generator = np.random.default_rng(seed + 200)
    element = ELEMENTS[seed % len(ELEMENTS)]
    groups, channels = int(generator.integers(2, 5)), int(generator.integers(2, 9))
    outputs = (1, 6, 20, 34, 48)[seed % 5]

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (groups * outputs, channels, 3, 2), element, 0)
        dense = dataflow.ConvOp(argument, weights, pad_low=(1, 0), pad_high=(0, 1), strides=(1, 2), groups=groups)
        result = builder.insert(sparse.ConvOp.of(dense, argument, weights)).result
        dense.erase()
        return result

    check(module_of(build, (1 + seed % 2, groups * channels, 9, 8), element), small_chip(generator))


@pytest.mark.parametrize("fading", [False, True])
def test_tiles_of_panels_in_groups(fading: bool) -> None:
    """Every tile equals its part of the whole result, also one that cuts groups, with panels of one size or several."""
    generator = np.random.default_rng(5)

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (108, 4, 3), i8, 0, fading)
        dense = dataflow.ConvOp(argument, weights, pad_low=(1,), pad_high=(1,), groups=3)
        result = builder.insert(sparse.ConvOp.of(dense, argument, weights)).result
        dense.erase()
        return result

    module = module_of(build, (1, 12, 7), i8)
    pack_module(module, replace(load_chip("tiny"), mpu_cols=4))
    (op,) = (op for op in module.walk() if isinstance(op, PanelConvOp))
    x = generator.integers(-9, 10, (1, 12, 7)).astype(np.int8)
    assert isinstance(op.operands[1].owner, dataflow.ConstantOp | dataflow.WeightOp)
    weights = evaluate(op.operands[1].owner, ())
    whole = op.compute([x, weights])
    panels, parts = op.panels.counts
    assert panels % 3 == 0
    assert panels > 3
    assert len(set(op.panels.sizes)) == (panels if fading else 0)
    for first in range(panels):
        for count in range(1, panels - first + 1):
            tile = Box((0, first, 0, 0), (1, count, 7, parts))
            operands: list[NDArray[Any]] = []
            for index, value in enumerate((x, weights)):
                part = op.operand_slice(index, tile)
                assert all(n <= most for n, most in zip(part.shape, op.largest_slice(index, tile), strict=True))
                span = [slice(o, o + n) for o, n in zip(part.box.offsets, part.box.sizes, strict=True)]
                operands.append(np.pad(value[tuple(span)], list(zip(part.pad_low, part.pad_high, strict=True))))
            block = Block(arg_types=[tensor(e, v.shape) for e, v in zip((i8, ui8), operands, strict=True)])
            block.add_ops(op.build_tile(tile, block.args))
            values: dict[SSAValue, Any] = dict(zip(block.args, operands, strict=True))
            for inner in block.ops:
                inner.verify()
                assert isinstance(inner, DataflowOp)
                values[inner.results[0]] = evaluate(inner, [values[one] for one in inner.operands])
            box = op.result_box(tile)
            span = [slice(o, o + n) for o, n in zip(box.offsets, box.sizes, strict=True)]
            assert block.last_op is not None
            assert np.array_equal(values[block.last_op.results[0]], whole[tuple(span)])
    assert [op.may_split(1, parts) for parts in range(1, panels + 1)] == [
        panels % parts == 0 and (3 % parts == 0 or parts % 3 == 0) for parts in range(1, panels + 1)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_panels_of_different_sizes(seed: int) -> None:
    """Results are right for panels of different sizes, also if a core computes several panels or parts of panels."""
    generator = np.random.default_rng(seed + 300)
    element = ELEMENTS[seed % len(ELEMENTS)]
    rows, inputs = 1 if element == i8 else 30, int(generator.integers(100, 400))

    def product(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (140, inputs), element, 0, fading=True)
        dense = dataflow.MatmulOp(argument, weights, transpose_b=True)
        result = builder.insert(sparse.MatmulOp.of(dense, argument, weights)).result
        dense.erase()
        return result

    def convolution(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (90, 7, 3), element, 0, fading=True)
        dense = dataflow.ConvOp(argument, weights, pad_low=(1,), pad_high=(1,))
        result = builder.insert(sparse.ConvOp.of(dense, argument, weights)).result
        dense.erase()
        return result

    for build, x in ((product, (rows, inputs)), (convolution, (1, 7, 20))):
        module, chip = module_of(build, x, element), small_chip(generator)
        packed = module.clone()
        pack_module(packed, chip)
        (op,) = (op for op in packed.walk() if isinstance(op, PanelOp))
        assert op.panels.sizes or op.panels.counts[0] < 4
        check(module, chip)


def fading_product(seed: int, rows: int) -> ModuleOp:
    """A product of rows of 512 with weights of 256 output neurons, whose density falls from 1 to 0."""
    generator = np.random.default_rng(seed)

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (256, 512), f32, 0, fading=True)
        dense = dataflow.MatmulOp(argument, weights, transpose_b=True)
        result = builder.insert(sparse.MatmulOp.of(dense, argument, weights)).result
        dense.erase()
        return result

    return module_of(build, (rows, 512), f32)


def test_padding_of_panels_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels of different sizes save the padding to the largest size: so many bytes fewer are read from DRAM."""
    module, chip = fading_product(7, 1), load_chip("edge")
    packed = module.clone()
    pack_module(packed, chip)
    (op,) = (op for op in packed.walk() if isinstance(op, PanelOp))
    panels = op.panels
    assert panels.counts[0] == len(panels.sizes)
    read: list[int] = []
    for worthwhile in (panels_module.ACCEPT_RATIO, 0):
        monkeypatch.setattr(panels_module, "ACCEPT_RATIO", worthwhile)
        executable = compile_module(module.clone(), chip).executable
        run = run_functional(executable, make_inputs(module, 0))
        read.append(int(run_timing(executable, mapped=run.mapped).port_read.sum()))
    room = panels.nbytes * math.prod(panels.counts)
    left = room - sum(panels.sizes) * panels.counts[1]
    assert left > 0.3 * room
    # DRAM is read in whole bursts.
    assert read[1] - read[0] == pytest.approx(left, abs=64 * math.prod(panels.counts))


@pytest.mark.parametrize("rows", [1, 8])
def test_cycles_are_declared_panel_by_panel(rows: int) -> None:
    """
    Declared cycles equal the counted ones for each core, not only in the mean.

    Some panels load weights several times as often as others.
    """
    module, chip = fading_product(8, rows), load_chip("edge")
    executable = compile_module(module, chip).executable
    run = run_functional(executable, make_inputs(module, 0))
    declared, counted = (run_timing(executable, mapped=mapped) for mapped in (None, run.mapped))
    units = counted.busy[:, Unit.MPU]
    assert units.max() > 1.5 * units[units > 0].min()
    np.testing.assert_allclose(declared.busy[:, Unit.MPU], units, rtol=0.02, atol=2)
    assert declared.cycles == pytest.approx(counted.cycles, rel=0.01)


def test_largest_slices_of_operands_after_panels() -> None:
    """The largest slice of a bias has the width of whole panels, also if it is asked for the last, incomplete panel."""
    generator = np.random.default_rng(6)

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (250, 64), f32, 0)
        dense = dataflow.MatmulOp(argument, weights, transpose_b=True)
        product = builder.insert(sparse.MatmulOp.of(dense, argument, weights)).result
        dense.erase()
        bias = builder.insert(source_of(np.ones(250, np.float32), f32, "bias")).results[0]
        return builder.insert(dataflow.AddOp(product, bias)).result

    module, chip = module_of(build, (3, 64), f32), load_chip("tiny")
    pack_module(module, chip)
    DataflowToManycorePass().apply(Context(), module)
    info = next(TaskInfo.of(op) for op in module.walk() if isinstance(op, TaskOp))
    assert isinstance(info.root, PanelOp)
    panels, width = info.root.panels.counts[0], info.root.panels.width
    assert panels * width > 250
    # The last two panels, of which the last is incomplete.
    tile = Box((0, panels - 2, 0), (3, 2, 1))
    assert info.largest_slice(1, 1, tile) == (2 * width,)
    assert info.largest_result(tile) == 3 * 2 * width


def test_zeros_of_activations_are_skipped() -> None:
    generator = np.random.default_rng(1)
    weights = (generator.standard_normal((288, 64)) * (generator.random((288, 64)) < 0.1)).astype(np.float32)

    def build(builder: Builder, argument: SSAValue, cut: bool) -> SSAValue:
        value = builder.insert(dataflow.ReluOp(argument)).result if cut else argument
        source = builder.insert(source_of(weights, f32, "w")).results[0]
        encoded = builder.insert(sparse.EncodeOp(source, IndexAttr(Kind.DIRECT, axis=1))).result
        dense = dataflow.MatmulOp(value, source)
        product = builder.insert(sparse.MatmulOp.of(dense, value, encoded)).result
        dense.erase()
        return product

    x = generator.standard_normal((64, 288)).astype(np.float32)
    pairs: list[int] = []
    for cut in (False, True):
        module = module_of(lambda builder, argument, cut=cut: build(builder, argument, cut), (64, 288), f32)
        check(module.clone(), load_chip("edge"))
        executable = compile_module(module, load_chip("edge")).executable
        run = run_functional(executable, {"arg0": x})
        pairs.append(run.mapped.total("pairs"))
        expected = (np.maximum(x, 0) if cut else x).astype(np.float64) @ weights
        np.testing.assert_allclose(run.outputs["result0"], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert pairs[0] == 64 * np.count_nonzero(weights)
    # Pairs of a positive activation and a nonzero weight.
    assert pairs[1] == int(((x > 0).astype(np.int64) @ (weights != 0).astype(np.int64)).sum())


def test_operations_without_an_encoded_instruction_become_dense() -> None:
    generator = np.random.default_rng(0)

    def build(builder: Builder, argument: SSAValue) -> SSAValue:
        weights = weights_of(builder, generator, (8, 2, 3), i8, 0)
        dense = dataflow.ConvOp(argument, weights, groups=2)
        grouped = builder.insert(sparse.ConvOp.of(dense, argument, weights)).result
        dense.erase()
        encoded = builder.insert(sparse.EncodeOp(grouped, IndexAttr(Kind.DIRECT, threshold=40.0))).result
        return builder.insert(sparse.DecodeOp(encoded)).result

    module = module_of(build, (1, 4, 12), i8)
    assert str(module).count("sparse.") >= 4
    inputs = make_inputs(module, 3)
    (expected,) = run_main(module, inputs).values()
    assert expected.dtype == np.dtype("i4")
    assert (np.abs(expected[expected != 0]) > 40).all()
    (got,) = run_functional(compile_module(module, load_chip("tiny")).executable, inputs, check=True).outputs.values()
    assert 0 < np.count_nonzero(got) < got.size
    assert got.tolist() == expected.tolist()
