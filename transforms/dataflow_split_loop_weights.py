"""Pass `dataflow-split-loop-weights`: split products of loops so that the cores keep as many weights as they can."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.planning.plan_network import WORKING_SHARE
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip
from ..dialects.dataflow import AddOp, ConstantOp, LoopOp, MatmulOp, SliceOp, WeightOp
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_bytes, element_of, is_pair, shape_of
from ..dialects.locations import at
from .shared.chip_option import ChipPass
from .shared.constants import is_constant, new_name, source_name, source_of
from .shared.offloaded_values import is_offloaded

KEPT_SUFFIX, LOADED_SUFFIX = ".kept", ".loaded"
"""Suffixes of the names of the two parts of a weight."""
LOADED_SHARE = 1 / 16
"""Share of SRAM for weights that are loaded in every step: some arrive while others are read."""

MOST_PRODUCTS = 10
"""Number of products of a loop of which all subsets are considered."""


class DataflowSplitLoopWeightsPass(ChipPass):
    """
    Split a product in a loop by constant weights [K, N] into the sum of two products if the cores cannot keep the
    weights for all steps, beside as many other weights of the loop as fit. The weights of the first terms of K, as many
    as fit, are loaded once; those of the other terms are loaded in every step. The chip is that of the option, or the
    module's.

    Only the largest such product of a loop is split. Offloaded weights stay as they are.
    """

    name = "dataflow-split-loop-weights"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)
    """A sum of two sums may add the terms in another order."""

    def run(self, module: ModuleOp, chip: Chip) -> None:
        names = {weight.sym_name.data for weight in module.walk() if isinstance(weight, WeightOp)}
        for loop in [op for op in module.walk() if isinstance(op, LoopOp)]:
            _split_largest_too_large(loop, chip, names)


def _split_largest_too_large(loop: LoopOp, chip: Chip, names: set[str]) -> None:
    """Keep as many bytes of whole weights as fit, and split the largest of the others if a part of it fits, too."""
    carried = sum(map(_bytes_of, loop.initial))
    free = (int((WORKING_SHARE - LOADED_SHARE) * chip.sram_bytes) - 2 * carried) * len(chip.usable_cores)
    products = [op for op in loop.body.block.ops if isinstance(op, MatmulOp) and is_constant(op.rhs)]
    whole = _largest_sum([_bytes_of(op.rhs) for op in products], free)
    others = [op for number, op in enumerate(products) if number not in whole]
    if not others:
        return
    op = max(others, key=lambda op: _bytes_of(op.rhs))
    left = free - sum(_bytes_of(products[number].rhs) for number in whole)
    kept = max(left, 0) * _terms(op) // _bytes_of(op.rhs) // chip.mpu_rows * chip.mpu_rows
    if kept and _can_be_split(op):
        with at(op):
            _split(op, kept, names)


def _largest_sum(sizes: Sequence[int], limit: int) -> tuple[int, ...]:
    """The numbers of sizes with the largest sum up to the limit; of more than `MOST_PRODUCTS`, of the first ones."""
    numbers = range(min(len(sizes), MOST_PRODUCTS))
    subsets = (subset for count in range(len(numbers) + 1) for subset in combinations(numbers, count))
    sums = ((sum(sizes[number] for number in subset), subset) for subset in subsets)
    return max((one for one in sums if one[0] <= max(limit, 0)), key=lambda one: one[0])[1]


def _bytes_of(value: SSAValue) -> int:
    return prod(shape_of(value)) * element_bytes(element_of(value))


def _terms(op: MatmulOp) -> int:
    """K, the number of terms of a sum."""
    return shape_of(op.rhs)[-2 if op.transpose_b is None else -1]


def _can_be_split(op: MatmulOp) -> bool:
    """Whether a product is one of two matrices, the second a constant that only it reads."""
    return (
        isinstance(op.rhs.owner, ConstantOp | WeightOp)
        and op.rhs.has_one_use()
        and not is_offloaded(op.rhs)
        and not is_pair(element_of(op.rhs))
        and op.nonzero is None
        and len(shape_of(op.lhs)) == len(shape_of(op.rhs)) == 2
    )


def _split(op: MatmulOp, kept: int, names: set[str]) -> None:
    """Replace a product by the sum of the products over the first `kept` terms and over the others."""
    weight = op.rhs.owner
    assert isinstance(weight, ConstantOp | WeightOp)
    array = evaluate(weight, ())
    products: list[MatmulOp] = []
    # The elementwise operations that follow a sum join the task of the first product: that is the one that ends last.
    for suffix, first, last in ((LOADED_SUFFIX, kept, _terms(op)), (KEPT_SUFFIX, 0, kept)):
        rows = array[first:last] if op.transpose_b is None else array[:, first:last]
        name = new_name(source_name(weight) + suffix, names)
        part = source_of(np.ascontiguousarray(rows), element_of(op.rhs), name)
        Rewriter.insert_op(part, InsertPoint.before(weight))
        product = op.clone()
        product.operands[0] = _columns(op, first, last)
        product.operands[1] = part.results[0]
        Rewriter.insert_op(product, InsertPoint.before(op))
        products.append(product)
    total = AddOp(products[0].result, products[1].result)
    Rewriter.replace_op(op, total)
    Rewriter.erase_op(weight)


def _columns(op: MatmulOp, first: int, last: int) -> SSAValue:
    """These terms of the first operand of a product."""
    shape, axis = list(shape_of(op.lhs)), 1 if op.transpose_a is None else 0
    starts = [0, 0]
    starts[axis], shape[axis] = first, last - first
    part = SliceOp(op.lhs, starts, shape)
    Rewriter.insert_op(part, InsertPoint.before(op))
    return part.result
