"""Micro-batching: the network runs on a few elements of its batch at a time, several times in one launch."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.func import FuncOp

from ...analysis.tasks.operator_parts import data_bytes
from ...chips import Chip
from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.tiling import TilingInterface
from ...dialects.dataflow.types import shape_of
from ...transforms.dataflow_split_batch import split_batch
from .smaller_values import Variation

TRIALS = 2
"""Number of different numbers of micro-batches that are tried."""


def micro_batches(function: FuncOp, chip: Chip) -> list[Variation]:
    """The network in micro-batches: in few of them, then in more."""
    counts = micro_batch_counts(function, chip)
    return [Variation(f"in {parts} parts by frames", partial(_split, parts)) for parts in counts]


def _split(parts: int, function: FuncOp, names: set[str]) -> bool:
    return bool(split_batch(function, parts, names))


def micro_batch_counts(function: FuncOp, chip: Chip) -> list[int]:
    """
    Possible numbers of micro-batches: the smallest with which the data of the largest operator fits in SRAM, and larger
    ones. Empty if inputs and results differ in their batch.
    """
    block = function.body.block
    last = block.last_op
    results = [shape_of(value)[:1] for value in (last.operands if last is not None else ())]
    if len(set(results)) != 1 or results[0] not in [shape_of(value)[:1] for value in block.args]:
        return []
    (batch,) = results[0] or (1,)
    operators = [op for op in block.ops if isinstance(op, TilingInterface) and not isinstance(op, ReshapeOp)]
    largest = max((data_bytes(op, [dim.size for dim in op.iteration_space()]) for op in operators), default=0)
    needed = largest / (len(chip.usable_cores) * chip.sram_bytes)
    return [parts for parts in range(2, batch + 1) if batch % parts == 0 and parts >= needed][:TRIALS]
