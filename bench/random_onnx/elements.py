"""Nodes that work element by element, and reductions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from .model import Array, Candidate, RandomOnnx
from .table import maker

FLOATS = (
    "Abs Ceil Exp Floor HardSigmoid LeakyRelu Neg Reciprocal Relu Selu Sigmoid Softplus Softsign Sqrt Tanh Log Elu Cos "
    "Sin Tan Asin Acos Atan ThresholdedRelu Identity"
).split()
SINCE_FLOATS = {
    9: "Sinh Cosh Asinh Acosh Atanh Erf Sign Shrink IsNaN".split(),
    10: ["IsInf"],
    11: ["Round"],
    12: ["Celu"],
    14: ["HardSwish"],
    18: ["Mish"],
    20: ["Gelu"],
}


@maker(10)
def unary_float(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f")
    if x is None:
        return None
    ops = FLOATS + [op for since, more in SINCE_FLOATS.items() if since <= g.opset for op in more]
    op = g.one_of(ops)
    attributes = {}
    if op in ("HardSigmoid", "LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu") and g.chance(0.5):
        attributes["alpha"] = float(g.one_of((0.1, 0.5, 1.5, 0.25)))
    if op == "HardSigmoid" and g.chance(0.5):
        attributes["beta"] = 0.3
    if op == "Shrink":
        attributes = {"bias": 0.25, "lambd": 0.75}
    if op == "Gelu":
        attributes = {"approximate": g.one_of(("none", "tanh"))}
    if op == "IsInf":
        attributes = {"detect_positive": g.int(0, 1)}
    return Candidate(op, [x], attributes)


@maker(2)
def unary_other(g: RandomOnnx) -> Candidate | None:
    x = g.pick("iub")
    if x is None:
        return None
    if g.value(x).dtype.kind == "b":
        return Candidate("Not", [x])
    return Candidate(g.one_of(("Abs", "Neg", "Sign", "BitwiseNot", "Identity", "Relu")), [x])


@maker(10)
def binary(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiu")
    if x is None:
        return None
    y = g.partner(x)
    ops = ["Add", "Sub", "Mul", "Div", "Add", "Mul", "Pow", "PRelu"]
    if g.value(x).dtype.kind != "f":
        ops += ["Mod"] + (["BitwiseAnd", "BitwiseOr", "BitwiseXor"] if g.opset >= 18 else [])
    op = g.one_of(ops)
    if op == "Pow" and g.opset >= 12 and g.value(x).dtype.kind == "f" and g.chance(0.3):
        return Candidate(op, [x, g.const(g.one_of((0, 1, 2, 3, -1)), g.one_of((np.int32, np.int64)))])
    if op == "Pow":
        exponent = g.one_of((2.0, 3.0, 0.5, -1.0, 1.7) if g.value(x).dtype.kind == "f" else (0, 1, 2, 3))
        return Candidate(op, [x, g.const(exponent, g.value(x).dtype)])
    if g.chance(0.3) and op != "PRelu":
        x, y = y, x
    return Candidate(op, [x, y])


@maker(2)
def fmod(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi")
    return Candidate("Mod", [x, g.partner(x)], {"fmod": 1}) if x else None


@maker(1)
def shift(g: RandomOnnx) -> Candidate | None:
    x = g.pick("u")
    if x is None:
        return None
    amount = g.const(g.array(g.shape(x), g.value(x).dtype, 0, 7))
    return Candidate("BitShift", [x, amount], {"direction": g.one_of(("LEFT", "RIGHT"))})


@maker(3)
def compare(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiu")
    ops = ["Less", "Greater", "Equal", *(["LessOrEqual", "GreaterOrEqual"] if g.opset >= 12 else [])]
    return Candidate(g.one_of(ops), [x, g.partner(x)]) if x else None


@maker(2)
def logic(g: RandomOnnx) -> Candidate | None:
    x = g.pick("b")
    return Candidate(g.one_of(("And", "Or", "Xor", "Equal")), [x, g.partner(x)]) if x else None


@maker(3)
def where(g: RandomOnnx) -> Candidate | None:
    x, condition = g.pick(), g.pick("b")
    if x is None:
        return None
    if condition is None or g.chance(0.3):
        condition = g.const(g.array(g.shape(x), np.bool_))
    return Candidate("Where", [condition, x, g.partner(x)])


@maker(3)
def variadic(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiu" if g.opset >= 12 else "f")
    if x is None:
        return None
    others = [g.partner(x) for _ in range(g.int(0, 2))]
    ops = ("Sum", "Max", "Min", "Mean") if g.value(x).dtype.kind == "f" else ("Max", "Min")
    return Candidate(g.one_of(ops), [x, *others])


@maker(3)
def clip(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiu", empty=g.chance(0.3))
    if x is None:
        return None
    if g.opset < 11:
        return Candidate("Clip", [x], {"min": -0.5} if g.chance(0.3) else {"min": -0.5, "max": 1.0})
    dtype = g.value(x).dtype
    bound = g.pick(dtype.char, rank=[0])
    if bound and g.chance(0.4):
        return Candidate("Clip", [x, bound] if g.chance(0.5) else [x, "", bound])
    low = g.const(-1 if dtype.kind != "u" else 1, dtype) if g.chance(0.7) else ""
    return Candidate("Clip", [x, low, *([g.const(3, dtype)] if g.chance(0.7) else [])])


@maker(5)
def cast(g: RandomOnnx) -> Candidate | None:
    x = g.pick()
    names = ["FLOAT"] * 6 + [
        "FLOAT16",
        "DOUBLE",
        "INT8",
        "UINT8",
        "INT32",
        "INT64",
        "BOOL",
        "INT16",
        "UINT16",
        "UINT32",
    ]
    to = getattr(onnx.TensorProto, g.one_of(names))
    if g.value(x).dtype.kind == "f":  # what does not fit the new type has no defined result
        info = helper.tensor_dtype_to_np_dtype(to)
        most = float(np.abs(g.value(x)).max(initial=0))
        if (info.kind == "u" and (g.value(x) < 0).any()) or (info.kind in "iu" and most > np.iinfo(info).max):
            return None
    if g.opset >= 15 and g.chance(0.2):
        return Candidate("CastLike", [x, g.const(np.zeros(1), helper.tensor_dtype_to_np_dtype(to))])
    return Candidate("Cast", [x], {"to": to})


def _axes(g: RandomOnnx, rank: int) -> list[int]:
    axes = [int(a) for a in g.rng.permutation(rank)[: g.int(1, max(1, rank))]]
    return [axis - rank if g.chance(0.3) else axis for axis in axes]


REDUCTIONS = "Sum Mean Max Min Prod SumSquare L1 L2 LogSum LogSumExp".split()


@maker(6)
def reduce(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiub", rank=range(1, 7), empty=False)  # ONNX Runtime has other shapes for reductions of nothing
    if x is None:
        return None
    op, attributes = "Reduce" + g.one_of(REDUCTIONS), {"keepdims": g.int(0, 1)}
    if op == "ReduceLogSumExp" and g.value(x).dtype.kind == "i":
        return None  # just above a whole number or just below, as logarithms are rounded
    axes = _axes(g, len(g.shape(x)))
    if op == "ReduceProd" and g.value(x).dtype.kind == "i":
        if np.log2(np.abs(g.value(x).astype(np.float64)).clip(1)).sum() >= min(8 * g.value(x).dtype.itemsize - 1, 53):
            return None  # what is too large has no defined result, and ONNX Runtime's passes through a float
    if op in ("ReduceL2", "ReduceSumSquare") and g.value(x).dtype.kind == "i":
        if (g.value(x).astype(np.float64) ** 2).sum() >= 2.0 ** (8 * g.value(x).dtype.itemsize - 1):
            return None
    if g.chance(0.2):
        return Candidate(op, [x], attributes)
    if g.opset < 11:
        axes = [axis % len(g.shape(x)) for axis in axes]
    if g.opset >= (13 if op == "ReduceSum" else 18):
        if g.chance(0.1):
            attributes["noop_with_empty_axes"], axes = 1, []
        return Candidate(op, [x, g.ints(axes)], attributes)
    return Candidate(op, [x], {**attributes, "axes": axes})


def _axis(g: RandomOnnx, x: str, since: int = 11) -> int:
    rank = len(g.shape(x))
    axis = g.int(0, max(0, rank - 1))
    return axis - rank if rank and g.opset >= since and g.chance(0.3) else axis


@maker(2)
def arg_reduce(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiu", rank=range(1, 7), empty=False)
    if x is None:
        return None
    attributes = {"axis": _axis(g, x), "keepdims": g.int(0, 1)}
    if g.opset >= 12 and g.chance(0.3):
        attributes["select_last_index"] = 1
    return Candidate(g.one_of(("ArgMax", "ArgMin")), [x], attributes)


@maker(4)
def softmax(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(1, 7))
    return Candidate(g.one_of(("Softmax", "LogSoftmax", "Hardmax")), [x], {"axis": _axis(g, x)}) if x else None


@maker(2)
def top_k(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=range(1, 7), empty=g.chance(0.3))
    if x is None:
        return None
    axis = _axis(g, x)
    k = g.int(1, min(g.shape(x)[axis], 5))
    if g.opset < 10:
        return Candidate("TopK", [x], {"axis": axis, "k": k}, 2)
    largest = {"largest": g.int(0, 1)} if g.opset >= 11 else {}
    return Candidate("TopK", [x, g.ints([k])], {"axis": axis, **largest}, 2)


@maker(2)
def cumulative_sum(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=range(1, 7))
    if x is None or g.opset < 11:
        return None
    return Candidate("CumSum", [x, g.ints(_axis(g, x))], {"exclusive": g.int(0, 1), "reverse": g.int(0, 1)})


def _varies(value: Array) -> bool:
    """Whether the elements of each channel differ by so much that ONNX Runtime finds how they do (and it has any)."""
    if not value.size:  # ONNX Runtime ends with a segmentation fault for some
        return False
    wide, space = value.astype(np.float64), tuple(range(2, value.ndim))
    return bool(np.all(np.abs(wide.mean(space)) <= 100 * np.sqrt(wide.var(space) + 1e-2)))


@maker(3)
def normalise(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(2, 6), empty=g.chance(0.3))
    if x is None:
        return None
    shape, dtype = g.shape(x), g.value(x).dtype
    channels = shape[1]

    def vector(positive: bool = False) -> str:
        values = g.array((channels,), dtype)
        return g.const(np.abs(values) + dtype.type(0.1) if positive else values)

    match g.int(0, 6):
        case 0:
            operands = [x, vector(), vector(), vector(), vector(True)]
            return Candidate("BatchNormalization", operands, {"epsilon": 1e-3})
        case 1 if len(shape) > 2 and _varies(g.value(x)):
            return Candidate("InstanceNormalization", [x, vector(), vector()], {"epsilon": 1e-2})
        case 2:
            axis = _axis(g, x)
            operands = [x, *(g.const(g.array(shape[axis:], dtype)) for _ in range(g.int(1, 2)))]
            return Candidate("LayerNormalization", operands, {"axis": axis, "epsilon": 1e-2}, g.one_of((1, 1, 1, 3)))
        case 3 if len(shape) == 4:
            return Candidate("LRN", [x], {"size": g.one_of((1, 3, 5)), "alpha": 0.1, "beta": g.one_of((0.75, 0.5))})
        case 4:
            return Candidate("LpNormalization", [x], {"axis": _axis(g, x), "p": g.int(1, 2)})
        case 5 if len(shape) == 4 and g.value(x).size and g.value(x).std((0, 2, 3), dtype=np.float64).min() > 1e-3:
            return Candidate("MeanVarianceNormalization", [x], {"axes": [0, 2, 3]})
        case 6 if g.opset >= 18 and len(shape) > 2:
            groups = g.one_of([d for d in range(1, channels + 1) if channels % d == 0])
            if g.opset >= 21:
                return Candidate("GroupNormalization", [x, vector(), vector()], {"num_groups": groups, "epsilon": 1e-2})
            scale, bias = (g.const(g.array((groups,), dtype)) for _ in range(2))
            return Candidate("GroupNormalization", [x, scale, bias], {"num_groups": groups, "epsilon": 1e-2})
        case _:
            return None


@maker(0.6)
def dropout(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f")
    if x is None:
        return None
    if g.opset >= 12 and g.chance(0.5):
        return Candidate("Dropout", [x, g.const(0.4, np.float32), g.const(False, np.bool_)], outputs=g.int(1, 2))
    return Candidate(
        "Dropout",
        [x],
    )
