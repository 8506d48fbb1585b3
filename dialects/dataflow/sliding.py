"""What operations that slide a window over their operand have in common: how it moves, and what lies around."""

from __future__ import annotations

import abc
from typing import TypedDict

from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.irdl import IRDLOperation, prop_def

from .base import ints
from .types import Shape


class Sliding(TypedDict):
    """One number for each dimension that a window slides along."""

    strides: Shape
    dilations: Shape
    pad_low: Shape
    pad_high: Shape


class SlidingOp(IRDLOperation, abc.ABC):
    """An operation with windows: the properties, and the numbers in them as keyword arguments of such operations."""

    strides = prop_def(DenseArrayBase.constr(I64))
    dilations = prop_def(DenseArrayBase.constr(I64))
    pad_low = prop_def(DenseArrayBase.constr(I64))
    pad_high = prop_def(DenseArrayBase.constr(I64))

    @property
    def sliding(self) -> Sliding:
        """Strides, dilations and padding."""
        return {
            "strides": ints(self.strides),
            "dilations": ints(self.dilations),
            "pad_low": ints(self.pad_low),
            "pad_high": ints(self.pad_high),
        }
