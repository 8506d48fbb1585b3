"""Fourier transforms as products with matrices of sines and cosines, which are known at import."""

from __future__ import annotations

import math

import numpy as np

from .. import arrays
from ..node import Node, numpy_dtype
from ..registry import onnx_op
from ..sliding_window import Window
from ..tensors import Array, NodeError, Tensor, known


def fourier_matrix(size: int, length: int, parts: int, inverse: bool, onesided: bool) -> Array:
    """
    The Fourier transform of `length` as a real matrix [size, parts, bins, 2].

    size: number of given elements (the others up to `length` are zero); parts: 1 for real elements, 2 for complex ones;
    bins: `length`, or with `onesided` the first half and the middle one.
    """
    bins = length // 2 + 1 if onesided else length
    turns = arrays.outer_product(arrays.arange(size), arrays.arange(bins)) % length
    factor = np.exp((2j if inverse else -2j) * np.pi * turns / length) / (length if inverse else 1)
    real = np.stack([factor.real, factor.imag], -1)
    imaginary = np.stack([-factor.imag, factor.real], -1)
    return np.stack([real, imaginary][:parts], 1)


def real_inverse_matrix(bins: int, length: int) -> Array:
    """The inverse transform from half a spectrum to `length` real values as a matrix [bins, 2, length, 1]."""
    full = fourier_matrix(length, length, 2, inverse=True, onesided=False)[..., :1]
    result = full[:bins].copy()
    # The mirror image of a bin is its complex conjugate, so the imaginary parts of the sum cancel.
    for bin_ in range(1, bins):
        if length - bin_ >= bins:
            result[bin_] += full[length - bin_] * np.array([1, -1]).reshape(2, 1, 1)
    return result


def _transform(node: Node, axis: int) -> Tensor:
    b, x = node.build, node[0]
    parts = x.shape[-1]
    if axis == x.rank - 1 or parts not in (1, 2):
        raise NodeError(f"shape {list(x.shape)}: the last dimension holds real and imaginary parts")
    inverse, onesided = bool(node.int("inverse", 0)), bool(node.int("onesided", 0))
    back = inverse and onesided
    size = x.shape[axis]
    length = 2 * (size - 1) if back else size
    if node.get(1) is not None:
        length = node.ints_of(1, "the length")[0]
    if length < 1:
        raise NodeError(f"a transform of length {length}")
    used = min(size, length // 2 + 1 if back else length)
    x = b.slice_axis(x, axis, 0, used)
    if back:
        matrix = real_inverse_matrix(used, length)
        matrix = matrix[:, :parts]
    else:
        if onesided and parts == 2:
            raise NodeError("the spectrum of complex values is not symmetric: onesided must be 0")
        matrix = fourier_matrix(used, length, parts, inverse, onesided)
    order = [*(a for a in range(x.rank) if a not in (axis, x.rank - 1)), axis, x.rank - 1]
    turned = b.transpose(x, order)
    flat = b.reshape(turned, [math.prod(turned.shape[:-2]), used * parts])
    bins, kinds = matrix.shape[2:]
    weights = known(matrix.reshape(used * parts, bins * kinds).astype(x.dtype))
    result = b.reshape(b.matmul(flat, weights), [*turned.shape[:-2], bins, kinds])
    return b.transpose(result, list(np.argsort(order)))


@onnx_op("DFT", since=17)
def dft_17(node: Node) -> Tensor:
    """Discrete Fourier transform; the axis is an attribute."""
    return _transform(node, node[0].axis(node.int("axis", 1)))


@onnx_op("DFT", since=20)
def dft_20(node: Node) -> Tensor:
    """Discrete Fourier transform; the axis is an operand."""
    axis = -2 if node.get(2) is None else node.ints_of(2, "the axis")[0]
    return _transform(node, node[0].axis(axis))


@onnx_op("STFT", since=17)
def stft(node: Node) -> Tensor:
    """Fourier transforms of frames of the signal, as a convolution with a filter for each part of each bin."""
    b, signal, window = node.build, node[0], node.get(2)
    step = node.ints_of(1, "the step")[0]
    if node.get(3) is not None:
        length = node.ints_of(3, "the length of a frame")[0]
    else:
        length = signal.shape[1] if window is None else window.size
    if step < 1 or not 1 <= length <= signal.shape[1]:
        raise NodeError(f"frames of {length} elements every {step} do not fit a signal of {signal.shape[1]}")
    parts = signal.shape[2] if signal.rank == 3 else 1
    onesided = bool(node.int("onesided", 1))
    if onesided and parts == 2:
        raise NodeError("the spectrum of complex values is not symmetric: onesided must be 0")
    matrix = fourier_matrix(length, length, parts, False, onesided)
    bins = matrix.shape[2]
    turned = matrix.transpose(2, 3, 1, 0).reshape(2 * bins, parts, length)
    filters = known(np.ascontiguousarray(turned).astype(signal.dtype))
    if window is not None:
        filters = b.mul(filters, b.reshape(window, [1, 1, length]))
    batch = signal.shape[0]
    x = b.transpose(b.reshape(signal, [batch, signal.shape[1], parts]), [0, 2, 1])
    spectrum = b.conv(x, filters, Window([length], [step], [1], [0], [0]), 1)
    return b.reshape(b.transpose(spectrum, [0, 2, 1]), [batch, spectrum.shape[2], bins, 2])


def _mel(hertz: float) -> float:
    return 2595 * math.log10(1 + hertz / 700)


@onnx_op("MelWeightMatrix", since=17)
def mel_weight_matrix(node: Node) -> Tensor:
    """Triangular filters over the bins of a spectrum, evenly spaced on the mel scale."""
    bands, length, rate = (node.ints_of(index, "the filters' description")[0] for index in range(3))
    low, high = (float(node.known(index, "an edge").reshape(-1)[0]) for index in (3, 4))
    mels = _mel(low) + arrays.arange(bands + 2) * (_mel(high) - _mel(low)) / (bands + 2)
    edges: list[int] = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype(np.int64).tolist()
    matrix = arrays.full((length // 2 + 1, bands), 0.0)
    for band, (first, centre, last) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        rising, falling = arrays.arange(first, centre + 1), arrays.arange(centre, last)
        matrix[rising, band] = (rising - first) / (centre - first) if centre > first else 1
        matrix[falling, band] = (last - falling) / max(1, last - centre)
    return known(matrix.astype(numpy_dtype(node.int("output_datatype", 1))))
