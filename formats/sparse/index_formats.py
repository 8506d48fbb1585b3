"""
Formats of the index, which tells which elements of each fiber are stored, and their positions.

All formats store the elements that count (above the threshold) in the order of the fibers, and an index of them:

direct       one bit per position: 1 if the element is stored.
stride       `bits` per stored element: its distance to the previous one in its fiber; for the first, its position
             (which may be 0). A larger distance is bridged by fillers: stored zeros at a distance of 2**bits - 1 each.
             There is no escape code.
run_length   `bits` per stored element: the number of zeros before it in its fiber. A filler, a stored zero after a run
             of 2**bits - 1 zeros, bridges 2**bits zeros.
csr          `bits` per stored element: its position in the fiber; before them, 32 bits per fiber: the number of stored
             elements up to its end.

Stride and run_length begin with the number of stored elements of each fiber, in as many bits as the number of
positions needs. With `group` > 1 a position is a group of that many neighbours in a fiber: the index is one of groups,
a whole group is stored if one of its elements counts, and the last group of a fiber is padded with zeros. Plug-ins add
kinds of their own (`index_kind.py`).
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
    """Whether the fibers are those of output neurons or of inputs."""

    OUTPUT = "output"
    """One fiber for each output neuron, over all inputs."""
    INPUT = "input"
    """One fiber for each input, over all output neurons."""


class Kind(StrEnum):
    """The names of the project's own kinds of indices."""

    DIRECT = "direct"
    STRIDE = "stride"
    RUN_LENGTH = "run_length"
    CSR = "csr"


@dataclass(frozen=True)
class Format:
    """A kind of index with its parameters. Raises ValueError for an unknown kind and for values out of range."""

    kind: str
    bits: int = 1
    """Bits of a code: 1 for direct, 2 to 8 for stride and run_length, up to 32 for csr."""
    group: int = 1
    """Neighbouring elements that share a position in the index."""

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
        """The kind: how its indices are written and read, and their costs."""
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
    """The stride format with codes of `bits` bits."""
    return Format(Kind.STRIDE, bits, group)


def run_length(bits: int, group: int = 1) -> Format:
    """The run-length format with codes of `bits` bits."""
    return Format(Kind.RUN_LENGTH, bits, group)


def csr(bits: int, group: int = 1) -> Format:
    """Compressed rows with positions of `bits` bits."""
    return Format(Kind.CSR, bits, group)


def candidates(groups: tuple[int, ...] = (1,)) -> tuple[Format, ...]:
    """
    The formats that a mapping unit reads, for each group size: direct, stride of 2 to 8 bits, and those of plug-ins
    with each number of bits.
    """
    return tuple(
        Format(kind.name, bits, group)
        for group in groups
        for kind in KINDS.values()
        if kind.in_blocks
        for bits in range(kind.bits[0], kind.bits[1] + 1)
    )
