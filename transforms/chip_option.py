"""The option `chip` of passes."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..chips import Chip, load_chip
from ..dialects.manycore import CHIP, ChipAttr, chip_of
from ..support.errors import InputError


def chip_for(module: ModuleOp, chip: str | None, usage: str) -> Chip:
    """
    The chip that a pass is given, which becomes the module's for the passes after it; without it, the module's.

    Raises InputError, with `usage` as remedy, where neither names one.
    """
    if chip is not None:
        found = load_chip(chip)
        module.attributes[CHIP] = ChipAttr(chip)
        return found
    if (own := chip_of(module)) is None:
        raise InputError(f"no chip is given: use {usage}, or module attribute {CHIP}")
    return own
