"""Copies between views of different shapes that hold the same elements in row-major order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ..emitter import Emitter
from ..view import View


def copy_flat(out: View, a: View, emitter: Emitter) -> None:
    """out.reshape(-1) = a.reshape(-1), with as few instructions as both walks allow."""
    if 0 in out.shape:
        return
    left, right = _coalesced(out), _coalesced(a)
    common: list[tuple[int, int, int]] = []
    while left and right:
        (size, stride), (other, other_stride) = left[-1], right[-1]
        if size == other:
            left.pop()
            right.pop()
        elif other % size == 0:
            left.pop()
            right[-1] = (other // size, other_stride * size)
        elif size % other == 0:
            right.pop()
            left[-1] = (size // other, stride * other)
        else:
            # the walks share only a part of this dimension
            part = math.gcd(size, other)
            if part > 1:
                common.append((part, stride, other_stride))
                left[-1], right[-1] = (size // part, stride * part), (other // part, other_stride * part)
            break
        common.append((min(size, other), stride, other_stride))
    common.reverse()
    shape = tuple(size for size, _, _ in common)
    to, of = tuple(stride for _, stride, _ in common), tuple(stride for _, _, stride in common)
    for first, second in zip(_offsets(left), _offsets(right), strict=True):
        target = View(out.space, out.address + first, out.dtype, shape, to)
        emitter.copy(target, View(a.space, a.address + second, a.dtype, shape, of))


def _coalesced(view: View) -> list[tuple[int, int]]:
    """(size, stride) of the dimensions, merged as far as they are contiguous."""
    dims: list[tuple[int, int]] = []
    for size, stride in zip(view.shape, view.strides, strict=True):
        if size == 1:
            continue
        if dims and dims[-1][1] == stride * size:
            dims[-1] = (dims[-1][0] * size, stride)
        else:
            dims.append((size, stride))
    return dims


def _offsets(dims: Sequence[tuple[int, int]]) -> list[int]:
    return [
        sum(position * stride for position, (_, stride) in zip(index, dims, strict=True))
        for index in itertools.product(*(range(size) for size, _ in dims))
    ]
