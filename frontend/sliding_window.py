"""The parameters of windows that slide over spatial dimensions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """A window over the spatial dimensions of [N, C, S...], one entry for each of them."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    low: list[int]
    high: list[int]
