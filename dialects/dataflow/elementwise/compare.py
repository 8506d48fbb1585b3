"""`dataflow.compare`, elementwise comparison, and `dataflow.select`, selection by a condition."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..base import Value
from ..tiling import Box
from ..types import Tensor, broadcast_shapes, element_of, is_bool, shape_of, tensor
from .base import ElementwiseOp, infer_binary


class Predicate(StrEnum):
    """The comparison that `dataflow.compare` makes."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


@irdl_attr_definition
class PredicateAttr(EnumAttribute[Predicate], SpacedOpaqueSyntaxAttribute):
    """
    How `dataflow.compare` compares: equal, not equal, less, less or equal, greater, greater or equal.

    ```mlir
    #dataflow<predicate lt>
    ```
    """

    name = "dataflow.predicate"


@irdl_op_definition
class CompareOp(ElementwiseOp):
    """
    Comparison of a with b, element by element, with an i1 result. Every comparison with NaN is false, except `ne`.
    Operands have one element type, and broadcast by numpy's rules.

    ```mlir
    %2 = dataflow.compare lt %0, %1 : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xi1>
    ```
    """

    name = "dataflow.compare"
    predicate = prop_def(PredicateAttr)
    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: Value, rhs: Value, predicate: Predicate | str | PredicateAttr):
        if not isinstance(predicate, PredicateAttr):
            predicate = PredicateAttr(Predicate(predicate))
        super().__init__(operands=[lhs, rhs], result_types=[self.infer(lhs, rhs)], properties={"predicate": predicate})

    @staticmethod
    def infer(lhs: Value, rhs: Value) -> Tensor:
        """The result type; raises VerifyException for operands of unsuitable types."""
        return tensor(i1, infer_binary(lhs, rhs).get_shape())

    def expected_type(self) -> Tensor:
        return self.infer(self.lhs, self.rhs)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (CompareOp(operands[0], operands[1], self.predicate),)


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """
    Elements of `on_true` where the condition (i1) is true, and of `on_false` elsewhere. All three broadcast by numpy's
    rules.

    ```mlir
    %3 = dataflow.select %0, %1, %2 : (tensor<4xi1>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.select"
    condition = operand_def(Tensor)
    on_true = operand_def(Tensor)
    on_false = operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)"

    def __init__(self, condition: Value, on_true: Value, on_false: Value):
        super().__init__(
            operands=[condition, on_true, on_false], result_types=[self.infer(condition, on_true, on_false)]
        )

    @staticmethod
    def infer(condition: Value, on_true: Value, on_false: Value) -> Tensor:
        """The result type; raises VerifyException for operands of unsuitable types."""
        if not is_bool(element_of(condition)):
            raise VerifyException(f"condition has element type {element_of(condition)}: expected i1")
        branches = infer_binary(on_true, on_false)
        return tensor(branches.element_type, broadcast_shapes(shape_of(condition), branches.get_shape()))

    def expected_type(self) -> Tensor:
        return self.infer(self.condition, self.on_true, self.on_false)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (SelectOp(*operands),)
