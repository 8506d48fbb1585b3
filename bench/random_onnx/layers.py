"""Layers: products, convolutions, pooling, recurrence, quantised ones, control flow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import helper

from .model import Candidate, RandomOnnx
from .table import maker


def _weights(g: RandomOnnx, shape: list[int], dtype: Any, fan: int) -> str:
    return g.const((g.array(shape, np.float64) / math.sqrt(max(1, fan))).astype(dtype))


@maker(7)
def matmul(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(1, 6), empty=g.chance(0.3))
    if x is None:
        return None
    shape, dtype = g.shape(x), g.value(x).dtype
    fits = [
        name
        for name, value in g.values.items()
        if value.dtype == dtype and value.ndim >= 2 and value.shape[-2] == shape[-1]
    ]
    if fits and g.chance(0.4):
        return Candidate("MatMul", [x, g.one_of(fits)])
    lead = [g.one_of((1, size)) for size in shape[:-2]] if g.chance(0.3) else []
    if g.chance(0.2):
        if len(shape) < 2:
            return None
        return Candidate("MatMul", [_weights(g, [*lead, g.int(1, 9), shape[-2]], dtype, shape[-2]), x])
    return Candidate("MatMul", [x, _weights(g, [*lead, shape[-1], g.int(1, 33)], dtype, shape[-1])])


@maker(4)
def gemm(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[2], empty=g.chance(0.3))
    if x is None:
        return None
    flip_a, flip_b, n = g.int(0, 1), g.int(0, 1), g.int(1, 20)
    m, k = g.shape(x)[::-1] if flip_a else g.shape(x)
    dtype = g.value(x).dtype
    operands = [x, _weights(g, [n, k] if flip_b else [k, n], dtype, k)]
    if g.opset < 11 or g.chance(0.7):
        operands.append(g.const(g.array(g.one_of(([n], [1, n], [m, 1], [m, n], [1], [])), dtype)))
    attributes: dict[str, Any] = {"transA": flip_a, "transB": flip_b}
    if g.chance(0.5):
        attributes |= {"alpha": 0.5, "beta": g.one_of((0.0, 2.0))}
    return Candidate("Gemm", operands, attributes)


@maker(1)
def einsum(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[2, 3], empty=False)
    if x is None or g.opset < 12:
        return None
    if g.chance(0.3):
        two = ("ij->ji", "ij->", "ij->j", "...->...", "ij,ij,i->j")
        alone: str = g.one_of(two if len(g.shape(x)) == 2 else ("...ij->...ji", "bij->jb", "bij->i", "...i->..."))
        first = g.const(g.array(g.shape(x)[:1], g.value(x).dtype))
        return Candidate("Einsum", [x, x, first] if alone.count(",") else [x], {"equation": alone})
    shape, dtype = g.shape(x), g.value(x).dtype
    two = ("ij,jk->ki", "ij,ik->jk", "ij,ij->i", "ij,k->ikj")
    three = ("bij,bjk->bik", "bij,bkj->bik", "bij,j->bi", "bij,bik->bjk")
    equation: str = g.one_of(two if len(shape) == 2 else three)
    left, right = equation.split("->")[0].split(",")
    sizes = {"k": g.int(1, 4), **dict(zip(left, shape, strict=True))}
    other = [sizes[letter] for letter in right]
    return Candidate("Einsum", [x, _weights(g, other, dtype, 4)], {"equation": equation})


def _window(g: RandomOnnx, spatial: tuple[int, ...], pool: bool = False) -> dict[str, Any]:
    kernel = [g.int(1, min(4, size)) for size in spatial]
    strides = [g.int(1, 3) for _ in spatial]
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
    dilations = [g.one_of((1, 1, 2)) for _ in spatial]
    if not pool and g.chance(0.4):
        attributes["dilations"] = dilations
    if g.chance(0.2):
        attributes["auto_pad"] = g.one_of(("SAME_UPPER", "SAME_LOWER", "VALID"))
        if pool:  # ONNX Runtime moves some windows that are smaller than their steps, and refuses others
            attributes["strides"] = [min(k, stride) for k, stride in zip(kernel, strides, strict=True)]
    else:
        beyond = 0 if pool or g.chance(0.8) else 3  # windows wholly in the padding
        attributes["pads"] = [g.int(0, k - 1 + beyond) for k in (*kernel, *kernel)]
    return attributes


def _fits(spatial: tuple[int, ...], attributes: dict[str, Any]) -> bool:
    """Whether a window is at most as large as its operand in each dimension."""
    kernel, rank = attributes["kernel_shape"], len(spatial)
    dilations, pads = attributes.get("dilations", [1] * rank), attributes.get("pads", [0] * 2 * rank)
    return all(
        (k - 1) * dilation < size + low + high
        for k, dilation, size, low, high in zip(kernel, dilations, spatial, pads, pads[rank:], strict=False)
    )


@maker(8)
def conv(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[3, 4, 5], empty=g.chance(0.3))
    if x is None:
        return None
    shape, dtype = g.shape(x), g.value(x).dtype
    attributes = _window(g, shape[2:])
    channels = shape[1]
    groups = g.one_of([d for d in range(1, channels + 1) if channels % d == 0]) if g.chance(0.4) else 1
    out = groups * g.int(1, 6)
    kernel = [out, channels // groups, *attributes["kernel_shape"]]
    computed = [
        name for name, value in g.values.items() if value.dtype == dtype and value.shape[1:] == tuple(kernel[1:])
    ]
    if computed and groups == 1 and g.chance(0.5):
        return Candidate("Conv", [x, g.one_of(computed)], attributes)
    w = _weights(g, kernel, dtype, channels * 4)
    operands = [x, w, *([g.const(g.array([out], dtype))] if g.chance(0.6) else [])]
    return Candidate("Conv", operands, {**attributes, "group": groups})


@maker(3)
def conv_transpose(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[3, 4, 5], empty=g.chance(0.3))
    if x is None:
        return None
    shape, dtype = g.shape(x), g.value(x).dtype
    attributes = _window(g, shape[2:])
    channels = shape[1]
    groups = g.one_of([d for d in range(1, channels + 1) if channels % d == 0]) if g.chance(0.3) else 1
    w = _weights(g, [channels, g.int(1, 4), *attributes["kernel_shape"]], dtype, channels * 4)
    if g.chance(0.3):
        attributes["output_padding"] = [g.int(0, stride - 1) for stride in attributes["strides"]]
    if "pads" in attributes and g.chance(0.2):  # the padding follows from the size of the result
        del attributes["pads"]
        kernel, strides = attributes["kernel_shape"], attributes["strides"]
        dilations = attributes.get("dilations", [1] * len(kernel))
        full = [
            (size - 1) * stride + (k - 1) * dilation + 1
            for size, stride, k, dilation in zip(shape[2:], strides, kernel, dilations, strict=True)
        ]
        attributes["output_shape"] = [max(1, size - g.int(0, 2)) for size in full]
        attributes.pop("output_padding", None)
    operands = [x, w]
    if g.chance(0.5):
        operands.append(g.const(g.array([groups * g.shape(w)[1]], dtype)))
    return Candidate("ConvTranspose", operands, {**attributes, "group": groups})


@maker(5)
def pool(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[3, 4, 5], empty=g.chance(0.3))
    small = g.pick("iu", rank=[3, 4, 5], itemsize=1, empty=False) if g.opset >= 12 and g.chance(0.2) else None
    if small is not None:
        return Candidate("MaxPool", [small], _window(g, g.shape(small)[2:], pool=True))
    if x is None:
        return None
    if g.chance(0.25):
        return Candidate(g.one_of(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")), [x])
    attributes = _window(g, g.shape(x)[2:], pool=True)
    op = g.one_of(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    if op != "LpPool" and g.opset >= 10 and g.chance(0.3):
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and g.chance(0.3):
        attributes["count_include_pad"] = 1
    if op == "MaxPool" and g.opset >= 10 and "auto_pad" not in attributes and g.chance(0.2):
        attributes["dilations"] = [g.int(1, 2) for _ in g.shape(x)[2:]]
    if op == "AveragePool" and g.opset >= 19 and "auto_pad" not in attributes and g.chance(0.2):
        attributes["dilations"] = [g.int(1, 2) for _ in g.shape(x)[2:]]
    if op == "LpPool":
        attributes["p"] = g.int(1, 3)
    if not _fits(g.shape(x)[2:], attributes):  # ONNX Runtime computes one window where there is none
        return None
    return Candidate(op, [x], attributes, 2 if op == "MaxPool" and g.opset >= 8 and g.chance(0.2) else 1)


@maker(2)
def recurrent(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[3], itemsize=4, empty=False)
    if x is None or g.shape(x)[0] > 8:  # they are unrolled
        return None
    op, gates = g.one_of((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    steps, batch, width = g.shape(x)
    hidden, direction = g.int(1, 6), g.one_of(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    operands = [
        x,
        _weights(g, [count, gates * hidden, width], np.float32, width),
        _weights(g, [count, gates * hidden, hidden], np.float32, hidden),
    ]
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if g.chance(0.7):
        operands.append(g.const(g.array([count, 2 * gates * hidden], np.float32)))
        if g.chance(0.5):
            lengths = g.const(np.maximum(1, g.array([batch], np.int32, 1, steps)))
            operands.append(lengths if g.chance(0.5) else "")
            operands.append(g.const(g.array([count, batch, hidden], np.float32)))
    if op == "GRU" and g.chance(0.5):
        attributes["linear_before_reset"] = 1
    if op == "LSTM" and g.chance(0.3):  # the cells at the start, and their weights in the gates
        operands += [""] * (6 - len(operands)) + [g.const(g.array([count, batch, hidden], np.float32))]
        operands.append(_weights(g, [count, 3 * hidden], np.float32, 4))
    if op != "LSTM" and g.chance(0.2):  # ONNX Runtime does not clip what the output of an LSTM is made of
        attributes["clip"] = 0.5
    if op == "RNN" and g.chance(0.5):
        attributes["activations"] = [g.one_of(("Relu", "Sigmoid", "Softsign"))] * count
    return Candidate(op, operands, attributes, 3 if op == "LSTM" else 2)


def _scale(g: RandomOnnx) -> str:
    return g.const(g.one_of((0.02, 0.05, 0.1)), np.float32)


def _bytes(g: RandomOnnx, shape: list[int], dtype: Any) -> Any:
    """Small numbers, or any numbers of the type."""
    return g.array(shape, dtype, -128, 127 if dtype == np.int8 else 255) if g.chance(0.5) else g.array(shape, dtype)


@maker(3)
def quantise(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", itemsize=4, empty=g.chance(0.3))
    if x is None or g.opset < 10:
        return None
    if g.opset >= 11 and g.chance(0.2):
        return Candidate("DynamicQuantizeLinear", [x], outputs=3)
    dtype = g.one_of((np.int8, np.uint8, *((np.int16, np.uint16) if g.opset >= 21 else ())))
    shape = g.shape(x)
    if g.opset >= 21 and shape and g.chance(0.3):
        axis, block = g.int(0, len(shape) - 1), g.int(1, 4)
        parts = [-(-size // block) if dim == axis else size for dim, size in enumerate(shape)]
        scale = g.const(np.abs(g.array(parts, np.float32)) * np.float32(0.1) + np.float32(0.05))
        zero = [g.const(g.array(parts, dtype))] if g.chance(0.5) else []
        kind = {} if zero else {"output_dtype": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}
        return Candidate("QuantizeLinear", [x, scale, *zero], {"axis": axis, "block_size": block, **kind})
    if g.chance(0.1):
        return Candidate("QuantizeLinear", [x, _scale(g)])
    if g.opset >= 13 and shape and g.chance(0.4):
        axis = g.int(0, len(shape) - 1)
        scale = g.const(np.abs(g.array([shape[axis]], np.float32)) * np.float32(0.1) + np.float32(0.05))
        zero = g.const(g.array([shape[axis]], dtype))
        return Candidate("QuantizeLinear", [x, scale, zero], {"axis": axis})
    return Candidate("QuantizeLinear", [x, _scale(g), g.const(g.int(0, 9), dtype)])


@maker(2)
def dequantise(g: RandomOnnx) -> Candidate | None:
    x = g.pick("iu", itemsize=g.one_of((1, 1, 2, 4)))
    if x is None or g.opset < 10:
        return None
    shape = g.shape(x)
    if g.opset >= 13 and shape and g.value(x).dtype.itemsize == 1 and g.chance(0.4):
        axis = g.int(-len(shape), len(shape) - 1)
        scale = g.const(np.abs(g.array([shape[axis]], np.float32)) + np.float32(0.05))
        return Candidate(
            "DequantizeLinear", [x, scale, g.const(g.array([shape[axis]], g.value(x).dtype))], {"axis": axis}
        )
    if g.opset >= 21 and shape and g.value(x).dtype.itemsize < 4 and g.chance(0.3):
        axis, block = g.int(0, len(shape) - 1), g.int(1, 4)
        parts = [-(-size // block) if dim == axis else size for dim, size in enumerate(shape)]
        scale = g.const(np.abs(g.array(parts, np.float32)) + np.float32(0.05))
        zero = [g.const(g.array(parts, g.value(x).dtype))] if g.chance(0.5) else []
        return Candidate("DequantizeLinear", [x, scale, *zero], {"axis": axis, "block_size": block})
    zero = [g.const(g.int(0, 9), g.value(x).dtype)] if g.chance(0.7) else []
    return Candidate("DequantizeLinear", [x, _scale(g), *zero])


@maker(3)
def quantised_layer(g: RandomOnnx) -> Candidate | None:
    x = g.pick("iu", rank=[2, 3, 4], itemsize=1, empty=g.chance(0.3))
    if x is None or g.opset < 10:
        return None
    shape, dtype = g.shape(x), g.value(x).dtype
    if shape[-1] == 0:
        return None  # ONNX Runtime's products over an empty dimension are uninitialised memory
    zero = g.const(g.int(0, 9), dtype)
    kind = g.one_of(("MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv"))
    if kind.endswith("atMul") or kind == "MatMulInteger":
        w_type, width = g.one_of((np.int8, np.uint8)), g.int(1, 12)
        w = g.const(_bytes(g, [shape[-1], width], w_type))
        w_zero = g.const(g.array([width], w_type) if g.chance(0.3) else 1, w_type)
        if kind == "MatMulInteger":
            return Candidate(kind, [x, w, zero, w_zero])
        return Candidate(kind, [x, _scale(g), zero, w, _scale(g), w_zero, g.const(0.9, np.float32), g.const(3, dtype)])
    if len(shape) < 3:
        return None
    attributes = _window(g, shape[2:])
    out = g.int(1, 6)
    kernel = [out, shape[1], *attributes["kernel_shape"]]
    if kind == "ConvInteger":
        w_type = dtype
        return Candidate(kind, [x, g.const(_bytes(g, kernel, w_type)), zero, g.const(1, w_type)], attributes)
    w = g.const(_bytes(g, kernel, np.int8))
    w_scale = g.const(np.full(out, 0.03), np.float32) if g.chance(0.5) else _scale(g)
    operands = [x, _scale(g), zero, w, w_scale, g.const(np.zeros(g.shape(w_scale)), np.int8)]
    operands += [g.const(0.8, np.float32), g.const(2, dtype)]
    if g.chance(0.5):
        operands.append(g.const(g.array([out], np.int32, -50, 50)))
    return Candidate(kind, operands, attributes)


def _body(g: RandomOnnx, name: str, op: str, operands: list[str], x: str) -> Any:
    output = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(g.value(x).dtype), None)
    return helper.make_graph([helper.make_node(op, operands, [name])], name, [], [output])


@maker(1)
def conditional(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f")
    if x is None or g.opset < 8:
        return None
    condition = g.pick("b", rank=[0])
    if condition is None or g.chance(0.5):
        condition = g.const(g.chance(0.5), np.bool_)
    number = len(g.nodes)
    branches = {
        "then_branch": _body(g, f"then{number}", "Relu", [x], x),
        "else_branch": _body(g, f"else{number}", "Neg", [x], x),
    }
    return Candidate("If", [condition], branches)


@maker(1)
def loop(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(4))
    if x is None or g.opset < 8:
        return None
    kind, number = helper.np_dtype_to_tensor_dtype(g.value(x).dtype), len(g.nodes)
    names = [f"loop{number}_{part}" for part in ("i", "going", "state", "still", "next", "scan")]
    i, going, state, still, following, scan = names
    shape = list(g.shape(x))
    infos: list[tuple[str, Any, list[int]]] = [(i, 7, []), (going, 9, []), (state, kind, shape)]
    infos += [(still, 9, []), (following, kind, shape), (scan, kind, shape)]
    values = [helper.make_tensor_value_info(*info) for info in infos]
    nodes = [
        helper.make_node("Identity", [going], [still]),
        helper.make_node("Add", [state, x], [following]),
        helper.make_node("Tanh", [following], [scan]),
    ]
    body = helper.make_graph(nodes, f"loop{number}", values[:3], values[3:])
    return Candidate("Loop", [g.ints(g.int(1, 4)), g.const(True, np.bool_), x], {"body": body}, 2)


@maker(1)
def scan(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[2, 3], empty=False)
    if x is None or g.opset < 9:
        return None
    kind, number = helper.np_dtype_to_tensor_dtype(g.value(x).dtype), len(g.nodes)
    names = [f"scan{number}_{part}" for part in ("state", "part", "next", "out")]
    row = list(g.shape(x)[1:])
    values = [helper.make_tensor_value_info(name, kind, row) for name in names]
    nodes = [helper.make_node("Max", names[:2], [names[2]]), helper.make_node("Sub", names[1::-1], [names[3]])]
    body = helper.make_graph(nodes, f"scan{number}", values[:2], values[2:])
    start = g.const(g.array(row, g.value(x).dtype))
    attributes = {"body": body, "num_scan_inputs": 1, "scan_input_directions": [g.int(0, 1)]}
    return Candidate("Scan", [start, x], attributes, 2)
