"""`meshloom-compile`: from an ONNX model (or textual IR) to an executable for a chip."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.errors import InputError
from .cli import make_parser, parse_shapes, run_tool
from .progress import Progress

if TYPE_CHECKING:
    from ..lowering.pipeline import Compilation

EXAMPLES = """
  meshloom-compile net.onnx --chip edge -o net.mlx
  meshloom-compile net.onnx --chip my-chip.toml --shape image=1x3x224x224 -o net.mlx
  meshloom-compile net.onnx --chip tiny -o net.mlx --print-ir-after-all stages
"""


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _compile(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("meshloom-compile", "Compile a neural network for a many-core chip.", EXAMPLES)
    parser.add_argument("model", type=Path, help="an ONNX model, or a .mlir file in the dataflow dialect")
    parser.add_argument("--chip", required=True, metavar="NAME|FILE.toml", help="chip to compile for")
    parser.add_argument("-o", dest="output", type=Path, required=True, metavar="OUT.mlx", help="executable to write")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="shape of an input with symbolic dimensions (may be repeated)",
    )
    parser.add_argument(
        "--print-ir-after-all", type=Path, metavar="DIR", help="write the module after each stage to a file in DIR"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return parser


def _compile(options: argparse.Namespace) -> None:
    from ..chips import load_chip

    chip = load_chip(options.chip)
    shapes = parse_shapes(options.shape)
    if not options.output.parent.is_dir():
        raise InputError(f"{options.output}: there is no folder {options.output.parent}")
    with Progress("meshloom-compile", options.quiet) as progress:
        progress("import")
        from ..emulator.executable import write_executable
        from ..lowering.pipeline import compile_module
        from .read_module import read_module
        from .stage_dump import StageDump

        module = read_module(options.model, shapes)
        dump = None if options.print_ir_after_all is None else StageDump(options.print_ir_after_all, module)

        def begin(stage: str) -> None:
            progress(stage)
            if dump is not None:
                dump.begin(stage)

        compilation = compile_module(module, chip, begin, None if dump is None else dump.write)
        begin("write")
        write_executable(compilation.executable, options.output)
    if not options.quiet:
        print(summary(options.output.name, compilation))


def summary(name: str, compilation: Compilation) -> str:
    """Two lines: size of the executable, and use of the cores' memories."""
    from ..dialects.coreasm.encoding import DESC, WORD

    exe = compilation.executable
    words = sum(len(program.words) for program in exe.programs)
    code = words * WORD.itemsize + sum(len(program.descs) for program in exe.programs) * DESC.itemsize
    peak, bound = (
        max(part.sram_peak for part in compilation.parts),
        max(part.sram_lower_bound for part in compilation.parts),
    )
    ratio = f", {peak / bound:.2f} x its lower bound" if bound else ""
    return (
        f"{name}: {compilation.tasks} tasks, {words:,} instructions in {len(exe.programs)} programs, "
        f"{code:,} bytes of code, {exe.weight_bytes:,} bytes of weights\n"
        f"{' ' * len(name)}  SRAM peak {peak:,} of {exe.chip.sram_bytes:,} bytes a core{ratio}; "
        f"DRAM {exe.dram_bytes_used:,} of {exe.chip.dram_bytes:,} bytes"
    )


if __name__ == "__main__":
    sys.exit(main())
