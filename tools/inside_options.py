"""Options of `meshloom-run` for inspection: intermediate tensors, results of tasks, memory."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..support.errors import InputError

_ONLY_BREAK = ("output", "stats", "trace", "report", "explain", "what_if", "check", "save_tensors", "validate_tensors")
"""Options that need a complete run."""


def add_inside_options(parser: argparse.ArgumentParser) -> None:
    """Add these options."""
    group = parser.add_argument_group("intermediate results")
    group.add_argument(
        "--save-tensors",
        type=Path,
        metavar="DIR",
        help="write each intermediate tensor to DIR/NAME.npy, as it is in memory at the end of its task",
    )
    group.add_argument(
        "--tensor",
        action="append",
        default=[],
        metavar="NAME",
        help="with --save-tensors: write only this tensor (may be repeated)",
    )
    group.add_argument(
        "--check-tensors",
        action="store_true",
        help="with --check MODEL.onnx: also compare the intermediate tensors, and print them in order",
    )
    group.add_argument(
        "--validate=tensors",
        dest="validate_tensors",
        action="store_true",
        help="compare the result of each task (in loops, of each step) with the interpreter on the IR of --ir; "
        "exit 1 if one differs",
    )
    group.add_argument(
        "--ir",
        type=Path,
        metavar="MODULE.mlir",
        help="the module at level memory from which the executable was compiled",
    )
    group.add_argument(
        "--break",
        dest="stop",
        metavar="[chipN:]TASK[@STEP]",
        help="stop at the end of a task, or of one of its steps in a loop (from 0), and print the result",
    )
    group.add_argument(
        "--dump", type=Path, metavar="DIR", help="with --break: write the memories to DIR/coreN.bin and DIR/dram.bin"
    )
    group.add_argument(
        "--cores",
        metavar="0,4-7",
        help="with --break: cores to print and dump (default: those that hold the task's result)",
    )


def check_inside_options(options: argparse.Namespace) -> None:
    """Raises InputError for options that cannot be combined."""
    if options.tensor and options.save_tensors is None:
        raise InputError("--tensor applies to --save-tensors DIR only: give both")
    if options.check_tensors and (options.check is None or options.check.suffix.lower() == ".mlir"):
        raise InputError("--check-tensors compares with ONNX Runtime: also give --check MODEL.onnx")
    if options.validate_tensors != (options.ir is not None):
        raise InputError(
            "--validate=tensors compares with the interpreter of --ir MODULE.mlir: give both (meshloom-compile "
            "--print-ir-after-all DIR writes it, DIR/..-memory.mlir)"
        )
    if options.stop is None and (options.dump is not None or options.cores is not None):
        raise InputError("--dump and --cores apply to --break TASK only: also give --break")
    if options.stop is not None and (given := [name for name in _ONLY_BREAK if getattr(options, name)]):
        name = given[0].replace("_", "-").replace("validate-tensors", "validate=tensors")
        raise InputError(f"--{name} needs a complete run: leave out --break, or --{name}")
    for folder in (options.save_tensors, options.dump):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file: give the name of a folder")


def chosen_cores(text: str, cores: int) -> list[int]:
    """The cores that `0,4-7` means on a chip with so many. Raises InputError."""
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        try:
            first, last = int(low), int(high if dash else low)
        except ValueError as error:
            raise InputError(f"--cores {text!r}: expected numbers of cores such as 0,4-7") from error
        if not 0 <= first <= last < cores:
            raise InputError(f"--cores {text!r}: the chip has the cores 0 to {cores - 1}")
        found += range(first, last + 1)
    return sorted(set(found))


def chosen_tensors(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The tensors with these names, or all. Raises InputError for an unknown name."""
    for name in names:
        if name not in found:
            raise InputError(
                f"--tensor {name}: no tensor of this name is completely in memory; available are "
                f"{', '.join(found) or 'none'}"
            )
    return {name: value for name, value in found.items() if not names or name in names}
