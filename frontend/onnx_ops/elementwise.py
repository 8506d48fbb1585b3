"""Arithmetic, comparison, logic and casts, element by element."""

from __future__ import annotations

import numpy as np

from ..narrow_types import Rounding, convert
from ..node import Node, numpy_dtype
from ..registry import onnx_op
from ..tensors import BOOL, HELD_IN, NodeError, Tensor, is_integer
from ..wide import in_f32

_UNARY = {
    "Neg": "neg",
    "Abs": "abs",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Reciprocal": "reciprocal",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "Erf": "erf",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Sign": "sign",
    "Sin": "sin",
    "Cos": "cos",
    "Not": "not",
    "BitwiseNot": "not",
    "IsNaN": "isnan",
    "Relu": "relu",
}


@onnx_op(*_UNARY)
def unary(node: Node) -> Tensor:
    """One elementwise operation of the `dataflow` dialect, of one operand."""
    x, name = node[0], _UNARY[node.proto.op_type]
    if name in ("abs", "sign", "relu") and x.dtype.kind == "u":
        return x if name != "sign" else node.build.minimum(x, 1)
    if name in ("floor", "ceil", "round", "isnan", "isinf") and not x.is_float:
        raise NodeError(f"{x.dtype} is not a float type")
    if name == "erf" and is_integer(x.dtype):
        # The dialect has erf for floats only; f64 represents the integers.
        return node.build.cast(node.build.unary(name, node.build.cast(x, np.dtype(np.float64))), x.dtype)
    return node.build.unary(name, x)


def legacy_broadcast(node: Node, x: Tensor, y: Tensor) -> Tensor:
    """y, shaped to broadcast by the rules before opset 7: an attribute gives the axis of x at which y starts."""
    if node.opset >= 7 or not node.int("broadcast", 0) or not node.has("axis"):
        return y
    axis = x.axis(node.int("axis"))
    return node.build.reshape(y, [*y.shape, *[1] * (x.rank - axis - y.rank)])


_BINARY = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "And": "and",
    "Or": "or",
    "Xor": "xor",
    "BitwiseAnd": "and",
    "BitwiseOr": "or",
    "BitwiseXor": "xor",
}


@onnx_op(*_BINARY)
def binary(node: Node) -> Tensor:
    """One elementwise operation of the `dataflow` dialect, of two operands."""
    x, y = node[0], legacy_broadcast(node, node[0], node[1])
    return node.build.binary(_BINARY[node.proto.op_type], x, y)


