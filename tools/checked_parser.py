"""xDSL's parser with a limit on the tensors that a text may claim."""

from __future__ import annotations

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Attribute
from xdsl.parser import Parser

from ..support.limits import size_problem


class CheckedParser(Parser):
    """
    Refuses tensors that are larger than any may be where their types stand, in all dialects.

    The parser itself would take memory for them: `dense<0>` is spelt out for the whole of its type.
    """

    def parse_shape(self) -> tuple[list[int] | None, Attribute]:
        """Dimensions and element type. Raises ParseError for more elements than fit into the limit."""
        start = self.pos
        shape, element = super().parse_shape()
        if shape is not None:
            bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 8
            if (problem := size_problem([max(size, 0) for size in shape], (bits + 7) // 8)) is not None:
                self.raise_error(problem, start, self.pos)
        return shape, element
