"""Attributes and types of the `memory` dialect: memory spaces, and buffers in them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..dataflow.types import DTYPE_CODES, element_bytes


class Space(StrEnum):
    """A kind of memory."""

    SRAM = "sram"
    """The memory of a core."""
    DRAM = "dram"
    """The memory of the chip."""
    HOST = "host"
    """The memory of the computer that the chip is attached to."""


@irdl_attr_definition
class SpaceAttr(EnumAttribute[Space]):
    """
    A memory: the SRAM of a core, the DRAM of the chip, or that of the host.

    ```syntax
    #memory.space< `sram` | `dram` | `host` >
    ```

    ```mlir
    #memory.space<sram>
    ```
    """

    name = "memory.space"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Space:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(Space)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """
    Memory for a row-major array: shape, element type, memory, and, once allocation has chosen it, the offset in bytes.

    ```syntax
    !memory.buffer< (size `x`)* element-type `,` space (`,` offset)? >
    ```

    ```mlir
    !memory.buffer<1x64x56x56xf32, sram>
    !memory.buffer<1x64x56x56xf32, sram, 4096>
    ```
    """

    name = "memory.buffer"
    shape_attr: ArrayAttr[IntAttr]
    element_type: Attribute
    space_attr: SpaceAttr
    offset_attr: IntAttr | NoneAttr

    def __init__(self, shape: Sequence[int], element_type: Attribute, space: Space, offset: int | None = None) -> None:
        super().__init__(
            ArrayAttr([IntAttr(size) for size in shape]),
            element_type,
            SpaceAttr(space),
            NoneAttr() if offset is None else IntAttr(offset),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes, outermost first."""
        return tuple(size.data for size in self.shape_attr)

    def get_shape(self) -> tuple[int, ...]:
        """Sizes; the same method as that of tensor types."""
        return self.shape

    @property
    def space(self) -> Space:
        """The memory that contains the buffer."""
        return self.space_attr.data

    @property
    def offset(self) -> int | None:
        """Byte offset in its memory, or None before allocation."""
        return self.offset_attr.data if isinstance(self.offset_attr, IntAttr) else None

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return math.prod(self.shape) * element_bytes(self.element_type)

    @staticmethod
    def check(shape: Sequence[int], element_type: Attribute, offset: int | None) -> str | None:
        """What is wrong with these parameters, or None."""
        if element_type not in DTYPE_CODES:
            return f"element type {element_type}: expected one of {', '.join(map(str, DTYPE_CODES))}"
        if any(size < 0 for size in shape):
            return f"shape {'x'.join('?' if size < 0 else str(size) for size in shape)}: expected static sizes"
        if offset is not None and (offset < 0 or offset % element_bytes(element_type)):
            return f"offset {offset}: expected a multiple of the {element_bytes(element_type)} bytes of an element"
        return None

    def verify(self) -> None:
        if problem := self.check(self.shape, self.element_type, self.offset):
            raise VerifyException(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            shape, element_type = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            space = parser.parse_str_enum(Space)
            offset = parser.parse_integer(allow_boolean=False) if parser.parse_optional_punctuation(",") else None
            if problem := cls.check(shape, element_type, offset):
                parser.raise_error(problem, start, parser.pos)
        return cls(shape, element_type, space, offset).parameters

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for size in self.shape:
                printer.print_string(f"{size}x")
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.space.value}")
            if self.offset is not None:
                printer.print_string(f", {self.offset}")
