"""Pass `dataflow-transpose-weights`: store weights by column if storage by row wastes DRAM bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip
from ..chips.cycles import dram_traffic
from ..dialects.dataflow import MatmulOp, WeightOp
from ..dialects.dataflow.evaluate import evaluate
from ..dialects.dataflow.types import element_bytes, element_of, is_pair, shape_of, tensor
from ..dialects.locations import at
from ..formats.weights import STORE
from .shared.chip_option import ChipPass
from .shared.constants import weight_of
from .shared.offloaded_values import is_offloaded

MIN_WASTE = 1 / 8
"""Weights are transposed if their bursts hold at least this share of other cores' columns."""


@dataclass(frozen=True)
class DataflowTransposeWeightsPass(ChipPass):
    """
    Store weights [K, N] that only products read as [N, K], with `transpose_b`, if the part of a row that one core
    reads, when columns are divided equally over the cores, is so short that DRAM bursts are read in part only: a column
    of a transposed weight is contiguous. Matrix unit and vector unit read both forms at the same rate. The chip is that
    of the option, or the module's.

    Weights in the text (`dataflow.constant`) stay as they are, and so do offloaded ones.
    """

    name = "dataflow-transpose-weights"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)
    """A product with a transposed operand may add the terms in another order."""

    def run(self, module: ModuleOp, chip: Chip) -> None:
        for weight in [one for one in module.walk() if isinstance(one, WeightOp)]:
            if _is_in_rows(weight.result) and _waste(weight.result, chip) >= MIN_WASTE:
                _transpose(weight)


def _is_in_rows(value: SSAValue) -> bool:
    """Whether all readers of a value are products that read it as their second operand, not transposed."""
    uses = list(value.uses)
    return (
        bool(uses)
        and not is_offloaded(value)
        and not is_pair(element_of(value))
        and all(
            isinstance(use.operation, MatmulOp) and use.index == 1 and use.operation.transpose_b is None for use in uses
        )
    )


def _waste(value: SSAValue, chip: Chip) -> float:
    """Bytes of a row that cores read in addition to their own columns, divided by the bytes of these columns."""
    own = ceil(shape_of(value)[-1] / len(chip.usable_cores)) * element_bytes(element_of(value))
    return dram_traffic(chip, 1, own) / own - 1


def _transpose(weight: WeightOp) -> None:
    array = np.ascontiguousarray(np.swapaxes(evaluate(weight, ()), -1, -2))
    with at(weight):
        new = weight_of(STORE.put(array), tensor(element_of(weight.result), array.shape), weight.sym_name.data)
    new.result.name_hint = weight.result.name_hint
    Rewriter.insert_op(new, InsertPoint.before(weight))
    for use in list(weight.result.uses):
        assert isinstance(use.operation, MatmulOp)
        use.operation.operands[1] = new.result
        use.operation.transpose_b = UnitAttr()
    Rewriter.erase_op(weight)
