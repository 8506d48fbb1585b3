"""`sparse.prune_groups`: group pruning, of activations at run time or of weights at compile time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I64, Float64Type, FloatAttr, IntegerAttr, f64
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.base import int_attr
from ..dataflow.types import shape_of, tensor_of, verify_tensor


@irdl_op_definition
class PruneGroupsOp(IRDLOperation, HasFolderInterface):
    """
    Group pruning: the elements, in row-major order, are divided into `groups` groups of neighbours, whose sizes differ
    by at most one. A group with more than `limit` elements of |x| <= `threshold` becomes zero.

    ```mlir
    %1 = sparse.prune_groups %0 groups 4 threshold 1.000000e-01 limit 12 : tensor<4x16xf32>
    ```
    """

    name = "sparse.prune_groups"
    T: ClassVar = VarConstraint("T", AnyAttr())
    operand = operand_def(T)
    groups = prop_def(IntegerAttr[I64])
    threshold = prop_def(FloatAttr[Float64Type])
    limit = prop_def(IntegerAttr[I64])
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$operand `groups` $groups `threshold` $threshold `limit` $limit attr-dict `:` type($operand)"

    def __init__(self, operand: SSAValue | Operation, groups: int, threshold: float, limit: int) -> None:
        super().__init__(
            operands=[operand],
            result_types=[tensor_of(operand)],
            properties={"groups": int_attr(groups), "threshold": FloatAttr(threshold, f64), "limit": int_attr(limit)},
        )

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return self.groups.value.data

    def verify_(self) -> None:
        verify_tensor(self.operand.type, "operand")
        if self.group_count < 1:
            raise VerifyException(f"groups = {self.group_count} should be at least 1")
        if self.limit.value.data < 0:
            raise VerifyException(f"limit = {self.limit.value.data} should not be negative")
        if not 0 <= self.threshold.value.data < math.inf:
            raise VerifyException(f"threshold = {self.threshold.value.data} should be finite and not negative")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        # If no group has more elements than the limit, all stay. Pruning is idempotent.
        largest = -(-math.prod(shape_of(self.operand)) // self.group_count)
        inner = self.operand.owner
        again = isinstance(inner, PruneGroupsOp) and inner.properties == self.properties
        return (self.operand,) if again or largest <= self.limit.value.data else None
