"""`meshloom-objdump`: an executable as a listing or as IR, which `meshloom-as` turns back into the same bytes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .cli import check_folders, make_parser, run_tool

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable

EXAMPLES = """
  # everything, weights as base64 at the end
  meshloom-objdump model.mlx
  # for reading: only the hash of the weights
  meshloom-objdump model.mlx --no-weights | less
  # headers, tensors, core sets and launches; instructions only; one program
  meshloom-objdump model.mlx -x
  meshloom-objdump model.mlx -d
  meshloom-objdump model.mlx --program NAME
  # one of several chips
  meshloom-objdump model.mlx --chip 1
  # as IR of the coreasm dialect, which refers to the data in the executable
  meshloom-objdump model.mlx --mlir -o model.mlir
  # back to an executable
  meshloom-objdump model.mlx --weights-file w.bin -o model.lst
  meshloom-as model.lst -o same.mlx
"""

_ALL_HEADERS = ("headers", "tensors", "sets", "launches")
_CODE = ("programs", "controller")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("meshloom-objdump", "Print a Meshloom executable (.mlx) as a listing.", EXAMPLES)
    parser.add_argument("file", metavar="FILE.mlx", help="the executable")
    parser.add_argument("-o", "--output", metavar="LISTING", help="file to write (default: -, standard output)")
    parser.add_argument(
        "--chip", type=int, metavar="N", help="number of the chip to print, if the executable is for several"
    )
    parser.add_argument("--mlir", action="store_true", help="print IR of the coreasm dialect instead of a listing")
    parts = parser.add_argument_group("parts to print (default: all; options can be combined)")
    parts.add_argument("-f", "--headers", action="store_true", help="chip, notes, version")
    parts.add_argument("-x", "--all-headers", action="store_true", help="headers, tensors, core sets and launches")
    parts.add_argument("-d", "--disassemble", action="store_true", help="programs and controller")
    parts.add_argument("-t", "--tensors", action="store_true", help="the tensor table")
    parts.add_argument("--program", metavar="NAME", help="the program of this name")
    parts.add_argument(
        "-j",
        "--section",
        metavar="PART",
        action="append",
        default=[],
        choices=_part_names(),
        help=f"one of {', '.join(_part_names())}",
    )
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument("--no-weights", action="store_true", help="print only the size and hash of the weights")
    weights.add_argument("--weights-file", metavar="FILE", help="write the weights to FILE; the listing names it")
    return parser


def _part_names() -> tuple[str, ...]:
    from ..lowering.linker.listing import PART_NAMES

    return PART_NAMES


def _run(options: argparse.Namespace) -> None:
    from ..emulator.executable.chip_pipeline_file import decode_any
    from ..emulator.executable.executable import as_view
    from ..emulator.executable.file import map_file
    from ..lowering.linker.listing import listing
    from ..support.errors import InputError
    from ..support.files import all_or_none, write_chunks

    if options.output == "-":
        options.output = None
    results = [Path(name) for name in (options.output, options.weights_file) if name is not None]
    check_folders(*results, inputs=[Path(options.file)])
    data = map_file(options.file)
    found = decode_any(data, options.file)
    if options.mlir and options.chip is None:
        _print_ir(found, data, options)
        return
    exe = _chosen_chip(found, options.file, options.chip)
    if options.mlir:
        _print_ir(exe, data, options)
        return
    names = [p.name for p in exe.programs]
    if options.program is not None and options.program not in names:
        some = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(f"{options.file} has no program '{options.program}'; it has {some or 'none'}")
    parts = _chosen(options)
    how, file = "none" if options.no_weights else "inline", ""
    if options.weights_file is not None:
        how, file = "file", str(Path(options.weights_file).resolve())
        if options.output is not None:
            folder = Path(options.output).resolve().parent
            file = str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file
    lines = (line + "\n" for line in listing(exe, parts, options.program, how, file))
    with all_or_none():
        if options.weights_file is not None:
            write_chunks(options.weights_file, [as_view(exe.weights), as_view(exe.host_weights)])
        if options.output is None:
            sys.stdout.writelines(lines)
            sys.stdout.flush()
        else:
            write_chunks(options.output, (line.encode() for line in lines))


def _chosen_chip(found: Executable | ChipPipeline, file: str, number: int | None) -> Executable:
    """The executable to print. Raises InputError where there are several, or no such one."""
    from ..emulator.executable.executable import Executable
    from ..support.errors import InputError

    chips = (found,) if isinstance(found, Executable) else found.chips
    if number is None and len(chips) > 1:
        raise InputError(f"{file} is for {len(chips)} chips: choose one with --chip, from 0 to {len(chips) - 1}")
    if not 0 <= (number or 0) < len(chips):
        raise InputError(f"--chip {number}: {file} has {len(chips)} chip{'s' if len(chips) > 1 else ''}, from 0")
    return chips[number or 0]


def _print_ir(found: Executable | ChipPipeline, data: memoryview, options: argparse.Namespace) -> None:
    """The executable, or those of all chips, as a module whose data are references into the file."""
    from io import StringIO

    from xdsl.printer import Printer

    from ..lowering.executable_to_coreasm import data_in_file
    from ..lowering.multi_chip.write_stages import executables_to_coreasm
    from ..support.errors import InputError
    from ..support.files import write_atomically

    if _chosen(options) != _part_names() or options.no_weights or options.weights_file is not None:
        raise InputError("--mlir prints the whole executable: leave out options for parts and weights")
    source = options.file
    if options.output is not None:
        folder, file = Path(options.output).resolve().parent, Path(options.file).resolve()
        source = str(file.relative_to(folder) if file.is_relative_to(folder) else file)
    text = StringIO()
    Printer(text).print_op(executables_to_coreasm(found, lambda exe: data_in_file(exe, data, source)))
    if options.output is None:
        print(text.getvalue(), flush=True)
    else:
        write_atomically(options.output, text.getvalue() + "\n")


def _chosen(options: argparse.Namespace) -> tuple[str, ...]:
    chosen: list[str] = [*options.section]
    if options.headers:
        chosen.append("headers")
    if options.all_headers:
        chosen.extend(_ALL_HEADERS)
    if options.tensors:
        chosen.append("tensors")
    if options.disassemble:
        chosen.extend(_CODE)
    if options.program is not None and not options.disassemble:
        chosen.append("programs")
    return tuple(chosen) or _part_names()


if __name__ == "__main__":
    sys.exit(main())
