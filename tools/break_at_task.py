"""`meshloom-run --break TASK`: run to the end of a task, print its result, write memory dumps."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError
from ..support.files import all_or_none, write_atomically
from .inside_options import chosen_cores, only_chip
from .table import table

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.executable.task_results import TaskResult
    from ..emulator.functional.observer import Machine

SHOWN = 16
"""Most bytes of a tile that are printed."""


def break_at_task(target: Executable | ChipPipeline, inputs: Mapping[str, Any], options: argparse.Namespace) -> str:
    """
    Run to the end of the task that `options.stop` names. Returns the output. Raises InputError for an unknown task.
    """
    from ..emulator.executable.encoded_interface import HostInterface
    from ..emulator.executable.task_results import task_results
    from ..emulator.functional.run_until import run_until

    exe = only_chip(target, "--break")
    cores = None if options.cores is None else chosen_cores(options.cores, exe.chip.cores)
    places = [one for one in task_results(exe) if one.task == options.stop]
    machine = run_until(exe, HostInterface.of(exe).in_memory(inputs), options.stop, options.validate)
    holding = sorted({core for one in places for core in one.tiles()})
    shown = holding if cores is None else cores
    if options.dump is not None:
        _dump(machine, shown, options)
    lines = [f"stopped after task '{options.stop}'"]
    for one in places:
        lines += _result(one, machine, shown)
    if not places:
        lines.append("the executable does not say where its result is")
    return "\n".join(lines)


def _result(one: TaskResult, machine: Machine, cores: list[int]) -> list[str]:
    names = "".join(f", tensor '{name}'" for name in one.tensors)
    shape = "x".join(map(str, one.shape))
    if one.grid is None:
        content = machine.dram[one.address : one.address + min(one.nbytes, SHOWN)].tobytes().hex(" ")
        return [f"result {shape} in DRAM at {one.address:#x}, {one.nbytes:,} bytes{names}: {content}"]
    rows = [("core", "from", "size", "address", f"first {SHOWN} bytes")]
    for core, tile in one.tiles().items():
        if core in cores:
            size = one.element_bytes
            for extent in tile.sizes:
                size *= extent
            content = machine.srams[core][one.address : one.address + min(size, SHOWN)].tobytes().hex(" ")
            where = ",".join(map(str, tile.offsets)), "x".join(map(str, tile.sizes))
            rows.append((str(core), *where, f"{one.address:#x}", content))
    return [f"result {shape} in SRAM{names}:", table([rows[0], *sorted(rows[1:], key=lambda row: int(row[0]))])]


def _dump(machine: Machine, cores: list[int], options: argparse.Namespace) -> None:
    try:
        options.dump.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make folder {options.dump}: {error.strerror}") from error
    with all_or_none():
        for core in cores:
            write_atomically(options.dump / f"core{core}.bin", machine.srams[core].tobytes())
        write_atomically(options.dump / "dram.bin", machine.dram.tobytes())
