"""Layout of run-time encoded tensors in panels, and as matrices before encoding."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...chips import Chip
from ...dialects.dataflow import ReshapeOp, TransposeOp
from ...dialects.dataflow.types import Tensor, element_bytes, shape_of
from ...dialects.sparse import IndexAttr, PanelsAttr
from ...dialects.sparse.types import index_of
from ...dialects.sparse.values import fibers_of
from ...formats.sparse.index_formats import Order
from ...formats.sparse.panels import Lanes, Panels, computed_panels, expected_work
from .sparse_plan import MATRIX_RATES

PANELS_OF_MEMORY = 6
"""Number of panels that should fit in a core's memory: panels of both operands of a product, double-buffered."""
ELEMENT_BYTES = 5
"""
Assumed bytes of an element, index included; the same for all types, so that connection data are cut as their tensors.
"""


@dataclass(frozen=True)
class EncodedLayout:
    """Panels of an encoded tensor type."""

    element: Attribute
    index: IndexAttr
    panels: Panels
    attribute: PanelsAttr

    @property
    def nbytes(self) -> int:
        """Bytes of a panel."""
        return self.panels.nbytes

    @property
    def density(self) -> float:
        """Expected share of elements that are stored."""
        panels = self.panels
        return self.attribute.work.entries / (panels.outputs * panels.format.positions(panels.inputs))


def layout_of(type: Tensor, chip: Chip, density: float = 1.0) -> EncodedLayout:
    """
    The panels of an encoded type with capacity for all elements, of which the share `density` should be stored. The cut
    of fibers depends on the shape alone, so that tensors that are combined are cut in the same way.
    """
    index = index_of(type)
    assert index is not None
    fibers = fibers_of(type, index)
    width = panel_width(fibers.count, fibers.length, chip)
    panels = computed_panels(index.format, fibers.count, fibers.length, width, element_bytes(type.element_type))
    lanes = Lanes.of(chip, MATRIX_RATES.get(str(type.element_type), 1))
    work = expected_work(panels, min(1.0, density), lanes)
    return EncodedLayout(type.element_type, index, panels, PanelsAttr(panels, work))


def panel_width(fibers: int, length: int, chip: Chip) -> int:
    """
    Number of fibers in a panel: an equal share for each core, but at least the number of columns of a matrix unit if
    there are as many, and no more than fit. All panels but the last have this width, which follows from their number.
    """
    cores = len(chip.usable_cores)
    width = min(fibers, max(chip.mpu_cols, -(-fibers // cores)))
    room = chip.sram_bytes // PANELS_OF_MEMORY
    width = max(1, min(width, room // (ELEMENT_BYTES * length)))
    return -(-fibers // -(-fibers // width))


def fiber_dim(type: Tensor, index: IndexAttr) -> tuple[int, bool]:
    """
    The dimension over which the fibers of a tensor are numbered, and False; or, for `order = input` beyond matrices,
    the dimension that they run along, and True. Equal for all indices with the same fibers.
    """
    by_input = index.order == Order.INPUT
    if by_input and len(type.get_shape()) == 2:
        return 1 - index.axis, False
    return index.axis, by_input


def as_matrix(value: SSAValue, index: IndexAttr, rewriter: PatternRewriter) -> tuple[SSAValue, bool]:
    """A dense tensor as a matrix whose rows are fibers (True: whose columns are)."""
    shape = shape_of(value)
    axis, rank = index.axis, len(shape)
    outputs, inputs = shape[axis], math.prod(shape[:axis] + shape[axis + 1 :])
    rows = axis == 0
    if 0 < axis < rank - 1:
        others = [dim for dim in range(rank) if dim != axis]
        value = rewriter.insert(TransposeOp(value, [axis, *others])).result
        rows = True
    matrix = (outputs, inputs) if rows else (inputs, outputs)
    if shape_of(value) != matrix:
        value = rewriter.insert(ReshapeOp(value, matrix)).result
    return value, rows != (index.order == Order.OUTPUT)


def is_transposed(type: Tensor, index: IndexAttr) -> bool:
    """Whether `as_matrix` gives fibers as columns."""
    return (index.axis == 0 or index.axis < len(type.get_shape()) - 1) != (index.order == Order.OUTPUT)


def as_tensor(matrix: SSAValue, type: Tensor, index: IndexAttr, rewriter: PatternRewriter) -> SSAValue:
    """The inverse of `as_matrix`: a tensor with the shape of a type."""
    shape, axis = tuple(type.get_shape()), index.axis
    moved = 0 < axis < len(shape) - 1
    first = (shape[axis], *shape[:axis], *shape[axis + 1 :]) if moved else shape
    if shape_of(matrix) != first:
        matrix = rewriter.insert(ReshapeOp(matrix, first)).result
    if moved:
        back = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
        matrix = rewriter.insert(TransposeOp(matrix, back)).result
    return matrix
