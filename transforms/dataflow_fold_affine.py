"""Pass `dataflow-fold-affine`: merge additions of and multiplications by constants, and move them into weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.dataflow import (
    AddOp,
    CastOp,
    CeilOp,
    Contraction,
    ConvOp,
    DivOp,
    FloorOp,
    MulOp,
    NegOp,
    QuantizeOp,
    RoundOp,
    SubOp,
    WeightOp,
)
from ..dialects.dataflow.sources import LARGEST_CONSTANT
from ..dialects.dataflow.types import element_of, is_float, shape_of
from ..dialects.locations import at
from ..dialects.manycore import SubgraphOp
from .shared.affine import Affine, affine_of, affine_operand, joined
from .shared.constants import (
    SMALLEST_NORMAL,
    Doubles,
    constant_doubles,
    is_constant,
    largest_finite,
    rounded,
    source_of,
)
from .shared.offloaded_values import is_offloaded
from .shared.rewrite_once import erase_unread, rewrite_once

FEW = 64
"""
A single division of at most this many elements is kept: a multiplication would save nothing, and its factor is rounded.
"""


class DataflowFoldAffinePass(ModulePass):
    """
    Reduce the number of elementwise operations, such as those of batch normalisation:

    (x * a + b) * c + d == x * (a * c) + (b * c + d) for constant a, b, c, d (`add`, `sub`, `mul`, `div` and `neg`), and
    conv(x, w) * c == conv(x, w * c), matmul(x, w) * c == matmul(x, w * c) for one number c per output channel. An
    addition stays after the contraction, as its bias.

    A scale before a `quantize` with scale 1 becomes the scale of the `quantize`. A single division becomes a
    multiplication, which is faster, unless it has few elements or its result is rounded to integers, as in floor(x /
    49). Only floats, and only values without another use, are changed. New numbers are computed in f64 and rounded
    once. Nothing is merged if numbers would leave the range of their type, if the new table would be larger than the
    old ones, if a large number is added and subtracted (a way to round), or if a value is offloaded.
    """

    name = "dataflow-fold-affine"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {weight.sym_name.data for weight in op.walk() if isinstance(weight, WeightOp)}
        chains = (AffineChain(names),)
        rewrite_once(op, {AddOp: chains, SubOp: chains, MulOp: chains, DivOp: chains, NegOp: chains})
        rewrite_once(op, {QuantizeOp: (ScaleIntoQuantize(),)})


class ScaleIntoQuantize(RewritePattern):
    """quantize(x * c, 1) == quantize(x, c), bit-identical, for constant c"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter) -> None:
        product, one = op.operand.owner, constant_doubles(op.scale)
        if not isinstance(product, MulOp) or not product.result.has_one_use() or is_offloaded(product.result):
            return
        if one is None or not (one == 1).all() or not is_constant(product.rhs):
            return
        if shape_of(product.lhs) == shape_of(op.result):
            rewriter.replace(op, QuantizeOp(product.lhs, product.rhs, op.zero_point, element_of(op.result)))
            rewriter.erase(product)


@dataclass
class _Segment:
    """Consecutive operations of a chain, and the affine function of the first operand that they compute together."""

    ops: list[Operation]
    function: Affine


