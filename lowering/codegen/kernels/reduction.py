"""Reductions over axes and windows, reductions to positions, and running sums."""

from __future__ import annotations

from ....dialects.dataflow.base import ints
from ....dialects.dataflow.reduction import ArgReduceOp, CumsumOp, ReduceOp, ReduceWindowOp
from .common import Tile


def select_reduce(op: ReduceOp, tile: Tile) -> None:
    """One instruction: the axes are moved behind the kept dimensions by strides."""
    out, (a,) = tile.out, tile.views
    axes = ints(op.axes)
    kept = [dim for dim in range(len(a.shape)) if dim not in axes]
    tile.emitter.reduce(op.kind.data.value, out.permute(kept), a.permute((*kept, *axes)), len(axes), tile.accumulate)


def select_reduce_window(op: ReduceWindowOp, tile: Tile) -> None:
    """A reduction over overlapping strides; the sizes of the windows are the tile's (windows may be split)."""
    out, (a,) = tile.out, tile.views
    rank, dims = len(a.shape), op.window_dims
    steps = tuple(stride * step for stride, step in zip(a.strides, ints(op.strides), strict=True))
    dilations = ints(op.dilations)
    taps = tuple(a.strides[dim] * dilations[dim] for dim in dims)
    windows = a.walk((*out.shape, *tile.box.sizes[rank:]), (*steps, *taps))
    tile.emitter.reduce(op.kind.data.value, out, windows, len(dims), tile.accumulate)


def select_arg_reduce(op: ArgReduceOp, tile: Tile) -> None:
    """One instruction, the axis moved last."""
    out, (a,) = tile.out, tile.views
    axis = op.axis.value.data
    kept = [dim for dim in range(len(a.shape)) if dim != axis]
    tile.emitter.arg_reduce(f"arg{op.kind.data.value}", out.permute(kept), a.permute((*kept, axis)))


def select_cumsum(op: CumsumOp, tile: Tile) -> None:
    """
    Running sums along the axis, moved last; backwards by negative strides. The exclusive form shifts the result by one
    position, so `out` must not overlap the operand.
    """
    out, (a,) = tile.out, tile.views
    axis = op.axis.value.data
    last = len(a.shape) - 1
    order = [*(dim for dim in range(len(a.shape)) if dim != axis), axis]
    out, a = out.permute(order), a.permute(order)
    if op.reverse is not None:
        out, a = out.reverse(last), a.reverse(last)
    if op.exclusive is not None:
        tile.emitter.fill(out.part(last, 0, min(1, out.shape[last])), 0)
        out, a = out.part(last, 1, max(0, out.shape[last] - 1)), a.part(last, 0, max(0, a.shape[last] - 1))
    tile.emitter.cumsum(out, a)
