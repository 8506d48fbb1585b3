"""Matrix products and convolutions: strided walks for the matrix unit, or for the vector unit where that is faster."""

from __future__ import annotations

from collections.abc import Sequence

from ....analysis.planning.shared_groups import shared_groups
from ....chips.cycles import shared_product, vector_cycles
from ....dialects.coreasm.encoding import TypeCode
from ....dialects.dataflow.base import ints
from ....dialects.dataflow.contraction import ConvOp, MatmulOp, narrow_pairs
from ....dialects.dataflow.partial_conv import PartialConvOp
from ....dialects.dataflow.partial_matmul import PartialMatmulOp
from ....dialects.sparse.panel_ops import PanelConvOp
from ....formats.sparse.nonzero import ALL_NONZERO
from ..instruction_plans import IDLE, Busy
from ..view import View
from .common import Tile
from .widening import multiply


def select_matmul(op: MatmulOp, tile: Tile) -> None:
    """[..., M, K] x [..., K, N], transposed by swapping strides, batch dimensions broadcast by strides of 0."""
    a, b = tile.views
    a = transposed(a) if op.transpose_a is not None else a
    b = transposed(b) if op.transpose_b is not None else b
    if tile.scratch is not None and narrow_pairs(op) is None and a.dtype == b.dtype:
        terms, _ = shared_product(tile.emitter.chip, a.shape[-1], b.shape[-1])
        if terms:
            _multiply_in_two_sums(tile, a, b, terms)
            return
    batch = tile.out.shape[:-2]
    a = a.broadcast_to((*batch, *a.shape[-2:]))
    b = b.broadcast_to((*batch, *b.shape[-2:]))
    multiply(tile, tile.out, a, b, (len(batch), 1, 1, 1), narrow_pairs(op), op.expected)


def _multiply_in_two_sums(tile: Tile, a: View, b: View, terms: int) -> None:
    """A product of one row: the matrix unit sums the last `terms` terms, and the vector unit the others."""
    assert tile.scratch is not None
    (columns,) = b.shape[-1:]
    out, a, b = (view.walk(view.shape[-2:], view.strides[-2:]) for view in (tile.out, a, b))
    first = a.shape[1] - terms
    emitter, chip = tile.emitter, tile.emitter.chip
    second = View.dense("sram", tile.scratch, out.dtype, out.shape)
    groups = (0, 1, 1, 1)
    busy = vector_cycles(chip, 1, first * columns, 1, first * columns * a.item_bytes)
    emitter.matmul(second, a.part(1, first, terms), b.part(0, first, terms), groups, busy=Busy(vector=busy))
    emitter.matmul(out, a.part(1, 0, first), b.part(0, 0, first), groups, tile.accumulate)
    emitter.binary("add", out, out, second)


def select_partial_matmul(op: PartialMatmulOp, tile: Tile) -> None:
    """A matrix product for each part of the reduced dimension."""
    for number in range(tile.box.sizes[0]):
        a, b = (
            view.part(op.inner_axis(index), *op.part_of(index, number * op.part_size, tile.box.sizes[3]))
            for index, view in enumerate(tile.views)
        )
        a = transposed(a) if op.transpose_a is not None else a
        b = transposed(b) if op.transpose_b is not None else b
        multiply(tile, tile.out.part(0, number, 1).drop((0,)), a, b, (0, 1, 1, 1), narrow_pairs(op))


def transposed(view: View) -> View:
    """The view with its last two dimensions exchanged."""
    rank = len(view.shape)
    return view.permute((*range(rank - 2), rank - 1, rank - 2))


