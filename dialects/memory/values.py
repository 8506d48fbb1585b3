"""Where buffers meet values: constants that lie in memory from the start, and other shapes of the same memory."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.types import tensor_of
from .attributes import BufferType
from .ops import buffer_of


@irdl_op_definition
class HoldOp(IRDLOperation):
    """
    A buffer that holds a tensor from before the program starts until its end: weights and constants.

    ```
    %b = memory.hold %w : tensor<8x4xf32> in !memory.buffer<8x4xf32, dram, 0>
    ```
    """

    name = "memory.hold"
    value = operand_def(TensorType)
    buffer = result_def(BufferType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "$value attr-dict `:` type($value) `in` type($buffer)"

    def __init__(self, value: SSAValue | Operation, type: BufferType) -> None:
        super().__init__(operands=[value], result_types=[type])

    def verify_(self) -> None:
        tensor, buffer = tensor_of(self.value), buffer_of(self.buffer)
        if (tensor.get_shape(), tensor.element_type) != (buffer.shape, buffer.element_type):
            raise VerifyException(f"holds {tensor} in {buffer}: expected equal shapes and element types")


@irdl_op_definition
class ViewOp(IRDLOperation):
    """
    The same memory in another shape of as many elements.

    ```
    %v = memory.view %b : !memory.buffer<4x4xf32, dram, 0> as !memory.buffer<16xf32, dram, 0>
    ```
    """

    name = "memory.view"
    source = operand_def(BufferType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `as` type($result)"

    def __init__(self, source: SSAValue | Operation, shape: tuple[int, ...]) -> None:
        type = buffer_of(SSAValue.get(source))
        result = BufferType(shape, type.element_type, type.space, type.offset)
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        source, result = buffer_of(self.source), buffer_of(self.result)
        same = (source.element_type, source.space, source.offset, source.nbytes)
        if same != (result.element_type, result.space, result.offset, result.nbytes):
            raise VerifyException(f"{source} seen as {result}: expected the same memory, only the shape may differ")
