"""
Property tests of the tiling interface: the tiles of an operation, joined, equal the result of the whole operation; and
the operand slices computed for all tiles of a grid at once equal those computed for each tile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meshloom.analysis.tasks.slices import Tiles
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.dialects.dataflow import (
    AddOp,
    ArgReduceOp,
    Box,
    BroadcastOp,
    CastOp,
    CompareOp,
    ConcatOp,
    ConvOp,
    CumsumOp,
    DimKind,
    GatherOp,
    IotaOp,
    MatmulOp,
    OperandSlice,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReshapeOp,
    SelectOp,
    SigmoidOp,
    SliceOp,
    TiledOp,
    TransposeOp,
    split_evenly,
)
from meshloom.dialects.dataflow.base import padded_range
from meshloom.dialects.dataflow.constants import Array, numpy_type
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.evaluate_movement import strided
from meshloom.dialects.dataflow.partial_conv import PartialConvOp
from meshloom.dialects.dataflow.partial_matmul import PartialMatmulOp
from meshloom.dialects.dataflow.scatter import ScatterMode, ScatterOp
from meshloom.dialects.dataflow.types import element_bytes, element_of, shape_of, tensor
from meshloom.dialects.manycore import TaskOp, Tiling
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.dialects.test import TestOp as OpaqueOp
from xdsl.ir import Attribute, Block, SSAValue

Draw = Callable[[st.SearchStrategy[Any]], Any]


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    return OpaqueOp(result_types=[tensor(element, shape)]).results[0]


def integers(draw: Draw, low: int, high: int, count: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(low, high)) for _ in range(count))


def elementwise(draw: Draw) -> TiledOp:
    shape = integers(draw, 1, 5, draw(st.integers(0, 4)))

    def operand(element: Attribute = f32) -> SSAValue:
        own = [size if draw(st.booleans()) else 1 for size in shape]
        return value(own[draw(st.integers(0, len(own))) :], element)

    a, b = operand(), operand()
    return draw(
        st.sampled_from([AddOp(a, b), CompareOp(a, b, "lt"), SelectOp(operand(i1), a, b), SigmoidOp(a), CastOp(a, i32)])
    )


def matmul(draw: Draw) -> TiledOp:
    m, k, n = integers(draw, 1, 6, 3)
    if draw(st.booleans()):
        parts, ta, tb = draw(st.integers(1, 3)), draw(st.booleans()), draw(st.booleans())
        a, b = (parts * k, m) if ta else (m, parts * k), (n, parts * k) if tb else (parts * k, n)
        return PartialMatmulOp(value(a), value(b), parts, transpose_a=ta, transpose_b=tb)
    batch = integers(draw, 1, 3, draw(st.integers(0, 2)))
    ta, tb = draw(st.booleans()), draw(st.booleans())
    a_batch = [size if draw(st.booleans()) else 1 for size in batch]
    b_batch = list(batch)[draw(st.integers(0, len(batch))) :]
    a = value((*a_batch, k, m) if ta else (*a_batch, m, k))
    b = value((*b_batch, n, k) if tb else (*b_batch, k, n))
    return MatmulOp(a, b, transpose_a=ta, transpose_b=tb)


def conv(draw: Draw) -> TiledOp:
    spatial = draw(st.integers(1, 2))
    groups = draw(st.integers(1, 3))
    channels, outputs = draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    kernel = integers(draw, 1, 3, spatial)
    dilations, strides = integers(draw, 1, 2, spatial), integers(draw, 1, 3, spatial)
    low, high = integers(draw, 0, 4, spatial), integers(draw, 0, 4, spatial)
    size = [(k - 1) * d + 1 + draw(st.integers(0, 6)) for k, d in zip(kernel, dilations, strict=True)]
    if draw(st.booleans()):
        # The kernel fits only with the padding.
        size = [max(1, s - a - b) for s, a, b in zip(size, low, high, strict=True)]
    x, w = value((draw(st.integers(1, 2)), channels * groups, *size)), value((outputs, channels, *kernel))
    if groups > 1 and shape_of(x)[0] == 1 and draw(st.booleans()):
        weights = value((shape_of(w)[0], shape_of(x)[1], *shape_of(w)[2:]), element_of(w))
        return PartialConvOp(x, weights, groups, strides=strides, dilations=dilations, pad_low=low, pad_high=high)
    return ConvOp(x, w, strides=strides, dilations=dilations, pad_low=low, pad_high=high, groups=groups)


def reduce(draw: Draw) -> TiledOp:
    shape = integers(draw, 1, 5, draw(st.integers(1, 4)))
    axes = [dim for dim in range(len(shape)) if draw(st.booleans())]
    return ReduceOp(value(shape, draw(st.sampled_from([f32, i32]))), draw(st.sampled_from(["sum", "max", "min"])), axes)


def reduce_window(draw: Draw) -> TiledOp:
    rank = draw(st.integers(1, 3))
    window, strides = integers(draw, 1, 3, rank), integers(draw, 1, 3, rank)
    dilations, low, high = integers(draw, 1, 2, rank), integers(draw, 0, 3, rank), integers(draw, 0, 3, rank)
    shape = [(w - 1) * d + 1 + draw(st.integers(0, 4)) for w, d in zip(window, dilations, strict=True)]
    kind, element = draw(st.sampled_from(["sum", "max", "min"])), draw(st.sampled_from([f32, i32]))
    return ReduceWindowOp(
        value(shape, element), kind, window, strides=strides, dilations=dilations, pad_low=low, pad_high=high
    )


def along_axis(draw: Draw) -> TiledOp:
    shape = integers(draw, 1, 5, draw(st.integers(1, 3)))
    axis = draw(st.integers(0, len(shape) - 1))
    if draw(st.booleans()):
        return ArgReduceOp(value(shape), draw(st.sampled_from(["max", "min"])), axis)
    return CumsumOp(value(shape), axis, exclusive=draw(st.booleans()), reverse=draw(st.booleans()))


def reshape(draw: Draw) -> TiledOp:
    factors = integers(draw, 1, 4, draw(st.integers(1, 5)))

    def joined(factors: Sequence[int]) -> list[int]:
        shape: list[int] = []
        for factor in factors:
            if shape and draw(st.booleans()):
                shape[-1] *= factor
            else:
                shape.append(factor)
        return shape

    reordered = draw(st.permutations(factors)) if draw(st.booleans()) else factors
    return ReshapeOp(value(joined(factors)), joined(reordered))


def movement(draw: Draw) -> TiledOp:
    rank = draw(st.integers(1, 3))
    shape = integers(draw, 1, 5, rank)
    axis = draw(st.integers(0, rank - 1))
    x = value(shape)
    match draw(st.sampled_from(["transpose", "slice", "concat", "pad", "broadcast", "gather", "scatter", "iota"])):
        case "transpose":
            return TransposeOp(x, draw(st.permutations(range(rank))))
        case "slice":
            steps = [draw(st.sampled_from([-2, -1, 1, 2, 3])) for _ in shape]
            starts = [draw(st.integers(0, size - 1)) for size in shape]
            room = [
                (start // -step if step < 0 else (size - 1 - start) // step) + 1
                for start, step, size in zip(starts, steps, shape, strict=True)
            ]
            return SliceOp(x, starts, [draw(st.integers(1, most)) for most in room], steps)
        case "concat":
            others = [value((*shape[:axis], draw(st.integers(0, 3)), *shape[axis + 1 :])) for _ in range(2)]
            return ConcatOp([others[0], x, others[1]], axis)
        case "pad":
            return PadOp(
                x, integers(draw, 0, 3, rank), integers(draw, 0, 3, rank), integers(draw, 0, 2, rank), value=2.5
            )
        case "broadcast":
            small = value([size if draw(st.booleans()) else 1 for size in shape])
            return BroadcastOp(small, (*integers(draw, 1, 3, draw(st.integers(0, 2))), *shape))
        case "gather":
            return GatherOp(x, value(integers(draw, 1, 3, draw(st.integers(0, 2))), i64), axis)
        case "scatter":
            count, mode = draw(st.integers(0, 6)), draw(st.sampled_from(ScatterMode))
            updates = value((*shape[:axis], count, *shape[axis + 1 :]))
            return ScatterOp(mode, x, value((*shape[:axis], count), i64), updates, axis)
        case _:
            return IotaOp(tensor(i64, shape), axis)


def random_array(rng: np.random.Generator, op: TiledOp, index: int) -> Array:
    operand = op.operands[index]
    shape, element = shape_of(operand), element_of(operand)
    if isinstance(op, GatherOp) and index == 1:
        rows = shape_of(op.data)[op.axis_index]
        return rng.integers(-rows, rows, shape).astype(np.int64)
    if isinstance(op, ScatterOp) and index == 1:
        rows = shape_of(op.data)[op.batch_dims]
        return rng.integers(-rows, rows, shape).astype(np.int64)
    return rng.integers(0 if element == i1 else -9, 2 if element == i1 else 9, shape).astype(numpy_type(element))


def materialise(array: Array, part: OperandSlice) -> Array:
    """The elements of an operand slice: the box of the operand with its padding."""
    inside = strided(array, part.box.offsets, part.box.sizes, part.steps)
    pads = list(zip(part.pad_low, part.pad_high, strict=True))
    # np.pad raises an error for scalars, even without padding.
    padded = np.pad(inside, pads, constant_values=part.pad_value) if part.is_padded else inside
    assert padded.shape == part.shape
    return padded


def run_tile(op: TiledOp, tile: Box, arrays: Sequence[Array]) -> Array:
    slices = [op.operand_slice(index, tile) for index in range(len(arrays))]
    for part, array in zip(slices, arrays, strict=True):
        bounds = part.bounds
        limits = zip(bounds.offsets, bounds.ends, array.shape, strict=True)
        inside = [low == high or (0 <= low and high <= size) for low, high, size in limits]
        assert all(inside), f"{bounds} leaves {array.shape}"
    known: dict[SSAValue, Array] = {}
    operands: list[SSAValue] = []
    for part, array, operand in zip(slices, arrays, op.operands, strict=True):
        operands.append(value(part.shape, element_of(operand)))
        known[operands[-1]] = materialise(array, part)
    result = np.zeros(())
    for built in op.build_tile(tile, operands):
        built.verify()
        result = evaluate(built, [known[operand] for operand in built.operands])  # pyright: ignore[reportArgumentType]
        known[built.results[0]] = result
    assert result.dtype == numpy_type(element_of(op.results[0]))
    return result


def check(op: TiledOp, draw: Draw) -> None:
    op.verify()
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    arrays = [random_array(rng, op, index) for index in range(len(op.operands))]
    whole = evaluate(op, arrays)
    assert whole.shape == shape_of(op.results[0])
    cuts: list[list[tuple[int, int]]] = []
    for dim in op.iteration_space():
        fixed = dim.kind in (DimKind.WHOLE, DimKind.SEQUENTIAL) or (dim.kind == DimKind.REDUCTION and not op.combine)
        if dim.size == 0 or fixed:
            cuts.append([(0, dim.size)])
            continue
        points = sorted({0, dim.size, *draw(st.lists(st.integers(0, dim.size), max_size=3))})
        cuts.append([(low, high - low) for low, high in itertools.pairwise(points)])
    joins = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply, None: None}
    join = joins[op.combine]
    result = np.zeros_like(whole)
    written = np.zeros(whole.shape, bool)
    for parts in itertools.product(*cuts):
        tile = Box(tuple(low for low, _ in parts), tuple(size for _, size in parts))
        box = op.result_box(tile)
        region = tuple(slice(low, low + size) for low, size in zip(box.offsets, box.sizes, strict=True))
        part = run_tile(op, tile, arrays)
        assert part.shape == box.sizes
        if written[region].any():
            assert join is not None
            assert written[region].all()
            part = join(result[region], part)
        result[region] = part
        written[region] = True
        cost = op.cost(tile)
        assert min(cost.macs, cost.vpu_ops) >= 0
        assert cost.bytes_moved >= box.volume * element_bytes(element_of(op.results[0]))
    assert written.all()
    # The operands are small integers in floats, so sums are exact in any order; only sigmoid rounds.
    np.testing.assert_array_equal(result, whole)
    dims = op.preferred_dims()
    assert len(set(dims)) == len(dims)
    kinds = [op.iteration_space()[dim].kind for dim in dims]
    assert not {DimKind.WHOLE, DimKind.SEQUENTIAL} & set(kinds)


@pytest.mark.parametrize(
    "family",
    [elementwise, matmul, conv, reduce, reduce_window, along_axis, reshape, movement],
    ids=lambda family: family.__name__,
)
def test_joined_tiles_equal_the_whole_result(family: Callable[[Draw], TiledOp]) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.data())
    def check_case(data: st.DataObject) -> None:
        check(family(data.draw), data.draw)

    check_case()


def info_of(op: TiledOp) -> TaskInfo:
    block = Block([op])
    lower_block(block)
    (task,) = [task for task in block.ops if isinstance(task, TaskOp)]
    return TaskInfo.of(task)


def check_slices(op: TiledOp, draw: Draw) -> None:
    info = info_of(op)
    cuttable = [dim.kind in (DimKind.PARALLEL, DimKind.WINDOW) for dim in info.space]
    grid: tuple[int, ...] = tuple(
        draw(st.integers(1, max(1, size) + 1)) if cut else 1 for size, cut in zip(info.sizes, cuttable, strict=True)
    )
    count = 1
    for parts in grid:
        count *= parts
    cores: tuple[int, ...] = tuple(draw(st.permutations(range(count)))) if count < 20 else tuple(reversed(range(count)))
    tiling = Tiling(grid, cores, (1,) * len(grid), tuple(range(len(grid))))
    boxes = {core: tile for core, tile in tiling.tile_boxes(info.sizes).items() if tile.volume}
    chosen: list[int] = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1)))
    some = {core: boxes[core] for core in (cores[number] for number in chosen) if core in boxes}
    for tiles, expected in ((Tiles.of(tiling, info.sizes), boxes), (Tiles.of(tiling, info.sizes, chosen), some)):
        assert tiles.boxes() == expected
        for read in info.reads:
            slices = info.read_slices(read, tiles)
            each = {core: info.operand_slice(*read.uses[0], tile) for core, tile in expected.items()}
            assert dict(slices.items()) == each
            assert list(slices) == list(each)
            low, high = slices.bounds
            assert low.tolist() == [list(piece.bounds.offsets) for piece in each.values()]
            assert high.tolist() == [list(piece.bounds.ends) for piece in each.values()]
            assert slices.gathered.tolist() == [list(piece.gathered_shape) for piece in each.values()]
            assert slices.is_padded == any(piece.is_padded for piece in each.values())
            alike = [[core for core in each if each[core] == piece] for piece in dict.fromkeys(each.values())]
            assert [list(group) for group in slices.groups] == alike


@pytest.mark.parametrize(
    "family",
    [elementwise, matmul, conv, reduce, reduce_window, along_axis, movement],
    ids=lambda family: family.__name__,
)
def test_slices_of_all_tiles_equal_those_of_each(family: Callable[[Draw], TiledOp]) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.data())
    def check_case(data: st.DataObject) -> None:
        check_slices(family(data.draw), data.draw)

    check_case()


def test_slices_of_cuts_in_multiples_differ_from_even_cuts() -> None:
    """A task's cached slices of an even cut are not reused for a cut in multiples into the same number of parts."""
    info = info_of(MatmulOp(value((1, 4)), value((4, 20))))
    (weights,) = [read for read in info.reads if read.uses[0] == (0, 1)]
    columns: list[list[int]] = []
    for multiples in ((), (1, 4, 1)):
        tiles = Tiles.of(Tiling((1, 2, 1), (0, 1), (1, 1, 1), (0, 1, 2), multiples), info.sizes)
        columns.append([sliced.box.sizes[1] for sliced in info.read_slices(weights, tiles).values()])
    assert columns == [[10, 10], [8, 12]]


