"""Lower launches and operations of `memory` to a program of the `memory` level: DRAM addresses, copies, waits."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...dialects.dataflow.entry_function import find_main, result_names
from ...dialects.locations import at, located
from ...dialects.memory.attributes import Space
from ...support.errors import InputError
from ..cache.compile_cache import CompileCache
from ..ir.replace_module import replace_module
from ..ir.residence_attribute import spaces_of_results
from ..launch.note_ideal_work import note_ideal
from ..launch.program_notes import IDEAL, notes_of
from ..linker.write_program import write_program
from .compile_launches import LaunchCompilation, placed_launches
from .compiled_launches import CompiledLaunch
from .device_steps import Run
from .link_steps import link_steps
from .memory_note import NOTE, memory_note
from .saved_module import CAPACITY, UNSAVED, noted_bytes


@dataclass(frozen=True)
class LoweredSaving:
    """The layout in DRAM."""

    saving: LaunchCompilation
    launches: tuple[tuple[str, CompiledLaunch], ...]
    """Name and code of each launch, in order."""


def lower_saved(module: ModuleOp, chip: Chip, cache: CompileCache) -> LoweredSaving:
    """
    Lower `@main` of launches and operations of `memory`, into the bytes of DRAM recorded in the module, or all. Raises
    ResourceError if it does not fit, InputError for results that are to stay in DRAM.
    """
    main = find_main(module)
    for name, space in zip(result_names(main), spaces_of_results(main), strict=True):
        if space is Space.DRAM:
            message = f"result '{name}' is to stay in dram: where memory is saved, results go to the host"
            raise located(InputError(message), main)
    ideal = note_ideal(module)
    saving = placed_launches(find_main(module), chip, cache, noted_bytes(module, CAPACITY))
    saving = replace(saving, unsaved_peak=noted_bytes(module, UNSAVED) or saving.unsaved_peak)
    steps = saving.layout.steps
    launches = tuple(
        (step.name, action.compiled)
        for step, action in zip(steps.program.steps, steps.actions, strict=True)
        if isinstance(action, Run)
    )
    note = memory_note(saving.layout, saving.capacity, saving.unsaved_peak)
    notes = {IDEAL: json.dumps(ideal), NOTE: note} | notes_of(module)
    with at(saving.function):
        program = link_steps(saving.function, saving.layout, notes, chip)
        lowered = write_program(program, chip)
    replace_module(module, lowered)
    return LoweredSaving(saving, launches)
