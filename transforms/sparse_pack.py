"""Pass `sparse-pack`: pack encoded tensors into panels, the form that a chip's units read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..analysis.sparse.layer_cost import Layer, best_panels, panels_of_width
from ..analysis.sparse.smallest_encoding import Choice
from ..chips import Chip
from ..dialects.dataflow import (
    ConstantOp,
    WeightOp,
)
from ..dialects.dataflow.types import element_bytes, element_of, shape_of, tensor_of, ui8
from ..dialects.locations import at
from ..dialects.sparse import (
    ConvOp,
    DecodeOp,
    EncodeOp,
    MatmulOp,
    PanelsAttr,
)
from ..dialects.sparse.types import index_of
from ..dialects.sparse.values import encode_array, fibers_of
from ..formats.sparse.bits import Bytes
from ..formats.sparse.encode import Encoded, counts
from ..formats.sparse.encode import decode as decode_array
from ..formats.sparse.nonzero import ALL_NONZERO, Nonzero
from ..formats.sparse.panels import Lanes, Panels, pack
from .shared.chip_option import ChipPass
from .shared.computed_panels import decode_misfits, is_computed, is_hint, pack_computed
from .shared.constants import Array, constant_array, source_of
from .shared.panel_contraction import Contraction, often_zero, on_panels
from .shared.rewrite_once import erase_unread, rewrite_once
from .shared.sparse_plan import MATRIX_RATES, matrix_types


@dataclass(frozen=True)
class SparsePackPass(ChipPass):
    """
    Put the encoded weights of contractions in panels for a chip (`chip`, or the module's): as many output neurons as
    its matrix unit has columns, and as many inputs as fit a core's memory.

    Depthwise convolutions, and products with weights of more than two dimensions, without elements or as first operand,
    do not change.

    Run-time encoded tensors, arguments and results are in panels with capacity for all elements
    (`transforms/shared/computed_panels.py`); inputs and results then are bytes, and an attribute describes their
    encoding.
    """

    name = "sparse-pack"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def run(self, module: ModuleOp, chip: Chip) -> None:
        pack_module(module, chip)


def pack_module(module: ModuleOp, chip: Chip) -> None:
    """
    Replace the contractions that a matrix unit can do on panels. Each encoded weight is packed once.

    Activations that are encoded with an expected share (`nonzero`) stay dense in memory: the matrix unit skips their
    zeros. All other run-time encoded tensors become panels.
    """
    decode_misfits(module)
    patterns = (ContractionOnPanels(chip), ContractionOfDecodedActivations())
    rewrite_once(module, {MatmulOp: patterns, ConvOp: patterns})
    pack_computed(module, chip)


@dataclass
class ContractionOnPanels(RewritePattern):
    """matmul(x, encode(w)) == panel_matmul(x, panels of w) for constant w; conv in the same way"""

    chip: Chip
    packed: dict[tuple[SSAValue, int, int], tuple[PanelsAttr, SSAValue]] = field(
        default_factory=dict[tuple[SSAValue, int, int], tuple[PanelsAttr, SSAValue]]
    )
    """Existing panels by encoded weights and size."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp | ConvOp, rewriter: PatternRewriter) -> None:
        if (encode := packable(op)) is None:
            return
        panels = choose_panels(op, encode, self.chip)
        key = (encode.result, panels.width, panels.depth)
        if key not in self.packed:
            self.packed[key] = self._pack(encode, panels, rewriter)
        neurons, nonzero = _unencoded(op, rewriter)
        if nonzero is None and often_zero(neurons):
            nonzero = ALL_NONZERO
        rewriter.replace(op, on_panels(op, neurons, *self.packed[key], nonzero))
        erase_unread(encode.result)

    def _pack(self, encode: EncodeOp, panels: Panels, rewriter: PatternRewriter) -> tuple[PanelsAttr, SSAValue]:
        """Insert panels before the operation that encodes the weights."""
        layout, data = _packed(encode, panels, self.chip)
        with at(encode):
            source = source_of(data, ui8, f"{encode.operand.name_hint or 'weights'}_packed")
        source.results[0].name_hint = encode.operand.name_hint
        rewriter.insert(source, InsertPoint.before(encode))
        return layout, source.results[0]


class ContractionOfDecodedActivations(RewritePattern):
    """matmul(encode(x), w) == matmul(x, w), skipping zeros of x, for other w; conv in the same way"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp | ConvOp, rewriter: PatternRewriter) -> None:
        if is_computed(op.operands[1]):
            return
        neurons, nonzero = _unencoded(op, rewriter)
        if nonzero is None:
            return
        weights = op.operands[1]
        if index_of(weights.type) is not None:
            weights = rewriter.insert(DecodeOp(weights)).result
        rewriter.replace(op, op.dense(neurons, weights, nonzero))


def _unencoded(op: Contraction, rewriter: PatternRewriter) -> tuple[SSAValue, Nonzero | None]:
    """The dense activations of a contraction, and their expected share of nonzero elements, if it is known."""
    neurons = op.operands[0]
    if (encode := encoding(neurons)) is None:
        return neurons, None
    return rewriter.insert(DecodeOp(neurons)).result, encode.expected


def packable(op: Contraction) -> EncodeOp | None:
    """The encoding of the weights of a contraction that can be computed on panels; None for others."""
    neurons, weights = op.operands
    encode = weights.owner
    if (index_of(neurons.type) is not None and encoding(neurons) is None) or not isinstance(encode, EncodeOp):
        return None
    if not isinstance(encode.operand.owner, ConstantOp | WeightOp):
        return None
    if not matrix_types(element_of(encode.operand), element_of(op.results[0])):
        return None
    if not math.prod(shape_of(weights)):
        return None  # Without weights there is nothing to multiply, and no panel.
    if isinstance(op, ConvOp):
        depthwise = op.groups.value.data > 1 and shape_of(weights)[1] == 1
        return None if depthwise else encode
    return encode if len(shape_of(weights)) == 2 else None


def encoding(neurons: SSAValue) -> EncodeOp | None:
    """The encoding that only states the expected share of activations (see `is_hint`); None for all others."""
    encode = neurons.owner
    return encode if isinstance(encode, EncodeOp) and is_hint(encode) else None


def choose_panels(op: Contraction, encode: EncodeOp, chip: Chip) -> Panels:
    """The panels with the fewest estimated cycles on the chip."""
    index = index_of(encode.result.type)
    assert index is not None
    type, shape = tensor_of(encode.operand), shape_of(encode.operand)
    outputs = shape[index.axis]
    inputs = math.prod(shape) // max(1, outputs)
    rows = math.prod(shape_of(op.results[0])) // max(1, outputs)
    taps = math.prod(shape[2:]) if isinstance(op, ConvOp) else 1
    groups = op.groups.value.data if isinstance(op, ConvOp) else 1
    neurons = encoding(op.operands[0])
    expected = ALL_NONZERO if neurons is None else neurons.expected
    layer = Layer(rows, inputs, outputs, element_bytes(type.element_type), taps, expected, groups)
    encoded, matrix = _encoded(encode)
    mask = counts(matrix)
    entries = len(encoded.values) // index.format.group
    choice = Choice(index.format, encoded.nbytes, encoded.values.itemsize * mask.size, float(mask.mean()), entries)
    if encode.width is not None and fits(width := encode.width.value.data, layer):
        return panels_of_width(chip, layer, choice, width)
    panels = best_panels(chip, layer, mask, choice).panels
    assert panels is not None
    return panels


def fits(width: int, layer: Layer) -> bool:
    """Whether panels may have `width` output neurons: no panel may contain neurons of two groups."""
    return width <= layer.outputs if layer.groups == 1 else not layer.group_outputs % width


def _packed(encode: EncodeOp, panels: Panels, chip: Chip) -> tuple[PanelsAttr, Bytes]:
    _, matrix = _encoded(encode)
    rate = MATRIX_RATES[str(element_of(encode.operand))]
    sized, work, data = pack(np.ascontiguousarray(matrix), panels, Lanes.of(chip, rate))
    return PanelsAttr(sized, work), data


def _encoded(encode: EncodeOp) -> tuple[Encoded, Array]:
    """
    Constant weights encoded, and as a matrix of fibers with elements below the threshold set to zero: the panels' own
    threshold is 0.
    """
    index, type, array = index_of(encode.result.type), tensor_of(encode.operand), constant_array(encode.operand)
    assert index is not None
    assert array is not None
    encoded = encode_array(array, type, index)
    return encoded, fibers_of(type, index).matrix(decode_array(encoded))
