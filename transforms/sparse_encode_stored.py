"""Pass `sparse-encode-stored`: encode weights whose connections are constant, but whose values are not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.sparse.layer_cost import Layer, LayerCost, best_panels, dense_cost
from ..analysis.sparse.smallest_encoding import all_choices
from ..chips import Chip
from ..dialects.dataflow import (
    ConcatOp,
    Contraction,
    ConvOp,
    GatherOp,
    MatmulOp,
    ReshapeOp,
    ScatterMode,
    ScatterOp,
    SelectOp,
    SliceOp,
    TransposeOp,
)
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_bytes, element_of, shape_of, tensor_bytes, tensor_of, ui8
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.sparse import FillPanelsOp, PanelConvOp, PanelMatmulOp, PanelsAttr
from ..formats.sparse.bits import Bytes, Ints
from ..formats.sparse.encode import Mask
from ..formats.sparse.fibers import Fibers
from ..formats.sparse.panels import Lanes, Panels, pack
from .shared.chip_option import chip_for
from .shared.constants import constant_array, source_of
from .shared.rewrite_once import erase_unread, rewrite_once
from .shared.sparse_plan import MATRIX_RATES, is_faster

Placed = tuple[SSAValue, Ints]
"""(Stored values [n], the number, from 1, of the value of each element of a tensor; 0: the element is zero)."""


SHARE = 4
"""Values are gathered within a core's memory if they take at most this fraction (1 / SHARE) of it; else from DRAM."""


@dataclass(frozen=True)
class SparseEncodeStoredPass(ModulePass):
    """
    Encode the weights of products and convolutions that consist of values at constant positions among zeros, if a chip
    (`chip`, or the module's) is estimated to be faster. The index of each panel is constant; values are gathered into
    the order of the panel at run time (`sparse.fill_panels`). Weights that are transposed first, as in gradients of
    inputs, are encoded for their readers. Loops are unrolled.
    """

    name = "sparse-encode-stored"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        encode_stored(op, chip_for(op, self.chip, f"{self.name}{{chip=NAME}}"))


def encode_stored(module: ModuleOp, chip: Chip) -> int:
    """
    Apply the pass to a module; contractions in loops are encoded in each step. Returns the number of contractions.
    """
    unroll_loops(module)
    pattern = EncodeStoredWeights(chip)
    rewrite_once(module, {MatmulOp: (pattern,), ConvOp: (pattern,)})
    rewrite_once(module, {ScatterOp: (PlacedByGather(),)})
    return pattern.count


@dataclass
class EncodeStoredWeights(RewritePattern):
    """
    matmul(x, w) == panel_matmul(x, fill_panels(index, values)) for w of values at constant positions; conv in the same
    way
    """

    chip: Chip
    count: int = 0

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Contraction, rewriter: PatternRewriter) -> None:
        weights = op.operands[1]
        if (placed := placed_values(weights)) is None:
            return
        values, numbers = placed
        cost = best_encoding(self.chip, op, numbers != 0)
        if cost is None or cost.panels is None:
            return
        panels = PanelPositions.of(self.chip, op, numbers, cost.panels)
        filled = self._filled(values, panels, rewriter)
        layout, type = panels.layout, tensor_of(op.result)
        if isinstance(op, MatmulOp):
            flag = op.transpose_a is not None
            new: Operation = PanelMatmulOp(op.lhs, filled, layout, type, transpose_a=flag)
        else:
            new = PanelConvOp.of(op, op.operand, filled, layout)
        new.results[0].name_hint = op.result.name_hint
        rewriter.replace(op, new)
        erase_unread(weights)
        self.count += 1

    def _filled(self, values: SSAValue, panels: PanelPositions, rewriter: PatternRewriter) -> FillPanelsOp:
        """Panels with these values, in their order in memory, or gathered into the order of the panels."""
        name, numbers = values.name_hint or "weights", panels.numbers
        index = rewriter.insert(source_of(panels.index, ui8, f"{name}_index{self.count}")).results[0]
        there = np.arange(1, numbers.size + 1).reshape(numbers.shape)
        if shape_of(values) == (numbers.size,) and bool(((numbers == there) | (numbers == 0)).all()):
            return rewriter.insert(FillPanelsOp(index, rewriter.insert(ReshapeOp(values, numbers.shape))))
        order = np.maximum(numbers - 1, 0).astype(np.int32)  # values that no entry of the index refers to are arbitrary
        positions = rewriter.insert(source_of(order, i32, f"{name}_order{self.count}")).results[0]
        if tensor_bytes(tensor_of(values)) <= self.chip.sram_bytes // SHARE:
            return rewriter.insert(FillPanelsOp(index, values, positions))
        return rewriter.insert(FillPanelsOp(index, rewriter.insert(GatherOp(values, positions, 0))))


