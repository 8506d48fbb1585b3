"""Observer of a compilation's stages: shows, times and optionally dumps them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from .stage_dump import StageDump


class Stages:
    """
    Receives the start of each stage (`begin`, `note`), and at the end the intermediate levels (`levels`).

    `show` is called with the name of each stage. Levels, which cost time, are requested only after `dump_to`.
    """

    def __init__(self, show: Callable[[str], None], first: str) -> None:
        self.show = show
        self.times: list[tuple[str, float]] = [(first, perf_counter())]
        self.dump: StageDump | None = None

    def dump_to(self, folder: Path, module: ModuleOp) -> None:
        """Write the module after each further stage to `folder`. Raises MeshloomError if the folder cannot be made."""
        self.dump = StageDump(folder, module)

    def begin(self, stage: str) -> None:
        """A stage begins; the previous one has ended, and may have changed the module."""
        if self.dump is not None:
            self.dump.begin(stage)
        self.note(stage)

    def note(self, stage: str) -> None:
        """A stage inside the compiler begins, which works on copies of the module."""
        self.show(stage)
        self.times.append((stage, perf_counter()))

    def levels(self, levels: Callable[[], list[tuple[str, ModuleOp]]]) -> None:
        """The levels between network and instructions, if dumps are requested."""
        if self.dump is not None:
            self.note("write levels")
            for name, module in levels():
                self.dump.write(name, module)

    def seconds(self) -> list[tuple[str, float]]:
        """The completed stages, in order, with the seconds of each."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return [(name, after - before) for (name, before), (_, after) in pairs]
