"""Buffers that hold the tiles of one value on several cores, and the messages that copy between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...analysis.planning.multicasts import multicasts
from ...analysis.planning.traffic import BoxArrays, Overlaps
from ...analysis.tasks.number_rows import number_rows
from ...formats.sparse.nonzero import Nonzero
from .messages import Form, Messages
from .view import ITEM_BYTES, View


@dataclass(frozen=True)
class Buffers:
    """Each core holds a box of the value, row-major and without gaps, all at one address in SRAM."""

    address: int
    dtype: int
    boxes: BoxArrays

    def view(self, core: int, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None) -> View:
        """
        A view of `sizes` elements of the value from `offsets` on, every `steps`-th, in the SRAM of a core that holds
        them.
        """
        low, strides = self._layout[core]
        address = self.address
        for offset, first, stride in zip(offsets, low, strides, strict=True):
            address += (offset - first) * stride
        if steps is not None:
            strides = tuple(step * stride for step, stride in zip(steps, strides, strict=True))
        return View("sram", address, self.dtype, tuple(sizes), strides)

    @cached_property
    def _layout(self) -> dict[int, tuple[list[int], tuple[int, ...]]]:
        """Core -> first position of its box, strides in bytes."""
        cores: list[int] = self.boxes.cores.tolist()
        low: list[list[int]] = self.boxes.low.tolist()
        strides: list[list[int]] = self._strides.tolist()
        return {core: (first, tuple(own)) for core, first, own in zip(cores, low, strides, strict=True)}

    @cached_property
    def _strides(self) -> NDArray[np.int64]:
        """[boxes, rank] in bytes"""
        rank = self.boxes.low.shape[1]
        inner = np.maximum(self.boxes.high - self.boxes.low, 1)[:, :0:-1]
        items = np.full((len(inner), 1), ITEM_BYTES[self.dtype])
        return np.concatenate([items, inner], axis=1)[:, :rank].cumprod(axis=1)[:, ::-1]

    def rows(self, cores: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """([cores, rank] first position of the box, [cores, rank] strides in bytes)"""
        rows = self.boxes.row_of[cores]
        return self.boxes.low[rows], self._strides[rows]


def messages_between(held: Buffers, needed: Buffers, pairs: Overlaps, nonzero: Nonzero) -> Messages:
    """Messages that copy the common boxes of pairs of cores from the holder to the reader."""
    origins, strides = needed.rows(pairs.readers)
    places = np.concatenate([pairs.low - origins, strides], axis=1)
    transfers, leaders = multicasts(pairs, places, ITEM_BYTES[held.dtype])
    pairs, origins, strides = pairs.taken(leaders), origins[leaders], strides[leaders]
    held_origins, held_strides = held.rows(pairs.holders)
    sizes = pairs.high - pairs.low
    form, count = number_rows(np.concatenate([sizes, strides, held_strides], axis=1))
    first = np.searchsorted(np.maximum.accumulate(form), np.arange(count)) if count else form

    def view(rows: NDArray[np.int64], message: int) -> View:
        return View("sram", 0, held.dtype, tuple(sizes[message].tolist()), tuple(rows[message].tolist()))

    return Messages(
        transfers,
        held.address + ((pairs.low - held_origins) * held_strides).sum(axis=1),
        needed.address + ((pairs.low - origins) * strides).sum(axis=1),
        form,
        tuple(Form(view(held_strides, one), view(strides, one), nonzero) for one in first.tolist()),
    )
