"""Encoded weights in a core's memory, and how an instruction names them."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.sparse.formats import Format
from .view import View


@dataclass(frozen=True)
class EncodedBlock:
    """A panel (`analysis.sparse.panels`) in memory."""

    view: View
    """Its bytes."""
    format: Format
    strings: int
    length: int
    """Elements of a string."""
    values_at: int
    """Bytes from its start to its values."""

    def descriptor(self, item_bytes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and strides of its access descriptor, for values of so many bytes."""
        room = (self.view.shape[0] - self.values_at) // (self.format.group * item_bytes)
        sizes = (self.strings, self.length, self.format.group, self.format.bits, room)
        return sizes, (self.values_at, 0, 0, 0, 0)
