"""
Numbers as locations in the text of a subgraph, so that equal subgraphs of a
network have the same text. The network's locations are restored when the compiled subgraph is inserted.
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
    """Set the location of an operation and its body to its number in the subgraph. Returns the previous location."""
    before = op.location
    for inner in op.walk():
        inner.location = named(f"op${number}")
    return before


def restore_locations(root: Operation, locations: Sequence[LocationAttr]) -> None:
    """Restore the network's locations of an operation and its body: `locations` by number in the subgraph."""
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
