"""Pass `dataflow-split-widened`: weights that the chip computes from narrower ones stay in the cores' memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.tasks.cascades import COUNTS, Cascade
from ..chips import Chip
from ..dialects.dataflow import AddOp, ConcatOp, MatmulOp, SliceOp
from ..dialects.dataflow.base import DataflowOp
from ..dialects.dataflow.constants import Array
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_bytes, element_of, shape_of
from ..dialects.locations import at
from .dataflow_cascade import run_in_stripes, weight_names
from .shared.chip_option import ChipPass
from .shared.constants import source_of

SHARE, OTHERS = 0.25, 0.5
"""
The shares of the cores' memory that computed weights may take, and what they are multiplied with and give: the rest is
for what they are computed from.
"""
MOST = max(COUNTS)
"""Weights are computed in at most so many parts, each of which has code of its own."""


@dataclass(frozen=True)
class DataflowSplitWidenedPass(ChipPass):
    """
    Let products with matrices that the chip computes from constants, such as weights of few bits with a scale for each
    block, keep these matrices in the cores' memory: a matrix of more than half of it is computed and multiplied in
    parts, some columns after the other. One that would need more than 24 parts becomes a weight instead, so that it is
    not written to DRAM and read again. The chip is that of the option, or the module's.
    """

    name = "dataflow-split-widened"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)
    """Products of parts may add in another order."""

    def run(self, module: ModuleOp, chip: Chip) -> None:
        names = weight_names(module)
        capacity = len(chip.usable_cores) * chip.sram_bytes
        for function in module.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                for product in [op for op in function.body.block.ops if isinstance(op, MatmulOp)]:
                    if made := _computed_from_constants(product):
                        _fit(function, product, made, capacity, names)


def _computed_from_constants(product: MatmulOp) -> list[DataflowOp]:
    """
    What computes the second matrix of a product from constants, in the block's order; nothing if there is other data,
    or another reader.
    """
    made: set[DataflowOp] = set()
    waiting = [product.rhs]
    while waiting:
        owner = waiting.pop().owner
        if not isinstance(owner, DataflowOp) or len(owner.results) != 1 or owner.regions:
            return []
        if owner.operands and owner not in made:
            made.add(owner)
            waiting.extend(owner.operands)
    inside = {*made, product}
    block = product.parent
    if block is None or len(shape_of(product.result)) != 2 or product.transpose_b is not None:
        return []
    if any(use.operation not in inside for one in made for use in one.results[0].uses):
        return []
    return [op for op in block.ops if isinstance(op, DataflowOp) and op in made]


def _fit(function: FuncOp, product: MatmulOp, made: list[DataflowOp], capacity: int, names: set[str]) -> None:
    """Compute a matrix so that it stays in cores with so many bytes of memory, or make a weight of it."""
    last = made[-1]
    parts = list(last.operands) if isinstance(last, ConcatOp) and last.axis.value.data == 0 else [product.rhs]
    count = ceil(max(map(_bytes, parts)) / (SHARE * capacity))
    others = _bytes(product.lhs) + _bytes(product.result)
    if count > MOST or 2 * count > shape_of(product.result)[1] or others > OTHERS * capacity:
        product.operands[1] = _computed(made, names)
    else:
        products = [product] if len(parts) == 1 else _of_each(parts, product)
        region_dce(function.body)  # what has joined the parts is no reader of them any more
        for one in products:
            if count > 1:
                run_in_stripes(function, [Cascade((*_computed_from_constants(one), one), 1, count)], names)
    region_dce(function.body)


def _of_each(parts: Sequence[SSAValue], product: MatmulOp) -> list[MatmulOp]:
    """The products with the parts that the rows of a matrix are joined of, which are added."""
    products: list[MatmulOp] = []
    row, total = 0, None
    for part in parts:
        rows, depth = shape_of(product.lhs)[0], shape_of(part)[0]
        with at(product):
            sliced = SliceOp(product.lhs, (0, row), (rows, depth))
            products.append(MatmulOp(sliced.result, part))
            sums = [] if total is None else [AddOp(total, products[-1].result)]
        total, row = (sums[0] if sums else products[-1]).results[0], row + depth
        Rewriter.insert_op([sliced, products[-1], *sums], InsertPoint.before(product))
    assert total is not None
    total.name_hint = product.result.name_hint
    product.result.replace_all_uses_with(total)
    Rewriter.erase_op(product)
    return products


def _computed(made: list[DataflowOp], names: set[str]) -> SSAValue:
    """What operators compute from constants, as a weight."""
    known: dict[SSAValue, Array] = {}
    for op in made:
        for value in op.operands:
            if value not in known and isinstance(value.owner, DataflowOp):
                known[value] = evaluate(value.owner, ())
        known[op.results[0]] = evaluate(op, [known[value] for value in op.operands])
    result = made[-1].results[0]
    name = base = result.name_hint or "widened"
    number = 0
    while name in names:
        name, number = f"{base}_{number}", number + 1
    names.add(name)
    with at(made[-1]):
        source = source_of(known[result], element_of(result), name)
    source.results[0].name_hint = result.name_hint
    Rewriter.insert_op(source, InsertPoint.before(made[-1]))
    return source.results[0]


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * element_bytes(element_of(value))
