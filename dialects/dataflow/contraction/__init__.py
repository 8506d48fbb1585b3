"""Contractions: matrix products and convolutions, the work of the matrix unit."""

from typing import TypeAlias

from .base import (
    ContractionOp,
    cost_with_widening,
    scratch_of_widening,
)
from .conv import (
    ConvOp,
    channels_of,
    padded_windows,
)
from .element_types import (
    contraction_element,
    cuts_pairs,
    held_as,
    held_in,
    narrow_operand,
    narrow_pairs,
    pairs_of_slice,
    widened,
)
from .matmul import (
    MatmulOp,
)

Contraction: TypeAlias = MatmulOp | ConvOp
"""A contraction that a network has; passes make the partial ones of it."""

__all__ = [
    "Contraction",
    "ContractionOp",
    "ConvOp",
    "MatmulOp",
    "channels_of",
    "contraction_element",
    "cost_with_widening",
    "cuts_pairs",
    "held_as",
    "held_in",
    "narrow_operand",
    "narrow_pairs",
    "padded_windows",
    "pairs_of_slice",
    "scratch_of_widening",
    "widened",
]
