"""The chip that a module is for, in the module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip, chip_names, load_chip
from ...dialects.manycore import CHIP, ChipAttr
from ...support.errors import InputError


def name_chip(module: ModuleOp, chip: Chip) -> None:
    """Write the name of the chip to the module, if it has one. Raises InputError if the module is for another chip."""
    named = module.attributes.get(CHIP)
    if isinstance(named, ChipAttr):
        if named.load() != chip:
            raise InputError(f"the module is for chip '{named.load().name}': it cannot be compiled for '{chip.name}'")
    elif chip.name in chip_names() and load_chip(chip.name) == chip:
        module.attributes[CHIP] = ChipAttr(chip.name)
