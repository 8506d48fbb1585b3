"""The smallest encoding of a tensor, from its actual gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...formats.sparse.bits import Array
from ...formats.sparse.encode import counts
from ...formats.sparse.fibers import Fibers
from ...formats.sparse.index_formats import Format, candidates
from ...formats.sparse.sizes import entries_and_bytes, gap_histogram


@dataclass(frozen=True)
class Choice:
    """A representation of a tensor in memory, and its size."""

    format: Format | None
    """None: dense."""
    nbytes: int
    dense_bytes: int
    density: float
    """Share of the elements above the threshold."""
    entries: int
    """Number of positions in the index, fillers included; all positions if the tensor stays dense."""

    @property
    def ratio(self) -> float:
        """Bytes of dense storage divided by the bytes of this choice."""
        return self.dense_bytes / max(1, self.nbytes)


def all_choices(
    tensor: Array, fibers: Fibers, formats: Sequence[Format] | None = None, threshold: float = 0.0
) -> list[Choice]:
    """
    The costs of dense storage (first) and of each format, by default those that a mapping unit reads.

    Formats whose groups are longer than a fiber are omitted, since they would only pad it, and so are those that cannot
    represent fibers of that length.
    """
    mask = fibers.matrix(counts(tensor, threshold))
    density = float(np.mean(mask)) if mask.size else 0.0
    choices = [Choice(None, tensor.nbytes, tensor.nbytes, density, tensor.size)]
    wanted = [one for one in (candidates() if formats is None else formats) if _fits(one, fibers.length)]
    histograms = {group: gap_histogram(mask, group) for group in {format.group for format in wanted}}
    for format in wanted:
        entries, nbytes = entries_and_bytes(histograms[format.group], mask, format, tensor.dtype.itemsize)
        choices.append(Choice(format, nbytes, tensor.nbytes, density, entries))
    return choices


def _fits(format: Format, length: int) -> bool:
    written = format.definition.problem(format.positions(length), format.bits) is None
    return written and format.group <= max(1, length)


def smallest(tensor: Array, fibers: Fibers, formats: Sequence[Format] | None = None, threshold: float = 0.0) -> Choice:
    """The choice of fewest bytes; the first of equal ones, so a format is chosen only if it is smaller than dense."""
    return min(all_choices(tensor, fibers, formats, threshold), key=lambda choice: choice.nbytes)
