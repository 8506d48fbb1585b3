"""Ways of saving the memory of a tensor between two uses (spec 1)."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """How a tensor is saved in a gap."""

    KEEP = 0
    SWAP = 1
    """Copied to the host, and back."""
    COMPRESS = 2
    """Kept in a narrower format."""
    COMPRESS_SWAP = 3
    """Compressed, and the compressed bytes copied to the host and back."""
    RECOMPUTE = 4
    """Dropped, and recomputed for its next use, or when another tensor is recomputed from it."""
    RECOMPUTE_EACH = 5
    """Dropped, and recomputed for its next use; earlier recomputations that need it compute their own copy."""
    RECOMPUTE_AHEAD = 6
    """
    As `RECOMPUTE`, but one operation before its use, if the intermediate results would not fit together with that
    operation's results.
    """


NAMES: dict[str, tuple[Kind, ...]] = {
    "swap": (Kind.SWAP,),
    "compress": (Kind.COMPRESS,),
    "recompute": (Kind.RECOMPUTE, Kind.RECOMPUTE_EACH, Kind.RECOMPUTE_AHEAD),
}
"""The names of kinds that a user allows; compression with swap follows from both."""


def allowed_kinds(names: frozenset[str]) -> tuple[Kind, ...]:
    """All kinds that the names allow."""
    kinds = [kind for name, group in NAMES.items() if name in names for kind in group]
    if {"swap", "compress"} <= names:
        kinds.append(Kind.COMPRESS_SWAP)
    return tuple(sorted(kinds))
