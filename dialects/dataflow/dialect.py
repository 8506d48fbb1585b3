"""The `dataflow` dialect object: all operations and attributes, and the materialisation of folded constants."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import cast

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Dialect, Operation

from . import (
    movement,
    partial_conv,
    partial_matmul,
    quantize,
    reduction,
    reshape,
    scatter,
    sources,
)
from .contraction import conv, matmul
from .elementwise import binary, compare, unary
from .loop import LoopOp, YieldOp
from .sources import ConstantOp, Dense

_MODULES = (
    sources, unary, binary, compare, quantize, matmul, conv, partial_conv, partial_matmul, reduction, reshape,
    movement, scatter,
)  # fmt: skip


def _defined_in(module: ModuleType) -> Iterator[type[Operation]]:
    """
    The operation classes that a module defines, in the order of its text; base classes, which have no name, are
    skipped.
    """
    for one in vars(module).values():
        if isinstance(one, type) and issubclass(one, Operation) and one.__module__ == module.__name__:
            if "name" in vars(one):
                yield one


OPERATIONS: list[type[Operation]] = [one for module in _MODULES for one in _defined_in(module)]
"""The operations with one result, which `evaluate` computes."""


class ConstantMaterialization(ConstantMaterializationInterface):
    """Creates `dataflow.constant` operations from the attributes that folding returns."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, DenseIntOrFPElementsAttr):
            return None
        dense = cast(Dense, value)
        return ConstantOp(dense) if dense.get_type() == type else None


Dataflow = Dialect(
    "dataflow",
    [*OPERATIONS, LoopOp, YieldOp],
    [compare.PredicateAttr, reduction.ReductionAttr, scatter.ScatterModeAttr],
    [ConstantMaterialization()],
)
