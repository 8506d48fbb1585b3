"""`meshloom-compile` on a module at the level of instructions: assembly."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..support.errors import InputError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..chips import Chip
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable

NOT_FOR_INSTRUCTIONS = ("chips", "sparse", "calibrate", "budget", "report", "log")
"""Options that apply to higher levels."""
ENCODING = ("sparse", "calibrate")
"""Options that passes of the pipeline may already have applied."""


def assemble_module(
    module: ModuleOp, options: argparse.Namespace, chip: Chip | None, encoded: bool = False
) -> Executable | ChipPipeline:
    """
    The executables of a module of instructions, for one chip or several; `chip` is that of `--chip`, which must be the
    module's. `encoded`: whether earlier passes encoded weights, as `--sparse` requests. Raises InputError for another
    chip, for options that apply to higher levels, and for a module that does not describe an executable.
    """
    from ..lowering.multi_chip.assembled import assembled

    for name in NOT_FOR_INSTRUCTIONS:
        if getattr(options, name) not in (None, False, []) and not (encoded and name in ENCODING):
            raise InputError(f"{options.model} is at level 'coreasm': --{name} applies to higher levels only")
    found = assembled(module, str(options.model))
    if chip is not None and found.chip != chip:
        raise InputError(f"{options.model} is for chip '{found.chip.name}': it cannot be assembled for '{chip.name}'")
    return found


def assembly_summary(name: str, found: Executable | ChipPipeline) -> str:
    """A line of output about the executables."""
    from ..emulator.executable.executable import Executable

    executables = [found] if isinstance(found, Executable) else found.chips
    programs = [program for exe in executables for program in exe.programs]
    words = sum(len(program.words) for program in programs)
    weights = sum(exe.weight_bytes + exe.host_weight_bytes for exe in executables)
    chips = f" for {len(executables)} chips" if len(executables) > 1 else ""
    return f"{name}: assembled {words:,} instructions in {len(programs)} programs{chips}, {weights:,} bytes of weights"
