"""Modules at the level of instructions, for one chip or for several."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.coreasm.interpreter import is_executable
from ...dialects.manycore.stage import networks_of, stages_of
from ...emulator.executable.chip_pipeline import ChipPipeline
from ...emulator.executable.executable import Executable
from ..coreasm_to_executable import coreasm_to_executable
from .read_stages import read_stages


def is_assembled(module: ModuleOp) -> bool:
    """Whether a module, or each module of its stages, is at the level of instructions."""
    return all(is_executable(network) for network in networks_of(module))


def assembled(module: ModuleOp, place: str = "the module") -> Executable | ChipPipeline:
    """
    The executable, or the pipeline of several, that a module of instructions describes. Raises InputError as
    `coreasm_to_executable` and `read_stages` do.
    """
    if not stages_of(module):
        return coreasm_to_executable(module, place)
    stages = read_stages(module)
    return stages.pipeline([coreasm_to_executable(one, place) for one in stages.modules])
