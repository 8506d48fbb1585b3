"""A network that is already cut for several chips: each stage is compiled as a separate network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...emulator.run_chip_pipeline import pipeline_schedule, time_chip_pipeline
from ..cache.compile_cache import CompileCache
from ..multi_chip.read_stages import read_stages
from ..multi_chip.write_stages import write_stages
from ..options.compilation_log import CompilationLog
from ..options.progress import Progress
from ..options.subgraph_options import SubgraphOptions
from .chips_compilation import ChipsCompilation, chips_compilation
from .compile_function import Compilation
from .compile_module import compile_module

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget


def compile_stages(
    module: ModuleOp,
    chip: Chip,
    progress: Progress = lambda stage: None,
    options: SubgraphOptions | None = None,
    on_note: Callable[[str], None] = lambda line: None,
    cache: CompileCache | None = None,
    budget: Budget | None = None,
) -> ChipsCompilation:
    """
    Compile a module of stages, each for a separate chip. The arguments are as for `compile_module`, for each stage.

    Raises as `read_stages` and `compile_module` do.
    """
    stages = read_stages(module)
    log = CompilationLog(on_note)
    compiled: list[Compilation] = []
    for number, one in enumerate(stages.modules):
        progress(f"compile for chip {number}")
        found = compile_module(one.clone(), chip, progress, options, budget=budget, cache=cache)
        for entry in found.log.entries:
            log.add(replace(entry, chip=number))
        compiled.append(found)
    pipeline = stages.pipeline([one.executable for one in compiled])
    when = pipeline_schedule(pipeline, time_chip_pipeline(pipeline))
    programs = [one.module for one in compiled]
    made = write_stages(programs, stages.feeds, stages.inputs, stages.outputs, chip)
    return chips_compilation(made, compiled, when, log)
