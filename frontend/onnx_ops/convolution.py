"""Convolutions. As the dialect's `conv` has no bias, the bias is added after it."""

from __future__ import annotations

from dataclasses import dataclass

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import Array, NodeError, Tensor, known
from .spatial import Window, window_of


@dataclass(frozen=True)
class Convolution:
    """The convolution that computed a value; a scale and shift that follow are folded into its weights and bias."""

    operand: Tensor
    weights: Tensor
    bias: Tensor | None
    window: Window
    groups: int


def convolve(b: Builder, spec: Convolution) -> Tensor:
    """The convolution and the addition of its bias."""
    result = b.conv(spec.operand, spec.weights, spec.window, spec.groups)
    if spec.bias is not None:
        result = b.add(result, b.reshape(spec.bias, [1, spec.bias.size, *[1] * (result.rank - 2)]))
    result.convolution = spec
    return result


def scaled(b: Builder, spec: Convolution, scale: Array, shift: Array, name: str) -> Tensor | None:
    """
    The convolution with `scale` and `shift` of each output channel folded into it; None if the weights are not known,
    or are integers that stay integers.
    """
    if (
        spec.weights.array is None
        or spec.weights.quantised is not None
        or (spec.bias is not None and spec.bias.array is None)
    ):
        return None
    w = spec.weights.array
    bias = shift if spec.bias is None or spec.bias.array is None else spec.bias.array * scale + shift
    weights = known((w * scale.reshape(-1, *[1] * (w.ndim - 1))).astype(w.dtype), name=spec.weights.name or name)
    folded = known(bias.astype(w.dtype), name=name + ".bias")
    return convolve(b, Convolution(spec.operand, weights, folded, spec.window, spec.groups))


@onnx_op("Conv")
def conv(node: Node) -> Tensor:
    """Convolution over 1 to 3 spatial dimensions."""
    x, w = node[0], node[1]
    check_spatial(x)
    window = window_of(node, x.shape[2:], list(w.shape[2:]))
    groups = node.int("group", 1)
    if x.shape[1] != w.shape[1] * groups:
        raise NodeError(f"{x.shape[1]} channels do not fit weights {list(w.shape)} in {groups} groups")
    return convolve(node.build, Convolution(x, w, node.get(2), window, groups))


def check_spatial(x: Tensor) -> None:
    """Raises NodeError unless there are 1 to 3 spatial dimensions."""
    if not 1 <= x.rank - 2 <= 3:
        raise NodeError(f"{x.rank - 2} spatial dimensions are not supported (1 to 3 are)")


@onnx_op("ConvTranspose")
def conv_transpose(node: Node) -> Tensor:
    """Transposed convolution: x with zeros between its elements, then a convolution with flipped weights."""
    x, w, b = node[0], node[1], node.build
    check_spatial(x)
    rank, groups = x.rank - 2, node.int("group", 1)
    strides, dilations = node.ints("strides", [1] * rank), node.ints("dilations", [1] * rank)
    extra = node.ints("output_padding", [0] * rank)
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    low, high = _transposed_pads(node, x.shape[2:], strides, extents, extra)
    flipped = flip_weights(b, w, groups)
    x = b.pad(x, [0] * x.rank, [0] * x.rank, interior=[0, 0, *(s - 1 for s in strides)])
    window = Window(
        list(w.shape[2:]),
        [1] * rank,
        dilations,
        [extent - 1 - a for extent, a in zip(extents, low, strict=True)],
        [extent - 1 - a + more for extent, a, more in zip(extents, high, extra, strict=True)],
    )
    return convolve(b, Convolution(x, flipped, node.get(2), window, groups))


def flip_weights(b: Builder, w: Tensor, groups: int) -> Tensor:
    """The weights [C, O/g, K...] as [O, C/g, K...] with all K reversed."""
    channels, outputs, *kernel = w.shape
    spatial = range(3, 3 + len(kernel))
    split = b.reshape(w, [groups, channels // groups, outputs, *kernel])
    turned = b.transpose(split, [0, 2, 1, *spatial])
    flat = b.reshape(turned, [groups * outputs, channels // groups, *kernel])
    starts = [0, 0, *(size - 1 for size in kernel)]
    return b.slice(flat, starts, flat.shape, [1, 1, *[-1] * len(kernel)])


def _transposed_pads(
    node: Node, spatial: tuple[int, ...], strides: list[int], extents: list[int], extra: list[int]
) -> tuple[list[int], list[int]]:
    """The padding of the convolution that the node transposes, by the attributes pads, output_shape or auto_pad."""
    rank = len(spatial)
    auto = node.str("auto_pad", "NOTSET")
    if not node.has("output_shape") and auto in ("NOTSET", "VALID"):
        pads = node.ints("pads", [0] * 2 * rank) if auto == "NOTSET" else [0] * 2 * rank
        return pads[:rank], pads[rank:]
    shape = node.ints("output_shape", [size * s for size, s in zip(spatial, strides, strict=True)])[-rank:]
    low, high = list[int](), list[int]()
    for size, stride, extent, more, wanted in zip(spatial, strides, extents, extra, shape, strict=True):
        total = stride * (size - 1) + more + extent - wanted
        # Padding is never negative. Where it would be, `auto_pad` gives a smaller result than it asks for, and
        # `output_shape` zeros at the end.
        half = max(0, total) // 2
        low.append(half if auto == "SAME_UPPER" else max(0, total) - half)
        high.append((total if node.has("output_shape") else max(0, total)) - low[-1])
    return low, high
