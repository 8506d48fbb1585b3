"""Tests of the order of transfers of a gathered value: every step has its operands, and no part is sent twice."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.analysis.planning.gather_schedule import gather_schedule, gather_transfers
from meshloom.analysis.planning.plan_task import Cut
from meshloom.analysis.planning.reads import MOST_PARTS, ReadKind, plan_read
from meshloom.analysis.planning.storage import Distribution
from meshloom.analysis.planning.traffic import BoxArrays, overlaps
from meshloom.analysis.tasks.slices import Tiles
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import ConvOp
from meshloom.dialects.dataflow.tiling import Box
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.manycore import TaskOp, Tiling
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

TINY = load_chip("tiny")


def conv_task() -> TaskInfo:
    """A 3 x 3 convolution of 40 channels at 8 x 8 positions."""
    block = Block(arg_types=[tensor(f32, (1, 40, 8, 8)), tensor(f32, (4, 40, 3, 3))])
    block.add_op(ConvOp(*block.args, pad_low=(1, 1), pad_high=(1, 1)))
    lower_block(block)
    (task,) = [op for op in block.ops if isinstance(op, TaskOp)]
    return TaskInfo.of(task)


def box_of(boxes: BoxArrays, core: int) -> list[Box]:
    """The boxes of a core."""
    rows = np.flatnonzero(boxes.cores == core)
    return [Box(tuple(boxes.low[row].tolist()), tuple((boxes.high - boxes.low)[row].tolist())) for row in rows]


@pytest.mark.parametrize("steps", [(1, 1, 1, 1, 4, 1, 1), (1, 1, 1, 1, 20, 1, 1), (1, 2, 2, 1, 5, 3, 1)])
def test_every_step_has_its_operands(steps: tuple[int, ...]) -> None:
    info = conv_task()
    held = {core: Box((0, 10 * core, 0, 0), (1, 10, 8, 8)) for core in range(4)}
    tiling = Tiling((1, 1, 2, 2, 1, 1, 1), (0, 1, 2, 3), steps, tuple(range(7)))
    tiles = tiling.tile_boxes(info.sizes)
    read = plan_read(info, TINY, Tiles.of(tiling, info.sizes), info.reads[0], Distribution(held, 0), False)
    assert read.kind is ReadKind.GATHER
    plan = Cut(info, TINY, (read,), tiles[3], True).plan(tiling)
    boxes = {core: tiling.step_boxes(tile) for core, tile in tiles.items()}
    schedule = gather_schedule(read, info, plan.tiling)
    assert 4 <= len(schedule) <= MOST_PARTS
    for core, whole in read.whole.items():
        arrived: list[Box] = []
        for number, step in enumerate(boxes[core]):
            arrived += box_of(schedule[number], core) if number in schedule else []
            needed = info.read_slice(read.read, step).bounds
            assert sum(box.intersect(needed).volume for box in arrived) == needed.volume
        assert sum(box.volume for box in arrived) == whole.bounds.volume
        parts = BoxArrays.of(dict(enumerate(arrived)))
        meeting = overlaps(parts, parts)
        assert (meeting.holders == meeting.readers).all()


def test_parts_with_several_readers_are_sent_once() -> None:
    """
    A box that several cores read in the same place is sent once, as one multicast.

    Rows and columns are both cut in two, so that cores read parts of the value that overlap; the oracle intersects the
    boxes one by one.
    """
    info = conv_task()
    held = {core: Box((0, 10 * core, 0, 0), (1, 10, 8, 8)) for core in range(4)}
    tiling = Tiling((1, 1, 2, 2, 1, 1, 1), (0, 1, 2, 3), (1, 1, 1, 1, 1, 1, 1), tuple(range(7)))
    tiles = tiling.tile_boxes(info.sizes)
    read = plan_read(info, TINY, Tiles.of(tiling, info.sizes), info.reads[0], Distribution(held, 0), False)
    plan = Cut(info, TINY, (read,), tiles[3], True).plan(tiling)
    expected: dict[tuple[int, Box, tuple[int, ...]], list[int]] = {}
    for reader, piece in read.whole.items():
        for holder, own in held.items():
            common = own.intersect(piece.bounds)
            if holder != reader and common.volume:
                place = tuple(
                    at - low + pad
                    for at, low, pad in zip(common.offsets, piece.bounds.offsets, piece.pad_low, strict=True)
                )
                expected.setdefault((holder, common, place), []).append(reader)
    (transfers,) = gather_transfers(info, plan)
    found = {
        (int(sender), tuple(transfers.receivers[start:stop].tolist()), int(nbytes))
        for sender, nbytes, start, stop in zip(
            transfers.senders, transfers.nbytes, transfers.first[:-1], transfers.first[1:], strict=True
        )
    }
    assert found == {(holder, tuple(cores), box.volume * 4) for (holder, box, _), cores in expected.items()}
    assert len(found) == len(transfers) == len(expected)