@dataclass
class AffineChain(RewritePattern):
    """
    (x * a + b) * c + d == x * (a * c) + (b * c + d) for constant a, b, c, d, starting at the first operation of a chain
    """

    names: set[str]
    """Names of all weights of the module."""
    done: set[Operation] = field(default_factory=set[Operation])
    """Operations that have been processed as part of a chain."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp | SubOp | MulOp | DivOp | NegOp, rewriter: PatternRewriter) -> None:
        if op in self.done or affine_operand(op) is None or not isinstance(op.parent_op(), FuncOp | SubgraphOp):
            return
        chain = _chain(op)
        self.done.update(chain)
        for segment in list(_segments(chain)):
            with at(segment.ops):
                self._rewrite(segment, rewriter)

    def _rewrite(self, segment: _Segment, rewriter: PatternRewriter) -> None:
        """
        Replace a segment if that gives fewer operations (a division that could be a multiplication counts as two).
        """
        base, last = affine_operand(segment.ops[0]), segment.ops[-1].results[0]
        assert base is not None
        if is_offloaded(base) or is_offloaded(
            last
        ):  # readers of `last` would read `base`, or those of `base` would read `last`
            return
        function = segment.function.simplified()
        contraction = self._with_scale(base, function.scale, rewriter)
        if contraction is not None:
            function = Affine(None, function.offset)
        before = len(segment.ops)
        if math.prod(shape_of(last)) > FEW and (not _is_rounded(last) or _is_power_of_two(function.scale)):
            before += sum(isinstance(op, DivOp) for op in segment.ops)
        if contraction is None and len(function.parts) >= before:
            return
        value = base if contraction is None else contraction.results[0]
        rewriter.insertion_point = InsertPoint.before(segment.ops[-1])
        if function.scale is not None:
            value = rewriter.insert(MulOp(value, self._source(function.scale, last, "scale", rewriter))).result
        if function.offset is not None:
            value = rewriter.insert(AddOp(value, self._source(function.offset, last, "offset", rewriter))).result
        if value is not base:
            value.name_hint = last.name_hint or value.name_hint
        rewriter.replace_all_uses_with(last, value)
        erase_unread(last)

    def _with_scale(self, base: SSAValue, scale: Doubles | None, rewriter: PatternRewriter) -> Operation | None:
        """
        A contraction that computes base * scale, where base is a contraction with constant weights and no other use.
        """
        op = base.owner
        if scale is None or not base.has_one_use() or not isinstance(op, Contraction):
            return None
        for index in (1, 0):
            weights = op.operands[index]
            axis = _scaled_axis(op, index, scale)
            # Weights that are narrower than the product have too few digits for a scale.
            if axis is None or not is_constant(weights) or element_of(weights) != element_of(base):
                continue
            if not weights.has_one_use() or (known := constant_doubles(weights)) is None:
                continue
            shape = [1] * len(shape_of(weights))
            shape[axis] = -1
            product = np.broadcast_to(known, shape_of(weights)) * scale.reshape(shape)
            if _keeps_digits(product, axis, element_of(weights)):
                rewriter.insertion_point = InsertPoint.before(op)
                clone = op.clone()
                with at(op):
                    clone.operands[index] = self._known(product, element_of(weights), _name_of(weights), rewriter)
                return rewriter.insert(clone)
        return None

    def _source(self, array: Doubles, last: SSAValue, what: str, rewriter: PatternRewriter) -> SSAValue:
        return self._known(array, element_of(last), f"{last.name_hint or 'folded'}_{what}", rewriter)

    def _known(self, array: Doubles, element: Attribute, name: str, rewriter: PatternRewriter) -> SSAValue:
        stored = rounded(array, element)
        if stored.nbytes > LARGEST_CONSTANT:
            unique, number = name, 1
            while unique in self.names:
                unique, number = f"{name}_{number}", number + 1
            self.names.add(name := unique)
        return rewriter.insert(source_of(stored, element, name)).results[0]


def _is_rounded(value: SSAValue) -> bool:
    """Whether a value is rounded to integers: 49 / 49 has to be 1, but 49 * (1 / 49) in f32 is not."""
    return any(
        isinstance(use.operation, FloorOp | CeilOp | RoundOp)
        or (isinstance(use.operation, CastOp) and not is_float(element_of(use.operation.result)))
        for use in value.uses
    )


def _is_power_of_two(scale: Doubles | None) -> bool:
    """Whether multiplication by these numbers only changes exponents."""
    return scale is None or bool((np.abs(np.frexp(scale)[0]) == 0.5).all())


def _chain(op: Operation) -> list[Operation]:
    """The chain that starts at an operation: each further operation is the only use of the previous one."""
    chain = [op]
    while chain[-1].results[0].has_one_use():
        (use,) = chain[-1].results[0].uses
        if use.operation.parent is not op.parent or affine_operand(use.operation) is not chain[-1].results[0]:
            break
        chain.append(use.operation)
    return chain


def _segments(chain: list[Operation]) -> Iterator[_Segment]:
    """Split a chain into segments, each of which is an affine function; other operations are skipped."""
    segment: _Segment | None = None
    for op in chain:
        step = affine_of(op)
        both = None
        if segment is not None and step is not None:
            both = joined(segment.function, step, element_of(op.results[0]))
        if segment is not None and both is not None:
            segment.ops.append(op)
            segment.function = both
            continue
        if segment is not None:
            yield segment
        segment = None if step is None else _Segment([op], step)
    if segment is not None:
        yield segment


def _scaled_axis(op: Contraction, index: int, scale: Doubles) -> int | None:
    """The axis of the weights (operand `index`) along which a scale of the result can be applied, or None."""
    rank = len(shape_of(op.results[0]))
    shape = (1,) * (rank - scale.ndim) + scale.shape
    if isinstance(op, ConvOp):
        axis, of_result = (0, 1) if index == 1 else (None, None)
    elif index == 1:
        axis, of_result = (-2 if op.transpose_b is not None else -1), rank - 1
    else:
        axis, of_result = (-1 if op.transpose_a is not None else -2), rank - 2
    others = [size for dim, size in enumerate(shape) if dim != of_result]
    return axis if all(size == 1 for size in others) else None


def _keeps_digits(product: Doubles, axis: int, element: Attribute) -> bool:
    """
    Whether the largest weight of each channel stays a normal number; the loss of smaller weights is negligible relative
    to it.
    """
    channels = np.abs(np.moveaxis(product, axis, 0)).reshape(product.shape[axis], -1).max(axis=1, initial=0.0)
    in_range = (channels >= SMALLEST_NORMAL[str(element)]) & (channels <= largest_finite(element))
    return bool((in_range | (channels == 0)).all())


def _name_of(weights: SSAValue) -> str:
    return f"{weights.owner.sym_name.data}_scaled" if isinstance(weights.owner, WeightOp) else "scaled"
