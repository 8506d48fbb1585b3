"""A launch sequence with its DRAM residency, as specified in the IR, otherwise as decided here."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...dialects.locations import located
from ...support.errors import ResourceError
from .dram_residency import DramCapacityError, Residency, plan_residency
from .inline_subgraphs import Group
from .launch_sequence import LaunchSequence, launch_sequence
from .link_sequence import network_of
from .residency_decisions import given_decisions


def plan_launches(
    function: FuncOp, groups: Sequence[Group], scratch: Sequence[int], chip: Chip
) -> tuple[LaunchSequence, Residency]:
    """
    The launch sequence of groups of a function's operators; each group needs `scratch` bytes of DRAM for its internal
    values.

    Raises ResourceError if a launch does not fit in DRAM, at its subgraph if the IR specifies the residency.
    """
    sequence = launch_sequence(function, [tuple(group.operations) for group in groups])
    given = given_decisions(function, sequence, [group.residence for group in groups])
    try:
        return sequence, plan_residency(network_of(sequence, scratch), chip.dram_bytes, given)
    except DramCapacityError as error:
        group = groups[error.launch]
        if group.subgraph is None or not any((given.values, given.weights, given.alone)):
            raise
        text = f"subgraph @{group.name} does not fit: {error}: keep values or weights on the host"
        found = ResourceError(text, error.resource, error.needed, error.available)
        raise located(found, group.subgraph) from error
