"""
Locations in the text of a part: operations are located at the numbers that they have there, so that equal parts of a
network have the same text, and get the network's locations back where the part is put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Operation

from ...dialects.locations import fused, named

_NUMBERED = re.compile(r"op\$(\d+)")


def number_location(op: Operation, number: int) -> LocationAttr:
    """Locate an operation, and what is in it, at its number in a part; the location that it had."""
    before = op.location
    for inner in op.walk():
        inner.location = named(f"op${number}")
    return before


def restore_locations(root: Operation, locations: Sequence[LocationAttr]) -> None:
    """Give an operation of a part, and all in it, the network's locations: `locations` by number in the part."""
    known: dict[LocationAttr, LocationAttr] = {}
    for op in root.walk():
        if op.location not in known:
            known[op.location] = _restored(op.location, locations)
        op.location = known[op.location]


def _restored(location: LocationAttr, locations: Sequence[LocationAttr]) -> LocationAttr:
    match location:
        case NameLoc() if (found := _NUMBERED.fullmatch(location.desc.data)) is not None:
            return locations[int(found[1])]
        case FusedLoc():
            members = cast("ArrayAttr[LocationAttr]", location.locations)
            return fused(_restored(one, locations) for one in members)
        case _:
            return location
