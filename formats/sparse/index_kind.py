"""
Kinds of indices: what each has to say of itself, and the table of all that are known.

The project's own kinds are in `direct_kind.py`, `stride_kinds.py` and `csr_kind.py`; plug-ins add others. All that
encodes, packs, costs or reads an encoded tensor asks the kind of its index, and knows none by name.
"""

from __future__ import annotations

import abc
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bits import Bytes, Ints

Mask = NDArray[np.bool_]
CODES = range(1, 16)
"""Numbers of the kinds of plug-ins in descriptors of blocks."""


class Written(NamedTuple):
    """An index, and where the values belong that it is of."""

    data: Bytes
    """The bytes of the index."""
    slots: Ints | None = None
    """[stored positions] the entry of each, ascending; the other entries are fillers. None: an entry for each."""
    entries: int | None = None
    """Number of entries; None: up to the last slot."""


class IndexKind(abc.ABC):
    """
    A way to write which positions of each fiber are stored. A fiber is a row of a matrix; a position is an element of
    it, or a group of neighbours. Entries are what is stored, fiber by fiber in ascending order: the stored positions,
    and fillers, which are stored zeros that a kind may need in between.
    """

    name: ClassVar[str]
    """In `#sparse.index<NAME>`: letters, digits and underscores."""
    bits: ClassVar[tuple[int, int]] = (1, 1)
    """The least and the largest number of bits of a code, at most 32; (1, 1): it has no such parameter."""
    code: ClassVar[int] = 0
    """Of a plug-in's kind, the number in descriptors of blocks, one of `CODES`."""
    in_blocks: ClassVar[bool] = True
    """Whether mapping units read it."""
    by_input: ClassVar[bool] = False
    """Whether fibers may be those of inputs (`order = input`)."""
    read_as: ClassVar[Literal["bits", "codes"]] = "codes"
    """What a mapping unit reads: bits (`map_direct_bits` a cycle), or codes (`map_stride_codes` a cycle)."""
    in_range: ClassVar[bool] = False
    """Whether `read` gives ascending positions inside of their fibers whatever the bytes are."""

    @property
    def has_bits(self) -> bool:
        """Whether the number of bits of a code is a parameter."""
        return self.bits != (1, 1)

    @abc.abstractmethod
    def write(self, chosen: Mask, bits: int) -> Written:
        """The index of the positions [fibers, positions] that are chosen."""

    @abc.abstractmethod
    def read(self, index: Bytes, fibers: int, positions: int, bits: int) -> tuple[Ints, Ints]:
        """
        Fiber and position of each entry, in order. Who calls it checks positions, unless `in_range`.

        Raises InputError for bytes that are no such index; `unpack` of `bits.py` does for streams of a wrong length.
        """

    @abc.abstractmethod
    def index_bytes(self, fibers: int, positions: int, entries: int, bits: int) -> int:
        """The most bytes that an index with so many entries takes; costs take it for what it has."""

    def used_bytes(self, room: Bytes, fibers: int, positions: int, bits: int) -> int:
        """
        Bytes of the index that begins in this room, which is at least `least_bytes`: more than the room has for a
        damaged one. Raises InputError as `read` does.
        """
        return self.index_bytes(fibers, positions, 0, bits)

    def least_bytes(self, fibers: int, positions: int, bits: int) -> int:
        """Bytes of an index without entries."""
        return self.index_bytes(fibers, positions, 0, bits)

    def elements(self, fibers: int, positions: int, entries: float) -> float:
        """How many bits or codes (`read_as`) a mapping unit reads of an index with so many entries; whole of whole."""
        return fibers * positions if self.read_as == "bits" else entries

    def maybe_filler(self, row: Ints, column: Ints, bits: int) -> Mask | None:
        """Which entries at these fibers and positions are fillers if their values are zero; None: no entry is."""
        return None

    def problem(self, positions: int, bits: int) -> str | None:
        """Why fibers of so many positions cannot be written, or None."""
        return None


KINDS: dict[str, IndexKind] = {}
"""All known kinds by name, in the order in which they came."""


def kind_named(name: str) -> IndexKind:
    """The kind of this name. Raises ValueError where there is none."""
    if name not in KINDS:
        raise ValueError(f"index '{name}': expected {' or '.join(in_blocks())}")
    return KINDS[name]


def in_blocks() -> list[str]:
    """The names of the kinds that mapping units read."""
    return [kind.name for kind in KINDS.values() if kind.in_blocks]


def kind_of_code(code: int) -> IndexKind:
    """The kind of a plug-in that has this number. Raises ValueError where there is none."""
    for kind in KINDS.values():
        if code and kind.code == code:
            return kind
    raise ValueError(f"there is no index {code} of a plug-in")
