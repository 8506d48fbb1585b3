"""Contractions with weights in panels: one matrix instruction for each panel."""

from __future__ import annotations

from dataclasses import replace

from ....analysis.sparse.product_cycles import product_cycles, skipping_cycles
from ....chips import Chip
from ....chips.cycles import RATE_BY_WIDTH
from ....dialects.dataflow.base import ints
from ....dialects.dataflow.tiling import EncodedWork
from ....dialects.sparse.panel_ops import PanelConvOp, PanelMatmulOp, PanelOp
from ....formats.sparse.nonzero import ALL_NONZERO
from ..instruction_plans import bytes_reached
from ..view import EncodedView, View
from .common import Tile
from .contraction import transposed, windows_of


def select_panels(op: PanelOp, tile: Tile) -> None:
    """Products of one panel after another; the first begins each sum, unless `accumulate`."""
    box, (x, weights) = tile.box, tile.views
    panels, dim = op.panels, op.output_dim
    first, begin = box.offsets[dim] * panels.width, box.offsets[-1]
    per_group = panels.outputs // (op.group_count if isinstance(op, PanelConvOp) else 1)
    # For several groups, all channels of the neurons are present; for one group, only those from the first part on.
    end = min(first + box.sizes[dim] * panels.width, panels.outputs)
    several = (end - 1) // per_group > first // per_group
    before = begin * panels.depth if several else 0
    manners: dict[int, tuple[bool, int]] = {}
    for part in range(box.sizes[-1]):
        for panel in range(box.sizes[dim]):
            own = box.offsets[dim] + panel
            there = weights.box((panel, part, 0), (1, 1, panels.own_bytes(own, 1))).drop((0, 1))
            block = panels.block_at(own, begin + part, op.item_bytes)
            low = own * panels.width - first
            group = (first + low) // per_group - first // per_group
            start = group * panels.inputs + before + part * panels.depth
            target, neurons = _product(op, tile.out.part(dim, low, block.fibers), x, start, block.length)
            like = panel if panels.sizes else 0
            if like not in manners:
                reached = max(bytes_reached(target), bytes_reached(neurons))
                manners[like] = _manner(op, op.panel_work(box, panel), reached, tile.emitter.chip)
            encoded = EncodedView(there, block, *manners[like])
            accumulate = tile.accumulate or part > 0
            tile.emitter.encoded_matmul(target, neurons, encoded, len(target.shape) - 1, accumulate)


def _product(op: PanelOp, out: View, x: View, start: int, length: int) -> tuple[View, View]:
    """The product of one panel: out [m..., n] and the inputs from `start` on, [m..., k...]."""
    rank = len(out.shape)
    match op:
        case PanelConvOp():
            channels = x.part(1, start // op.taps, length // op.taps)
            windows = windows_of(op, channels, out.shape[2:], ints(op.kernel))
            return out.permute((0, *range(2, rank), 1)), windows
        case PanelMatmulOp():
            rows = transposed(x) if op.transpose_a is not None else x
            return out, rows.part(rank - 1, start, length)
        case _:
            raise AssertionError(f"{op.name} is no contraction with weights in panels")


def _manner(op: PanelOp, work: EncodedWork | None, neuron_bytes: int, chip: Chip) -> tuple[bool, int]:
    """
    Whether zeros of the activations are skipped, and the expected cycles of one product. Both are the same for all
    products of a tile, so that they can become loops, unless panels differ in size. `neuron_bytes`: bytes of the
    activations read or written in memory.
    """
    if work is None:
        return False, 0
    work = replace(work, neuron_bytes=neuron_bytes)
    rate = RATE_BY_WIDTH.get(op.item_bytes, 1)
    cycles, skipping = product_cycles(chip, replace(work, nonzero=ALL_NONZERO), rate), skipping_cycles(chip, work, rate)
    if work.nonzero.has_zeros or op.nonzero is None:
        return skipping < cycles, round(min(cycles, skipping))
    # The mapping unit reads all neurons; this is free only if it is hidden behind other work.
    uses = -(-work.fibers // chip.mpu_cols) if chip.map_caches == "before" else 1
    return uses * work.rows * work.inputs / chip.map_direct_bits < cycles / 2, round(cycles)