def best_encoding(chip: Chip, op: Contraction, connected: Mask) -> LayerCost | None:
    """
    The encoding with which a layer with these connections takes the fewest cycles; None if dense weights take about as
    few, or if no matrix unit accepts such weights encoded.
    """
    weights = op.operands[1]
    if element_of(weights) != f32 or element_of(op.result) != f32:
        return None
    if op.is_depthwise if isinstance(op, ConvOp) else len(shape_of(weights)) != 2:
        return None
    fibers = fibers_of(op)
    rows = math.prod(shape_of(op.result)) // max(1, fibers.outputs)
    layer = Layer(rows, fibers.inputs, fibers.outputs, element_bytes(f32), op.taps, groups=op.group_count)
    dense, *choices = all_choices(connected.astype(np.float32), fibers)
    # Fillers would be zeros that have to be stored: only strides with sufficient bits for all distances are used.
    choices = [one for one in choices if one.entries == np.count_nonzero(connected)]
    if not choices or connected.all():
        return None
    mask = fibers.matrix(connected)
    best = min((best_panels(chip, layer, mask, one) for one in choices), key=lambda one: one.price)
    return best if is_faster(best, dense_cost(chip, layer, dense)) else None


def fibers_of(op: Contraction) -> Fibers:
    """The weights of a contraction as fibers, one for each output neuron."""
    return Fibers(shape_of(op.operands[1]), axis=op.output_axis(1))


@dataclass(frozen=True, eq=False)
class PanelPositions:
    """Panels of weights whose elements are numbered from 1; 0: not stored."""

    layout: PanelsAttr
    index: Bytes
    """[panels, parts, values_at] all bytes before the values."""
    numbers: Ints
    """[panels, parts, entries] numbers of the values after the index; 0: unused."""

    @staticmethod
    def of(chip: Chip, op: Contraction, numbers: Ints, panels: Panels) -> PanelPositions:
        """The numbers, in the shape of a contraction's weights, arranged in panels."""
        matrix = np.ascontiguousarray(fibers_of(op).matrix(numbers.astype(np.uint32)))
        packed, work, data = pack(matrix, panels, Lanes.of(chip, MATRIX_RATES["f32"]))
        behind = np.ascontiguousarray(data[:, :, packed.values_at :]).view(np.uint32).astype(np.int64)
        return PanelPositions(PanelsAttr(packed, work), np.ascontiguousarray(data[:, :, : packed.values_at]), behind)


class PlacedByGather(RewritePattern):
    """
    scatter(zeros, places, values) == gather(values and a zero, numbers): rows of its result can be computed separately
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScatterOp, rewriter: PatternRewriter) -> None:
        if element_of(op.result) != f32 or (placed := placed_values(op.result)) is None:
            return
        values, numbers = placed
        zero = source_of(np.zeros(1, np.float32), f32, "zero")
        both = ConcatOp([values, zero.results[0]], 0)
        order = np.where(numbers == 0, shape_of(values)[0], numbers - 1).astype(np.int32)
        positions = source_of(order, i32, f"{values.name_hint or 'weights'}_numbers")
        rewriter.replace(op, [zero, both, positions, GatherOp(both.result, positions.results[0], 0)])


def placed_values(value: SSAValue) -> Placed | None:
    """
    The stored values and positions of a value that is values at constant positions among zeros, possibly moved since;
    None for others.
    """
    owner = value.owner
    match owner:
        case ScatterOp():
            positions, data = constant_array(owner.indices), constant_array(owner.data)
            if positions is None or data is None or data.any() or len(shape_of(owner.data)) != 1:
                return None
            rows = shape_of(owner.data)[0]
            positions = np.where(positions < 0, positions + rows, np.broadcast_to(positions, shape_of(owner.indices)))
            if ((positions < 0) | (positions >= rows)).any():  # an error is raised where it is computed
                return None
            here = _not_masked(owner.updates)
            if owner.mode.data is not ScatterMode.ADD or len(np.unique(positions[here])) != len(positions[here]):
                return None
            numbers = np.zeros(shape_of(owner.data), np.int64)
            numbers[positions[here]] = here + 1
            return owner.updates, numbers
        case ReshapeOp() | TransposeOp() | SliceOp():
            if (placed := placed_values(owner.operand)) is None:
                return None
            return placed[0], evaluate(owner, [placed[1]])
        case _:
            return None


def _not_masked(values: SSAValue) -> Ints:
    """The numbers, from 0 on, of the values that a mask does not replace by zeros."""
    owner = values.owner
    every = np.arange(shape_of(values)[0])
    if not isinstance(owner, SelectOp):
        return every
    condition, other = constant_array(owner.condition), constant_array(owner.on_false)
    if condition is None or other is None or other.any():
        return every
    return np.flatnonzero(np.broadcast_to(condition, shape_of(values)))
