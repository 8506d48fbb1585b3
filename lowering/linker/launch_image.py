"""One launch as an executable for timing, with DRAM addresses relative to segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...chips import Chip
from ...emulator.executable.executable import Executable
from ...emulator.timing.engine import run_timing
from .controller import Begin, Join, controller_words
from .relocate import LaunchCode


def launch_image(
    code: LaunchCode, chip: Chip, names: Sequence[str] = (), notes: Mapping[str, str] | None = None
) -> Executable:
    """The executable; `names`: of its tasks."""
    controller = controller_words([Begin(0), Join(0)])
    return Executable(
        chip, [], code.programs, [code.launch], code.core_sets, controller,
        source_names=list(names), notes=dict(notes or {}),
    )  # fmt: skip


def launch_cycles(code: LaunchCode, chip: Chip) -> int:
    """Emulated cycles of a launch."""
    return run_timing(launch_image(code, chip)).cycles
