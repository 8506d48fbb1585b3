"""A list of launches with the place of everything that they share, as their texts say and as it is decided."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp

from ..chips import Chip
from ..dialects.locations import located
from ..support.errors import ResourceError
from .inline_subgraphs import Group
from .link_network import network_of
from .residence import given_decisions
from .residency import DramShortage, Residency, plan_residency
from .serial import Serial, serial_list


def plan_launches(
    function: FuncOp, groups: Sequence[Group], scratch: Sequence[int], chip: Chip
) -> tuple[Serial, Residency]:
    """
    The serial list of a function's operators in groups, which need `scratch` bytes of DRAM each for themselves.

    Raises ResourceError at the subgraph that does not fit in DRAM, with what else is said to be there.
    """
    serial = serial_list(function, [tuple(group.operations) for group in groups])
    given = given_decisions(function, serial, [group.residence for group in groups])
    try:
        return serial, plan_residency(network_of(serial, scratch), chip.dram_bytes, given)
    except DramShortage as error:
        group = groups[error.launch]
        if group.subgraph is None or not any((given.values, given.weights, given.alone)):
            raise
        text = f"subgraph @{group.name} does not fit: {error}: let values or weights lie on the host meanwhile"
        found = ResourceError(text, error.resource, error.needed, error.available)
        raise located(found, group.subgraph) from error
