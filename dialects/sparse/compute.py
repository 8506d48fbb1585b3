"""
`sparse.matmul` and `sparse.conv`: contractions with encoded operands, which multiply only pairs of stored elements.
"""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import I64, IntegerAttr, TensorType, UnitAttr
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.nonzero import Nonzero
from ..dataflow import contraction
from ..dataflow.base import Value
from ..dataflow.contraction import widened
from ..dataflow.sliding import SlidingOp
from ..dataflow.types import Tensor, tensor_of
from .types import index_of, verify_any


class SparseOp(IRDLOperation, HasCanonicalizationPatternsInterface, abc.ABC):
    """
    Base of contractions of a first operand, the neurons, with a second one, the weights; at least one of them is
    encoded.

    The result is that of the dense operation on the decoded operands: for finite numbers, bit-identical with the same
    order of accumulation. A pair of a zero that is not stored and an infinity or NaN is either skipped, or gives NaN as
    in the dense operation; programs must not depend on which.
    """

    traits = traits_def(Pure())

    @abc.abstractmethod
    def expected_type(self) -> Tensor:
        """The result type, inferred from operands and attributes; raises VerifyException if they are inconsistent."""

    @abc.abstractmethod
    def dense(
        self, first: SSAValue, second: SSAValue, nonzero: Nonzero | None = None
    ) -> contraction.MatmulOp | contraction.ConvOp:
        """The equivalent operation of `dataflow` on decoded operands (`nonzero`: its estimate)."""

    def verify_(self) -> None:
        for position, value in enumerate(self.operands):
            verify_any(value, f"operand {position}")
        if not any(index_of(value.type) for value in self.operands):
            raise VerifyException("no operand is encoded: expected one of tensor<..., #sparse.index<...>>")
        if self.results[0].type != (expected := self.expected_type()):
            raise VerifyException(f"result has type {self.results[0].type}: expected {expected}")

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import ComputeOnDecoded

        return (ComputeOnDecoded(),)


@irdl_op_definition
class MatmulOp(SparseOp):
    """
    Matrix product as `dataflow.matmul`, with at least one encoded operand.

    ```mlir
    %2 = sparse.matmul %x, %w transpose_b
      : (tensor<1x64xf32>, tensor<8x64xf32, #sparse.index<direct>>) -> tensor<1x8xf32>
    ```
    """

    name = "sparse.matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    assembly_format = (
        "$lhs `,` $rhs (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(self, lhs: Value, rhs: Value, result: Tensor, transpose_a: bool = False, transpose_b: bool = False):
        properties: dict[str, Attribute | None] = {
            "transpose_a": UnitAttr() if transpose_a else None,
            "transpose_b": UnitAttr() if transpose_b else None,
        }
        super().__init__(operands=[lhs, rhs], result_types=[result], properties=properties)

    @staticmethod
    def of(op: contraction.MatmulOp, lhs: Value, rhs: Value) -> MatmulOp:
        """The product `op` with these operands."""
        return MatmulOp(lhs, rhs, op.result_type, op.transpose_a is not None, op.transpose_b is not None)

    def expected_type(self) -> Tensor:
        flags = (self.transpose_a is not None, self.transpose_b is not None)
        return widened(contraction.MatmulOp.infer(self.lhs, self.rhs, *flags), tensor_of(self.result))

    def dense(self, first: SSAValue, second: SSAValue, nonzero: Nonzero | None = None) -> contraction.MatmulOp:
        return contraction.MatmulOp(
            first,
            second,
            transpose_a=self.transpose_a is not None,
            transpose_b=self.transpose_b is not None,
            result_element=tensor_of(self.result).element_type,
            nonzero=nonzero,
        )


@irdl_op_definition
class ConvOp(SlidingOp, SparseOp):
    """
    Convolution as `dataflow.conv`, with at least one encoded operand.

    ```mlir
    %2 = sparse.conv %x, %w strides [1] dilations [1] pad [0] to [0] groups 1
      : (tensor<1x3x8xf32>, tensor<4x3x3xf32, #sparse.index<stride, bits = 3>>) -> tensor<1x4x6xf32>
    ```
    """

    name = "sparse.conv"
    operand = operand_def(TensorType)
    weights = operand_def(TensorType)
    groups = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)
    assembly_format = (
        "$operand `,` $weights `strides` $strides `dilations` $dilations `pad` $pad_low `to` $pad_high "
        "`groups` $groups attr-dict `:` functional-type(operands, results)"
    )

    @staticmethod
    def of(op: contraction.ConvOp, operand: Value, weights: Value) -> ConvOp:
        """The convolution `op` with these operands."""
        operands = [SSAValue.get(operand), SSAValue.get(weights)]
        properties = {name: value for name, value in op.properties.items() if name != "nonzero"}
        return ConvOp.create(operands=operands, result_types=[op.result_type], properties=properties)

    def expected_type(self) -> Tensor:
        inferred = contraction.ConvOp.infer(self.operand, self.weights, **self.sliding, groups=self.groups.value.data)
        return widened(inferred, tensor_of(self.result))

    def dense(self, first: SSAValue, second: SSAValue, nonzero: Nonzero | None = None) -> contraction.ConvOp:
        return contraction.ConvOp(
            first,
            second,
            **self.sliding,
            groups=self.groups.value.data,
            result_element=tensor_of(self.result).element_type,
            nonzero=nonzero,
        )
