"""
Pass `sparse-prune-groups`: set groups of weights and of activations that are mostly small to zero (spec 5, claims 11,
16).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..analysis.semantic_effect import SemanticEffect, lossy
from ..dialects.dataflow import ConstantOp, Contraction, ConvOp, MatmulOp, WeightOp
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.sparse import PruneGroupsOp
from ..formats.sparse.encode import Mask
from ..formats.sparse.prune import contiguous_groups, fiber_groups, group_pruning
from ..support.errors import InputError
from .shared.contraction_weights import PruneWeights, WeightUse, numeric_values, weight_use
from .shared.options import Number, number
from .shared.rewrite_once import after_value, rewrite_once


@dataclass(frozen=True)
class SparsePruneGroupsPass(ModulePass):
    """
    Group pruning of matrix products and convolutions with constant weights.

    A group of weights with more than `weight_limit` values of magnitude up to `weight_threshold` becomes zero. Groups
    are `weight_groups` runs of neighbours of each tensor (N of the claims), or `weight_group_size` neighbours among the
    inputs of one output neuron. The activations are divided into `neuron_groups` groups (M of the claims) with
    `neuron_threshold` and `neuron_limit`, by an operation that prunes at run time. Results may change by `bound`,
    relative to the largest (for `--check-semantics`).
    """

    name = "sparse-prune-groups"
    weight_groups: int | None = None
    weight_group_size: int | None = None
    weight_threshold: Number = 0.0
    weight_limit: int | None = None
    neuron_groups: int | None = None
    neuron_threshold: Number = 0.0
    neuron_limit: int | None = None
    bound: Number = 1.0

    @property
    def semantic_effect(self) -> SemanticEffect:
        """The loss of accuracy that is acceptable depends on the network, so the user sets it."""
        return lossy(number("bound", self.bound, 0))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._check()
        unroll_loops(op)
        patterns: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        if self.neuron_groups is not None and self.neuron_limit is not None:
            neurons = (PruneActivations(self.neuron_groups, self._threshold("neuron"), self.neuron_limit),)
            patterns |= {MatmulOp: neurons, ConvOp: neurons}
        if self.weight_limit is not None:
            weights = (PruneWeights(partial(self._mask, self._threshold("weight"), self.weight_limit)),)
            patterns |= {ConstantOp: weights, WeightOp: weights}
        rewrite_once(op, patterns)

    def _mask(self, threshold: float, limit: int, use: WeightUse) -> Mask:
        """Mask of the weights that are kept."""
        fibers, size = use.fibers, self.weight_group_size
        if size is not None:
            groups = fiber_groups(fibers.count, fibers.length, size)
        else:
            groups = contiguous_groups(fibers.count * fibers.length, self.weight_groups or 1)
            groups = groups.reshape(fibers.count, fibers.length)
        return fibers.tensor(group_pruning(fibers.matrix(numeric_values(use.source)), groups, threshold, limit))

    def _check(self) -> None:
        if self.weight_groups is not None and self.weight_group_size is not None:
            raise InputError("give weight_groups or weight_group_size, not both")
        weights = self.weight_groups if self.weight_groups is not None else self.weight_group_size
        if weights is None and self.neuron_groups is None:
            raise InputError("nothing to prune: give weight_groups, weight_group_size or neuron_groups")
        for what, groups, limit in (
            ("weight", weights, self.weight_limit),
            ("neuron", self.neuron_groups, self.neuron_limit),
        ):
            if (groups is None) != (limit is None):
                raise InputError(f"groups of {what}s and {what}_limit: give both or none")
            if (groups is not None and groups < 1) or (limit is not None and limit < 0):
                raise InputError(f"{what}s: expected at least 1 group, and {what}_limit of at least 0")
            self._threshold(what)

    def _threshold(self, what: str) -> float:
        threshold = self.weight_threshold if what == "weight" else self.neuron_threshold
        return number(f"{what}_threshold", threshold, 0)


@dataclass(frozen=True)
class PruneActivations(RewritePattern):
    """
    matmul(x, w) == matmul(prune_groups(x), w) for constant w; conv in the same way; x is pruned once for all readers
    """

    groups: int
    threshold: float
    limit: int
    pruned: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Activations that are pruned already -> their pruned values."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Contraction, rewriter: PatternRewriter) -> None:
        if (use := weight_use(op)) is None:
            return
        position = 1 - use.position
        neurons = op.operands[position]
        if neurons not in self.pruned:
            prune = PruneGroupsOp(neurons, self.groups, self.threshold, self.limit)
            self.pruned[neurons] = rewriter.insert(prune, after_value(neurons)).result
        op.operands[position] = self.pruned[neurons]
        rewriter.notify_op_modified(op)
