"""Sizes of tensors that are known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class UpTo(int):
    """A size of an axis that may be smaller in a run: the largest, as an integer like any other."""

    least: int
    """The smallest."""

    def __new__(cls, most: int, least: int = 1) -> Self:
        """A size from `least` to `most`. Raises ValueError unless 0 <= least < most."""
        if not 0 <= least < most:
            raise ValueError(f"{least}..{most}: expected 0 <= least < most")
        made = super().__new__(cls, most)
        made.least = least
        return made

    @classmethod
    def parse(cls, text: str) -> Self:
        """The size that `1..64` says, of a tensor that has elements. Raises ValueError for anything else."""
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
    """Whether an array of this shape is one of the expected sizes, some of which may be an `UpTo`."""
    return len(shape) == len(expected) and all(
        most.least <= size <= most if isinstance(most, UpTo) else size == most
        for size, most in zip(shape, expected, strict=True)
    )
