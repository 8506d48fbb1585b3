"""Pass `sparse-prune-groups`: delete groups of weights and of neurons that are mostly small (spec 5, claims 11, 16)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.nature import Nature, lossy
from ..analysis.sparse.bits import Ints
from ..analysis.sparse.prune import apply, contiguous_groups, group_pruning, string_groups
from ..analysis.sparse.strings import Strings
from ..dialects.locations import at
from ..dialects.sparse import PruneGroupsOp
from ..support.errors import InputError
from .contraction_weights import WeightUse, by_source, numeric_values, replace_weights, stored_values, weight_uses
from .options import Number, number


@dataclass(frozen=True)
class SparsePruneGroupsPass(ModulePass):
    """
    Group pruning of matrix products and convolutions with known weights.

    A group of weights with more than `weight_limit` values of magnitude up to `weight_threshold` becomes zero. Groups
    are `weight_groups` runs of neighbours of each tensor (N of the claims), or, with `weight_group_size`, so many
    neighbours among the inputs of one output neuron. The neurons are put in `neuron_groups` groups (M of the claims)
    with `neuron_threshold` and `neuron_limit`, by an operation that does the same when the program runs. Results may
    move by `bound`, relative to the largest (for `--check-semantics`).
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
    def nature(self) -> Nature:
        """How much accuracy may be lost is a question to the network: the user answers it."""
        return lossy(number("bound", self.bound, 0))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._check()
        uses = weight_uses(op)
        if self.neuron_groups is not None and self.neuron_limit is not None:
            self._prune_neurons(uses, self.neuron_groups, self.neuron_limit)
        if self.weight_limit is not None:
            for group in by_source(uses):
                self._prune_weights(group, self.weight_limit)

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
                raise InputError(f"{what}s: expected 1 group at least, and {what}_limit of at least 0")
            self._threshold(what)

    def _threshold(self, what: str) -> float:
        threshold = self.weight_threshold if what == "weight" else self.neuron_threshold
        return number(f"{what}_threshold", threshold, 0)

    def _prune_weights(self, uses: list[WeightUse], limit: int) -> None:
        """All uses of one weight, in the strings of the first one."""
        strings, source = uses[0].strings, uses[0].source
        mask = group_pruning(
            strings.matrix(numeric_values(source)), self._groups(strings), self._threshold("weight"), limit
        )
        replace_weights(uses, apply(stored_values(source), strings.tensor(mask)))

    def _groups(self, strings: Strings) -> Ints:
        if self.weight_group_size is not None:
            return string_groups(strings.count, strings.length, self.weight_group_size)
        groups = contiguous_groups(strings.count * strings.length, self.weight_groups or 1)
        return groups.reshape(strings.count, strings.length)

    def _prune_neurons(self, uses: list[WeightUse], groups: int, limit: int) -> None:
        pruned: dict[SSAValue, SSAValue] = {}
        for use in uses:
            neurons = use.op.operands[1 - use.position]
            if neurons not in pruned:
                with at(use.op):
                    new = PruneGroupsOp(neurons, groups, self._threshold("neuron"), limit)
                Rewriter.insert_op(new, _after(neurons))
                pruned[neurons] = new.result
            use.op.operands[1 - use.position] = pruned[neurons]


def _after(value: SSAValue) -> InsertPoint:
    """Right after a value's definition."""
    if isinstance(value.owner, Operation):
        return InsertPoint.after(value.owner)
    return InsertPoint.at_start(value.owner)
