"""A network that is already cut for several chips: each stage is compiled as a separate network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...emulator.run_chip_pipeline import pipeline_schedule, time_chip_pipeline
from ..multi_chip.read_stages import read_stages
from ..multi_chip.write_stages import write_stages
from ..options.compilation_log import CompilationLog
from ..session import Session
from .chips_compilation import ChipsCompilation, chips_compilation
from .compile_function import Compilation
from .compile_module import compile_in_session

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget


def compile_stages(module: ModuleOp, session: Session, budget: Budget | None = None) -> ChipsCompilation:
    """
    Compile a module of stages, each for a separate chip, and each within the budget.

    Raises as `read_stages` and `compile_in_session` do.
    """
    stages = read_stages(module)
    compiled: list[Compilation] = []
    for number, one in enumerate(stages.modules):
        session.progress(f"compile for chip {number}")
        found = compile_in_session(one.clone(), session.logged(CompilationLog()), budget)
        for entry in found.log.entries:
            session.log.add(replace(entry, chip=number))
        compiled.append(found)
    pipeline = stages.pipeline([one.executable for one in compiled])
    when = pipeline_schedule(pipeline, time_chip_pipeline(pipeline))
    programs = [one.module for one in compiled]
    made = write_stages(programs, stages.feeds, stages.inputs, stages.outputs, session.chip)
    return chips_compilation(made, compiled, when, session.log)
