"""
Semantic effects: what a pass may do to the values that a program computes.

A pass declares its effect by a class attribute `semantic_effect` (or a property, if it depends on the rewrites that the
pass made); passes without a declaration are assumed to be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class SemanticEffect:
    """What a pass may change; `bound` is on |before - after|, relative to the largest magnitude of the result."""

    kind: Literal["exact", "reassociating", "lossy", "interface-changing"]
    """
    exact: every bit is preserved. reassociating: floats may differ by rounding, within the bound; integers are
    preserved. lossy: all values may differ within the bound. interface-changing: inputs or results change; values are
    not compared.
    """
    bound: float = 0.0


EXACT = SemanticEffect("exact")
INTERFACE_CHANGING = SemanticEffect("interface-changing")


def reassociating(bound: float) -> SemanticEffect:
    """The effect of a pass that changes the order of floating-point operations."""
    return SemanticEffect("reassociating", bound)


def lossy(bound: float) -> SemanticEffect:
    """The effect of a pass that reduces accuracy: narrower types, pruning."""
    return SemanticEffect("lossy", bound)


def looser(one: SemanticEffect, other: SemanticEffect) -> SemanticEffect:
    """The combined effect of two passes, each exact or reassociating."""
    return max(one, other, key=lambda semantic_effect: semantic_effect.bound)


def semantic_effect_of(module_pass: ModulePass) -> SemanticEffect:
    """
    The effect that a pass declares as `semantic_effect` (or, for one release, as `nature`); EXACT if it declares none.
    """
    old_name = getattr(module_pass, "nature", EXACT)
    declared = getattr(module_pass, "semantic_effect", old_name)
    if not isinstance(declared, SemanticEffect):
        raise TypeError(f"pass {module_pass.name}: `semantic_effect` is {declared!r}, expected a SemanticEffect")
    return declared
