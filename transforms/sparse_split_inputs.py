"""Pass `sparse-split-inputs`: split products of one row along their inputs if that is faster with encoded weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..analysis.planning.split_inputs import best_split, in_parts
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.sparse.layer_cost import Objective, dense_cost
from ..analysis.sparse.smallest_encoding import all_choices
from ..chips import Chip
from ..dialects.dataflow import ConvOp, MatmulOp, ReduceOp, ReshapeOp
from ..dialects.dataflow.types import element_of, shape_of
from ..dialects.dataflow.unroll_loops import unroll_loops
from .shared.chip_option import chip_for
from .shared.constants import source_of
from .shared.contraction_weights import WeightUse, stored_values, weight_use
from .shared.rewrite_once import erase_unread, rewrite_once
from .shared.sparse_plan import is_faster, layer_of, on_panels


@dataclass(frozen=True)
class SparseSplitInputsPass(ModulePass):
    """
    Cut matrix products of one row with constant weights along their inputs, if a chip (`chip`, or the module's) with
    encoded weights is then estimated to be faster: into a grouped convolution, with one group for each part, and the
    sum over the groups.

    With `objective=loads`, panels of layers bound by their weights are chosen for the fewest loads.
    """

    name = "sparse-split-inputs"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)

    chip: str | None = None
    objective: Objective = "cycles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op)
        split_inputs(op, chip_for(op, self.chip, f"{self.name}{{chip=NAME}}"), self.objective)


def split_inputs(module: ModuleOp, chip: Chip, objective: Objective = "cycles") -> dict[str, int]:
    """
    Cut products if that is estimated to be faster on a chip. Returns the number of parts of each by the name of its
    weights.
    """
    found: dict[str, int] = {}
    rewrite_once(module, {MatmulOp: (ProductInParts(chip, objective, found),)})
    return found


@dataclass(frozen=True)
class ProductInParts(RewritePattern):
    """x @ w == the sum over the groups of conv(x, w in groups), for one row x, if the chip is estimated to be faster"""

    chip: Chip
    objective: Objective
    found: dict[str, int]
    """The number of parts by the name of the weights, filled by the pattern."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        use = weight_use(op)
        if use is None or not may_split(use) or (parts := _best_parts(use, self.chip, self.objective)) == 1:
            return
        self.found[use.name] = parts
        source, element = use.source, element_of(op.result)
        matrix = in_parts(use.fibers.matrix(stored_values(source)), parts)
        neurons = ReshapeOp(op.lhs, (1, use.fibers.inputs, 1))
        weights = source_of(matrix[:, :, None], element_of(source.result), f"{use.name}_parts")
        weights.results[0].name_hint = source.result.name_hint
        product = ConvOp(neurons.result, weights.results[0], groups=parts, result_element=element)
        product.result.name_hint = op.result.name_hint
        apart = ReshapeOp(product.result, (parts, use.fibers.outputs))
        total = ReduceOp(apart.result, "sum", [0])
        rewriter.replace(op, [neurons, weights, product, apart, total, ReshapeOp(total.result, shape_of(op.result))])
        erase_unread(source.result)


def may_split(use: WeightUse) -> bool:
    """
    Whether a contraction is a product of one row whose partial sums may be added: they are as exact as its results.
    """
    exact = element_of(use.op.results[0]) in (f32, i32)
    return isinstance(use.op, MatmulOp) and use.rows == 1 and exact and on_panels(use)


def _best_parts(use: WeightUse, chip: Chip, objective: Objective) -> int:
    mask, layer = use.mask, layer_of(use, objective=objective)
    dense, *choices = all_choices(stored_values(use.source), use.fibers)
    if mask.all() or not choices:
        return 1  # they stay dense
    best = best_split(chip, layer, mask, min(choices, key=lambda choice: choice.nbytes))
    return best.parts if is_faster(best.cost, dense_cost(chip, layer, dense)) else 1
