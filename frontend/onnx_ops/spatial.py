"""Attributes of windows over spatial dimensions, which convolution and pooling have in common."""

from __future__ import annotations

from ..node import Node
from ..sliding_window import Window
from ..tensors import NodeError

__all__ = ["Window", "ceil_padding", "window_of"]


def window_of(node: Node, spatial: tuple[int, ...], sizes: list[int]) -> Window:
    """
    The window that a node's attributes describe, with `auto_pad` resolved.

    spatial: sizes of the operand's spatial dimensions; sizes: sizes of the window. Raises NodeError for attributes of
    a different length.
    """
    rank = len(spatial)
    strides = node.ints("strides", [1] * rank)
    dilations = node.ints("dilations", [1] * rank)
    pads = node.ints("pads", [0] * 2 * rank)
    if any(len(one) != rank for one in (sizes, strides, dilations)) or len(pads) != 2 * rank:
        raise NodeError(f"kernel_shape, strides, dilations and pads do not fit {rank} spatial dimensions")
    if any(value < 1 for one in (sizes, strides, dilations) for value in one):
        raise NodeError("kernel_shape, strides and dilations must be positive")
    low, high = pads[:rank], pads[rank:]
    auto = node.str("auto_pad", "NOTSET")
    if auto == "VALID":
        low, high = [0] * rank, [0] * rank
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        low, high = list[int](), list[int]()
        for size, k, stride, dilation in zip(spatial, sizes, strides, dilations, strict=True):
            total = max(0, (-(-size // stride) - 1) * stride + (k - 1) * dilation + 1 - size)
            less, more = total // 2, total - total // 2
            low.append(less if auto == "SAME_UPPER" else more)
            high.append(more if auto == "SAME_UPPER" else less)
    return Window(sizes, strides, dilations, low, high)


def ceil_padding(window: Window, spatial: tuple[int, ...]) -> list[int]:
    """
    High padding with which the floor formula gives the number of positions that `ceil_mode` asks for.

    A last window that would begin in the high padding is left out, as ONNX specifies.
    """
    high: list[int] = []
    for axis, size in enumerate(spatial):
        stride = window.strides[axis]
        extent = (window.sizes[axis] - 1) * window.dilations[axis] + 1
        room = size + window.low[axis] + window.high[axis] - extent
        count = -(-room // stride) + 1
        if (count - 1) * stride >= size + window.low[axis]:
            count -= 1
        high.append(window.high[axis] + max(0, (count - 1) * stride - room))
    return high
