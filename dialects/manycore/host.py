"""
`manycore.host_slice` and `manycore.host_concat`: blocks in which the host copies an input or output that is too large
for one copy.

They move no data on the chip: linking generates a separate copy for each block.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent, Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.base import Value, int_list, ints
from ..dataflow.movement import ConcatOp, SliceOp
from ..dataflow.reshape import ReshapeOp
from ..dataflow.types import Tensor, shape_of


@irdl_op_definition
class HostSliceOp(IRDLOperation):
    """
    A contiguous block of an input of the network, which the host copies to DRAM by itself.

    ```mlir
    %block = manycore.host_slice %x starts [0, 4, 0] sizes [1, 4, 16] : (tensor<1x8x16xf32>) -> tensor<1x4x16xf32>
    ```
    """

    name = "manycore.host_slice"
    operand = operand_def(Tensor)
    starts = prop_def(DenseArrayBase.constr(I64))
    sizes = prop_def(DenseArrayBase.constr(I64))
    result = result_def(Tensor)
    assembly_format = "$operand `starts` $starts `sizes` $sizes attr-dict `:` functional-type(operands, results)"
    traits = traits_def(Pure(), HasParent(FuncOp))

    def __init__(self, operand: Value, starts: Sequence[int], sizes: Sequence[int]) -> None:
        steps = (1,) * len(sizes)
        super().__init__(
            operands=[operand],
            result_types=[SliceOp.infer(operand, starts, sizes, steps)],
            properties={"starts": int_list(starts), "sizes": int_list(sizes)},
        )

    def verify_(self) -> None:
        sizes = ints(self.sizes)
        if (expected := SliceOp.infer(self.operand, ints(self.starts), sizes, (1,) * len(sizes))) != self.result.type:
            raise VerifyException(f"result has type {self.result.type}: expected {expected}")
        if not isinstance(self.operand, BlockArgument):
            raise VerifyException("the operand is computed: expected an argument of @main")
        cut = next((dim for dim, size in enumerate(sizes) if size != 1), len(sizes))
        if sizes[cut + 1 :] != shape_of(self.operand)[cut + 1 :]:
            raise VerifyException(
                f"sizes = {list(sizes)} are not a contiguous block of {list(shape_of(self.operand))}: "
                f"expected all of the dimensions after {cut}"
            )


@irdl_op_definition
class HostConcatOp(IRDLOperation):
    """
    An output of the network from blocks along the outermost dimension, which the host copies from DRAM one by one.

    ```mlir
    %y = manycore.host_concat %a, %b : (tensor<64xf32>, tensor<32xf32>) -> tensor<96xf32>
    ```
    """

    name = "manycore.host_concat"
    inputs = var_operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = "$inputs attr-dict `:` functional-type(operands, results)"
    traits = traits_def(Pure(), HasParent(FuncOp))

    def __init__(self, inputs: Sequence[Value]) -> None:
        super().__init__(operands=[list(inputs)], result_types=[ConcatOp.infer(inputs, 0)])

    def verify_(self) -> None:
        if (expected := ConcatOp.infer(self.inputs, 0)) != self.result.type:
            raise VerifyException(f"result has type {self.result.type}: expected {expected}")
        for use in self.result.uses:
            if not isinstance(use.operation, ReshapeOp | ReturnOp):
                raise VerifyException(f"{use.operation.name} reads the result: expected an output of @main")


HOST_OPS = (HostSliceOp, HostConcatOp)


def is_on_host(owner: Operation | Block) -> bool:
    """Whether the operation is executed by the host, on inputs or outputs of the network."""
    return isinstance(owner, HOST_OPS)
