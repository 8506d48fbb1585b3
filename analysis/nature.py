"""
What a pass may do to the values that a program computes.

A pass says so by a class attribute `nature` (or a property, where it depends on what the pass found to do); passes that
say nothing are held to be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Nature:
    """What a pass may change; `bound` is on |before - after|, relative to the largest magnitude of the result."""

    kind: Literal["exact", "reassociating", "lossy", "interface-changing"]
    """
    exact: every bit stays. reassociating: floats may differ by rounding, within the bound; integers stay. lossy: all
    values may differ within the bound. interface-changing: inputs or results become others; nothing to compare.
    """
    bound: float = 0.0


EXACT = Nature("exact")
INTERFACE_CHANGING = Nature("interface-changing")


def reassociating(bound: float) -> Nature:
    """The nature of a pass that changes the order of floating-point operations."""
    return Nature("reassociating", bound)


def lossy(bound: float) -> Nature:
    """The nature of a pass that gives up accuracy: narrower types, pruning."""
    return Nature("lossy", bound)


def looser(one: Nature, other: Nature) -> Nature:
    """What two passes, each exact or reassociating, do together."""
    return max(one, other, key=lambda nature: nature.bound)


def nature_of(module_pass: ModulePass) -> Nature:
    """What a pass declares to be; EXACT where it declares nothing."""
    declared = getattr(module_pass, "nature", EXACT)
    if not isinstance(declared, Nature):
        raise TypeError(f"pass {module_pass.name}: `nature` is {declared!r}, expected a Nature")
    return declared
