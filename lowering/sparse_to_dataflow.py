"""
Pass `sparse-to-dataflow`: operations that no unit can compute on encoded operands become dense, with the same zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.dataflow import CastOp, CompareOp, ConstantOp, ReduceOp, ReshapeOp, SelectOp, WeightOp
from ..dialects.dataflow.elementwise import Predicate
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_of, is_float, shape_of, tensor, tensor_of
from ..dialects.locations import located
from ..dialects.sparse import (
    CombineOp,
    CompactOp,
    ConnectionsOp,
    ConvOp,
    DecodeOp,
    EncodeOp,
    MatmulOp,
    PruneGroupsOp,
)
from ..dialects.sparse.types import decoded, index_of
from ..dialects.sparse.values import encode_array
from ..formats.sparse.encode import decode
from ..support.errors import InputError
from ..transforms.shared.constants import source_of
from ..transforms.shared.rewrite_once import Patterns, rewrite_once


@dataclass(frozen=True)
class SparseToDataflowPass(ModulePass):
    """
    Lower the operations of `sparse` to dense ones: an encoded tensor becomes the dense tensor that it decodes to,
    connection data become a mask. Contractions on panels are kept: matrix units compute them. -0 may become +0 and vice
    versa where a threshold removes it.
    """

    name = "sparse-to-dataflow"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(0.0)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_sparse(op)


def lower_sparse(module: ModuleOp) -> None:
    """
    Replace all operations of `sparse`. Raises InputError for encoded arguments, and for operations without a dense
    form.
    """
    for function in module.walk():
        if isinstance(function, FuncOp):
            types = (*function.function_type.inputs, *function.function_type.outputs)
            if any(index_of(type) is not None for type in types):
                error = InputError(
                    f"function @{function.sym_name.data} has encoded arguments or results: run "
                    f"sparse-pack{{chip=NAME}} first, which converts them to bytes"
                )
                raise located(error, function)
    # The readers of an encoded tensor are replaced as well, one after the other.
    rewrite_once(module, PATTERNS)


class EncodedWeights(RewritePattern):
    """decode(encode(w)) for known w: dense weights, some of which are zero"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EncodeOp, rewriter: PatternRewriter) -> None:
        source, index, type = op.operand.owner, index_of(op.result.type), tensor_of(op.operand)
        if isinstance(source, ConstantOp | WeightOp) and index is not None:
            kept = decode(encode_array(evaluate(source, ()), type, index))
            name = source.sym_name.data if isinstance(source, WeightOp) else "weights"
            rewriter.replace(op, source_of(kept, type.element_type, f"{name}_kept"))


class EncodedActivations(RewritePattern):
    """decode(encode(x)) == x where |x| is above the threshold, else 0"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EncodeOp, rewriter: PatternRewriter) -> None:
        index = index_of(op.result.type)
        assert index is not None
        if index.threshold == 0:
            rewriter.replace(op, (), (op.operand,))
            return
        if index.format.group > 1:
            raise InputError(
                f"{decoded(tensor_of(op.result))} is encoded in groups of {index.format.group} above a threshold at "
                f"run time, which no dense operation does: run sparse-pack{{chip=NAME}} first"
            )
        rewriter.replace(op, (), (_above(op.operand, index.threshold, rewriter),))


class Decode(RewritePattern):
    """decode(x) == x, which is dense"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DecodeOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, (), (op.operand,))


class Connections(RewritePattern):
    """connections(x) == (x != 0)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConnectionsOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, (), (_nonzero(op.operand, rewriter),))


class Combine(RewritePattern):
    """combine(a, b) == select(a, b, 0): the conjunction of both masks"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CombineOp, rewriter: PatternRewriter) -> None:
        both = rewriter.insert(SelectOp(op.lhs, op.rhs, _number(0, op.lhs, rewriter)))
        rewriter.replace(op, (), both.results)


class Compact(RewritePattern):
    """compact(x, connections) == select(connections, x, 0)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CompactOp, rewriter: PatternRewriter) -> None:
        kept = rewriter.insert(SelectOp(op.connections, op.operand, _number(0, op.operand, rewriter)))
        rewriter.replace(op, (), kept.results)


class Contraction(RewritePattern):
    """matmul(a, b) and conv(a, b) are those of dense operands"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp | ConvOp, rewriter: PatternRewriter) -> None:
        first, second = op.operands
        rewriter.replace(op, op.dense(first, second))


class PruneGroups(RewritePattern):
    """prune_groups(x): all groups in one row; groups with few elements above the threshold are multiplied by 0"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PruneGroupsOp, rewriter: PatternRewriter) -> None:
        shape = shape_of(op.operand)
        size, rest = divmod(math.prod(shape), op.group_count)
        if rest:
            raise InputError(
                f"sparse.prune_groups cuts {math.prod(shape)} elements into {op.group_count} groups at run time: "
                f"expected groups of equal size"
            )
        groups = rewriter.insert(ReshapeOp(op.operand, (op.group_count, size))).result
        large = _nonzero(_above(groups, op.threshold.value.data, rewriter), rewriter)
        counted = rewriter.insert(ReduceOp(rewriter.insert(CastOp(large, f32)).result, "sum", [1])).result
        # More than `limit` small ones: fewer than size - limit large ones.
        least = _number(size - op.limit.value.data, counted, rewriter)
        enough = rewriter.insert(CompareOp(counted, least, Predicate.GE))
        kept = rewriter.insert(SelectOp(enough.result, groups, _number(0, groups, rewriter)))
        rewriter.replace(op, (), rewriter.insert(ReshapeOp(kept.result, shape)).results)


PATTERNS: Patterns = {
    EncodeOp: (EncodedWeights(), EncodedActivations()),
    DecodeOp: (Decode(),),
    ConnectionsOp: (Connections(),),
    CombineOp: (Combine(),),
    CompactOp: (Compact(),),
    MatmulOp: (Contraction(),),
    ConvOp: (Contraction(),),
    PruneGroupsOp: (PruneGroups(),),
}
"""The patterns of all operations but those on panels."""


def _number(value: float, like: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A constant of the element type of a value."""
    return rewriter.insert(ConstantOp.splat(value, tensor(element_of(like), ()))).result


def _nonzero(x: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """Whether each element is not zero."""
    return rewriter.insert(CompareOp(x, _number(0, x, rewriter), Predicate.NE)).result


def _above(x: SSAValue, threshold: float, rewriter: PatternRewriter) -> SSAValue:
    """x where |x| > threshold (and where it is NaN), else 0."""
    limit = threshold if is_float(element_of(x)) else math.floor(threshold)
    zero = _number(0, x, rewriter)
    high = rewriter.insert(CompareOp(x, _number(limit, x, rewriter), Predicate.LE)).result
    low = rewriter.insert(CompareOp(x, _number(-limit, x, rewriter), Predicate.GE)).result
    return rewriter.insert(SelectOp(high, rewriter.insert(SelectOp(low, zero, x)).result, x)).result
