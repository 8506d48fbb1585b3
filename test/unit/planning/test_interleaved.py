"""Tests of the detection of results whose parts are interleaved in memory."""

from __future__ import annotations

import pytest
from meshloom.analysis.planning.interleaved import parts_interleave
from meshloom.analysis.planning.plan_task import Cut
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import ConvOp, ExpOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.manycore import TaskOp, Tiling
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

TINY = load_chip("tiny")


@pytest.mark.parametrize(
    ("steps", "rest", "stays", "interleave"),
    [
        ((1, 2, 1, 1, 1, 1, 1), True, True, False),  # by channels: one part follows the other
        ((1, 1, 2, 1, 1, 1, 1), True, True, True),  # by rows: a part is half of the rows of each of 32 channels
        ((1, 32, 2, 1, 1, 1, 1), True, True, False),  # by channels and rows: a part is half of the rows of one channel
        ((1, 1, 2, 1, 1, 1, 1), True, False, False),  # parts are stored to DRAM from separate buffers
        ((1, 1, 2, 1, 1, 1, 1), False, True, False),  # no operation of the vector unit follows
        ((1, 1, 1, 1, 4, 1, 1), True, True, False),  # one part, a sum over steps
    ],
)
def test_parts(steps: tuple[int, ...], rest: bool, stays: bool, interleave: bool) -> None:
    """Parts of a convolution of 32 channels at 8 x 8 positions, with or without an exponential after it."""
    block = Block(arg_types=[tensor(f32, (1, 32, 10, 10)), tensor(f32, (32, 32, 3, 3))])
    conv = ConvOp(*block.args)
    block.add_ops([conv, ExpOp(conv.results[0])] if rest else [conv])
    lower_block(block)
    (task,) = [op for op in block.ops if isinstance(op, TaskOp)]
    info = TaskInfo.of(task)
    tiling = Tiling((1, 1, 1, 1, 1, 1, 1), (0,), steps, tuple(range(7)))
    cut = Cut(info, TINY, (), tiling.tile_boxes(info.sizes)[0], stays)
    assert parts_interleave(info, cut.plan(tiling)) is interleave
