"""`meshloom-as`: a listing or `coreasm` IR, as `meshloom-objdump` prints them, becomes an executable."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from .cli import check_folders, make_parser, run_tool

EXAMPLES = """
  meshloom-as model.lst -o model.mlx
  meshloom-objdump model.mlx | meshloom-as - -o same.mlx
  # IR of the coreasm dialect
  meshloom-objdump --mlir model.mlx -o model.mlir
  meshloom-as model.mlir -o same.mlx
  # a listing made with --no-weights
  meshloom-as model.lst --weights weights.bin -o model.mlx
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("meshloom-as", "Assemble a listing or IR into a Meshloom executable (.mlx).", EXAMPLES)
    parser.add_argument(
        "listing", metavar="LISTING|FILE.mlir", help="a listing (-: standard input), or IR of the coreasm dialect"
    )
    parser.add_argument("-o", "--output", metavar="OUT.mlx", required=True, help="the executable to write")
    parser.add_argument(
        "--weights", metavar="FILE", help="read the weights from FILE, whose size and hash must match the listing"
    )
    return parser


def _run(options: argparse.Namespace) -> None:
    from ..emulator.executable.chip_pipeline_file import write_any
    from ..emulator.executable.file import map_file
    from ..lowering.linker.assemble import assemble
    from ..support.errors import InputError
    from ..support.input_files import open_regular

    listing_file = None if options.listing == "-" else Path(options.listing)
    weights_file = None if options.weights is None else Path(options.weights)
    check_folders(Path(options.output), inputs=[listing_file, weights_file])
    if listing_file is not None and listing_file.suffix.lower() == ".mlir":
        from .read_module import read_executable_ir

        if weights_file is not None:
            raise InputError("--weights applies to listings only: IR names the files of its data")
        write_any(read_executable_ir(listing_file), options.output)
        return
    weights = None if options.weights is None else map_file(options.weights)
    location = "standard input" if options.listing == "-" else str(options.listing)
    folder = Path() if options.listing == "-" else Path(options.listing).parent
    try:
        if options.listing == "-":
            exe = assemble(sys.stdin, location, folder, weights)
        else:
            with TextIOWrapper(open_regular(options.listing), "utf-8") as lines:
                exe = assemble(lines, location, folder, weights)
    except UnicodeDecodeError as error:
        raise InputError(f"{location} is not a listing: it is not UTF-8 text") from error
    write_any(exe, options.output)


if __name__ == "__main__":
    sys.exit(main())
