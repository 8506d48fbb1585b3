"""Tiles whose offsets are irrelevant to a kernel: equal views give equal instructions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import AddOp, ConvOp, MatmulOp, PadOp
from meshloom.dialects.dataflow.base import TiledOp
from meshloom.dialects.dataflow.reduction import ReduceOp
from meshloom.dialects.dataflow.tiling import Box
from meshloom.dialects.dataflow.types import tensor
from meshloom.lowering.codegen.emitter import Emitter
from meshloom.lowering.codegen.kernels import Tile, kernel_of, placed_dims
from meshloom.lowering.codegen.stream import CoreStream, DescriptorTable
from meshloom.lowering.codegen.view import View
from xdsl.dialects.builtin import f32
from xdsl.utils.test_value import create_ssa_value

CHIP = load_chip("edge")


def value(*shape: int):
    return create_ssa_value(tensor(f32, shape))


OPS: dict[str, TiledOp] = {
    "add": AddOp(value(8, 12), value(8, 12)),
    "matmul": MatmulOp(value(8, 12), value(12, 16)),
    "conv": ConvOp(value(1, 8, 10, 10), value(16, 8, 3, 3)),
    "sum": ReduceOp(value(8, 12), "sum", [1]),
}


def emitted(op: TiledOp, box: Box, views: Sequence[View], out: View) -> list[list[int]]:
    stream = CoreStream(DescriptorTable())
    kernel_of(op)(op, Tile(box, out, views, False, Emitter(stream, CHIP)))
    arrays = stream.finish()
    parts = (arrays.op, arrays.dtype, arrays.imm, arrays.addr, arrays.desc, arrays.effect_start, arrays.effects)
    return [part.ravel().tolist() for part in parts]


@pytest.mark.parametrize("name", OPS)
def test_instructions_do_not_depend_on_other_offsets(name: str) -> None:
    op = OPS[name]
    placed = placed_dims(op)
    sizes = tuple(max(1, dim.size // 2) for dim in op.iteration_space())
    here = Box((0,) * len(sizes), sizes)
    there = Box(tuple(0 if dim in placed else size for dim, size in enumerate(sizes)), sizes)
    shapes = [op.operand_slice(index, here).shape for index in range(len(op.operands))]
    views = [View.dense("sram", 4096 * (1 + index), 0, shape) for index, shape in enumerate(shapes)]
    out = View.dense("sram", 64, 0, op.result_box(here).sizes)
    found = emitted(op, here, views, out)
    assert found[0]
    assert found == emitted(op, there, views, out)
    assert here != there


def test_kernels_that_depend_on_offsets_declare_the_dimensions() -> None:
    padded = PadOp(value(8, 12), [1, 1], [0, 1], [1, 1], 0.0)
    assert placed_dims(padded) == (0, 1)
    grouped = ConvOp(value(1, 8, 10, 10), value(16, 4, 3, 3), groups=2)
    assert placed_dims(grouped) == tuple(range(len(grouped.iteration_space())))
