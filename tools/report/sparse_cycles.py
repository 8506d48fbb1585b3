"""Sparse products layer by layer: the cycles that the compiler expected, and those that a run counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...emulator.executable.executable import Executable
    from ...emulator.machine.mapped_work import MappedWork


def sparse_cycles(exe: Executable, mapped: MappedWork) -> dict[str, tuple[int, int]]:
    """
    (declared, counted) cycles of the sparse products of each task, over all cores, in the order of the run.

    `mapped` is what a functional run of `exe`, whose launches each start once and in order, recorded.
    """
    from ...dialects.coreasm.isa import QUEUES, UNIT_OF_OPCODE, Unit
    from ...emulator.executable.load import launch_code

    found: dict[str, tuple[int, int]] = {}
    for number, launch in enumerate(exe.launches):
        words, _ = launch_code(exe, launch)
        sources = [exe.programs[int(program)].sources for program in launch.program_of_core]
        codes: list[NDArray[np.uint8]] = [own["op"] for own in words]
        expected: list[NDArray[np.uint32]] = [own["addr"][:, 3] for own in words]
        mine = mapped.run == number
        lanes: list[int] = mapped.lane[mine].tolist()
        positions: list[int] = mapped.word[mine].tolist()
        costs: list[int] = mapped.costs[mine, 0].tolist()
        for lane, at, cycles in zip(lanes, positions, costs, strict=True):
            core = lane // QUEUES
            if UNIT_OF_OPCODE[int(codes[core][at])] != Unit.MPU:
                continue
            name = exe.source_names[int(sources[core][at])]
            declared, counted = found.get(name, (0, 0))
            found[name] = declared + int(expected[core][at]), counted + cycles
    return found
