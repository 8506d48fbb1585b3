"""Nodes that networks seldom have: losses, sampling, sequences, spectra, windows."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from onnx import helper

from .model import Candidate, RandomOnnx
from .table import maker

ANY_RANK = range(1, 7)


@maker(1)
def compress(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiub", rank=ANY_RANK)
    if x is None or g.opset < 9:
        return None
    axis = g.int(0, len(g.shape(x)) - 1)
    flat = g.chance(0.3)
    keep = g.const(g.array([g.value(x).size if flat else g.shape(x)[axis]], np.bool_))
    return Candidate("Compress", [x, keep], {} if flat else {"axis": axis})


@maker(0.6)
def of_known_values(g: RandomOnnx) -> Candidate | None:
    """Operators whose result has a shape that depends on elements."""
    x = g.pick("i", rank=[1], itemsize=8)
    if x not in g.known or g.opset < 11:
        return None
    if g.chance(0.5):
        return Candidate("NonZero", [x])
    axis = {"axis": g.int(-1, 0)} if g.chance(0.3) else {}
    return Candidate("Unique", [x], {"sorted": g.int(0, 1), **axis}, g.one_of((1, 4)))


@maker(1)
def loss(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[2, 3, 4], itemsize=4, empty=False)
    if x is None or g.opset < 12:
        return None
    shape = g.shape(x)
    labels = g.const(g.array([shape[0], *shape[2:]], np.int64, 0, shape[1] - 1))
    operands = [x, labels]
    if g.chance(0.4):
        operands.append(g.const(np.abs(g.array([shape[1]])) + np.float32(0.1)))
    attributes: dict[str, Any] = {"reduction": g.one_of(("none", "mean", "sum"))}
    if g.chance(0.3):
        attributes["ignore_index"] = g.int(0, shape[1] - 1)
    op = g.one_of(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
    return Candidate(op, operands, attributes, 2 if op.startswith("Soft") and g.chance(0.3) else 1)


@maker(1)
def center_crop_pad(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=ANY_RANK)
    if x is None or g.opset < 18:
        return None
    shape = g.shape(x)
    axes = [int(axis) for axis in g.rng.permutation(len(shape))[: g.int(1, len(shape))]]
    sizes = [g.int(0 if size == 0 else 1, size + 3) for size in shape]
    if g.chance(0.4):
        return Candidate("CenterCropPad", [x, g.ints([sizes[axis] for axis in axes])], {"axes": axes})
    return Candidate("CenterCropPad", [x, g.ints(sizes)])


@maker(2)
def grid_sample(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[4, 5] if g.opset >= 20 else [4], itemsize=4, empty=False)
    if x is None or g.opset < 16:
        return None
    shape = g.shape(x)
    spatial = len(shape) - 2
    places = [g.int(1, 4) for _ in range(spatial)]
    linear, cubic = ("linear", "cubic") if g.opset >= 20 else ("bilinear", "bicubic")
    mode = g.one_of((linear, "nearest", *((cubic,) if spatial == 2 else ())))
    attributes = {
        "mode": mode,
        "padding_mode": g.one_of(("zeros", "border", "reflection")),
        "align_corners": g.int(0, 1),
    }
    grid = g.const(g.array([shape[0], *places, spatial]) * np.float32(0.7))
    return Candidate("GridSample", [x, grid], attributes)


@maker(1)
def affine_grid(g: RandomOnnx) -> Candidate | None:
    if g.opset < 20:
        return None
    rank, batch = g.int(2, 3), g.int(1, 2)
    corners = g.int(0, 1)
    size = [batch, 2, *(g.int(1 + corners, 4) for _ in range(rank))]
    attributes = {"align_corners": 1} if corners else {}
    return Candidate("AffineGrid", [g.const(g.array([batch, rank, rank + 1])), g.ints(size)], attributes)


@maker(1)
def old_scatter(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=ANY_RANK, empty=False)
    if x is None or not 9 <= g.opset < 11:
        return None
    shape = g.shape(x)
    indices = np.zeros([1, *shape[1:]], np.int64) + g.int(0, shape[0] - 1)
    return Candidate("Scatter", [x, g.const(indices), g.const(g.array(indices.shape, g.value(x).dtype))], {"axis": 0})


@maker(1)
def max_unpool(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[3, 4], itemsize=4, empty=False)
    if x is None or g.opset < 9:
        return None
    kernel = [g.int(1, min(2, size)) for size in g.shape(x)[2:]]
    pooled, places = g.fresh(), g.fresh()
    pool = helper.make_node("MaxPool", [x], [pooled, places], kernel_shape=kernel, strides=kernel)
    return Candidate("MaxUnpool", [pooled, places], {"kernel_shape": kernel, "strides": kernel}, before=[pool])


@maker(1)
def col2im(g: RandomOnnx) -> Candidate | None:
    if g.opset < 18:
        return None
    image, block = [g.int(2, 6), g.int(2, 6)], [g.int(1, 2), g.int(1, 2)]
    strides, pads = [g.int(1, 2), g.int(1, 2)], [g.int(0, 1) for _ in range(4)]
    steps = [(size + pads[axis] + pads[axis + 2] - block[axis]) // strides[axis] + 1 for axis, size in enumerate(image)]
    columns = g.const(g.array([g.int(1, 2), g.int(1, 3) * math.prod(block), math.prod(steps)]))
    return Candidate("Col2Im", [columns, g.ints(image), g.ints(block)], {"strides": strides, "pads": pads})


@maker(1)
def sequence(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=ANY_RANK)
    if x is None or g.opset < 11:
        return None
    made, more, less = g.fresh(), g.fresh(), g.fresh()
    before = [
        helper.make_node("SequenceConstruct", [x, x], [made])
        if g.chance(0.7)
        else helper.make_node("SequenceEmpty", [], [made])
    ]
    place = [g.ints(0)] if g.chance(0.5) else []
    before.append(helper.make_node("SequenceInsert", [made, g.partner(x), *place], [more]))
    match g.int(0, 3):
        case 0:
            return Candidate("SequenceAt", [more, g.ints(-1)], before=before)
        case 1:
            return Candidate("SequenceLength", [more], before=before)
        case 2:
            before[0] = helper.make_node("SequenceConstruct", [x, x], [made])
            before[1] = helper.make_node("SequenceErase", [made, g.ints(g.int(-2, 1))], [less])
            return Candidate("SequenceAt", [less, g.ints(0)], before=before)
        case _:
            new = g.int(0, 1)
            axis = g.int(-len(g.shape(x)), len(g.shape(x)) - 1)
            before = [helper.make_node("SequenceConstruct", [x, x], [made])]
            return Candidate("ConcatFromSequence", [made], {"axis": axis, "new_axis": new}, before=before)


@maker(1)
def split_to_sequence(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=ANY_RANK, empty=False)
    if x is None or g.opset < 11:
        return None
    axis, parts = g.int(0, len(g.shape(x)) - 1), g.fresh()
    sizes = [g.ints(g.int(1, g.shape(x)[axis]))] if g.chance(0.6) else []
    attributes = {"axis": axis, **({} if sizes or g.chance(0.5) else {"keepdims": 0})}
    before = [cast(Any, helper).make_node("SplitToSequence", [x, *sizes], [parts], **attributes)]
    return Candidate("SequenceAt", [parts, g.ints(0)], before=before)


@maker(0.6)
def optional(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f")
    if x is None or g.opset < 15:
        return None
    made = g.fresh()
    op = g.one_of(("OptionalGetElement", "OptionalHasElement"))
    return Candidate(op, [made], before=[helper.make_node("Optional", [x], [made])])


@maker(1)
def constants(g: RandomOnnx) -> Candidate | None:
    match g.int(0, 3):
        case 0 if g.opset >= 12:
            return Candidate("Constant", [], {"value_floats": [0.5, -1.5, float(g.int(0, 9))]})
        case 1 if g.opset >= 11:
            start, limit, delta = g.int(-5, 5), g.int(-9, 9), g.one_of((-3, -1, 1, 2))
            dtype = g.one_of((np.int64, np.int32, np.float32))
            return Candidate("Range", [g.const(value, dtype) for value in (start, limit, delta)])
        case 2 if g.opset >= 17:
            op = g.one_of(("HannWindow", "HammingWindow", "BlackmanWindow"))
            return Candidate(op, [g.ints(g.int(1, 12))], {"periodic": g.int(0, 1)})
        case 3 if g.opset >= 17:
            numbers = [g.ints(g.int(2, 6)), g.ints(g.one_of((8, 16))), g.ints(g.one_of((8000, 16000)))]
            edges = [g.const(0.0, np.float32), g.const(4000.0, np.float32)]
            return Candidate("MelWeightMatrix", [*numbers, *edges])
        case _:
            return None


@maker(1)
def spectrum(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(1, 5), itemsize=4, empty=False)
    if x is None or g.opset < 17 or g.value(x).size > 500:
        return None
    wide = g.fresh()
    before = [helper.make_node("Unsqueeze", [x, g.ints(-1)], [wide])]
    rank = len(g.shape(x)) + 1
    if rank < 3:
        return None
    axis = g.int(1, rank - 2)
    inverse = int(g.chance(0.3))
    flags = {"inverse": inverse, "onesided": 0 if inverse else g.int(0, 1)}
    if inverse:  # of complex numbers
        before.append(helper.make_node("Concat", [wide, wide], [wide := g.fresh()], axis=-1))
    if g.opset >= 20:
        return Candidate("DFT", [wide, "", g.ints(axis)], flags, before=before)
    return Candidate("DFT", [wide], {**flags, "axis": axis}, before=before)


@maker(0.6)
def short_spectra(g: RandomOnnx) -> Candidate | None:
    if g.opset < 17:
        return None
    signal = g.const(g.array([g.int(1, 2), g.int(16, 40), 1]))
    length = g.one_of((4, 8))
    window = g.const(np.abs(g.array([length])) + np.float32(0.1))
    return Candidate("STFT", [signal, g.ints(g.int(2, 6)), window, g.ints(length)], {"onesided": 1})


@maker(1)
def deep_top_k(g: RandomOnnx) -> Candidate | None:
    """As many as there are, or almost, many of them equal."""
    x = g.pick("fi", rank=ANY_RANK)
    if x is None or g.opset < 11:
        return None
    shape = g.shape(x)
    axis = int(np.argmax(shape))
    k = g.int(0, shape[axis])
    return Candidate("TopK", [x, g.ints([k])], {"axis": axis, "largest": g.int(0, 1)}, 2)


@maker(0.6)
def empty_loop(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(4))
    if x is None or g.opset < 8:
        return None
    kind, number = helper.np_dtype_to_tensor_dtype(g.value(x).dtype), len(g.nodes)
    i, going, state, still, following, scan = (f"none{number}_{part}" for part in range(6))
    shape = list(g.shape(x))
    infos: list[tuple[str, Any, list[int]]] = [(i, 7, []), (going, 9, []), (state, kind, shape)]
    infos += [(still, 9, []), (following, kind, shape), (scan, kind, shape)]
    values = [helper.make_tensor_value_info(*info) for info in infos]
    nodes = [
        helper.make_node("Identity", [going], [still]),
        helper.make_node("Neg", [state], [following]),
        helper.make_node("Abs", [state], [scan]),
    ]
    body = helper.make_graph(nodes, f"none{number}", values[:3], values[3:])
    times, start = g.one_of(((0, True), (3, False)))
    return Candidate("Loop", [g.ints(times), g.const(start, np.bool_), x], {"body": body}, 2)
