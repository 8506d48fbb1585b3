"""The result of compiling a network for several chips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ...emulator.executable.chip_pipeline import ChipPipeline
from ...emulator.run_chip_pipeline import PipelineSchedule
from ..multi_chip.read_stages import read_stages
from ..multi_chip.write_stages import write_stages
from ..options.compilation_log import CompilationLog
from ..options.progress import Level
from .compile_function import Compilation


@dataclass(frozen=True)
class ChipsCompilation:
    """A network on several chips and facts about its compilation."""

    module: ModuleOp
    """The stages, and the program of each chip at the `memory` level."""
    pipeline: ChipPipeline
    """The executables, connected as `module` specifies."""
    chips: tuple[Compilation, ...]
    schedule: PipelineSchedule
    log: CompilationLog
    note: str = ""
    """The reason why fewer chips are used than available; empty if all are used."""
    above: tuple[Level, ...] = ()
    """The module at the levels above the cut into stages."""

    def levels(self) -> list[Level]:
        """The module at each intermediate level; from the cut on, with the modules of all chips."""
        levels = [dict(one.levels()) for one in self.chips]
        common = [name for name in levels[0] if all(name in one for one in levels)]
        return [*self.above, *((name, self.staged([one[name] for one in levels])) for name in common)]

    def staged(self, modules: Sequence[ModuleOp]) -> ModuleOp:
        """The modules of all stages at one level, as one module."""
        pipeline = self.pipeline
        return write_stages(modules, pipeline.feeds, pipeline.inputs, pipeline.outputs, pipeline.chip)


def chips_compilation(
    module: ModuleOp,
    chips: Sequence[Compilation],
    schedule: PipelineSchedule,
    log: CompilationLog,
    note: str = "",
    above: Sequence[Level] = (),
) -> ChipsCompilation:
    """The result of a compilation, with the pipeline that `module` specifies."""
    pipeline = read_stages(module).pipeline([one.executable for one in chips])
    return ChipsCompilation(module, pipeline, tuple(chips), schedule, log, note, tuple(above))
