"""The constant weights of contractions: their uses, their elements, and pruning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.dataflow import ConstantOp, Contraction, ConvOp, WeightOp
from ...dialects.dataflow.constants import attribute_of, widen_bf16
from ...dialects.dataflow.contraction import narrow_operand
from ...dialects.dataflow.evaluate import evaluate
from ...dialects.dataflow.types import element_of, shape_of, tensor
from ...formats.sparse.encode import Mask, counts
from ...formats.sparse.fibers import Fibers
from ...formats.sparse.prune import apply
from ...formats.weights import STORE
from .constants import Array, source_name, weight_of
from .rewrite_once import erase_unread


@dataclass(frozen=True, eq=False)
class WeightUse:
    """A contraction and its constant operand."""

    op: Contraction
    position: int
    """Number of the operand."""
    source: ConstantOp | WeightOp
    axis: int
    """The dimension of the weights that counts output neurons."""

    @property
    def name(self) -> str:
        """The weight's name, or that of the constant's value."""
        return source_name(self.source)

    @property
    def label(self) -> str:
        """
        The name of the weight in messages: a constant without a name is called after the value that is computed with
        it.
        """
        return _label(self.source, self.op)

    @property
    def fibers(self) -> Fibers:
        """The weights as fibers, one for each output neuron."""
        return Fibers(shape_of(self.source.result), axis=self.axis)

    @property
    def mask(self) -> Mask:
        """Mask of the weights that are not zero, [fibers, length]."""
        return self.fibers.matrix(counts(numeric_values(self.source)))

    @property
    def rows(self) -> int:
        """Number of vectors of activations that these weights are multiplied with."""
        return math.prod(shape_of(self.op.results[0])) // max(1, self.fibers.outputs)


def weight_uses(module: ModuleOp) -> list[WeightUse]:
    """All constant weights of matrix products and convolutions, in program order, except depthwise convolutions."""
    return [use for op in module.walk() if (use := weight_use(op)) is not None]


def weight_use(op: Operation) -> WeightUse | None:
    """The constant weights of a matrix product or convolution; None for those without, and for other operations."""
    if not isinstance(op, Contraction) or op.is_depthwise:
        return None
    if narrow_operand(*op.operands) is not None or (isinstance(op, ConvOp) and op.padding):
        return None
    for position in (1, 0):
        source = op.operands[position].owner
        if isinstance(source, ConstantOp | WeightOp) and not (isinstance(op, ConvOp) and position == 0):
            return WeightUse(op, position, source, op.output_axis(position))
    return None


def uses_of(source: ConstantOp | WeightOp) -> list[WeightUse]:
    """The contractions that read these weights, in program order."""
    uses = [found for use in source.result.uses if (found := weight_use(use.operation)) and found.position == use.index]
    return sorted(uses, key=lambda use: _place(use.op)) if len(uses) > 1 else uses


def _place(op: Operation) -> tuple[int, ...]:
    """A sort key of operations that gives program order."""
    around, block = op.parent_op(), op.parent
    if around is None or block is None or (region := block.parent) is None:
        return ()
    within = around.get_region_index(region), region.get_block_index(block), block.get_operation_index(op)
    return (*_place(around), *within)


def weights_out_of_reach(module: ModuleOp) -> list[tuple[str, str]]:
    """
    (name and shape, reason) of the weights of contractions that `weight_uses` skips: of depthwise convolutions, and
    those that other operations compute at run time.
    """
    origin: dict[SSAValue, ConstantOp | WeightOp] = {}
    found: dict[ConstantOp | WeightOp, tuple[str, str]] = {}
    for op in module.walk():
        if isinstance(op, Contraction):
            sources = [(origin.get(op.operands[position]), op.operands[position].owner) for position in (1, 0)]
            source, owner = next((one for one in sources if one[0] is not None), (None, None))
            if source is not None and owner is not source:
                assert isinstance(owner, Operation)
                found[source] = _label(source, op), f"{owner.name} computes them at run time"
            elif source is not None and op.is_depthwise:
                found[source] = _label(source, op), "depthwise convolutions run on vector units, which skip no zeros"
            elif source is not None and isinstance(op, ConvOp) and op.padding:
                found[source] = _label(source, op), f"the operand is padded with {op.padding}, not zero"
            elif source is not None and narrow_operand(*op.operands) is not None:
                found[source] = _label(source, op), "they are integers, which vector units widen for products of floats"
        if isinstance(op, ConstantOp | WeightOp):
            origin[op.result] = op
        elif op.operands and not op.regions and all(operand in origin for operand in op.operands):
            origin.update((result, origin[op.operands[0]]) for result in op.results)
    return list(found.values())


def weight_name(source: ConstantOp | WeightOp, op: Operation) -> str:
    """
    The name of a weight in messages; for a constant without a name, that of the next value that is computed with it.
    """
    if isinstance(source, ConstantOp) and source.result.name_hint is None:
        value = op.results[0]
        while value.name_hint is None and (use := value.first_use) is not None and use.operation.results:
            value = use.operation.results[0]
        return f"constant of {value.name_hint}" if value.name_hint else source_name(source)
    return source_name(source)


def _label(source: ConstantOp | WeightOp, op: Operation) -> str:
    """Name and shape."""
    return f"{weight_name(source, op)} ({'x'.join(map(str, shape_of(source.result)))})"


def stored_weights(use: WeightUse) -> Mask:
    """Mask of the weights that are not zero, [groups, outputs, inputs of a group]."""
    mask = use.mask
    return mask.reshape(use.op.group_count, -1, mask.shape[1])


def stored_values(source: ConstantOp | WeightOp) -> Array:
    """The elements in storage form. Raises InputError if the file of a weight is missing or has changed."""
    return evaluate(source, ())


def numeric_values(source: ConstantOp | WeightOp) -> Array:
    """The elements as numbers (bf16 as f32)."""
    stored = stored_values(source)
    return widen_bf16(stored) if element_of(source.result) == bf16 else stored


@dataclass(frozen=True)
class PruneWeights(RewritePattern):
    """Set some weights of contractions to zero; they are divided into neurons as the first contraction reads them"""

    mask: Callable[[WeightUse], Mask | None]
    """Mask of the weights that are kept; None: all."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConstantOp | WeightOp, rewriter: PatternRewriter) -> None:
        """Insert the new weight, whose name has a suffix, before the old one, which is erased if it has no readers."""
        if not (uses := uses_of(op)) or (mask := self.mask(uses[0])) is None:
            return
        values, element = apply(stored_values(op), mask), element_of(op.result)
        if isinstance(op, ConstantOp):
            new = ConstantOp(attribute_of(values, element))
        else:
            new = weight_of(STORE.put(values), tensor(element, values.shape), f"{op.sym_name.data}_pruned")
        new.result.name_hint = op.result.name_hint
        rewriter.insert(new)
        for use in uses:
            use.op.operands[use.position] = new.result
            rewriter.notify_op_modified(use.op)
        erase_unread(op.result)
