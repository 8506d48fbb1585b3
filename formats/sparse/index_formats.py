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
Plug-ins add kinds of their own (`index_kind.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .csr_kind import CsrKind
from .direct_kind import DirectKind
from .index_kind import KINDS, IndexKind, kind_named
from .stride_kinds import RunLengthKind, StrideKind

KINDS.update((one.name, one) for one in (DirectKind(), StrideKind(), RunLengthKind(), CsrKind()))


class Order(StrEnum):
    """What a fiber belongs to."""

    OUTPUT = "output"
    """An output neuron: it runs over all inputs."""
    INPUT = "input"
    """An input neuron: it runs over all outputs."""


class Kind(StrEnum):
    """The names of the project's own kinds of indices."""

    DIRECT = "direct"
    STRIDE = "stride"
    RUN_LENGTH = "run_length"
    CSR = "csr"


@dataclass(frozen=True)
class Format:
    """A kind of index with its parameters. Raises ValueError for a kind that there is not, and values out of range."""

    kind: str
    bits: int = 1
    """Bits of a code: 1 for direct, 2 to 8 for stride and run_length, up to 32 for csr."""
    group: int = 1
    """Neighbouring elements that share a place in the index."""

    def __post_init__(self) -> None:
        low, high = self.definition.bits
        if not low <= self.bits <= high:
            wanted = str(low) if low == high else f"{low} to {high}"
            raise ValueError(f"{self.kind} index of {self.bits} bits: expected {wanted}")
        if self.group < 1:
            raise ValueError(f"groups of {self.group} elements: expected at least 1")

    def __str__(self) -> str:
        bits = str(self.bits) if self.has_bits else ""
        return f"{self.kind}{bits}" + (f"/{self.group}" if self.group > 1 else "")

    @property
    def definition(self) -> IndexKind:
        """How indices of this kind are written, read and costed."""
        return kind_named(self.kind)

    @property
    def has_bits(self) -> bool:
        """Whether the number of bits of a code is a parameter of the kind."""
        return self.definition.has_bits

    @property
    def direct(self) -> bool:
        """Whether mapping units read bits of the index, rather than codes."""
        return self.definition.read_as == "bits"

    def positions(self, length: int) -> int:
        """Positions of a fiber of this many elements."""
        return -(-length // self.group)


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
    """
    The formats that a mapping unit reads, simplest first: direct, strides of 2 to 8 bits, and those of plug-ins with
    all numbers of bits.
    """
    return tuple(
        Format(kind.name, bits, group)
        for group in groups
        for kind in KINDS.values()
        if kind.in_blocks
        for bits in range(kind.bits[0], kind.bits[1] + 1)
    )