def test_conv_halo() -> None:
    """Rows 2 and 3 of 3x3 windows over 4 rows, with stride 1 and padding 1, read rows 1 to 3 and one row of padding."""
    op = ConvOp(value((1, 2, 4, 4)), value((5, 2, 3, 3)), pad_low=(1, 1), pad_high=(1, 1))
    part = op.operand_slice(0, Box((0, 1, 2, 0, 0, 0, 0), (1, 2, 2, 4, 2, 3, 3)))
    assert part.box == Box((0, 0, 1, 0), (1, 2, 3, 4))
    assert part.pad_low == (0, 0, 0, 1)
    assert part.pad_high == (0, 0, 1, 1)
    assert part.shape == (1, 2, 4, 6)
    assert op.preferred_dims() == (1, 2, 3, 4)
    assert op.cost(Box.whole((1, 5, 4, 4, 2, 3, 3))).macs == 5 * 16 * 18


@given(start=st.integers(-9, 9), length=st.integers(1, 9), size=st.integers(0, 5))
def test_padded_range_keeps_every_position(start: int, length: int, size: int) -> None:
    offset, inside, low, high = padded_range(start, length, size)
    assert low + inside + high == length
    assert offset - low == start
    wanted = [place for place in range(start, start + length) if 0 <= place < size]
    assert list(range(offset, offset + inside)) == wanted


