"""
`memory.global`, constants in memory from the start of the program, and `memory.view`, parts of buffers in other shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..dataflow.types import Tensor, tensor_bytes, tensor_of, ui8
from .attributes import BufferType
from .ops import buffer_of, verify_bounds


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """
    A buffer that holds tensors from the start of the program to its end: weights and constants. A buffer of one tensor
    has its shape and element type. Several tensors are in a buffer of bytes, one after the other, each at a multiple of
    64 bytes.

    ```mlir
    %w = dataflow.constant dense<0.5> : tensor<8x4xf32>
    %b = memory.global %w : tensor<8x4xf32> in !memory.buffer<8x4xf32, dram, 0>
    ```
    """

    name = "memory.global"
    values = var_operand_def(TensorType)
    buffer = result_def(BufferType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "$values attr-dict `:` type($values) `in` type($buffer)"

    def __init__(self, values: Sequence[SSAValue], type: BufferType) -> None:
        super().__init__(operands=[list(values)], result_types=[type])

    def verify_(self) -> None:
        verify_bounds(self)
        tensors, buffer = [tensor_of(value) for value in self.values], buffer_of(self.buffer)
        if len(tensors) == 1 and buffer.element_type == tensors[0].element_type:
            if tensors[0].get_shape() != buffer.shape:
                raise VerifyException(f"holds {tensors[0]} in {buffer}: expected equal shapes and element types")
            return
        size = sum(held_bytes(tensor) for tensor in tensors)
        if buffer.element_type != ui8 or buffer.shape != (size,):
            one = f"{tensors[0]} in {buffer}: expected equal shapes and element types" if len(tensors) == 1 else ""
            raise VerifyException(f"holds {one or f'{len(tensors)} tensors in {buffer}: expected {size} bytes (xui8)'}")


HELD_ALIGNMENT = 64
"""Alignment in bytes of tensors in a buffer of several tensors."""


def held_bytes(type: Tensor) -> int:
    """Bytes that a tensor occupies in a buffer of several tensors; at least `HELD_ALIGNMENT`."""
    return -(-max(tensor_bytes(type), 1) // HELD_ALIGNMENT) * HELD_ALIGNMENT


@irdl_op_definition
class ViewOp(IRDLOperation):
    """
    The memory of a buffer, or a part of it, as another buffer.

    ```mlir
    %v = memory.view %b : !memory.buffer<4x4xf32, dram, 0> as !memory.buffer<8xf32, dram, 32>
    ```
    """

    name = "memory.view"
    source = operand_def(BufferType)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `as` type($result)"

    def __init__(self, source: SSAValue | Operation, type: BufferType) -> None:
        super().__init__(operands=[source], result_types=[type])

    @property
    def start(self) -> int:
        """Offset in bytes of the view in the source."""
        return (buffer_of(self.result).offset or 0) - (buffer_of(self.source).offset or 0)

    def verify_(self) -> None:
        source, result = buffer_of(self.source), buffer_of(self.result)
        known = (source.offset is None) == (result.offset is None)
        if source.space is not result.space or not known or not 0 <= self.start <= source.nbytes - result.nbytes:
            raise VerifyException(f"{source} seen as {result}: expected the memory of the former")
