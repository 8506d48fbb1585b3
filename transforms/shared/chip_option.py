"""The option `chip` of passes."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...chips import Chip, load_chip
from ...dialects.locations import located
from ...dialects.manycore import CHIP, ChipAttr, ExecuteOp, TaskOp, chip_of
from ...dialects.manycore.task_rules import verify_cores
from ...support.errors import InputError


@dataclass(frozen=True)
class ChipPass(ModulePass, abc.ABC):
    """A pass for a chip: that of the option, or the module's."""

    chip: str | None = None

    @abc.abstractmethod
    def run(self, module: ModuleOp, chip: Chip) -> None:
        """Apply the pass for a chip, which need not be one of the named descriptions."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(op, chip_for(op, self.chip, f"{self.name}{{chip=NAME}}"))


def chip_for(module: ModuleOp, chip: str | None, usage: str, *, keeps_cores: bool = True) -> Chip:
    """
    The chip of the option, which is written to the module for later passes; without the option, the module's chip.

    Raises InputError, with `usage` as remedy, if neither names one, and for tasks on cores that the chip does not have,
    unless the pass replaces the cores (`keeps_cores`).
    """
    if chip is not None:
        found = load_chip(chip)
        module.attributes[CHIP] = ChipAttr(chip)
        if keeps_cores:
            check_cores(module)
        return found
    if (own := chip_of(module)) is None:
        raise InputError(f"no chip is given: use {usage}, or module attribute {CHIP}")
    return own


def check_cores(module: ModuleOp) -> None:
    """Raises InputError for a task on a core that the module's chip does not have."""
    for op in module.walk():
        if isinstance(op, TaskOp | ExecuteOp):
            try:
                verify_cores(op, op.tiling)
            except VerifyException as error:
                raise located(InputError(f"task '{op.sym_name.data}': {error}"), op) from error
