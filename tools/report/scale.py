"""Axes: from values to pixels, and to numbers in a unit that suits them."""

from __future__ import annotations

from dataclasses import dataclass

from .svg import ticks


@dataclass(frozen=True)
class Unit:
    """The unit of an axis: its name, and its `size` in the unit of the values."""

    name: str
    size: float = 1.0

    def text(self, value: float) -> str:
        """A value as a number of this unit."""
        return f"{round(value / self.size, 9):,.10g}"


CYCLES = Unit("cycles")


def unit_of_bytes(most: float) -> Unit:
    """The binary prefix for bytes up to `most`."""
    return _fitting(most, (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)))


def unit_of_ns(most: float) -> Unit:
    """The unit of time for nanoseconds up to `most`."""
    return _fitting(most, (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)))


def _fitting(most: float, units: tuple[tuple[str, float], ...]) -> Unit:
    """The largest unit of which `most` is at least two, or else the first."""
    name, size = next((one for one in reversed(units) if most >= 2 * one[1]), units[0])
    return Unit(name, size)


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` along pixels from `first` to `last` (which may be the smaller one)."""

    low: float
    high: float
    first: float
    last: float
    unit: Unit

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.first + (value - self.low) * (self.last - self.first) / ((self.high - self.low) or 1.0)

    def marks(self, count: int) -> list[tuple[float, str]]:
        """(pixel, text) of round values from `low` on, at most `count` or one more."""
        span, size = self.high - self.low, self.unit.size
        step = ticks(span / size, count)
        width = step[1] if len(step) > 1 else 1.0
        begin = -(-self.low // (width * size))
        values = [(begin + number) * width * size for number in range(len(step) + 1)]
        return [(self.at(value), self.unit.text(value)) for value in values if value <= self.high * (1 + 1e-9)]
