"""xDSL's parser with limits on memory and time."""

from __future__ import annotations

import math
import re
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FixedBitwidthType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRLexer

from ..dialects import value_names as value_names
from ..support.limits import size_problem

MAX_ELEMENTS = 1 << 30
"""Largest number of elements of a value in textual IR: more than the memories of chips hold."""
MAX_DENSE_ELEMENTS = 1 << 26
"""Largest number of elements of a `dense<...>`: the parser expands splats. Larger constants are `dataflow.weight`."""


def guard_string_lexer() -> None:
    """
    Make xDSL's lexer fail in linear time on a string that does not end.

    Its pattern nests `+` in `*`; with a possessive `++` the language is the same, and there is only one way to match.
    """
    MLIRLexer._unescaped_characters_regex = re.compile(  # pyright: ignore[reportPrivateUsage]
        r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
    )


class GuardedParser(Parser):
    """A parser that rejects tensors, in all dialects, and constants above these limits."""

    def parse_shape(self) -> tuple[list[int] | None, Attribute]:
        """Dimensions and element type. Raises ParseError for more elements than fit into the limit."""
        start = self.pos
        shape, element = super().parse_shape()
        if shape is not None:
            bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 8
            if (problem := size_problem([max(size, 0) for size in shape], (bits + 7) // 8)) is not None:
                self.raise_error(problem, start, self.pos)
        return shape, element

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr:
        """Overrides xDSL's method; `type` is None if it follows in the text."""
        if type is not None:
            self._check_size(type)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_dense_literal_type(self) -> Any:
        type = super()._parse_dense_literal_type()
        self._check_size(type)
        return type

    def _check_size(self, type: Any) -> None:
        count = math.prod(type.get_shape())
        if count > MAX_DENSE_ELEMENTS:
            self.raise_error(f"a dense constant has at most {MAX_DENSE_ELEMENTS:,} elements, {type} has {count:,}")
