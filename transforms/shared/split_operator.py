"""Replacement of an operator by several operators of the same kind on parts of its data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from operator import sub

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.semantic_effect import EXACT, SemanticEffect, reassociating
from ...analysis.tasks.operator_parts import Parts, data_bytes
from ...dialects.dataflow import (
    AddOp,
    BroadcastOp,
    ConcatOp,
    ConstantOp,
    ConvOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PadOp,
    ReduceWindowOp,
    SliceOp,
    WeightOp,
)
from ...dialects.dataflow.absorb_padding import without_pad
from ...dialects.dataflow.constants import Array, attribute_of, numpy_type, scalar_array
from ...dialects.dataflow.evaluate import evaluate
from ...dialects.dataflow.sources import LARGEST_CONSTANT
from ...dialects.dataflow.tiling import Box, Combine, DimKind, OperandSlice, TilingInterface, split_evenly
from ...dialects.dataflow.types import element_of, is_float, shape_of, tensor
from ...dialects.locations import keeps_location
from ...dialects.manycore.interpreter import compute_tile
from ...dialects.weight_references import reference_of
from ...formats.weights import MEMORY, WeightRef, raw_bytes, sha256_of
from .constants import source_of, weight_of

JOIN: dict[Combine, Callable[[SSAValue, SSAValue], Operation]] = {
    "add": AddOp,
    "mul": MulOp,
    "max": MaximumOp,
    "min": MinimumOp,
}
"""The operation that combines two partial results."""


ROUNDING = {"f64": 1e-12, "f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}
"""Largest difference due to another order of additions, relative to the largest result, by element type."""

FINER = 4
"""
An operator may be cut into up to this many times the parts that it needs, in order to match the cuts of its operand.
"""


def splitting_effect(op: TilingInterface) -> SemanticEffect:
    """
    The semantic effect of splitting an operator: if it adds floating-point numbers, a part adds fewer of them, or its
    operands have another layout in memory, for which a matrix product may add in another order.
    """
    element: Attribute = element_of(op.results[0])
    sums = any(dim.kind is DimKind.REDUCTION for dim in op.iteration_space()) and op.combine in ("add", "mul")
    return reassociating(ROUNDING[str(element)]) if sums and is_float(element) else EXACT


@dataclass
class Splitter:
    """
    Splits operators of one block. Existing parts of values (results of a split operator, earlier slices) are reused,
    and parts of weights become separate weights. `names` are the names of all weights of the module, and of their
    parts.
    """

    names: set[str]
    known_parts: dict[SSAValue, dict[Box, SSAValue]] = field(default_factory=dict[SSAValue, dict[Box, SSAValue]])
    """Existing parts of values."""
    grids: dict[SSAValue, Parts] = field(default_factory=dict[SSAValue, Parts])
    """Positions of the cuts of results of split operators, by dimension."""
    positions: dict[SSAValue, list[tuple[dict[Box, SSAValue], Box]]] = field(
        default_factory=dict[SSAValue, list[tuple[dict[Box, SSAValue], Box]]]
    )
    """The places of a value in `known_parts`, which change if it is split itself."""
    stripes: dict[SSAValue, tuple[Box, SSAValue]] = field(default_factory=dict[SSAValue, tuple[Box, SSAValue]])
    """Value -> (box of it that is currently available, value with this box): tiles read the latter."""

    def as_producer(self, op: TilingInterface, limit: int, parts: Parts) -> Parts:
        """
        The cut of an operand over the same positions, if parts then have at most `limit` bytes of data, and there are
        not many more of them than of `parts`; else `parts`.
        """
        sizes = tuple(dim.size for dim in op.iteration_space())
        if sizes != shape_of(op.results[0]):
            return parts
        for value in op.operands:
            grid = self.grids.get(value)
            if grid is not None and shape_of(value) == sizes and math.prod(grid) <= FINER * math.prod(parts):
                if data_bytes(op, [-(-size // count) for size, count in zip(sizes, grid, strict=True)]) <= limit:
                    return grid
        return parts

    @keeps_location
    def split(self, op: TilingInterface, parts: Parts) -> list[Operation]:
        """
        Replace an operator by its parts, the slices that they need, and the concatenation of their results. Returns the
        operators that join partial results, which may have to be split in turn.
        """
        ranges = [split_evenly(dim.size, count) for dim, count in zip(op.iteration_space(), parts, strict=True)]
        hint = op.results[0].name_hint
        results: dict[Box, SSAValue] = {}
        joining: list[Operation] = []
        for chosen in product(*ranges):
            tile = Box(tuple(low for low, _ in chosen), tuple(size for _, size in chosen))
            part = self.build(op, tile, op)
            part.name_hint = name = self.unique(hint) if hint else None
            target = op.result_box(tile)
            if target in results:
                assert op.combine is not None, "only reductions whose partial results can be joined are split"
                join = JOIN[op.combine](results[target], part)
                part = insert_before(join, op)
                part.name_hint = f"{name}_sum" if name else None
                joining.append(join)
            results[target] = part
        whole = join_boxes(results, op)
        whole.name_hint = hint
        op.results[0].replace_all_uses_with(whole)
        for known_parts, box in self.positions.pop(op.results[0], ()):
            known_parts[box] = whole
            self.positions.setdefault(whole, []).append((known_parts, box))
        self.known_parts[whole] = results
        for box, part in results.items():
            self.positions.setdefault(part, []).append((results, box))
        offsets = [sorted({box.offsets[dim] for box in results}) for dim in range(len(shape_of(whole)))]
        self.grids[whole] = tuple(map(len, offsets))
        Rewriter.erase_op(op)
        return joining

    @keeps_location
    def build(self, op: TilingInterface, tile: Box, before: Operation) -> SSAValue:
        """The operator on one tile, inserted before an operation."""
        parts = [op.operand_slice(index, tile) for index in range(len(op.operands))]
        if parts and not any(math.prod(part.shape) for part in parts):
            # It has no operands (a tile of a `pad` that is all padding), so its result is constant.
            zeros = [np.broadcast_to(np.zeros((), numpy_type(element_of(v))), shape_of(v)) for v in op.operands]
            return self._known(compute_tile(op, tile, zeros), element_of(op.results[0]), before)
        operands = [self._operand(op, index, part, before) for index, part in enumerate(parts)]
        built = op.build_tile(tile, operands)
        for step in built:
            insert_before(step, before)
        last = built[-1]
        if isinstance(last, ConvOp | ReduceWindowOp) and (absorbed := without_pad(last)) is not None:
            insert_before(absorbed, before)
            Rewriter.erase_op(last)
            return absorbed.results[0]
        return last.results[0]

    def _operand(self, op: TilingInterface, index: int, part: OperandSlice, before: Operation) -> SSAValue:
        """The slice of an operand that a tile reads, with its padding."""
        if part.is_padded and part.box.volume == 0:
            element = element_of(op.operands[index])
            return self._known(np.broadcast_to(scalar_array(part.pad_value, element), part.shape), element, before)
        value = self._part(op.operands[index], part, before)
        if not part.is_padded:
            return value
        return insert_before(PadOp(value, part.pad_low, part.pad_high, value=part.pad_value), before)

    def _known(self, array: Array, element: Attribute, before: Operation) -> SSAValue:
        """A constant; an array of equal elements becomes a broadcast number."""
        if not array.size:
            return insert_before(ConstantOp(attribute_of(array, element)), before)
        number = np.ascontiguousarray(array.reshape(-1)[:1]).reshape((1,) * array.ndim)
        one = insert_before(ConstantOp(attribute_of(number, element)), before)
        return insert_before(BroadcastOp(one, array.shape), before) if array.size != 1 else one

    def _part(self, value: SSAValue, part: OperandSlice, before: Operation) -> SSAValue:
        if value in self.stripes:
            held, value = self.stripes[value]
            offsets = tuple(map(sub, part.box.offsets, held.offsets))
            part = replace(part, box=Box(offsets, part.box.sizes))
        box = part.box
        stepped = any(step != 1 for step in part.steps)
        if not stepped and box == Box.whole(shape_of(value)):
            return value
        known = self.known_parts.setdefault(value, {})
        if not stepped and box in known:
            return known[box]
        owner = value.owner
        if isinstance(owner, ConstantOp | WeightOp) and not stepped:
            made = insert_before(self._part_of_source(owner, box), owner)
            made.name_hint = value.name_hint
        else:
            made = insert_before(SliceOp(value, box.offsets, box.sizes, part.steps), before)
            made.name_hint = self.unique(value.name_hint) if value.name_hint else None
        if not stepped:
            known[box] = made
        return made

    @keeps_location
    def _part_of_source(self, op: ConstantOp | WeightOp, box: Box) -> Operation:
        """A part of a constant as a constant; a reference into a file if it is contiguous there."""
        element = element_of(op.results[0])
        index = tuple(slice(low, high) for low, high in zip(box.offsets, box.ends, strict=True))
        array = evaluate(op, ())
        part = array[index]
        if isinstance(op, ConstantOp):
            return ConstantOp(attribute_of(np.ascontiguousarray(part), element))
        reference = reference_of(op)
        name = self.unique(op.sym_name.data)
        if reference.source == MEMORY or part.nbytes <= LARGEST_CONSTANT or not part.flags.c_contiguous:
            return source_of(np.ascontiguousarray(part), element, name)
        strides = zip(box.offsets, array.strides, strict=True)
        offset = reference.offset + sum(low * stride for low, stride in strides)
        reference = WeightRef(reference.source, offset, part.nbytes, sha256_of(raw_bytes(part)))
        return weight_of(reference, tensor(element, box.sizes), name)

    def unique(self, name: str) -> str:
        """A unique name for a part of a named value."""
        number = 0
        while (unique := f"{name}_part{number}") in self.names:
            number += 1
        self.names.add(unique)
        return unique


def insert_before(op: Operation, before: Operation) -> SSAValue:
    """Insert an operation before another one; returns its result."""
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.results[0]


def join_boxes(results: Mapping[Box, SSAValue], before: Operation) -> SSAValue:
    """Concatenate boxes that cover a tensor to one value, before an operation: along the last dimension first."""
    boxes = dict(results)
    for axis in reversed(range(next(iter(boxes)).rank)):
        lines: dict[Box, list[Box]] = {}
        for box in boxes:
            lines.setdefault(box.along(axis, 0, 0), []).append(box)
        joined: dict[Box, SSAValue] = {}
        for line in lines.values():
            line.sort(key=lambda box: box.offsets[axis])
            whole = line[0].along(axis, line[0].offsets[axis], sum(box.sizes[axis] for box in line))
            values = [boxes[box] for box in line]
            joined[whole] = insert_before(ConcatOp(values, axis), before) if len(values) > 1 else values[0]
        boxes = joined
    (value,) = boxes.values()
    return value
