"""Pass `dataflow-split-widened`: keep weights that the chip computes from narrower ones in the cores' memory."""

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
The largest shares of the cores' memory for computed weights, and for the other operand and the result of their product;
the rest is for the constants from which the weights are computed.
"""
MOST = max(COUNTS)
"""The largest number of parts in which weights are computed; each part has separate code."""


@dataclass(frozen=True)
class DataflowSplitWidenedPass(ChipPass):
    """
    Keep matrices that the chip computes from constants, such as weights of few bits with a scale for each block, in the
    cores' memory for the product that reads them: a matrix that is too large is computed and multiplied in parts, which
    are ranges of columns. A matrix that would need more than 24 parts becomes a weight instead, so that it is not
    written to DRAM and read again. The chip is that of the option, or the module's.
    """

    name = "dataflow-split-widened"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)
    """Products of parts may add the terms in another order."""

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
    The operations that compute the second operand of a product from constants, in the block's order; empty if it
    depends on other data, or has another reader.
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
    """
    Split a product so that its computed matrix fits in `capacity` bytes of the cores' memory, or make the matrix a
    weight.
    """
    last = made[-1]
    parts = list(last.operands) if isinstance(last, ConcatOp) and last.axis.value.data == 0 else [product.rhs]
    count = ceil(max(map(_bytes, parts)) / (SHARE * capacity))
    others = _bytes(product.lhs) + _bytes(product.result)
    if count > MOST or 2 * count > shape_of(product.result)[1] or others > OTHERS * capacity:
        product.operands[1] = _computed(made, names)
    else:
        products = [product] if len(parts) == 1 else _of_each(parts, product)
        region_dce(function.body)  # removes the concatenation of the parts, which would still read them
        for one in products:
            if count > 1:
                run_in_stripes(function, [Cascade((*_computed_from_constants(one), one), 1, count)], names)
    region_dce(function.body)


def _of_each(parts: Sequence[SSAValue], product: MatmulOp) -> list[MatmulOp]:
    """The products with the parts whose concatenation along the rows is the matrix; their sum is the product."""
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
    """The result of operators on constants, as a weight."""
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
