"""Sizes of tensors that are known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class UpTo(int):
    """The size of an axis that is known at run time only. As an integer, it is the largest possible size."""

    least: int
    """The smallest possible size."""

    def __new__(cls, most: int, least: int = 1) -> Self:
        """A size from `least` to `most`. Raises ValueError unless 0 <= least < most."""
        if not 0 <= least < most:
            raise ValueError(f"{least}..{most}: expected 0 <= least < most")
        made = super().__new__(cls, most)
        made.least = least
        return made

    @classmethod
    def parse(cls, text: str) -> Self:
        """The size of a text such as `1..64`, with a least size of 1 or more. Raises ValueError for any other text."""
        least, dots, most = text.partition("..")
        if not dots or not all(one.isascii() and one.isdecimal() and len(one) < 16 for one in (least, most)):
            raise ValueError(f"{text}: expected LEAST..MOST")
        if not int(least):
            raise ValueError(f"{text}: expected 1 or more")
        return cls(int(most), int(least))

    def __str__(self) -> str:
        return f"{self.least}..{int(self)}"

    __repr__ = __str__


def shape_fits(shape: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether the shape of an array fits the expected sizes, some of which may be an `UpTo`."""
    return len(shape) == len(expected) and all(
        most.least <= size <= most if isinstance(most, UpTo) else size == most
        for size, most in zip(shape, expected, strict=True)
    )
