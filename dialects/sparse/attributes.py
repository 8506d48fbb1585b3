"""`#sparse.index`: the encoding of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import FloatData, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.index_formats import Format, Order
from ...formats.sparse.index_kind import in_blocks, kind_named

_NAMES = ("bits", "order", "axis", "threshold", "group")


@irdl_attr_definition
class IndexAttr(ParametrizedAttribute):
    """
    The encoding of a tensor of which only some elements are stored: the format of the index of their positions.

    - `direct`: one bit for each position; `stride`: the distance to the previous stored element, in `bits` bits (2 to
      8). Plug-ins add others by name.
    - `axis`: the dimension of output neurons (0 by default).
    - `order`: `output`, one fiber for each output neuron over its inputs (the default, and the only one for strides),
      or `input`, one fiber for each input over the output neurons.
    - `threshold`: elements of |x| up to it are not stored (0.0 by default).
    - `group`: number of neighbours in a fiber that share an entry of the index, and are stored together (1 by
      default).

    ```syntax
    #sparse.index< (`direct` | `stride`) (`,` `bits` `=` integer)? (`,` `order` `=` (`output` | `input`))?
      (`,` `axis` `=` integer)? (`,` `threshold` `=` float)? (`,` `group` `=` integer)? >
    ```

    ```mlir
    #sparse.index<direct>
    #sparse.index<direct, order = input, axis = 1, threshold = 0.5>
    #sparse.index<stride, bits = 5, axis = 1, group = 16>
    ```
    """

    name = "sparse.index"
    kind_attr: StringAttr
    bits_attr: IntAttr
    order_attr: StringAttr
    axis_attr: IntAttr
    threshold_attr: FloatData
    group_attr: IntAttr

    def __init__(
        self,
        kind: str,
        bits: int = 1,
        *,
        order: Order = Order.OUTPUT,
        axis: int = 0,
        threshold: float = 0.0,
        group: int = 1,
    ) -> None:
        super().__init__(
            StringAttr(kind), IntAttr(bits), StringAttr(order), IntAttr(axis), FloatData(threshold), IntAttr(group)
        )

    @property
    def format(self) -> Format:
        """The format of the index: kind, bits and group."""
        return Format(self.kind_attr.data, self.bits_attr.data, self.group_attr.data)

    @property
    def order(self) -> Order:
        """Whether a fiber belongs to an output neuron or to an input."""
        return Order(self.order_attr.data)

    @property
    def axis(self) -> int:
        """The dimension of output neurons."""
        return self.axis_attr.data

    @property
    def threshold(self) -> float:
        """The largest magnitude of elements that are not stored."""
        return self.threshold_attr.data

    @staticmethod
    def check(kind: str, bits: int, order: str, axis: int, threshold: float, group: int) -> str | None:
        """What is wrong with these parameters, or None."""
        if kind not in in_blocks():
            return f"index '{kind}': expected {' or '.join(in_blocks())}"
        try:
            Format(kind, bits, group)
        except ValueError as error:
            return str(error)
        if order not in list(Order):
            return f"order = {order}: expected output or input"
        if not kind_named(kind).by_input and order != Order.OUTPUT:
            return f"order = input: a {kind} index has a fiber for each output neuron"
        if axis < 0:
            return f"axis = {axis}: expected a dimension of the tensor"
        if not 0 <= threshold < math.inf:
            return f"threshold = {threshold}: expected a finite number of at least 0"
        return None

    def verify(self) -> None:
        if problem := self.check(
            self.kind_attr.data,
            self.bits_attr.data,
            self.order_attr.data,
            self.axis,
            self.threshold,
            self.group_attr.data,
        ):
            raise VerifyException(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            kind = parser.parse_identifier()
            given: dict[str, float | str] = {}
            while parser.parse_optional_punctuation(","):
                name = parser.parse_keyword_in(_NAMES)
                if name in given:
                    parser.raise_error(f"'{name}' is given twice")
                parser.parse_punctuation("=")
                given[name] = cls._parse_value(parser, name)
            bits, order = int(given.get("bits", 1)), str(given.get("order", Order.OUTPUT))
            axis, group = int(given.get("axis", 0)), int(given.get("group", 1))
            threshold = float(given.get("threshold", 0.0))
            if problem := cls.check(kind, bits, order, axis, threshold, group):
                parser.raise_error(problem, start, parser.pos)
        return cls(kind, bits, order=Order(order), axis=axis, threshold=threshold, group=group).parameters

    @staticmethod
    def _parse_value(parser: AttrParser, name: str) -> float | str:
        match name:
            case "order":
                return parser.parse_identifier()
            case "threshold":
                return float(parser.parse_number(allow_boolean=False))
            case _:
                return parser.parse_integer(allow_boolean=False)

    def print_parameters(self, printer: Printer) -> None:
        format = self.format
        parts: list[str] = [format.kind]
        if format.has_bits:
            parts.append(f"bits = {format.bits}")
        if self.order != Order.OUTPUT:
            parts.append(f"order = {self.order}")
        if self.axis:
            parts.append(f"axis = {self.axis}")
        if self.threshold:
            parts.append(f"threshold = {_decimal(self.threshold)}")
        if format.group != 1:
            parts.append(f"group = {format.group}")
        with printer.in_angle_brackets():
            printer.print_string(", ".join(parts))


def _decimal(number: float) -> str:
    """The shortest text that the parser reads as this float: digits, a point, digits, and an exponent if needed."""
    mantissa, exponent, power = repr(number).partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + exponent + power
