"""Modules at the level of instructions, for one chip or for several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...dialects.coreasm.is_executable import is_executable
from ...dialects.manycore.stage import networks_of, stages_of

if TYPE_CHECKING:
    from ...emulator.executable.chip_pipeline import ChipPipeline
    from ...emulator.executable.executable import Executable


def is_assembled(module: ModuleOp) -> bool:
    """Whether a module, or each module of its stages, is at the level of instructions."""
    return all(is_executable(network) for network in networks_of(module))


def assembled(module: ModuleOp, location: str = "the module") -> Executable | ChipPipeline:
    """
    The executable, or the pipeline of several, that a module of instructions describes. Raises InputError as
    `coreasm_to_executable` and `read_stages` do.
    """
    from ..coreasm_to_executable import coreasm_to_executable
    from .read_stages import read_stages

    if not stages_of(module):
        return coreasm_to_executable(module, location)
    stages = read_stages(module)
    return stages.pipeline([coreasm_to_executable(one, location) for one in stages.modules])
