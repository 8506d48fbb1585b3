"""
`memory.pack` and `memory.unpack`: conversions between f32 and bytes in a narrower format, to which `memory.compress`
and `memory.decompress` are lowered.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..dataflow.base import ComputedOp, TiledOp, Value
from ..dataflow.constants import Array
from ..dataflow.tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from ..dataflow.types import Shape, Tensor, shape_of, tensor, tensor_of, ui8
from .formats import FORMATS, Format, format_named


class PackingOp(TiledOp, ComputedOp, abc.ABC):
    """
    Base of both conversions: between f32 elements and their bytes, which have one more dimension, the bytes of an
    element.

    Iteration space: the dimensions of the f32 tensor, all parallel.
    """

    source = operand_def(Tensor)
    format_attr = prop_def(StringAttr, prop_name="format")
    result = result_def(Tensor)
    assembly_format = "$source `as` $format attr-dict `:` functional-type(operands, results)"

    FROM: ClassVar[Attribute]
    """Element type of the operand."""

    def __init__(self, source: Value, format: Format) -> None:
        super().__init__(
            operands=[source],
            result_types=[self.packing_type(tensor_of(source), format)],
            properties={"format": StringAttr(format.name)},
        )

    @property
    def format(self) -> Format:
        """The narrower format."""
        return format_named(self.format_attr.data)

    @staticmethod
    @abc.abstractmethod
    def packing_type(source: Tensor, format: Format) -> Tensor:
        """The type of the result. Raises VerifyException for an unsuitable operand type."""

    @property
    @abc.abstractmethod
    def elements(self) -> Shape:
        """Shape of the f32 tensor."""

    def expected_type(self) -> Tensor:
        source = tensor_of(self.source)
        if self.format_attr.data not in FORMATS:
            raise VerifyException(f"format {self.format_attr.data}: expected one of {', '.join(FORMATS)}")
        if source.element_type != self.FROM:
            raise VerifyException(f"operand has element type {source.element_type}: expected {self.FROM}")
        return self.packing_type(source, self.format)

    def iteration_space(self) -> tuple[IterDim, ...]:
        return tuple(IterDim(size, DimKind.PARALLEL) for size in self.elements)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (type(self)(operands[0], self.format),)

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=self.format.vpu_ops * tile.volume)

    def with_bytes(self, tile: Box) -> Box:
        """The box of all bytes of a tile's elements."""
        return Box((*tile.offsets, 0), (*tile.sizes, self.format.nbytes))


@irdl_op_definition
class PackOp(PackingOp):
    """
    The bytes of f32 elements that are rounded to a narrower format, the lowest byte first. The last dimension of the
    result is the number of bytes of an element.

    ```mlir
    %1 = memory.pack %0 as "f24" : (tensor<100xf32>) -> tensor<100x3xui8>
    ```
    """

    name = "memory.pack"
    FROM: ClassVar[Attribute] = f32

    @staticmethod
    def packing_type(source: Tensor, format: Format) -> Tensor:
        return tensor(ui8, (*source.get_shape(), format.nbytes))

    @property
    def elements(self) -> Shape:
        return shape_of(self.source)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return OperandSlice.of(tile)

    def result_box(self, tile: Box) -> Box:
        return self.with_bytes(tile)

    def compute(self, operands: Sequence[Array]) -> Array:
        return self.format.pack(operands[0])


@irdl_op_definition
class UnpackOp(PackingOp):
    """
    f32 elements from their bytes in a narrower format. The conversion is exact.

    ```mlir
    %1 = memory.unpack %0 as "f8e4m3" : (tensor<100x1xui8>) -> tensor<100xf32>
    ```
    """

    name = "memory.unpack"
    FROM: ClassVar[Attribute] = ui8

    @staticmethod
    def packing_type(source: Tensor, format: Format) -> Tensor:
        shape = source.get_shape()
        if not shape or shape[-1] != format.nbytes:
            raise VerifyException(f"operand has type {source}: expected {format.nbytes} bytes in the last dimension")
        return tensor(f32, shape[:-1])

    @property
    def elements(self) -> Shape:
        return shape_of(self.result)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return OperandSlice.of(self.with_bytes(tile))

    def compute(self, operands: Sequence[Array]) -> Array:
        return self.format.unpack(operands[0])
