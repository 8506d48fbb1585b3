"""`#sparse.panels`: the arrangement of encoded weights in panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.index_formats import Format
from ...formats.sparse.index_kind import KINDS, in_blocks
from ...formats.sparse.panels import Panels, Work


@irdl_attr_definition
class PanelsAttr(ParametrizedAttribute):
    """
    How encoded weights are arranged in panels, each for some output neurons and some inputs
    (`formats/sparse/panels.py`).

    - `direct` or `stride`, `bits`, `group`: the index, as in `#sparse.index`.
    - `outputs = N by W`: the weights have N output neurons, a panel W of them; `inputs = K by D`: they have K inputs, a
      panel D of them.
    - `values_at`: the offset of the values in a panel, in bytes.
    - `sizes`: the number of bytes that each panel uses, if these differ much.
    - `entries`, `fullest`, `loads`: the work of a matrix unit, for estimates: the number of stored elements, that of
      the lane with the most, and the number of loads of weights (with `sizes`, for each panel).

    ```syntax
    #sparse.panels< (`direct` | `stride` `,` `bits` `=` integer) (`,` `group` `=` integer)?
      `,` `outputs` `=` integer `by` integer `,` `inputs` `=` integer `by` integer `,` `values_at` `=` integer
      (`,` `sizes` `=` `[` integers `]`)? `,` `entries` `=` integer `,` `fullest` `=` integer
      `,` `loads` `=` (integer | `[` integers `]`) >
    ```

    ```mlir
    #sparse.panels<direct, outputs = 70 by 32, inputs = 300 by 300, values_at = 2632, entries = 960,
      fullest = 41, loads = 3>
    #sparse.panels<stride, bits = 5, group = 4, outputs = 8 by 8, inputs = 64 by 64, values_at = 40, entries = 51,
      fullest = 9, loads = 2>
    #sparse.panels<direct, outputs = 64 by 32, inputs = 300 by 300, values_at = 2432, sizes = [3392, 2560],
      entries = 272, fullest = 41, loads = [2, 1]>
    ```
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
    sizes_attr: ArrayAttr[IntAttr]
    entries_attr: IntAttr
    fullest_attr: IntAttr
    loads_attr: ArrayAttr[IntAttr]
    """Number of loads of weights for each panel, or for all panels together."""

    def __init__(self, panels: Panels, work: Work) -> None:
        format = panels.format
        numbers = (
            format.bits, format.group, panels.outputs, panels.width, panels.inputs, panels.depth, panels.values_at,
        )  # fmt: skip
        sizes = ArrayAttr(map(IntAttr, panels.sizes))
        done = (work.entries, work.fullest)
        loads = ArrayAttr(map(IntAttr, work.own_loads or (work.loads,)))
        super().__init__(StringAttr(format.kind), *map(IntAttr, numbers), sizes, *map(IntAttr, done), loads)

    @property
    def format(self) -> Format:
        """The format of the index: kind, bits and group."""
        return Format(self.kind_attr.data, self.bits_attr.data, self.group_attr.data)

    def panels(self, nbytes: int = 0) -> Panels:
        """The description of the panels; `nbytes`: bytes of a panel, if known."""
        return Panels(
            self.format,
            self.outputs_attr.data,
            self.width_attr.data,
            self.inputs_attr.data,
            self.depth_attr.data,
            self.values_at_attr.data,
            nbytes,
            tuple(size.data for size in self.sizes_attr),
        )

    @property
    def work(self) -> Work:
        """The work of a matrix unit for these panels."""
        loads = tuple(one.data for one in self.loads_attr)
        return Work(self.entries_attr.data, self.fullest_attr.data, sum(loads), loads if self.sizes_attr.data else ())

    def resized(self, first: int, outputs: int, inputs: int) -> PanelsAttr:
        """
        The attribute of a slice: `outputs` output neurons from panel `first` on, and `inputs` inputs; work is scaled in
        proportion.
        """
        before, work = self.panels(), self.work
        own = slice(first, first + -(-outputs // before.width))
        sizes = before.sizes[own] if len(set(before.sizes[own])) > 1 else ()
        after = replace(before, outputs=outputs, inputs=inputs, sizes=sizes)
        parts, all_parts = math.prod(after.counts), math.prod(before.counts)
        entries, fullest, loads = (count * parts // all_parts for count in (work.entries, work.fullest, work.loads))
        if sizes:
            own_loads = tuple(one * after.counts[1] // before.counts[1] for one in work.own_loads[own])
            return PanelsAttr(after, Work(entries, fullest, sum(own_loads), own_loads))
        return PanelsAttr(after, Work(entries, fullest, loads))

    @staticmethod
    def check(kind: str, numbers: Sequence[int], sizes: Sequence[int], loads: Sequence[int]) -> str | None:
        """What is wrong with these parameters (`numbers` in the order of the attribute), or None."""
        if kind not in in_blocks():
            return f"panels of index '{kind}': expected {' or '.join(in_blocks())}"
        bits, group, outputs, width, inputs, depth, values_at, *work = numbers
        try:
            Panels(Format(kind, bits, group), outputs, width, inputs, depth, values_at, sizes=tuple(sizes))
        except ValueError as error:
            return str(error)
        if len(loads) != max(1, len(sizes)):
            return f"loads of panels are {list(loads)}: expected {max(1, len(sizes))}"
        if min(*work, *loads) < 0:
            return f"entries, fullest and loads are {[*work, *loads]}: expected numbers of at least 0"
        return None

    def verify(self) -> None:
        panels, work = (
            (self.outputs_attr, self.width_attr, self.inputs_attr, self.depth_attr, self.values_at_attr),
            (self.entries_attr, self.fullest_attr),
        )
        numbers = [one.data for one in (self.bits_attr, self.group_attr, *panels, *work)]
        lists = ([one.data for one in attr] for attr in (self.sizes_attr, self.loads_attr))
        if problem := self.check(self.kind_attr.data, numbers, *lists):
            raise VerifyException(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def name(expected: str) -> None:
            parser.parse_keyword(expected)
            parser.parse_punctuation("=")

        def number(expected: str) -> int:
            parser.parse_punctuation(",")
            name(expected)
            return parser.parse_integer(allow_boolean=False)

        def by() -> int:
            parser.parse_keyword("by")
            return parser.parse_integer(allow_boolean=False)

        def each() -> list[int]:
            return parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )

        with parser.in_angle_brackets():
            start = parser.pos
            kind = parser.parse_identifier()
            bits = number("bits") if kind in KINDS and KINDS[kind].has_bits else 1
            parser.parse_punctuation(",")
            group = 1
            if parser.parse_optional_keyword("group"):
                parser.parse_punctuation("=")
                group = parser.parse_integer(allow_boolean=False)
                parser.parse_punctuation(",")
            name("outputs")
            outputs = parser.parse_integer(allow_boolean=False)
            width = by()
            inputs = number("inputs")
            depth = by()
            panels = [bits, group, outputs, width, inputs, depth, number("values_at")]
            parser.parse_punctuation(",")
            sizes: list[int] = []
            if parser.parse_optional_keyword("sizes"):
                parser.parse_punctuation("=")
                sizes = each()
                parser.parse_punctuation(",")
            name("entries")
            work = [parser.parse_integer(allow_boolean=False), number("fullest")]
            parser.parse_punctuation(",")
            name("loads")
            loads = each() if sizes else [parser.parse_integer(allow_boolean=False)]
            if problem := cls.check(kind, [*panels, *work], sizes, loads):
                parser.raise_error(problem, start, parser.pos)
        lists = [ArrayAttr(map(IntAttr, one)) for one in (sizes, loads)]
        return [StringAttr(kind), *map(IntAttr, panels), lists[0], *map(IntAttr, work), lists[1]]

    def print_parameters(self, printer: Printer) -> None:
        panels, format, work = self.panels(), self.format, self.work
        parts: list[str] = [format.kind]
        if format.has_bits:
            parts.append(f"bits = {format.bits}")
        if format.group != 1:
            parts.append(f"group = {format.group}")
        parts += [
            f"outputs = {panels.outputs} by {panels.width}",
            f"inputs = {panels.inputs} by {panels.depth}",
            f"values_at = {panels.values_at}",
            *([f"sizes = {list(panels.sizes)}"] if panels.sizes else []),
            f"entries = {work.entries}",
            f"fullest = {work.fullest}",
            f"loads = {list(work.own_loads) if panels.sizes else work.loads}",
        ]
        with printer.in_angle_brackets():
            printer.print_string(", ".join(parts))
