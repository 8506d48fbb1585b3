"""Operations of the `sparse` dialect that encode and decode tensors and compute connection data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType, f64
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.nonzero import Nonzero
from ..dataflow.base import int_attr, nonzero_of, shares_attr, verify_shares
from ..dataflow.types import is_float, shape_of, tensor_of
from .attributes import IndexAttr
from .types import (
    connection_type,
    decoded,
    encoded,
    index_of,
    verify_any,
    verify_connections,
    verify_encoded,
)


def _verify_type(actual: Attribute, expected: Attribute) -> None:
    if actual != expected:
        raise VerifyException(f"result has type {actual}: expected {expected}")


@irdl_op_definition
class EncodeOp(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """
    Encodes a tensor: its elements of |x| > threshold (of a group, all of them if one is) and an index of their
    positions.

    `nonzero` is an estimate, for planning, of which elements of a computed tensor are not zero: their share, and then
    six numbers for each size of tile that `docs/rationale/sparse.md` explains. `width` is the number of output neurons
    in a panel of weights.

    ```mlir
    %1 = sparse.encode %0 : tensor<8x64xf32> -> tensor<8x64xf32, #sparse.index<stride, bits = 4>>
    %2 = sparse.encode %0 width 4 : tensor<8x64xf32> -> tensor<8x64xf32, #sparse.index<direct>>
    %4 = sparse.encode %3 nonzero [0.4] : tensor<1x8xf32> -> tensor<1x8xf32, #sparse.index<direct>>
    ```
    """

    name = "sparse.encode"
    operand = operand_def(TensorType)
    nonzero = opt_prop_def(DenseArrayBase.constr(f64))
    width = opt_prop_def(IntegerAttr[I64])
    """The best number of output neurons in a panel of weights; if absent, `sparse-pack` chooses it."""
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = (
        "$operand (`nonzero` $nonzero^)? (`width` $width^)? attr-dict `:` type($operand) `->` type($result)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        index: IndexAttr,
        nonzero: Nonzero | None = None,
        width: int | None = None,
    ) -> None:
        type = tensor_of(operand)
        super().__init__(
            operands=[operand],
            result_types=[encoded(type, index)],
            properties={"nonzero": shares_attr(nonzero), "width": None if width is None else int_attr(width)},
        )

    @property
    def expected(self) -> Nonzero:
        """The expected share of stored elements."""
        return nonzero_of(self.nonzero)

    def verify_(self) -> None:
        verify_shares("nonzero", self.nonzero)
        if self.width is not None and self.width.value.data < 1:
            raise VerifyException(f"width = {self.width.value.data}: expected at least 1 output neuron")
        type = verify_encoded(self.result, "result")
        _verify_type(self.operand.type, decoded(type))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        # Elements that are not stored have been set to zero, so that the same index stores the same elements again.
        inner = self.operand.owner
        if isinstance(inner, DecodeOp) and inner.operand.type == self.result.type:
            return (inner.operand,) if isinstance(inner.operand.owner, EncodeOp) else None
        return None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import EncodeOfDecodedOfEncoded

        return (EncodeOfDecodedOfEncoded(),)


@irdl_op_definition
class DecodeOp(IRDLOperation, HasFolderInterface):
    """
    The dense tensor of an encoded one, with +0 for elements that are not stored.

    ```mlir
    %1 = sparse.decode %0 : tensor<8x64xf32, #sparse.index<direct>> -> tensor<8x64xf32>
    ```
    """

    name = "sparse.decode"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation) -> None:
        super().__init__(operands=[operand], result_types=[decoded(tensor_of(operand))])

    def verify_(self) -> None:
        _verify_type(self.result.type, decoded(verify_encoded(self.operand, "operand")))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        # Not for floats: -0 would become +0.
        index = index_of(self.operand.type)
        inner = self.operand.owner
        if not isinstance(inner, EncodeOp) or index is None or index.threshold:
            return None
        return None if is_float(tensor_of(self.result).element_type) else (inner.operand,)


@irdl_op_definition
class ConnectionsOp(IRDLOperation):
    """
    The connection data of an encoded tensor: its index without the values. Fillers of a stride index, which are stored
    zeros that bridge a long distance, are not connections.

    ```mlir
    %1 = sparse.connections %0 : tensor<8x64xf32, #sparse.index<direct>> -> tensor<8x64xi1, #sparse.index<direct>>
    ```
    """

    name = "sparse.connections"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue | Operation) -> None:
        super().__init__(operands=[operand], result_types=[connection_type(tensor_of(operand))])

    def verify_(self) -> None:
        _verify_type(self.result.type, connection_type(verify_encoded(self.operand, "operand")))


@irdl_op_definition
class CombineOp(IRDLOperation, HasFolderInterface):
    """
    The connections that both operands have. If the result has a direct index, this is the AND of two direct indices; if
    it has a stride index, the common prefix sums of two stride indices. An operand with an index of the other kind is
    converted first.

    ```mlir
    %2 = sparse.combine %0, %1 : tensor<5xi1, #sparse.index<stride, bits = 4>>, tensor<5xi1, #sparse.index<direct>>
      -> tensor<5xi1, #sparse.index<direct>>
    ```
    """

    name = "sparse.combine"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, index: IndexAttr | None = None) -> None:
        type = tensor_of(lhs)
        result = type if index is None else encoded(type, index)
        super().__init__(operands=[lhs, rhs], result_types=[result])

    def verify_(self) -> None:
        shapes = [
            shape_of(value)
            for value, what in ((self.lhs, "operand 0"), (self.rhs, "operand 1"), (self.result, "result"))
            if verify_connections(value, what)
        ]
        if shapes[0] != shapes[1] or shapes[0] != shapes[2]:
            listed = ", ".join(str(list(shape)) for shape in shapes)
            raise VerifyException(f"operands and result have shapes {listed}: expected equal ones")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.lhs,) if self.lhs == self.rhs and self.lhs.type == self.result.type else None


@irdl_op_definition
class CompactOp(IRDLOperation, HasFolderInterface):
    """
    The elements of a tensor at the positions that connection data connects, whatever their values. The result is an
    encoded tensor with these connections.

    ```mlir
    %2 = sparse.compact %0 by %1 : tensor<5xf32>, tensor<5xi1, #sparse.index<direct>>
      -> tensor<5xf32, #sparse.index<direct>>
    ```
    """

    name = "sparse.compact"
    operand = operand_def(TensorType)
    connections = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = (
        "$operand `by` $connections attr-dict `:` type($operand) `,` type($connections) `->` type($result)"
    )

    def __init__(self, operand: SSAValue | Operation, connections: SSAValue | Operation) -> None:
        index = index_of(SSAValue.get(connections).type)
        if index is None:
            raise VerifyException("operand 1 is no connection data: it has no index")
        super().__init__(operands=[operand, connections], result_types=[encoded(tensor_of(operand), index)])

    def verify_(self) -> None:
        type = verify_any(self.operand, "operand 0")
        connections = verify_connections(self.connections, "operand 1")
        if (shape := type.get_shape()) != (other := connections.get_shape()):
            raise VerifyException(f"operands have shapes {list(shape)} and {list(other)}: expected equal ones")
        index = index_of(connections)
        assert index is not None
        _verify_type(self.result.type, encoded(type, index))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        # A tensor that is compacted by its own connections equals its encoding.
        inner = self.connections.owner
        if not isinstance(inner, ConnectionsOp) or inner.operand.type != self.result.type:
            return None
        source = inner.operand.owner
        if isinstance(source, EncodeOp) and self.operand in (source.operand, source.result):
            return (source.result,)
        return None
