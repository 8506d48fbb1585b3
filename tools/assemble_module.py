"""What `meshloom-compile` does with a module that is at the level of instructions already: it assembles it."""

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
"""Options that concern levels above."""
ENCODING = ("sparse", "calibrate")
"""Those that passes on the way to instructions may have done."""


def assemble_module(
    module: ModuleOp, options: argparse.Namespace, chip: Chip | None, encoded: bool = False
) -> Executable | ChipPipeline:
    """
    What a module of instructions describes, for one chip or for several; `chip` is the one of `--chip`, which must be
    the module's. `encoded`: what `--sparse` asks for was done on the way.

    Raises InputError for another chip, for options that concern the levels above, and for what makes no executable.
    """
    from ..lowering.multi_chip.assembled import assembled

    for name in NOT_FOR_INSTRUCTIONS:
        if getattr(options, name) not in (None, False, []) and not (encoded and name in ENCODING):
            raise InputError(f"{options.model} is at the level of instructions: --{name} concerns levels above")
    found = assembled(module, str(options.model))
    if chip is not None and found.chip != chip:
        raise InputError(f"{options.model} is for chip '{found.chip.name}': it cannot be assembled for '{chip.name}'")
    return found


def assembly_summary(name: str, found: Executable | ChipPipeline) -> str:
    """One line: what was assembled."""
    from ..emulator.executable.executable import Executable

    executables = [found] if isinstance(found, Executable) else found.chips
    programs = [program for exe in executables for program in exe.programs]
    words = sum(len(program.words) for program in programs)
    weights = sum(exe.weight_bytes + exe.host_weight_bytes for exe in executables)
    chips = f" for {len(executables)} chips" if len(executables) > 1 else ""
    return f"{name}: assembled {words:,} instructions in {len(programs)} programs{chips}, {weights:,} bytes of weights"
