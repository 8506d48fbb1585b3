"""
Operations without operands: `dataflow.constant`, with its elements in the text, and `dataflow.weight`, with a reference
to its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, ParamAttrConstraint, VarConstraint, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from ..reference import ReferenceOp, parse_reference, reference_properties
from .base import DataflowOp
from .types import Tensor, is_float, is_pair, tensor_bytes, tensor_of, verify_tensor

if TYPE_CHECKING:
    import numpy as np

Dense: TypeAlias = DenseIntOrFPElementsAttr[Any]
LARGEST_CONSTANT = 4096
"""Bytes of the largest constant that folding creates, unless all its elements are equal."""


@irdl_op_definition
class ConstantOp(DataflowOp):
    """
    A tensor whose elements are in the text. The compiler creates constants of at most 4096 bytes (or of equal
    elements); larger ones are weights.

    Elements are printed as decimal numbers if these are read back as the same bits, otherwise as hexadecimal bytes.

    ```syntax
    dataflow.constant attr-dict $value
    ```

    ```mlir
    %0 = dataflow.constant dense<[1, 2, 3]> : tensor<3xi64>
    ```
    """

    name = "dataflow.constant"
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = prop_def(ParamAttrConstraint(DenseIntOrFPElementsAttr, (T, AnyAttr())))
    result = result_def(T)
    traits = traits_def(ConstantLike())

    def __init__(self, value: Dense):
        super().__init__(operands=[], result_types=[value.get_type()], properties={"value": value})

    @staticmethod
    def from_array(array: np.ndarray, element_type: Attribute) -> ConstantOp:
        """The constant of a numpy array (bf16 as uint16 bit patterns, i1 as bool)."""
        from .constants import attribute_of

        return ConstantOp(attribute_of(array, element_type))

    @staticmethod
    def splat(value: float, type: Tensor) -> ConstantOp:
        """The constant whose elements all have this value."""
        from .constants import splat_attribute

        return ConstantOp(splat_attribute(value, type))

    def expected_type(self) -> Tensor:
        value = cast(Dense, self.value)
        type = verify_tensor(value.get_type(), "value")
        if is_pair(type.element_type):
            raise VerifyException(f"value has type {type}: pairs of 4-bit integers are weights, not constants")
        given = len(value.data.data)
        if given != tensor_bytes(type):
            raise VerifyException(f"value has {given} bytes: expected {tensor_bytes(type)} for {type}")
        return type

    def fold(self) -> Sequence[SSAValue | Attribute]:
        return (self.value,)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected dense<...> : tensor<...>", position, parser.pos)
        op = cls(cast(Dense, value))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        value = cast(Dense, self.value)
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        if not self._needs_hex(value):
            printer.print_attribute(value)
            return
        from .constants import array_of, splat_bits

        # If all elements are equal, one is printed; the parser distinguishes the forms by their length.
        data = splat_bits(array_of(value)) or value.data.data
        printer.print_string(f'dense<"0x{data.hex().upper()}"> : ')
        printer.print_attribute(value.get_type())

    @staticmethod
    def _needs_hex(value: Dense) -> bool:
        """Whether decimal text could lose bits of the elements."""
        type = cast(Tensor, value.get_type())
        if not is_float(type.element_type) or not value.data.data:
            return False
        from .constants import needs_bytes

        return needs_bytes(value)


@irdl_op_definition
class WeightOp(DataflowOp, ReferenceOp):
    """
    A tensor whose bytes are not in the text: little-endian elements in row-major order, at an `offset` (in bytes) of
    the file `source`. With source "mem" they are in a store of the process, found by their hash. The SHA-256 also
    detects a file that has changed.

    ```syntax
    dataflow.weight $sym_name `{` `source` `=` $source `,` `offset` `=` $offset `,` `bytes` `=` $bytes `,`
      `sha256` `=` $sha256 (`,` attributes)? `}` `:` type($result)
    ```

    ```mlir
    %0 = dataflow.weight @conv1 {source = "net.onnx", offset = 128 : i64, bytes = 48 : i64,
      sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} : tensor<3x4xf32>
    ```
    """

    name = "dataflow.weight"
    TAKES_PAIRS: ClassVar[bool] = True
    sym_name = prop_def(SymbolNameConstraint())
    result = result_def(Tensor)
    traits = traits_def(ConstantLike())

    def __init__(self, name: str, type: Tensor, *, source: str, offset: int, nbytes: int, sha256: str):
        super().__init__(
            operands=[],
            result_types=[type],
            properties={"sym_name": StringAttr(name), **reference_properties(source, offset, nbytes, sha256)},
        )

    def expected_type(self) -> Tensor:
        type = tensor_of(self.result)
        given, wanted = self.bytes.value.data, tensor_bytes(type)
        if given != wanted:
            raise VerifyException(f"bytes = {given} should be {wanted} for {type}")
        if (problem := self.reference_problem()) is not None:
            raise VerifyException(problem)
        return type

    def fold(self) -> None:
        """Weights are never folded: their values stay outside the text."""
        return None

    @classmethod
    def parse(cls, parser: Parser) -> WeightOp:
        name = parser.parse_symbol_name()
        properties, attributes = parse_reference(parser, cls.name)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(result_types=[type], properties={"sym_name": name, **properties}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes(self.shown)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)