@onnx_op("Pow")
def power(node: Node) -> Tensor:
    """x to the power of y; common constant exponents become cheaper operations."""
    x, y, b = node[0], legacy_broadcast(node, node[0], node[1]), node.build
    if y.array is not None and y.size == 1 and y.rank <= x.rank and x.array is None:
        exponent = float(y.array.reshape(-1)[0])
        if exponent == 1:
            return x
        if exponent == 2:
            return b.mul(x, x)
        if exponent == 3:
            return b.mul(b.mul(x, x), x)
        if x.is_float and exponent in (0.5, -0.5, -1):
            return b.unary({0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[exponent], x)
    if x.dtype == y.dtype:
        return b.binary("pow", x, y)
    # The result has the type of the base; it is computed in the wider type of the two.
    wide = np.result_type(x.dtype, y.dtype)
    return b.cast(b.binary("pow", b.cast(x, wide), b.cast(y, wide)), x.dtype)


@onnx_op("Mod")
def mod(node: Node) -> Tensor:
    """Remainder with the sign of the divisor, or with `fmod` of the dividend."""
    return node.build.binary("fmod" if node.int("fmod", 0) else "mod", node[0], node[1])


@onnx_op("BitShift")
def bit_shift(node: Node) -> Tensor:
    """Shift by a number of bits."""
    return node.build.binary("shift_left" if node.str("direction") == "LEFT" else "shift_right", node[0], node[1])


_COMPARE = {"Equal": "eq", "Less": "lt", "LessOrEqual": "le", "Greater": "gt", "GreaterOrEqual": "ge"}


@onnx_op(*_COMPARE)
def compare(node: Node) -> Tensor:
    """Comparison of elements; the result is bool."""
    return node.build.compare(_COMPARE[node.proto.op_type], node[0], legacy_broadcast(node, node[0], node[1]))


_VARIADIC = {"Sum": "add", "Max": "maximum", "Min": "minimum", "Mean": "add"}


@onnx_op(*_VARIADIC)
def variadic(node: Node) -> Tensor:
    """Sum, maximum, minimum or mean of any number of operands, by the operator's name."""
    result, *others = node.all()
    for other in others:
        result = node.build.binary(_VARIADIC[node.proto.op_type], result, other)
    if node.proto.op_type == "Mean":
        return node.build.mul(result, 1 / len(node.inputs))
    return result


@onnx_op("Where")
def where(node: Node) -> Tensor:
    """Elements of the second operand where the first holds, else of the third."""
    return node.build.select(node[0], node[1], node[2])


@onnx_op("IsInf")
def is_inf(node: Node) -> Tensor:
    """Whether an element is infinite, for the signs that the node's attributes select."""
    b, x = node.build, node[0]
    positive, negative = node.int("detect_positive", 1), node.int("detect_negative", 1)
    if positive and negative:
        return b.unary("isinf", x)
    if not positive and not negative:
        return b.full(x.shape, False, BOOL)
    return b.compare("eq", x, float("inf") if positive else float("-inf"))


@onnx_op("Cast")
def cast(node: Node) -> Tensor:
    """Conversion of element types."""
    return convert(node.build, node[0], numpy_dtype(node.int("to")), Rounding.of(node))


@onnx_op("CastLike")
def cast_like(node: Node) -> Tensor:
    """Conversion to the element type of the second operand."""
    return convert(node.build, node[0], node[1].dtype, Rounding.of(node))


@onnx_op("BitCast", since=26)
def bit_cast(node: Node) -> Tensor:
    """The same bits as elements of another type of the same width."""
    b, x, dtype = node.build, node[0], numpy_dtype(node.int("to"))
    if x.dtype in HELD_IN or dtype in HELD_IN:
        raise NodeError(f"bits of {x.dtype} as {dtype} are not supported: no chip has both types")
    if x.dtype.itemsize != dtype.itemsize:
        raise NodeError(f"{x.dtype} has {8 * x.dtype.itemsize} bits, {dtype} has {8 * dtype.itemsize}")
    if BOOL in (x.dtype, dtype):  # the byte of a bool is 0 or 1
        return b.bitcast(b.cast(x, np.dtype(np.uint8)), dtype) if x.dtype == BOOL else b.cast(x, BOOL)
    return b.bitcast(x, dtype)


@onnx_op("Clip")
def clip(node: Node) -> Tensor:
    """Clip with limits as attributes."""
    result, b = node[0], node.build
    if node.has("min"):
        result = b.maximum(result, node.float("min"))
    return b.minimum(result, node.float("max")) if node.has("max") else result


@onnx_op("Clip", since=11)
def clip_11(node: Node) -> Tensor:
    """Clip with limits as optional operands."""
    result, b = node[0], node.build
    low, high = node.get(1), node.get(2)
    if low is not None and not _is_extreme(low, -1):
        result = b.unary("relu", result) if _is_zero(low) else b.maximum(result, low)
    if high is not None and not _is_extreme(high, 1):
        result = b.minimum(result, high)
    return result


def _is_zero(limit: Tensor) -> bool:
    return limit.array is not None and limit.is_float and not np.any(limit.array)


def _is_extreme(limit: Tensor, sign: int) -> bool:
    """Whether a limit is infinite and therefore has no effect."""
    return limit.array is not None and limit.is_float and bool(np.all(limit.array == sign * np.inf))


@onnx_op("Tan")
def tan(node: Node) -> Tensor:
    """sin / cos"""
    return node.build.div(node.build.unary("sin", node[0]), node.build.unary("cos", node[0]))


@onnx_op("Sinh", "Cosh")
@in_f32
def hyperbolic(node: Node) -> Tensor:
    """(e^x - e^-x) / 2 for `Sinh`, (e^x + e^-x) / 2 for `Cosh`"""
    b, x = node.build, node[0]
    up, down = b.unary("exp", x), b.unary("exp", b.unary("neg", x))
    return b.mul(b.sub(up, down) if node.proto.op_type == "Sinh" else b.add(up, down), 0.5)


@onnx_op("Asinh")
@in_f32
def asinh(node: Node) -> Tensor:
    """sign(x) log(|x| + sqrt(x^2 + 1))"""
    b, x = node.build, node[0]
    size = b.unary("abs", x)
    root = b.unary("sqrt", b.add(b.mul(x, x), 1))
    return b.mul(b.unary("sign", x), b.unary("log", b.add(size, root)))


@onnx_op("Acosh")
@in_f32
def acosh(node: Node) -> Tensor:
    """log(x + sqrt(x^2 - 1))"""
    b, x = node.build, node[0]
    return b.unary("log", b.add(x, b.unary("sqrt", b.sub(b.mul(x, x), 1))))


@onnx_op("Atanh")
@in_f32
def atanh(node: Node) -> Tensor:
    """log((1 + x) / (1 - x)) / 2"""
    b, x = node.build, node[0]
    return b.mul(b.unary("log", b.div(b.add(x, 1), b.sub(b.full((), 1, x.dtype), x))), 0.5)


@onnx_op("ConstantOfShape", since=9)
def constant_of_shape(node: Node) -> Tensor:
    """A tensor of one value."""
    value = node.tensor("value") if node.has("value") else np.zeros(1, np.float32)
    return node.build.full(node.ints_of(0, "the shape"), value.reshape(-1)[0], value.dtype)
