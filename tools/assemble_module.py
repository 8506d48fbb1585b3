"""What `meshloom-compile` does with a module that is at the level of instructions already: it assembles it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..support.errors import InputError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..chips import Chip
    from ..emulator.executable import Executable

NOT_FOR_INSTRUCTIONS = ("chips", "sparse", "calibrate", "budget", "report", "log")
"""Options that concern levels above."""


def assemble_module(module: ModuleOp, options: argparse.Namespace, chip: Chip | None) -> Executable:
    """
    The executable of a module of instructions; `chip` is the one of `--chip`, which must be the module's.

    Raises InputError for another chip, for options that concern the levels above, and for what makes no executable.
    """
    from ..lowering.coreasm_to_executable import coreasm_to_executable

    for name in NOT_FOR_INSTRUCTIONS:
        if getattr(options, name) not in (None, False, []):
            raise InputError(f"{options.model} is at the level of instructions: --{name} concerns levels above")
    exe = coreasm_to_executable(module, str(options.model))
    if chip is not None and exe.chip != chip:
        raise InputError(f"{options.model} is for chip '{exe.chip.name}': it cannot be assembled for '{chip.name}'")
    return exe


def assembly_summary(name: str, exe: Executable) -> str:
    """One line: what was assembled."""
    words = sum(len(program.words) for program in exe.programs)
    return (
        f"{name}: assembled {words:,} instructions in {len(exe.programs)} programs,"
        f" {exe.weight_bytes + exe.host_weight_bytes:,} bytes of weights"
    )