def test_depthwise_conv_runs_on_the_vector_unit() -> None:
    op = ConvOp(value((1, 4, 5)), value((4, 1, 3)), groups=4)
    tile = Box((0, 1, 0, 0, 0), (1, 2, 3, 1, 3))
    assert op.operand_slice(0, tile).box == Box((0, 1, 0), (1, 2, 5))
    assert op.cost(tile).unit == "VPU"


def test_reshape_groups() -> None:
    """A reshape into attention heads can be cut along the batch and along the outer part of the split dimension."""
    op = ReshapeOp(value((2, 7, 24)), (2, 7, 4, 6))
    assert [dim.kind for dim in op.iteration_space()] == [DimKind.PARALLEL] * 3 + [DimKind.WHOLE]
    part = op.operand_slice(0, Box((0, 3, 1, 0), (2, 2, 2, 6)))
    assert part.exact
    assert part.box == Box((0, 3, 6), (2, 2, 12))
    flat = ReshapeOp(value((1, 5, 3, 3)), (1, 45))
    assert not flat.operand_slice(0, Box((0, 10), (1, 20))).exact
    assert flat.operand_slice(0, Box((0, 10), (1, 20))).box == Box((0, 1, 0, 0), (1, 3, 3, 3))
    assert flat.operand_slice(0, Box((0, 9), (1, 18))).exact


def test_split_evenly() -> None:
    assert split_evenly(10, 4) == [(0, 2), (2, 3), (5, 2), (7, 3)]
    assert split_evenly(2, 3) == [(0, 0), (0, 1), (1, 1)]
    assert math.prod(size for _, size in split_evenly(7, 1)) == 7
