"""Sensitivity analysis: the cycles of an executable, without recompilation, on chips that differ in one parameter."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...chips.chip import Chip
from ..executable.executable import Executable
from ..machine.mapped_work import MappedWork
from ..timing.engine import run_timing

UNLIMITED = 1 << 20
"""A rate in bytes per cycle, or a number of lanes, that limits no program."""


@dataclass(frozen=True)
class WhatIf:
    """A parameter of the chip, and the cycles with other values of it."""

    what: str
    doubled: int
    """Cycles with twice the value (of latencies: half)."""
    unlimited: int | None
    """
    Cycles with an unlimited value (of latencies: 0; of hops: one cycle). None for the sizes of arrays, as larger arrays
    take longer to fill.
    """


_CHANGES: tuple[tuple[str, dict[str, int], dict[str, int]], ...] = (
    ("DRAM bytes per cycle", {"dram_bytes_per_cycle": 2}, {"dram_bytes_per_cycle": UNLIMITED}),
    ("DRAM latency", {"dram_latency": 0}, {"dram_latency": 0}),
    ("link bytes per cycle", {"link_bytes_per_cycle": 2}, {"link_bytes_per_cycle": UNLIMITED}),
    ("hop cycles", {"hop_cycles": 0}, {"hop_cycles": 1}),
    ("SRAM bytes per cycle", {"sram_bytes_per_cycle": 2}, {"sram_bytes_per_cycle": UNLIMITED}),
    ("matrix unit rows", {"mpu_rows": 2}, {}),
    ("matrix unit columns", {"mpu_cols": 2}, {}),
    ("vector lanes", {"vpu_lanes": 2}, {"vpu_lanes": UNLIMITED}),
    ("queue depth", {"queue_depth": 2}, {"queue_depth": 4096}),
)
"""Name, factors of parameters (0: half of a latency), and unlimited values (empty: not applicable)."""


def _changed(chip: Chip, factors: dict[str, int]) -> Chip:
    values: dict[str, int] = {}
    for name, factor in factors.items():
        value: int = getattr(chip, name)
        values[name] = value * factor if factor else value // 2
    return replace(chip, **values)  # pyright: ignore[reportArgumentType]


def what_if(exe: Executable, mapped: MappedWork | None = None) -> list[WhatIf]:
    """
    Time `exe` with one parameter of its chip changed at a time. The results are sorted by their cycles, fewest first.

    The program is unchanged: the figures do not include other decisions of the compiler for such a chip. The cycles of
    sparse work (`mapped`) remain as they were counted.
    """
    found: list[WhatIf] = []
    for what, factors, values in _CHANGES:
        doubled = run_timing(replace(exe, chip=_changed(exe.chip, factors)), mapped=mapped).cycles
        unlimited = None
        if values:
            chip = replace(exe.chip, **values)  # pyright: ignore[reportArgumentType]
            unlimited = run_timing(replace(exe, chip=chip), mapped=mapped).cycles
        found.append(WhatIf(what, doubled, unlimited))
    return sorted(found, key=lambda one: one.doubled)


def what_if_text(cycles: int, found: list[WhatIf]) -> str:
    """The results as a table of text; `cycles` are those of the run with the chip's own parameters."""
    lines = [
        f"the same program with one chip parameter changed ({cycles:,} cycles unchanged):",
        f"  {'':<24}{'twice as good':>22}{'without limit':>22}",
    ]
    for one in found:
        lines.append(f"  {one.what:<24}{_cell(cycles, one.doubled):>22}{_cell(cycles, one.unlimited):>22}")
    return "\n".join(lines)


def _cell(before: int, after: int | None) -> str:
    return "-" if after is None else f"{after:,} {100 * (after / max(before, 1) - 1):+.1f}%"
