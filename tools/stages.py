"""The stages of a compilation as they pass by: shown, timed, and written to files if wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from .stage_dump import StageDump


class Stages:
    """
    Told by the compiler when a stage begins (`begin`) and of modules at levels of their own (`observer`).

    `show` is told each stage's name. Without `dump_to` and `keep_levels` it asks for no levels: they cost time.
    """

    def __init__(self, show: Callable[[str], None], first: str) -> None:
        self.show = show
        self.times: list[tuple[str, float]] = [(first, perf_counter())]
        self.dump: StageDump | None = None
        self.keeps = False
        self.levels: list[tuple[str, ModuleOp]] = []
        """Levels with their modules, once `keep_levels` was called."""

    def dump_to(self, folder: Path, module: ModuleOp) -> None:
        """From now on write the module after each stage to `folder`. Raises MeshloomError if that cannot be made."""
        self.dump = StageDump(folder, module)

    def keep_levels(self) -> None:
        """From now on keep what `observer` is shown."""
        self.keeps = True

    def begin(self, stage: str) -> None:
        """A stage begins; the one before is over."""
        self.show(stage)
        if self.dump is not None:
            self.dump.begin(stage)
        self.times.append((stage, perf_counter()))

    @property
    def observer(self) -> Callable[[str, ModuleOp], None] | None:
        """What to tell of levels, None where nobody wants to know."""
        return self._observe if self.keeps or self.dump is not None else None

    def _observe(self, level: str, module: ModuleOp) -> None:
        if self.dump is not None:
            self.dump.write(level, module)
        if self.keeps:
            self.levels.append((level, module))

    def seconds(self) -> list[tuple[str, float]]:
        """The stages that are over, in order, with the seconds that each took."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return [(name, after - before) for (name, before), (_, after) in pairs]
