"""`meshloom-run --break TASK`: run to the end of a task, or of a step of it, print its result, write memory dumps."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError
from ..support.files import all_or_none, write_atomically
from .breakpoint import Breakpoint, find_breakpoint
from .inside_options import chosen_cores
from .table import table

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.executable.task_results import TaskResult
    from ..emulator.functional.observer import Machine

SHOWN = 16
"""Largest number of bytes that are printed of a tile."""


def break_at_task(target: Executable | ChipPipeline, inputs: Mapping[str, Any], options: argparse.Namespace) -> str:
    """
    Run to the breakpoint `options.stop`. Returns the text to print. Raises InputError for an unknown chip, task or
    step.
    """
    from ..emulator.executable.encoded_interface import HostInterface
    from ..emulator.executable.executable import Executable
    from ..emulator.functional.run_until import run_until
    from ..emulator.run_chip_pipeline import inputs_of_chip

    found = find_breakpoint(options.stop, target)
    cores = None if options.cores is None else chosen_cores(options.cores, found.executable.chip.cores)
    arrays = HostInterface.of(target).in_memory(inputs)
    if not isinstance(target, Executable):
        arrays = inputs_of_chip(target, found.chip, arrays, options.validate)
    machine = run_until(found.executable, arrays, found.task, options.validate, found.step, found.places)
    holding = sorted({core for one in found.places for core in one.tiles()})
    shown = holding if cores is None else cores
    if options.dump is not None:
        _dump(machine, shown, options)
    where = "" if isinstance(target, Executable) else f" on chip {found.chip}"
    when = "" if found.step is None else f" in step {found.step}"
    lines = [f"stopped after task '{found.task}'{where}{when}"]
    for one in found.places:
        lines += _result(one, found, machine, shown)
    if not found.places:
        lines.append("the executable has no address of its result")
    return "\n".join(lines)


def _result(one: TaskResult, found: Breakpoint, machine: Machine, cores: list[int]) -> list[str]:
    """The lines that describe a result, or only the row of the step where the result has one row for each step."""
    row = None if found.step is None or one.loop is None else one.loop.row(found.step)
    rows = one.loop.rows.count if row is not None and one.loop is not None and one.loop.rows is not None else 1
    names = "".join(f", tensor '{name}'" for name in one.tensors)
    shape = "x".join(map(str, one.shape))
    part = "" if row is None else f", row {row} of {rows}"
    if one.grid is None:
        nbytes = one.nbytes // rows
        address = one.address + (row or 0) * nbytes
        content = machine.dram[address : address + min(nbytes, SHOWN)].tobytes().hex(" ")
        return [f"result {shape} in DRAM{part} at {address:#x}, {nbytes:,} bytes{names}: {content}"]
    table_rows = [("core", "from", "size", "address", f"first {SHOWN} bytes")]
    for core, tile in one.tiles().items():
        if core in cores:
            nbytes = math.prod(tile.sizes) * one.element_bytes // rows
            address = one.address + (row or 0) * nbytes
            content = machine.srams[core][address : address + min(nbytes, SHOWN)].tobytes().hex(" ")
            where = ",".join(map(str, tile.offsets)), "x".join(map(str, tile.sizes))
            table_rows.append((str(core), *where, f"{address:#x}", content))
    ordered = [table_rows[0], *sorted(table_rows[1:], key=lambda row: int(row[0]))]
    return [f"result {shape} in SRAM{part}{names}:", table(ordered)]


def _dump(machine: Machine, cores: list[int], options: argparse.Namespace) -> None:
    try:
        options.dump.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make folder {options.dump}: {error.strerror}") from error
    with all_or_none():
        for core in cores:
            write_atomically(options.dump / f"core{core}.bin", machine.srams[core].tobytes())
        write_atomically(options.dump / "dram.bin", machine.dram.tobytes())