def select_conv(op: ConvOp, tile: Tile) -> None:
    """A matrix product whose first operand walks (n, spatial | channel, kernel) over the padded input.

    Groups are batch dimensions if the tile holds whole groups; otherwise there is one product for each group.
    """
    out, (x, w) = tile.out, tile.views
    outputs, per_group = op.operand_shape(1)[0] // op.group_count, op.group_channels
    start, size = tile.box.offsets[1], tile.box.sizes[1]
    first = start // outputs
    count = (start + size - 1) // outputs - first + 1
    spatial = len(x.shape) - 2
    channels = tile.box.sizes[2 + spatial]
    # with the channels of a group split as well, a slice that spans groups holds all channels of each
    split = x.shape[1] != count * channels
    stride, skipped = (per_group, tile.box.offsets[2 + spatial]) if split else (channels, 0)
    if count > 1 and start % outputs == 0 and size % outputs == 0:
        groups = x.walk((count, *x.shape), (x.strides[1] * stride, *x.strides)).part(2, skipped, channels)
        kernels = w.walk((count, outputs, *w.shape[1:]), (w.strides[0] * outputs, *w.strides))
        shape = (count, out.shape[0], outputs, *out.shape[2:])
        target = out.walk(shape, (out.strides[1] * outputs, *out.strides))
        _grouped_products(op, target, groups, kernels, tile)
        return
    for group in range(count):
        low = max(start, (first + group) * outputs)
        high = min(start + size, (first + group + 1) * outputs)
        part = x.part(1, group * stride + skipped, channels)
        target = out.part(1, low - start, high - low)
        _products(op, target, part, w.part(0, low - start, high - low), 0, tile)


def _grouped_products(op: ConvOp, out: View, x: View, w: View, tile: Tile) -> None:
    """
    The products of groups. The matrix unit and the vector unit may share them: the matrix unit computes the last ones.
    """
    shared = None
    if x.dtype == w.dtype and out.dtype in (TypeCode.F32, TypeCode.I32):
        shared = shared_groups(op.cost(tile.box), tile.emitter.chip, x.item_bytes)
    if shared is None:
        _products(op, out, x, w, 1, tile)
        return
    on_matrix, cycles = shared
    rest = out.shape[0] - on_matrix
    first, last = ([view.part(0, low, size) for view in (out, x, w)] for low, size in ((0, rest), (rest, on_matrix)))
    _products(op, first[0], first[1], first[2], 1, tile, Busy(matrix=cycles))
    _products(op, last[0], last[1], last[2], 1, tile, Busy(vector=cycles))


def select_partial_conv(op: PartialConvOp, tile: Tile) -> None:
    """A convolution for each part of the input channels."""
    out, (x, w) = tile.out, tile.views
    channels = tile.box.sizes[2 + op.spatial]
    for number in range(tile.box.sizes[0]):
        first = number * op.part_size
        low, size = op.part_of(1, first, channels)
        _products(op, out.part(0, number, 1), x.part(1, first, channels), w.part(1, low, size), 0, tile)


def _products(
    op: ConvOp | PartialConvOp, out: View, x: View, w: View, batch: int, tile: Tile, busy: Busy = IDLE
) -> None:
    """out [batch, N, O, S...] from x [batch, N, C, S...] and w [batch, O, C, K...]; `batch` is 0 or 1 dimensions."""
    n, channel, rank = batch, batch + 1, len(x.shape)
    spatial = rank - batch - 2
    windows = windows_of(op, x, out.shape[rank - spatial :], w.shape[batch + 2 :])
    kernels = w.permute((*range(batch), *range(batch + 1, rank), batch))
    target = out.permute((*range(n + 1), *range(rank - spatial, rank), channel))
    nonzero = op.expected if isinstance(op, ConvOp) else ALL_NONZERO
    multiply(tile, target, windows, kernels, (batch, 1 + spatial, 1 + spatial, 1), narrow_pairs(op), nonzero, busy)


def windows_of(
    op: ConvOp | PartialConvOp | PanelConvOp, x: View, positions: Sequence[int], kernel: Sequence[int]
) -> View:
    """
    The view [..., places..., C, kernel...] of x [..., C, S...]: the elements of the padded input that each position of
    the kernel covers.
    """
    spatial = len(positions)
    channel = len(x.shape) - spatial - 1
    steps = [stride * step for stride, step in zip(x.strides[channel + 1 :], ints(op.strides), strict=True)]
    taps = [stride * step for stride, step in zip(x.strides[channel + 1 :], ints(op.dilations), strict=True)]
    return x.walk(
        (*x.shape[:channel], *positions, x.shape[channel], *kernel),
        (*x.strides[:channel], *steps, x.strides[channel], *taps),
    )
