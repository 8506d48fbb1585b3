"""Ways of saving the memory of a tensor between two uses (spec 1)."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What is done with a tensor in a gap."""

    KEEP = 0
    SWAP = 1
    """Copied to the host, and back."""
    COMPRESS = 2
    """Kept in a narrower format."""
    COMPRESS_SWAP = 3
    """Compressed, and the compressed bytes copied to the host and back."""
    RECOMPUTE = 4
    """Dropped, and computed again for its next use, or when another one is computed again from it."""
    RECOMPUTE_EACH = 5
    """Dropped, and computed again for its next use; tensors computed from it earlier compute their own copy."""
    RECOMPUTE_AHEAD = 6
    """As `RECOMPUTE`, but one operation before it is needed: the results on the way may not fit beside its results."""


NAMES: dict[str, tuple[Kind, ...]] = {
    "swap": (Kind.SWAP,),
    "compress": (Kind.COMPRESS,),
    "recompute": (Kind.RECOMPUTE, Kind.RECOMPUTE_EACH, Kind.RECOMPUTE_AHEAD),
}
"""The kinds that a user allows; compress with swap follows from both."""


def allowed_kinds(names: frozenset[str]) -> tuple[Kind, ...]:
    """All kinds that follow from the allowed names."""
    kinds = [kind for name, group in NAMES.items() if name in names for kind in group]
    if {"swap", "compress"} <= names:
        kinds.append(Kind.COMPRESS_SWAP)
    return tuple(sorted(kinds))
