"""Property tests of tilings: each position is computed once, and tiled tasks give the results of whole operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow import AddOp, ConvOp, MatmulOp, ReluOp
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.tiling import DimKind, TilingInterface
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.manycore import ChipAttr, TaskOp, TilingAttr, YieldOp
from meshloom.dialects.manycore.interpreter import run_task
from meshloom.support.errors import InputError
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

Array = NDArray[Any]


@st.composite
def tilings(draw: st.DrawFn, sizes: Sequence[int], reductions: Sequence[int] = ()) -> TilingAttr:
    grid = [1 if dim in reductions else draw(st.integers(1, 3)) for dim in range(len(sizes))]
    steps = [draw(st.integers(1, min(3, size))) for size in sizes]
    cores = draw(st.permutations(range(math.prod(grid))))
    multiples = [draw(st.sampled_from([one for one in range(1, size + 1) if size % one == 0])) for size in sizes]
    return TilingAttr(grid, cores, steps, draw(st.permutations(range(len(sizes)))), multiples)


@given(st.data(), st.lists(st.integers(1, 6), max_size=3))
@settings(max_examples=50, deadline=None)
def test_every_position_belongs_to_one_step_of_one_core(data: st.DataObject, sizes: list[int]) -> None:
    tiling = data.draw(tilings(sizes))
    seen = np.zeros(sizes, int)
    for _, tile in tiling.tiles(sizes):
        for _, box in tiling.step_boxes(tile):
            seen[tuple(slice(a, b) for a, b in zip(box.offsets, box.ends, strict=True))] += 1
    assert (seen == 1).all()


@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_tilings_in_multiples_are_the_scaled_tilings(size: int, each: int, parts: int) -> None:
    """A tiling in multiples of k gives each core k times the offset and size of the tiling in single elements."""
    ones = TilingAttr([parts], list(range(parts)), [1], [0])
    several = TilingAttr([parts], list(range(parts)), [1], [0], [each])
    for (core, one), (other, many) in zip(ones.tiles([size]), several.tiles([size * each]), strict=True):
        assert core == other
        assert (many.offsets[0], many.sizes[0]) == (one.offsets[0] * each, one.sizes[0] * each)


def test_steps_loop_in_the_given_order() -> None:
    tiling = TilingAttr([1, 1], [0], [2, 3], [1, 0])
    (_, tile), *_ = tiling.tiles([4, 6])
    assert [index for index, _ in tiling.step_boxes(tile)] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


def make_task(root: TilingInterface, tiling: TilingAttr, arguments: Block, extra: SSAValue | None) -> TaskOp:
    """A task of `root`; if `extra` is given, it is added to the result, followed by a relu."""
    ops: list[Any] = [root]
    if extra is not None:
        ops.append(AddOp(root.results[0], extra))
        ops.append(ReluOp(ops[-1].results[0]))
    arguments.add_ops([*ops, YieldOp(ops[-1])])
    outer = Block(arg_types=[argument.type for argument in arguments.args])
    task = TaskOp("t", outer.args, [ops[-1].results[0].type], tiling, Region(arguments))
    outer.add_op(task)
    task.verify()
    return task


def reductions_of(op: TilingInterface) -> list[int]:
    return [dim for dim, one in enumerate(op.iteration_space()) if one.kind is DimKind.REDUCTION]


@given(st.data(), st.sampled_from([f32, i32]))
@settings(max_examples=40, deadline=None)
def test_tiled_matmul_with_epilogue(data: st.DataObject, element: Attribute) -> None:
    m, k, n = (data.draw(st.integers(1, 7)) for _ in range(3))
    block = Block(arg_types=[tensor(element, [2, m, k]), tensor(element, [k, n]), tensor(element, [n])])
    root = MatmulOp(block.args[0], block.args[1])
    sizes = [one.size for one in root.iteration_space()]
    extra = None if element == i32 else block.args[2]
    task = make_task(root, data.draw(tilings(sizes, reductions_of(root))), block, extra)
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b, c = (generator.integers(-4, 5, shape).astype("f4") for shape in ([2, m, k], [k, n], [n]))
    expected = np.matmul(a, b) if extra is None else np.maximum(np.matmul(a, b) + c, 0)
    arrays: list[Array] = [one.astype("i4") if element == i32 else one for one in (a, b, c)]
    np.testing.assert_array_equal(run_task(task, arrays)[0], expected)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_tiled_convolution_reads_halos_and_padding(data: st.DataObject) -> None:
    groups = data.draw(st.sampled_from([1, 2]))
    block = Block(arg_types=[tensor(f32, [1, 4, 7, 6]), tensor(f32, [4, 4 // groups, 3, 2])])
    stride = data.draw(st.integers(1, 2))
    root = ConvOp(
        block.args[0], block.args[1], strides=[stride, 1], dilations=[1, 2], pad_low=[1, 2], pad_high=[2, 0],
        groups=groups,
    )  # fmt: skip
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = generator.integers(-4, 5, [1, 4, 7, 6]).astype("f4")
    w = generator.integers(-4, 5, [4, 4 // groups, 3, 2]).astype("f4")
    expected = evaluate(root, [x, w])
    sizes = [one.size for one in root.iteration_space()]
    task = make_task(root, data.draw(tilings(sizes, reductions_of(root))), block, None)
    np.testing.assert_array_equal(run_task(task, [x, w])[0], expected)


def test_a_chip_can_be_a_file(tmp_path: Any) -> None:
    from meshloom.chips.load import HERE

    path = tmp_path / "mine.toml"
    path.write_text((HERE / "tiny.toml").read_text())
    assert ChipAttr(str(path)).load().cores == 4
    with pytest.raises(InputError, match="no chip named 'none'"):
        ChipAttr("none").load()
