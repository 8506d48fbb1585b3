"""The attribute that says how the weights of a contraction lie in panels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...analysis.sparse.formats import Format, Kind
from ...analysis.sparse.panels import Panels, Work


@irdl_attr_definition
class PanelsAttr(ParametrizedAttribute):
    """
    Encoded weights in panels (`analysis.sparse.panels`): the index' format, output neurons of the weights and of a
    panel, inputs of the weights and of a panel, and where the values of a panel begin.

    ```
    #sparse.panels<direct, outputs = 70 by 32, inputs = 300 by 300, values_at = 2632, entries = 960,
      fullest = 41, loads = 3>
    #sparse.panels<stride, bits = 5, group = 4, outputs = 8 by 8, inputs = 64 by 64, values_at = 40, entries = 51,
      fullest = 9, loads = 2>
    ```

    `entries`, `fullest` and `loads` are the work that the indices make (`analysis.sparse.panels.Work`); they only serve
    estimates.
    """

    name = "sparse.panels"
    kind_attr: StringAttr
    bits_attr: IntAttr
    group_attr: IntAttr
    outputs_attr: IntAttr
    width_attr: IntAttr
    inputs_attr: IntAttr
    depth_attr: IntAttr
    values_at_attr: IntAttr
    entries_attr: IntAttr
    fullest_attr: IntAttr
    loads_attr: IntAttr

    def __init__(self, panels: Panels, work: Work) -> None:
        format = panels.format
        numbers = (
            format.bits, format.group, panels.outputs, panels.width, panels.inputs, panels.depth, panels.values_at,
            work.entries, work.fullest, work.loads,
        )  # fmt: skip
        super().__init__(StringAttr(format.kind), *map(IntAttr, numbers))

    @property
    def format(self) -> Format:
        """Kind, bits and groups of the index."""
        return Format(Kind(self.kind_attr.data), self.bits_attr.data, self.group_attr.data)

    def panels(self, nbytes: int = 0) -> Panels:
        """The description, with the bytes of a panel where these are known."""
        return Panels(
            self.format,
            self.outputs_attr.data,
            self.width_attr.data,
            self.inputs_attr.data,
            self.depth_attr.data,
            self.values_at_attr.data,
            nbytes,
        )

    @property
    def work(self) -> Work:
        """What the indices make a matrix unit do."""
        return Work(self.entries_attr.data, self.fullest_attr.data, self.loads_attr.data)

    def resized(self, outputs: int, inputs: int) -> PanelsAttr:
        """The attribute of a slice of so many output neurons and inputs; the work in proportion."""
        before = self.panels()
        after = Panels(before.format, outputs, before.width, inputs, before.depth, before.values_at)
        parts, all_parts = math.prod(after.counts), math.prod(before.counts)
        entries, fullest, loads = (
            count * parts // all_parts for count in (self.work.entries, self.work.fullest, self.work.loads)
        )
        return PanelsAttr(after, Work(entries, fullest, loads))

    @staticmethod
    def check(kind: str, numbers: Sequence[int]) -> str | None:
        """What is wrong with these parameters (in the order of the attribute's), or None."""
        if kind not in (Kind.DIRECT, Kind.STRIDE):
            return f"panels of index '{kind}': expected direct or stride"
        bits, group, outputs, width, inputs, depth, values_at, *work = numbers
        try:
            Panels(Format(Kind(kind), bits, group), outputs, width, inputs, depth, values_at)
        except ValueError as error:
            return str(error)
        if min(work) < 0:
            return f"entries, fullest and loads are {work}: expected numbers of at least 0"
        return None

    def verify(self) -> None:
        panels, work = (
            (self.outputs_attr, self.width_attr, self.inputs_attr, self.depth_attr, self.values_at_attr),
            (self.entries_attr, self.fullest_attr, self.loads_attr),
        )
        numbers = [one.data for one in (self.bits_attr, self.group_attr, *panels, *work)]
        if problem := self.check(self.kind_attr.data, numbers):
            raise VerifyException(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def number(name: str) -> int:
            parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            return parser.parse_integer(allow_boolean=False)

        def by() -> int:
            parser.parse_keyword("by")
            return parser.parse_integer(allow_boolean=False)

        with parser.in_angle_brackets():
            start = parser.pos
            kind = parser.parse_identifier()
            bits = number("bits") if kind == Kind.STRIDE else 1
            parser.parse_punctuation(",")
            group = 1
            if parser.parse_optional_keyword("group"):
                parser.parse_punctuation("=")
                group = parser.parse_integer(allow_boolean=False)
                parser.parse_punctuation(",")
            parser.parse_keyword("outputs")
            parser.parse_punctuation("=")
            outputs = parser.parse_integer(allow_boolean=False)
            width = by()
            inputs = number("inputs")
            depth = by()
            rest = [number(name) for name in ("values_at", "entries", "fullest", "loads")]
            numbers = [bits, group, outputs, width, inputs, depth, *rest]
            if problem := cls.check(kind, numbers):
                parser.raise_error(problem, start, parser.pos)
        return [StringAttr(kind), *map(IntAttr, numbers)]

    def print_parameters(self, printer: Printer) -> None:
        panels, format = self.panels(), self.format
        parts: list[str] = [format.kind]
        if format.kind == Kind.STRIDE:
            parts.append(f"bits = {format.bits}")
        if format.group != 1:
            parts.append(f"group = {format.group}")
        parts += [
            f"outputs = {panels.outputs} by {panels.width}",
            f"inputs = {panels.inputs} by {panels.depth}",
            f"values_at = {panels.values_at}",
            f"entries = {self.work.entries}",
            f"fullest = {self.work.fullest}",
            f"loads = {self.work.loads}",
        ]
        with printer.in_angle_brackets():
            printer.print_string(", ".join(parts))
