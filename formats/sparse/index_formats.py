"""
Formats of the index: which elements of each fiber are stored, and where they belong.

All formats store the elements that count (above the threshold) in the order of the fibers, and an index of them:

direct       one bit a position: 1 where the element is stored.
stride       `bits` a stored element: its distance to the one before in its fiber; the first one's counts from
             position 0 (so it may be 0). A gap that does not fit is bridged by fillers: stored zeros at distance
             2**bits - 1 each. No code is an escape.
run_length   `bits` a stored element: the zeros before it in its fiber. 2**bits - 1 zeros and one more are bridged by a
             filler, a stored zero behind a run of 2**bits - 1.
csr          `bits` a stored element: its position in the fiber; before them, 32 bits a fiber: the number of stored
             elements up to its end.

Stride and run_length begin with the number of stored elements of each fiber, in as many bits as the number of
positions needs. With `group` > 1 a position is a group of that many neighbours in a fiber: the index is that of
groups, a group is stored whole if one of its elements counts, and the last group of a fiber is filled up with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

POINTER_BITS = 32
"""Bits of the pointer that csr holds for each fiber."""


class Order(StrEnum):
    """What a fiber belongs to."""

    OUTPUT = "output"
    """An output neuron: it runs over all inputs."""
    INPUT = "input"
    """An input neuron: it runs over all outputs."""


class Kind(StrEnum):
    """A way to write an index."""

    DIRECT = "direct"
    STRIDE = "stride"
    RUN_LENGTH = "run_length"
    CSR = "csr"


_BITS = {Kind.DIRECT: (1, 1), Kind.STRIDE: (2, 8), Kind.RUN_LENGTH: (2, 8), Kind.CSR: (1, 32)}


@dataclass(frozen=True)
class Format:
    """A kind of index with its parameters. Raises ValueError for bits or groups out of range."""

    kind: Kind
    bits: int = 1
    """Bits of a code: 1 for direct, 2 to 8 for stride and run_length, up to 32 for csr."""
    group: int = 1
    """Neighbouring elements that share a place in the index."""

    def __post_init__(self) -> None:
        low, high = _BITS[self.kind]
        if not low <= self.bits <= high:
            wanted = str(low) if low == high else f"{low} to {high}"
            raise ValueError(f"{self.kind} index of {self.bits} bits: expected {wanted}")
        if self.group < 1:
            raise ValueError(f"groups of {self.group} elements: expected at least 1")

    def __str__(self) -> str:
        bits = "" if self.kind == Kind.DIRECT else str(self.bits)
        return f"{self.kind}{bits}" + (f"/{self.group}" if self.group > 1 else "")

    @property
    def reach(self) -> int:
        """Positions that a filler bridges (stride and run_length)."""
        return (1 << self.bits) - (1 if self.kind == Kind.STRIDE else 0)

    @property
    def filler(self) -> int:
        """The code of a filler (stride and run_length)."""
        return (1 << self.bits) - 1

    def positions(self, length: int) -> int:
        """Positions of a fiber of this many elements."""
        return -(-length // self.group)

    def header_bits(self, positions: int) -> int:
        """Bits that the index holds for each fiber besides the codes."""
        match self.kind:
            case Kind.DIRECT:
                return 0
            case Kind.CSR:
                return POINTER_BITS
            case _:
                return positions.bit_length()


DIRECT = Format(Kind.DIRECT)


def stride(bits: int, group: int = 1) -> Format:
    """The stride format of so many bits."""
    return Format(Kind.STRIDE, bits, group)


def run_length(bits: int, group: int = 1) -> Format:
    """The run-length format of so many bits."""
    return Format(Kind.RUN_LENGTH, bits, group)


def csr(bits: int, group: int = 1) -> Format:
    """Compressed rows with positions of so many bits."""
    return Format(Kind.CSR, bits, group)


def candidates(groups: tuple[int, ...] = (1,)) -> tuple[Format, ...]:
    """The formats that a mapping unit reads, simplest first: direct, and strides of 2 to 8 bits."""
    return tuple(
        one for group in groups for one in (Format(Kind.DIRECT, group=group), *(stride(b, group) for b in range(2, 9)))
    )
