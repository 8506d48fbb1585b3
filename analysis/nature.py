"""Deprecated names of `semantic_effect`, for users' passes; this module will be removed in the next release."""

from __future__ import annotations

from .semantic_effect import EXACT, INTERFACE_CHANGING, SemanticEffect, looser, lossy, reassociating, semantic_effect_of

Nature = SemanticEffect
nature_of = semantic_effect_of

__all__ = ["EXACT", "INTERFACE_CHANGING", "Nature", "looser", "lossy", "nature_of", "reassociating"]
