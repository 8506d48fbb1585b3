"""Types of offloaded tensors (stashes) and of tokens of control edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import NoneAttr, StringAttr, TensorType, f32
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..dataflow.types import DTYPE_CODES, Tensor, tensor_bytes
from .attributes import Space, SpaceAttr
from .formats import FORMATS, Format, format_named


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """
    An event: it fires when an operation has completed. It carries no data.

    ```syntax
    !memory.token
    ```

    ```mlir
    !memory.token
    ```
    """

    name = "memory.token"


@irdl_attr_definition
class StashType(ParametrizedAttribute, TypeAttribute):
    """
    A tensor that operations cannot read in its present form: the memory that it is in, and the format of its elements
    if that is not the tensor's own.

    ```syntax
    !memory.stash< tensor-type `,` (`dram` | `host`) (`,` format)? >
    ```

    ```mlir
    !memory.stash<tensor<64x64xf32>, host>
    !memory.stash<tensor<64x64xf32>, dram, f16>
    ```
    """

    name = "memory.stash"
    tensor_attr: Attribute
    space_attr: SpaceAttr
    format_attr: StringAttr | NoneAttr

    def __init__(self, tensor: Tensor, space: Space, format: Format | None = None) -> None:
        super().__init__(tensor, SpaceAttr(space), NoneAttr() if format is None else StringAttr(format.name))

    @property
    def tensor(self) -> Tensor:
        """The type of the tensor that is restored."""
        return cast(Tensor, self.tensor_attr)

    @property
    def space(self) -> Space:
        """The memory that contains the bytes: `dram` or `host`."""
        return self.space_attr.data

    @property
    def format(self) -> Format | None:
        """The format of the elements; None if they have the tensor's element type."""
        return format_named(self.format_attr.data) if isinstance(self.format_attr, StringAttr) else None

    @property
    def nbytes(self) -> int:
        """Bytes in the memory that contains it."""
        if (format := self.format) is None:
            return tensor_bytes(self.tensor)
        return math.prod(self.tensor.get_shape()) * format.nbytes

    @staticmethod
    def check(tensor: Attribute, space: Space, format: Format | None) -> str | None:
        """What is wrong with these parameters, or None."""
        if not isinstance(tensor, TensorType):
            return f"a stash of {tensor}: expected a tensor"
        type = cast(Tensor, tensor)
        if type.element_type not in DTYPE_CODES or any(size < 0 for size in type.get_shape()):
            return f"a stash of {tensor}: expected a static shape and an element type of the chip"
        if space is Space.SRAM:
            return "a stash in sram: expected dram or host"
        if format is None and space is Space.DRAM:
            return "a stash in dram in its own format is the tensor itself: expected host, or a format"
        if format is not None and type.element_type != f32:
            return f"a stash of {tensor} as {format.name}: only f32 is compressed"
        return None

    def verify(self) -> None:
        if isinstance(self.format_attr, StringAttr) and self.format_attr.data not in FORMATS:
            raise VerifyException(f"format {self.format_attr.data}: expected one of {', '.join(FORMATS)}")
        if problem := self.check(self.tensor_attr, self.space, self.format):
            raise VerifyException(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            tensor = parser.parse_type()
            parser.parse_punctuation(",")
            space = parser.parse_str_enum(Space)
            format = _parse_format(parser) if parser.parse_optional_punctuation(",") else None
            if problem := cls.check(tensor, space, format):
                parser.raise_error(problem, start, parser.pos)
        return cls(cast(Tensor, tensor), space, format).parameters

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.tensor_attr)
            printer.print_string(f", {self.space.value}")
            if self.format is not None:
                printer.print_string(f", {self.format.name}")


def _parse_format(parser: AttrParser) -> Format:
    start = parser.pos
    name = parser.parse_identifier()
    if name not in FORMATS:
        parser.raise_error(f"expected {', '.join(FORMATS)}", start, parser.pos)
    return FORMATS[name]
