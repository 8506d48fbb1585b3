"""Tests of `dataflow-split-to-fit`: every part fits, and results are those of the operator, exact for integers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from meshloom.analysis.execution.check_semantics import difference
from meshloom.analysis.execution.interpret import run_main
from meshloom.analysis.tasks.operator_parts import choose_parts, data_bytes, split_dims
from meshloom.dialects.dataflow import (
    AddOp,
    ArgReduceOp,
    BroadcastOp,
    ConcatOp,
    ConstantOp,
    ConvOp,
    CumsumOp,
    GatherOp,
    MatmulOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReluOp,
    ReshapeOp,
    SelectOp,
    SliceOp,
    TransposeOp,
    WeightOp,
)
from meshloom.dialects.dataflow.constants import attribute_of
from meshloom.dialects.dataflow.tiling import DimKind, TilingInterface
from meshloom.dialects.dataflow.types import element_of, shape_of, tensor
from meshloom.formats.weights import STORE
from meshloom.support.errors import ResourceError
from meshloom.transforms.dataflow_split_to_fit import split_to_fit
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from meshloom.testing import RandomNetwork

Draw = Callable[[st.SearchStrategy[Any]], Any]


def integers(draw: Draw, low: int, high: int, count: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(low, high)) for _ in range(count))


class Inputs:
    """Arguments of a function that is being built, with small integers as values, whose sums are exact."""

    def __init__(self, seed: int) -> None:
        self.block = Block()
        self.rng = np.random.default_rng(seed)
        self.values: dict[str, Any] = {}

    def __call__(self, shape: Sequence[int], element: Any = f32, below: int = 4) -> SSAValue:
        drawn = self.rng.integers(0 if element != f32 else -3, below, size=tuple(shape))
        types: dict[Any, Any] = {f32: np.float32, i64: np.int64, i1: np.bool_}
        argument = self.block.insert_arg(tensor(element, shape), len(self.block.args))
        self.values[f"arg{argument.index}"] = drawn.astype(types[element])
        return argument

    def constant(self, shape: Sequence[int]) -> SSAValue:
        array = self.rng.integers(-3, 4, size=tuple(shape)).astype(np.float32)
        if self.rng.integers(2):
            op: Operation = ConstantOp(attribute_of(array, f32))
        else:
            ref = STORE.put(array)
            op = WeightOp(
                "w", tensor(f32, shape), source=ref.source, offset=ref.offset, nbytes=ref.bytes, sha256=ref.sha256
            )
        self.block.add_op(op)
        return op.results[0]


def module_of(block: Block, *values: SSAValue) -> ModuleOp:
    block.add_op(ReturnOp(*values))
    type = FunctionType.from_lists([argument.type for argument in block.args], [value.type for value in values])
    module = ModuleOp([FuncOp("main", type, Region(block))])
    module.verify()
    return module


def conv(draw: Draw, new: Inputs) -> Operation:
    groups = draw(st.integers(1, 3))
    channels, outputs = draw(st.integers(1, 4)), groups * draw(st.integers(1, 4))
    kernel, strides, dilations = integers(draw, 1, 3, 2), integers(draw, 1, 2, 2), integers(draw, 1, 2, 2)
    low, high = integers(draw, 0, 2, 2), integers(draw, 0, 2, 2)
    size = [(k - 1) * d + 1 + draw(st.integers(0, 6)) for k, d in zip(kernel, dilations, strict=True)]
    x = new((draw(st.integers(1, 5)), channels * groups, *size))
    w = new.constant((outputs, channels, *kernel))
    return ConvOp(x, w, strides=strides, dilations=dilations, pad_low=low, pad_high=high, groups=groups)


def matmul(draw: Draw, new: Inputs) -> Operation:
    m, k, n = integers(draw, 1, 9, 3)
    batch = integers(draw, 1, 3, draw(st.integers(0, 2)))
    ta, tb = draw(st.booleans()), draw(st.booleans())
    b_batch = list(batch)[draw(st.integers(0, len(batch))) :]
    a = new((*batch, k, m) if ta else (*batch, m, k))
    b = new.constant((*b_batch, n, k) if tb else (*b_batch, k, n))
    return MatmulOp(a, b, transpose_a=ta, transpose_b=tb)


def pool(draw: Draw, new: Inputs) -> Operation:
    window, strides = (1, 1, *integers(draw, 1, 3, 2)), (1, 1, *integers(draw, 1, 3, 2))
    low, high = (0, 0, *integers(draw, 0, 1, 2)), (0, 0, *integers(draw, 0, 2, 2))
    shape = (*integers(draw, 1, 5, 2), *(k + draw(st.integers(0, 5)) for k in window[2:]))
    kind = draw(st.sampled_from(["max", "sum", "min"]))
    return ReduceWindowOp(new(shape), kind, window, strides=strides, pad_low=low, pad_high=high)


def elementwise(draw: Draw, new: Inputs) -> Operation:
    shape = integers(draw, 1, 6, draw(st.integers(1, 4)))
    own = [size if draw(st.booleans()) else 1 for size in shape][draw(st.integers(0, len(shape))) :]
    x, y = new(shape), new(own)
    match draw(st.integers(0, 2)):
        case 0:
            return AddOp(x, y)
        case 1:
            return SelectOp(new(own, i1, 2), x, x)
        case _:
            return ReluOp(x)


def movement(draw: Draw, new: Inputs) -> Operation:
    shape = integers(draw, 1, 6, draw(st.integers(1, 4)))
    x, axis = new(shape), int(draw(st.integers(0, len(shape) - 1)))
    match draw(st.integers(0, 2)):
        case 0:
            return TransposeOp(x, draw(st.permutations(range(len(shape)))))
        case 1:
            return PadOp(x, integers(draw, 0, 3, len(shape)), integers(draw, 0, 3, len(shape)), value=2.0)
        case _:
            picked = integers(draw, 1, 4, draw(st.integers(0, 2)))
            return GatherOp(x, new(picked, i64, int(shape[axis])), axis)


def along(draw: Draw, new: Inputs) -> Operation:
    shape = integers(draw, 1, 6, draw(st.integers(1, 3)))
    x, axis = new(shape), draw(st.integers(0, len(shape) - 1))
    match draw(st.integers(0, 2)):
        case 0:
            return ReduceOp(x, draw(st.sampled_from(["sum", "max", "prod"])), [axis])
        case 1:
            return CumsumOp(x, axis)
        case _:
            return ArgReduceOp(x, "max", axis)


@given(data=st.data(), seed=st.integers(0, 1 << 30))
@settings(max_examples=200, deadline=None)
def test_parts_fit_and_compute_the_operator(data: st.DataObject, seed: int) -> None:
    new = Inputs(seed)
    made = data.draw(st.sampled_from([conv, matmul, pool, elementwise, movement, along]))(data.draw, new)
    assert isinstance(made, TilingInterface)
    new.block.add_op(made)
    module = module_of(new.block, made.results[0])
    whole = data_bytes(made, [dim.size for dim in made.iteration_space()])
    limit = data.draw(st.integers(max(4, whole // 40), whole))
    expected = run_main(module, new.values)
    finest = [1 if dim in split_dims(made) else one.size for dim, one in enumerate(made.iteration_space())]
    if (smallest := data_bytes(made, finest)) > limit:
        with pytest.raises(ResourceError) as caught:
            split_to_fit(module, limit)
        assert (caught.value.needed, caught.value.available) == (smallest, limit)
        return
    done = split_to_fit(module, limit)
    module.verify()
    assert bool(done.parts) == (limit < whole)
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    # Padding is inserted piece by piece; the limit does not apply to parts that are entirely padding.
    padding = [op for op in main.body.block.ops if isinstance(op, PadOp | BroadcastOp)]
    inside = {use.operation for op in padding for use in op.results[0].uses}
    operators = [
        op
        for op in main.body.block.ops
        if isinstance(op, TilingInterface) and not isinstance(op, ReshapeOp | SliceOp | ConcatOp)
    ]
    over = {op for op in operators if data_bytes(op, [dim.size for dim in op.iteration_space()]) > limit}
    assert not over - set(padding) - inside
    # Parts that are entirely padding read nothing: no values without elements are left.
    assert not [value for op in main.body.block.ops for value in op.operands if 0 in shape_of(value)]
    for name, value in run_main(module, new.values).items():
        np.testing.assert_array_equal(value, expected[name])


@pytest.mark.parametrize("seed", range(20))
def test_networks_keep_their_results(seed: int) -> None:
    network = RandomNetwork(seed, operations=8)
    x = {"x": network.input()}
    expected = run_main(network.module, x)
    for limit in (6000, 1500):
        try:
            done = split_to_fit(network.module, limit)
        except ResourceError:
            continue
        network.module.verify()
        for name, value in run_main(network.module, x).items():
            assert difference(expected[name], value, done.semantic_effect) is None


def frames_and_channels(frames: int, channels: int, limit: int) -> tuple[int, ...]:
    new = Inputs(0)
    x, w = new((frames, channels, 4, 4)), new.constant((channels, 1, 3, 3))
    op = ConvOp(x, w, pad_low=(1, 1), pad_high=(1, 1), groups=channels)
    return choose_parts(op, limit, "depthwise")


def test_ten_frames_of_a_hundred_channels() -> None:
    # One channel of one frame has 64 bytes of input and of output; a channel has 36 bytes of parameters.
    five_frames = 5 * 100 * 128 + 100 * 36
    assert frames_and_channels(10, 100, five_frames) == (2, 1, 1, 1, 1, 1, 1)
    # A whole frame is too large: of 10 frames, 6 channels fit and 7 do not; the fewest parts are chosen.
    assert 10 * 6 * 128 + 6 * 36 <= 8200 < 10 * 7 * 128 + 7 * 36
    assert frames_and_channels(10, 100, 8200) == (1, 17, 1, 1, 1, 1, 1)
    # 100 x 100 parameters do not fit with any number of frames: half of the channels of all frames.
    new = Inputs(0)
    dense = ConvOp(new((10, 100, 1, 1)), new((100, 100, 1, 1)))
    ten_frames = 10 * 100 * 4 + 50 * 100 * 4 + 10 * 50 * 4
    assert choose_parts(dense, ten_frames, "dense") == (1, 2, 1, 1, 1, 1, 1)


def test_preferences() -> None:
    new = Inputs(0)
    x = new((2, 8, 6, 6))
    op = ConvOp(x, new((4, 8, 3, 3)))
    kinds = [dim.kind for dim in op.iteration_space()]
    assert split_dims(op)[:2] == (0, 1)  # frames, output channels
    assert [kinds[dim] for dim in split_dims(op)].index(DimKind.REDUCTION) == len(split_dims(op)) - 1
    assert split_dims(MatmulOp(new((4, 5)), new((5, 6)))) == (0, 1, 2)
    assert split_dims(ReduceOp(x, "sum", [2, 3])) == (0, 1)
    assert split_dims(ReduceWindowOp(x, "max", (1, 1, 2, 2))) == (0, 1, 2, 3)
    assert split_dims(TransposeOp(x, (0, 3, 2, 1)))[:2] == (0, 2)  # channels and width are exchanged: frames or height


def test_adjacent_operators_are_divided_in_the_same_way() -> None:
    new = Inputs(0)
    x, w = new((8, 4, 4, 4)), new.constant((4, 4, 3, 3))
    product = ConvOp(x, w, pad_low=(1, 1), pad_high=(1, 1))
    relu = ReluOp(product.result)
    new.block.add_ops([product, relu])
    module = module_of(new.block, relu.result)
    # With 576 bytes of weights, three frames of the convolution fit in 2,176 bytes; of relu alone, four would.
    split_to_fit(module, 576 + 3 * 512 + 64)
    assert sum(isinstance(op, ConcatOp) for op in module.walk()) == 1


def test_error_states_operator_and_bytes() -> None:
    new = Inputs(0)
    total = ReduceOp(new((3, 100)), "sum", [1])
    new.block.add_op(total)
    total.results[0].name_hint = "total"
    module = module_of(new.block, total.results[0])
    with pytest.raises(
        ResourceError, match=r"operator 'total' \(dataflow.reduce\).* needs 404 bytes .* 403 are available"
    ):
        split_to_fit(module, 403)
    split_to_fit(module, 404)


def test_weights_are_cut_at_compile_time() -> None:
    new = Inputs(0)
    array = np.arange(40 * 64, dtype=np.float32).reshape(40, 64)
    ref = STORE.put(array)
    weight = WeightOp("table", tensor(f32, (40, 64)), source="mem", offset=0, nbytes=ref.bytes, sha256=ref.sha256)
    product = MatmulOp(new((1, 40)), weight.results[0])
    new.block.add_ops([weight, product])
    module = module_of(new.block, product.result)
    split_to_fit(module, 40 * 4 + 40 * 32 * 4 + 32 * 4)
    parts = [op for op in module.walk() if isinstance(op, WeightOp)]
    assert [op.sym_name.data for op in parts] == ["table_part0", "table_part1"]
    assert [shape_of(op.result) for op in parts] == [(40, 32)] * 2
    assert element_of(parts[0].result) == f32


def test_contiguous_parts_of_weights_stay_in_their_file(tmp_path: Path) -> None:
    array = np.arange(60 * 64, dtype=np.float32).reshape(60, 64)
    path = tmp_path / "weights.bin"
    path.write_bytes(bytes(128) + array.tobytes())
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    type = tensor(f32, (60, 64))
    weight = WeightOp("table", type, source=str(path), offset=128, nbytes=array.nbytes, sha256=digest)
    new = Inputs(0)
    product = MatmulOp(new((1, 64)), weight.results[0], transpose_b=True)
    new.block.add_ops([weight, product])
    module = module_of(new.block, product.result)
    expected = run_main(module, new.values)["result0"]
    split_to_fit(module, 64 * 4 + 30 * 64 * 4 + 30 * 4)
    parts = [op for op in module.walk() if isinstance(op, WeightOp)]
    assert [(op.source.data, op.offset.value.data) for op in parts] == [
        (str(path), 128),
        (str(path), 128 + 30 * 64 * 4),
    ]
    np.testing.assert_array_equal(run_main(module, new.values)["result0"], expected)


@given(frames=st.integers(1, 12), channels=st.integers(1, 40), limit=st.integers(200, 9000))
@settings(max_examples=60, deadline=None)
def test_fewest_parts(frames: int, channels: int, limit: int) -> None:
    def fits(a: int, b: int) -> bool:
        n, c = -(-frames // a), -(-channels // b)
        return n * c * 128 + c * 36 <= limit

    assume(fits(frames, channels))
    parts = frames_and_channels(frames, channels, limit)
    if any(fits(a, 1) for a in range(1, frames + 1)):
        assert parts[:2] == (min(a for a in range(1, frames + 1) if fits(a, 1)), 1)
    else:
        ways = [(a, b) for a in range(1, frames + 1) for b in range(1, channels + 1) if fits(a, b)]
        assert parts[0] * parts[1] == min(a * b for a, b in ways)
