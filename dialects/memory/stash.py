"""
Operations that offload whole tensors from the device's memory and restore them, and control edges.

All of them may wait for tokens, `after(%t, ...)`, and have a token as result, which fires when they are complete. A
control edge carries no data: an operation that waits does not start, and does not allocate memory, before the token has
fired.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyOf,
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.base import DataflowOp
from ..dataflow.types import Tensor, tensor_of
from .attributes import Space
from .formats import Format
from .stash_types import StashType, TokenType

TENSOR_OR_STASH = AnyOf((BaseAttr(TensorType), BaseAttr(StashType)))
_WAITING = "(`after` `(` $tokens^ `)`)?"


def stash_of(value: SSAValue) -> StashType:
    """The type of a stash."""
    assert isinstance(value.type, StashType)
    return value.type


class MoveOp(IRDLOperation, abc.ABC):
    """
    Base of reductions and restorations, which convert `source` to `result`. They have side effects, so that none is
    moved or removed.
    """

    source = operand_def(TENSOR_OR_STASH)
    tokens = var_operand_def(TokenType())
    result = result_def(TENSOR_OR_STASH)
    token = result_def(TokenType())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$source " + _WAITING + " attr-dict `:` type($source) `to` type($result)"

    RESTORES: ClassVar[bool]
    """Whether the operation is a restoration (true) or a reduction (false)."""

    def __init__(self, source: SSAValue, result: Attribute, tokens: Sequence[SSAValue] = ()) -> None:
        super().__init__(operands=[source, list(tokens)], result_types=[result, TokenType()])

    @abc.abstractmethod
    def expected_type(self) -> Attribute:
        """The type of the result, inferred from the source. Raises VerifyException for an unsuitable source."""

    def verify_(self) -> None:
        from .stash_check import check_stashes, check_tokens

        check_tokens(self)
        expected = self.expected_type()
        if self.result.type != expected:
            raise VerifyException(f"result has type {self.result.type}: expected {expected}")
        check_stashes(self)

    def reduction(self, kind: type[MoveOp]) -> MoveOp:
        """The reduction whose result this operation restores. Raises VerifyException if there is none of this kind."""
        owner = self.source.owner
        if not isinstance(owner, kind) or owner.parent is not self.parent:
            raise VerifyException(f"restores a value that no {kind.name} of this block has offloaded")
        return owner


@irdl_op_definition
class SwapOutOp(MoveOp):
    """
    Copies a tensor, or a compressed one, to the host. Its device memory is free once this operation and all readers
    have completed. The copy begins when the tokens in `after` have fired.

    ```mlir
    %s, %t = memory.swap_out %x : tensor<64x64xf32> to !memory.stash<tensor<64x64xf32>, host>
    ```
    """

    name = "memory.swap_out"
    RESTORES: ClassVar[bool] = False

    def expected_type(self) -> StashType:
        type = self.source.type
        if not isinstance(type, StashType):
            return StashType(tensor_of(self.source), Space.HOST)
        if type.space is Space.HOST:
            raise VerifyException(f"swaps out {type}, which is on the host")
        return StashType(type.tensor, Space.HOST, type.format)


@irdl_op_definition
class SwapInOp(MoveOp):
    """
    Copies a tensor that was swapped out back from the host, in the format that it has there. The copy begins when the
    tokens in `after` have fired.

    ```mlir
    %s, %t = memory.swap_out %x : tensor<64x64xf32> to !memory.stash<tensor<64x64xf32>, host>
    %q = memory.completion %y : tensor<4xf32>
    %x1, %t1 = memory.swap_in %s after(%q) : !memory.stash<tensor<64x64xf32>, host> to tensor<64x64xf32>
    ```
    """

    name = "memory.swap_in"
    RESTORES: ClassVar[bool] = True

    def expected_type(self) -> Attribute:
        self.reduction(SwapOutOp)
        type = stash_of(self.source)
        return type.tensor if type.format is None else StashType(type.tensor, Space.DRAM, type.format)


@irdl_op_definition
class CompressOp(MoveOp):
    """
    Rounds an f32 tensor to a narrower format, that of the result: bf16, f16, f24, f8e4m3 or f8e5m2. It stays on the
    device.

    ```mlir
    %c, %t = memory.compress %x : tensor<64x64xf32> to !memory.stash<tensor<64x64xf32>, dram, bf16>
    ```
    """

    name = "memory.compress"
    RESTORES: ClassVar[bool] = False

    def __init__(self, source: SSAValue, format: Format) -> None:
        super().__init__(source, StashType(tensor_of(source), Space.DRAM, format))

    def expected_type(self) -> StashType:
        type = self.result.type
        if isinstance(self.source.type, StashType):
            raise VerifyException(f"compresses {self.source.type}: expected a tensor")
        if not isinstance(type, StashType) or type.format is None:
            raise VerifyException(f"result has type {type}: expected a stash in dram with a format")
        return StashType(tensor_of(self.source), Space.DRAM, type.format)


@irdl_op_definition
class DecompressOp(MoveOp):
    """
    The f32 tensor of a compressed one on the device. Its elements have the values that the narrower format holds.

    ```mlir
    %c, %t = memory.compress %x : tensor<64x64xf32> to !memory.stash<tensor<64x64xf32>, dram, bf16>
    %x1, %t1 = memory.decompress %c : !memory.stash<tensor<64x64xf32>, dram, bf16> to tensor<64x64xf32>
    ```
    """

    name = "memory.decompress"
    RESTORES: ClassVar[bool] = True

    def expected_type(self) -> Tensor:
        type = self.source.type
        if not isinstance(type, StashType) or type.space is Space.HOST:
            raise VerifyException(f"decompresses {type}: expected a compressed stash in dram")
        if not (isinstance(self.source.owner, SwapInOp) and self.source.owner.parent is self.parent):
            self.reduction(CompressOp)
        return type.tensor


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Ends the body of `memory.recompute` with the tensors that it computes.

    ```mlir
    %q = memory.completion %x : tensor<4xf32>
    %y1, %t = memory.recompute(%x) after(%q) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      memory.yield %0 : tensor<4xf32>
    }
    ```
    """

    name = "memory.yield"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(values)])


