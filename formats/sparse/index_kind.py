"""
The interface of index kinds, and the table of all known kinds.

The project's own kinds are in `direct_kind.py`, `stride_kinds.py` and `csr_kind.py`; plug-ins add others. Code that
encodes, packs or reads encoded tensors, or computes their costs, uses this interface and does not test for kinds by
name.
"""

from __future__ import annotations

import abc
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bits import Bytes, Ints

Mask = NDArray[np.bool_]
CODES = range(1, 16)
"""Numbers in descriptors of blocks that plug-ins' kinds may have."""


class Written(NamedTuple):
    """An index, and the entries of the values that it refers to."""

    data: Bytes
    """The bytes of the index."""
    slots: Ints | None = None
    """[stored positions] the entry of each, ascending; other entries are fillers. None: there are no fillers."""
    entries: int | None = None
    """Number of entries; None: the last slot is the last entry."""


class IndexKind(abc.ABC):
    """
    A kind of index: how the stored positions of each fiber are represented. A fiber is a row of a matrix; a position
    is an element of it, or a group of neighbours. The entries, fiber by fiber in ascending order, are the stored
    positions and fillers: stored zeros that a kind may need between them.
    """

    name: ClassVar[str]
    """The name in `#sparse.index<NAME>`: letters, digits and underscores."""
    bits: ClassVar[tuple[int, int]] = (1, 1)
    """The least and the largest number of bits of a code, at most 32; (1, 1): it has no such parameter."""
    code: ClassVar[int] = 0
    """For a plug-in's kind, its number in descriptors of blocks, one of `CODES`."""
    in_blocks: ClassVar[bool] = True
    """Whether mapping units can read the index, so that blocks may have it."""
    by_input: ClassVar[bool] = False
    """Whether the fibers may be those of inputs (`order = input`)."""
    read_as: ClassVar[Literal["bits", "codes"]] = "codes"
    """What a mapping unit reads: bits (`map_direct_bits` per cycle), or codes (`map_stride_codes` per cycle)."""
    in_range: ClassVar[bool] = False
    """Whether `read` returns ascending positions within their fibers for any bytes."""

    @property
    def has_bits(self) -> bool:
        """Whether the number of bits of a code is a parameter."""
        return self.bits != (1, 1)

    @abc.abstractmethod
    def write(self, chosen: Mask, bits: int) -> Written:
        """The index of the chosen positions, given as a mask [fibers, positions]."""

    @abc.abstractmethod
    def read(self, index: Bytes, fibers: int, positions: int, bits: int) -> tuple[Ints, Ints]:
        """
        Fiber and position of each entry, in order. The caller checks the positions, unless `in_range` is set.

        Raises InputError for bytes that are not an index of this kind; `unpack` of `bits.py` raises it for streams of a
        wrong length.
        """

    @abc.abstractmethod
    def index_bytes(self, fibers: int, positions: int, entries: int, bits: int) -> int:
        """The largest size in bytes of an index with this many entries; costs use it as the actual size."""

    def used_bytes(self, room: Bytes, fibers: int, positions: int, bits: int) -> int:
        """
        Bytes of the index at the start of `room`, which has at least `least_bytes`. For a damaged index the result may
        exceed the size of `room`. Raises InputError as `read` does.
        """
        return self.index_bytes(fibers, positions, 0, bits)

    def least_bytes(self, fibers: int, positions: int, bits: int) -> int:
        """Bytes of an index without entries."""
        return self.index_bytes(fibers, positions, 0, bits)

    def elements(self, fibers: int, positions: int, entries: float) -> float:
        """Number of bits or codes (`read_as`) that a mapping unit reads; an integer if `entries` is one."""
        return fibers * positions if self.read_as == "bits" else entries

    def maybe_filler(self, row: Ints, column: Ints, bits: int) -> Mask | None:
        """Which entries at these fibers and positions are fillers if their values are zero; None: no entries."""
        return None

    def problem(self, positions: int, bits: int) -> str | None:
        """Why fibers with this many positions cannot be represented, or None."""
        return None


KINDS: dict[str, IndexKind] = {}
"""All known kinds by name, in the order in which they were added."""


def kind_named(name: str) -> IndexKind:
    """The kind of this name. Raises ValueError if there is none."""
    if name not in KINDS:
        raise ValueError(f"index '{name}': expected {' or '.join(in_blocks())}")
    return KINDS[name]


def in_blocks() -> list[str]:
    """The names of the kinds that mapping units read."""
    return [kind.name for kind in KINDS.values() if kind.in_blocks]


def kind_of_code(code: int) -> IndexKind:
    """The plug-in's kind with this number. Raises ValueError if there is none."""
    for kind in KINDS.values():
        if code and kind.code == code:
            return kind
    raise ValueError(f"there is no index {code} of a plug-in")
