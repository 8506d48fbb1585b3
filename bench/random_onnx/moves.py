"""Nodes that move data and change shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import numpy_helper

from .model import Candidate, RandomOnnx
from .table import maker

ANY_RANK = range(1, 7)


def _axis(g: RandomOnnx, x: str, since: int = 11) -> int:
    rank = len(g.shape(x))
    axis = g.int(0, rank - 1)
    return axis - rank if g.opset >= since and g.chance(0.3) else axis


@maker(4)
def transpose(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK)
    if x is None:
        return None
    return Candidate("Transpose", [x], {"perm": [int(p) for p in g.rng.permutation(len(g.shape(x)))]})


@maker(4)
def reshape(g: RandomOnnx) -> Candidate | None:
    x = g.pick()
    total = g.value(x).size
    sizes: list[int] = []
    for _ in range(g.int(0, 4)):
        sizes.append(g.one_of([d for d in range(1, total + 1) if total % d == 0]) if total else 1)
        total //= sizes[-1]
    sizes.append(total)
    copied = [axis for axis, (new, old) in enumerate(zip(sizes, g.shape(x), strict=False)) if new == old]
    if copied and g.chance(0.3):
        sizes[g.one_of(copied)] = 0
    if g.chance(0.4) and total:
        sizes[g.one_of([axis for axis, size in enumerate(sizes) if size] or [0])] = -1
    return Candidate("Reshape", [x, g.ints(sizes)], {"allowzero": 1} if g.opset >= 14 and g.chance(0.2) else {})


@maker(2)
def reshape_by_arithmetic(g: RandomOnnx) -> Candidate | None:
    """Shapes computed from shapes, as exporters write them."""
    x = g.pick(rank=ANY_RANK)
    if x is None:
        return None
    part = {"start": g.int(-3, 2), "end": g.int(-2, 4)} if g.opset >= 15 and g.chance(0.2) else {}
    return Candidate("Shape", [x], part)


@maker(1)
def reshape_to_computed(g: RandomOnnx) -> Candidate | None:
    target = g.pick("i", rank=[1], itemsize=8, empty=False)
    if target not in g.known or (g.value(target) <= 0).any():
        return None
    count = math.prod(g.value(target).tolist())
    fits = [name for name, value in g.values.items() if value.size == count]
    if fits and g.chance(0.7):
        return Candidate("Reshape", [g.one_of(fits), target])
    return Candidate("Expand", [g.const(np.float32(1.5)), target]) if g.opset >= 8 else None


@maker(2)
def flatten(g: RandomOnnx) -> Candidate | None:
    x = g.pick()
    rank = len(g.shape(x))
    return Candidate("Flatten", [x], {"axis": g.int(-rank if g.opset >= 11 else 0, rank)})


@maker(2)
def squeeze(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK)
    if x is None:
        return None
    axes = [axis for axis, size in enumerate(g.shape(x)) if size == 1]
    if not axes or g.chance(0.2):
        return Candidate("Squeeze", [x])
    axes = [axis - len(g.shape(x)) if g.opset >= 11 and g.chance(0.3) else axis for axis in axes[: g.int(1, len(axes))]]
    return Candidate("Squeeze", [x, g.ints(axes)]) if g.opset >= 13 else Candidate("Squeeze", [x], {"axes": axes})


@maker(2)
def unsqueeze(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=range(5))
    if x is None:
        return None
    count = g.int(1, 2)
    rank = len(g.shape(x)) + count
    axes = sorted(int(a) for a in g.rng.permutation(rank)[:count])
    if g.opset >= 11 and g.chance(0.3):
        axes = [axis - rank for axis in axes]
    return Candidate("Unsqueeze", [x, g.ints(axes)]) if g.opset >= 13 else Candidate("Unsqueeze", [x], {"axes": axes})


@maker(4)
def concat(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK)
    if x is None:
        return None
    shape, dtype = g.shape(x), g.value(x).dtype
    axis = _axis(g, x)
    at = axis % len(shape)
    fits = [
        name
        for name, value in g.values.items()
        if value.dtype == dtype
        and value.ndim == len(shape)
        and all(a == b for d, (a, b) in enumerate(zip(value.shape, shape, strict=True)) if d != at)
    ]
    operands = [g.one_of(fits) for _ in range(g.int(1, 3))]
    if g.chance(0.3):
        operands.insert(0, g.const(g.array([*shape[:at], g.int(1, 3), *shape[at + 1 :]], dtype)))
    return Candidate("Concat", operands, {"axis": axis})


@maker(3)
def split(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK, empty=g.chance(0.3))
    if x is None:
        return None
    axis = _axis(g, x)
    size = g.shape(x)[axis]
    first = g.int(0, size)
    if g.chance(0.4):
        parts = g.int(1, min(4, size))
        if size % parts and g.opset < 18:
            return None
        attributes = {"axis": axis, **({"num_outputs": parts} if g.opset >= 18 else {})}
        return Candidate("Split", [x], attributes, parts)
    if g.opset >= 13:
        return Candidate("Split", [x, g.ints([first, size - first])], {"axis": axis}, 2)
    return Candidate("Split", [x], {"axis": axis, "split": [first, size - first]}, 2)


@maker(5)
def slice_(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK)
    if x is None:
        return None
    shape = g.shape(x)
    axes = [int(a) for a in g.rng.permutation(len(shape))[: g.int(1, len(shape))]]
    starts = [g.int(-shape[a] - 3, shape[a] + 3) for a in axes]
    ends = [g.one_of((g.int(-shape[a] - 3, shape[a] + 3), 2**31 - 1, 2**62)) for a in axes]
    if g.opset < 10:
        return Candidate("Slice", [x], {"starts": starts, "ends": ends, "axes": axes})
    axes = [a - len(shape) if g.chance(0.2) else a for a in axes]
    steps = [g.one_of((1, 1, 1, 2, 3, -1, -2)) for _ in axes]
    ends = [-(2**62) if step < 0 and g.chance(0.4) else end for step, end in zip(steps, ends, strict=True)]
    operands = [g.ints(starts), g.ints(ends), g.ints(axes), g.ints(steps)]
    return Candidate("Slice", [x, *operands[: g.one_of((3, 4))]])


@maker(4)
def pad(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fiub", rank=ANY_RANK, empty=g.chance(0.3))
    if x is None:
        return None
    shape = g.shape(x)
    mode = g.one_of(["constant", "constant", "edge", "reflect", *(["wrap"] if g.opset >= 19 else [])])
    least = -3 if mode == "constant" and g.chance(0.2) else 0
    pads = [
        g.int(least, min(3, size - 1 if mode != "constant" else 3)) if g.chance(0.5) else 0 for size in (*shape, *shape)
    ]
    if g.opset < 11:
        return Candidate("Pad", [x], {"pads": pads, "mode": mode, "value": 0.5})
    axes = [int(axis) for axis in g.rng.permutation(len(shape))[: g.int(1, len(shape))]]
    some = g.opset >= 18 and g.chance(0.3)
    operands = [x, g.ints([pads[axis + at] for at in (0, len(shape)) for axis in axes] if some else pads)]
    if mode == "constant" and g.chance(0.6):
        operands.append(g.const(1, g.value(x).dtype))
    if some:
        operands += [""] * (3 - len(operands)) + [g.ints([a - len(shape) if g.chance(0.3) else a for a in axes])]
    return Candidate("Pad", operands, {"mode": mode})


@maker(2)
def expand(g: RandomOnnx) -> Candidate | None:
    x = g.pick()
    if g.opset < 8:
        return None
    shape = [g.int(1, 4) if size == 1 else g.one_of((1, size)) for size in g.shape(x)]
    return Candidate("Expand", [x, g.ints([*([g.int(1, 3)] if g.chance(0.4) else []), *shape])])


@maker(2)
def tile(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK)
    return Candidate("Tile", [x, g.ints([g.int(1, 3) for _ in g.shape(x)])]) if x else None


@maker(4)
def gather(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK, empty=g.chance(0.3))
    if x is None:
        return None
    axis = _axis(g, x)
    size = g.shape(x)[axis]
    computed = g.pick("i", rank=range(3))
    if computed and g.value(computed).dtype.itemsize >= 4 and _fits(g.value(computed), size) and g.chance(0.7):
        return Candidate("Gather", [x, computed], {"axis": axis})
    low = -size if g.opset >= 11 else 0
    shape = [g.int(1, 4) for _ in range(g.int(0, 2))]
    indices = g.const(g.array(shape, g.one_of((np.int32, np.int64)), low, size - 1))
    return Candidate("Gather", [x, indices], {"axis": axis})


def _fits(indices: np.ndarray, size: int) -> bool:
    return bool((indices >= 0).all() and (indices < size).all())


@maker(2)
def gather_elements(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK, empty=False)
    if x is None or g.opset < 11:
        return None
    axis = _axis(g, x)
    computed = _places(g, x, axis)
    if computed and g.chance(0.5):
        return Candidate("GatherElements", [x, computed], {"axis": axis})
    shape = [g.int(1, size) for size in g.shape(x)]
    indices = g.const(g.array(shape, np.int64, -g.shape(x)[axis], g.shape(x)[axis] - 1))
    return Candidate("GatherElements", [x, indices], {"axis": axis})


@maker(2)
def gather_nd(g: RandomOnnx) -> Candidate | None:
    x = g.pick(rank=ANY_RANK, empty=g.chance(0.3))
    if x is None or g.opset < 12:
        return None
    shape = g.shape(x)
    batch = g.int(0, min(1, len(shape) - 1))
    width = g.int(1, len(shape) - batch)
    prefix = [*shape[:batch], *(g.int(1, 3) for _ in range(g.int(0, 2)))]
    columns = [g.array(prefix, np.int64, -shape[batch + i], shape[batch + i] - 1) for i in range(width)]
    return Candidate("GatherND", [x, g.const(np.stack(columns, -1))], {"batch_dims": batch})


def _places(g: RandomOnnx, x: str, axis: int) -> str | None:
    """Computed numbers that are valid indices of an axis."""
    size, shape = g.shape(x)[axis], g.shape(x)
    fits = [
        name
        for name, value in g.values.items()
        if value.dtype.char in "il"
        and value.ndim == len(shape)
        and value.size
        and _fits(value, size)
        and all(a <= b for a, b in zip(value.shape, shape, strict=True))
    ]
    return g.one_of(fits) if fits else None


def _reduction(g: RandomOnnx) -> dict[str, str]:
    if g.opset < 16:
        return {}
    return {"reduction": g.one_of(["none", "add", "mul", *(["max", "min"] if g.opset >= 18 else [])])}


@maker(2)
def scatter_elements(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=ANY_RANK, empty=g.chance(0.3))
    if x is None or g.opset < 11:
        return None
    axis, reduction = _axis(g, x), _reduction(g)
    size = g.shape(x)[axis]
    computed = _places(g, x, axis)
    if computed and reduction.get("reduction", "none") != "none":
        updates = g.const(g.array(g.shape(computed), g.value(x).dtype))
        return Candidate("ScatterElements", [x, computed, updates], {"axis": axis, **reduction})
    shape = [g.int(1, n) for n in g.shape(x)]
    if reduction.get("reduction", "none") == "none":  # repeated indices have no defined result
        order = np.argsort(g.rng.random([size if d == axis % len(shape) else n for d, n in enumerate(shape)]), axis)
        indices = np.take(order, np.arange(shape[axis]), axis)
    else:
        indices = g.array(shape, np.int64, -size, size - 1)
    updates = g.const(g.array(shape, g.value(x).dtype))
    return Candidate("ScatterElements", [x, g.const(indices), updates], {"axis": axis, **reduction})


@maker(2)
def scatter_nd(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=ANY_RANK, empty=g.chance(0.3))
    if x is None or g.opset < 11:
        return None
    shape, reduction = g.shape(x), _reduction(g)
    width = g.int(1, len(shape))
    rows = math.prod(shape[:width])
    count = g.int(1, min(rows, 5))
    flat = g.rng.permutation(rows)[:count]
    if reduction.get("reduction", "none") != "none":
        flat = g.rng.integers(0, rows, count)
    indices = np.stack(np.unravel_index(flat, shape[:width]), -1)
    updates = g.const(g.array([count, *shape[width:]], g.value(x).dtype))
    return Candidate("ScatterND", [x, g.ints(indices), updates], reduction)


@maker(1.5)
def blocks(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=[4], empty=g.chance(0.3))
    if x is None:
        return None
    _, channels, height, width = g.shape(x)
    if g.chance(0.5):
        sides = [b for b in (2, 3) if channels % (b * b) == 0]
        if not sides:
            return None
        mode = {"mode": g.one_of(("DCR", "CRD"))} if g.opset >= 11 else {}
        return Candidate("DepthToSpace", [x], {"blocksize": g.one_of(sides), **mode})
    sides = [b for b in (2, 3) if height % b == 0 and width % b == 0]
    return Candidate("SpaceToDepth", [x], {"blocksize": g.one_of(sides)}) if sides else None


@maker(1)
def trilu(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=range(2, 7), empty=g.chance(0.3))
    if x is None or g.opset < 14:
        return None
    return Candidate("Trilu", [x, *([g.ints(g.int(-3, 3))] if g.chance(0.6) else [])], {"upper": g.int(0, 1)})


@maker(1)
def one_hot(g: RandomOnnx) -> Candidate | None:
    x = g.pick("i", rank=range(4), itemsize=8)
    if x is None or g.opset < 9:
        return None
    depth = g.int(2, 6)
    values = g.const([1, 3], g.one_of((np.float32, np.float32, np.int64, np.int32)))
    return Candidate("OneHot", [x, g.ints(depth), values], {"axis": g.int(-1, len(g.shape(x)))})


@maker(1)
def reverse_sequence(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(2, 5), empty=g.chance(0.3))
    if x is None or g.opset < 10:
        return None
    time = g.int(0, 1)
    lengths = g.array([g.shape(x)[1 - time]], np.int64, 1, g.shape(x)[time])
    return Candidate(
        "ReverseSequence", [x, g.const(np.maximum(1, lengths))], {"time_axis": time, "batch_axis": 1 - time}
    )


def _scales_exactly(size: int, length: int) -> bool:
    """Whether length / size has few digits."""
    return float(np.float32(length / size)) == length / size


@maker(3)
def resize(g: RandomOnnx) -> Candidate | None:
    x = g.pick("f", rank=range(2, 6), empty=False)
    if x is None:
        return None
    shape = g.shape(x)
    scales = [1.0] * (len(shape) - 2) + [float(g.one_of((1, 2, 3, 0.5, 1.5))) for _ in shape[-2:]]
    if any(size * scale < 1 for size, scale in zip(shape, scales, strict=True)):
        return None
    mode = g.one_of(("nearest", "linear", "cubic"))
    if g.opset < 10:
        mode = "nearest" if mode == "cubic" else mode
        if g.opset < 9:
            return Candidate("Upsample", [x], {"mode": mode, "scales": scales})
        return Candidate("Upsample", [x, g.const(scales, np.float32)], {"mode": mode})
    if g.opset < 11:
        mode = "nearest" if mode == "cubic" else mode
        return Candidate("Resize", [x, g.const(scales, np.float32)], {"mode": mode})
    transforms = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    transforms += ["half_pixel_symmetric"] if g.opset >= 19 and mode != "nearest" else []
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": g.one_of(transforms)}
    if mode == "nearest":
        attributes["nearest_mode"] = g.one_of(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic" and g.chance(0.5):
        attributes["exclude_outside"] = g.int(0, 1)
    if g.chance(0.5):
        sizes = [*shape[:-2], *(g.int(1, 12) for _ in shape[-2:])]
        if mode == "nearest" and not all(_scales_exactly(*pair) for pair in zip(shape, sizes, strict=True)):
            return None  # ONNX Runtime rounds the scale to 32 bits, and takes neighbours of the nearest
        return Candidate("Resize", [x, "", "", g.ints(sizes)], attributes)
    if g.opset >= 18 and g.chance(0.3):
        axes = [len(shape) - 1, len(shape) - 2][: g.int(1, 2)]
        scales, attributes["axes"] = [scales[axis] for axis in axes], axes
    elif g.chance(0.2):
        attributes["coordinate_transformation_mode"] = "tf_crop_and_resize"
        attributes["extrapolation_value"] = 0.5
        # ONNX Runtime does not cut axes whose scale is 1.
        starts = [0.0 if scale == 1 else g.one_of((0.13, -0.21)) for scale in scales]
        bounds = starts + [1.0 if scale == 1 else g.one_of((0.83, 1.27)) for scale in scales]
        return Candidate("Resize", [x, g.const(bounds, np.float32), g.const(scales, np.float32)], attributes)
    return Candidate("Resize", [x, "", g.const(scales, np.float32)], attributes)


@maker(0.7)
def size(g: RandomOnnx) -> Candidate | None:
    return Candidate("Size", [g.pick()])


@maker(0.7)
def constant_of_shape(g: RandomOnnx) -> Candidate | None:
    x = g.pick("i", rank=[1], itemsize=8)
    if x not in g.known or g.opset < 9 or (g.value(x) < 0).any():
        return None
    if g.chance(0.4):
        return Candidate("ConstantOfShape", [x])
    dtype = g.one_of((np.float32, np.float16, np.float64, np.int64, np.int32, np.uint8, np.bool_))
    return Candidate("ConstantOfShape", [x], {"value": numpy_helper.from_array(np.ones(1, dtype))})


@maker(0.7)
def eye_like(g: RandomOnnx) -> Candidate | None:
    x = g.pick("fi", rank=[2])
    kind = {"dtype": g.one_of((1, 6, 7, 11))} if g.chance(0.5) else {}
    return Candidate("EyeLike", [x], {"k": g.int(-1, 2), **kind}) if x and g.opset >= 9 else None
