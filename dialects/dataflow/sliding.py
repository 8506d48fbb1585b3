"""The base class of operations that slide a window over their operand: strides, dilations and padding."""

from __future__ import annotations

import abc
from typing import TypedDict

from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.irdl import IRDLOperation, prop_def

from .base import ints
from .types import Shape


class Sliding(TypedDict):
    """Keyword arguments with one number for each dimension along which a window slides."""

    strides: Shape
    dilations: Shape
    pad_low: Shape
    pad_high: Shape


class SlidingOp(IRDLOperation, abc.ABC):
    """Base of operations with windows: their common properties."""

    strides = prop_def(DenseArrayBase.constr(I64))
    dilations = prop_def(DenseArrayBase.constr(I64))
    pad_low = prop_def(DenseArrayBase.constr(I64))
    pad_high = prop_def(DenseArrayBase.constr(I64))

    @property
    def sliding(self) -> Sliding:
        """Strides, dilations and padding, as keyword arguments for the constructors of such operations."""
        return {
            "strides": ints(self.strides),
            "dilations": ints(self.dilations),
            "pad_low": ints(self.pad_low),
            "pad_high": ints(self.pad_high),
        }