@irdl_op_definition
class RecomputeOp(IRDLOperation):
    """
    Executes operations again, to restore tensors that were dropped. The body can use only its arguments, which are the
    operands; so these operations are never merged with those that were executed before.

    ```mlir
    %q = memory.completion %x : tensor<4xf32>
    %y1, %t = memory.recompute(%x) after(%q) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      memory.yield %0 : tensor<4xf32>
    }
    ```
    """

    name = "memory.recompute"
    inputs = var_operand_def(TensorType)
    tokens = var_operand_def(TokenType())
    values = var_result_def(TensorType)
    token = result_def(TokenType())
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "`(` $inputs `)` " + _WAITING + " attr-dict-with-keyword `:` functional-type($inputs, $values) $body"
    )

    def __init__(self, inputs: Sequence[SSAValue], body: Block, tokens: Sequence[SSAValue] = ()) -> None:
        last = body.last_op
        types = [value.type for value in last.operands] if last is not None else []
        super().__init__(
            operands=[list(inputs), list(tokens)], result_types=[types, TokenType()], regions=[Region(body)]
        )

    def verify_(self) -> None:
        from .stash_check import check_tokens

        check_tokens(self)
        block = self.body.block
        if [value.type for value in self.inputs] != [argument.type for argument in block.args]:
            raise VerifyException("the body's arguments should have the types of the operands")
        ops = list(block.ops)
        if len(ops) < 2 or not isinstance(ops[-1], YieldOp):
            raise VerifyException("the body should contain at least one operation and end with memory.yield")
        for op in ops[:-1]:
            if not isinstance(op, DataflowOp) and op.name != "manycore.subgraph":
                raise VerifyException(
                    f"the body contains {op.name}: expected operations of the dataflow dialect, or subgraphs"
                )
        if [value.type for value in ops[-1].operands] != [value.type for value in self.values]:
            raise VerifyException("the results should have the types of what the body yields")


@irdl_op_definition
class CompletionOp(IRDLOperation):
    """
    A token that fires when a value has been computed.

    ```mlir
    %q = memory.completion %y : tensor<4xf32>
    ```
    """

    name = "memory.completion"
    value = operand_def(TENSOR_OR_STASH)
    token = result_def(TokenType())
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[TokenType()])


@irdl_op_definition
class AwaitOp(IRDLOperation):
    """
    The same tensor in the same memory, for a reader that must wait until the tokens in `after` have fired: an edge of
    control to any operation. It also keeps the tensor in device memory until that reader, if it was swapped out before.

    ```mlir
    %q = memory.completion %y : tensor<8xf32>
    %x1 = memory.await %x after(%q) : tensor<4xf32>
    ```
    """

    name = "memory.await"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    value = operand_def(T)
    tokens = var_operand_def(TokenType())
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value " + _WAITING + " attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, tokens: Sequence[SSAValue] = ()) -> None:
        super().__init__(operands=[value, list(tokens)], result_types=[value.type])

    def verify_(self) -> None:
        from .stash_check import check_tokens

        check_tokens(self)


def tokens_of(op: Operation) -> Sequence[SSAValue]:
    """The tokens that an operation waits for."""
    return op.tokens if isinstance(op, MoveOp | RecomputeOp | AwaitOp) else ()


def is_memory_op(op: Operation) -> bool:
    """
    Whether an operation offloads or restores a tensor or orders such operations; a function with any is compiled in
    steps.
    """
    return isinstance(op, MoveOp | RecomputeOp | CompletionOp | AwaitOp)
