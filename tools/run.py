"""`meshloom-run`: run an executable in the emulator, check and report what it did."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.errors import InputError, MeshloomError
from ..support.files import all_or_none, write_atomically
from .cli import check_folders, make_parser, run_tool
from .progress import Progress

if TYPE_CHECKING:
    from ..emulator.executable import Executable
    from ..emulator.mapped_work import MappedWork
    from ..emulator.timing import TimingResult

EXAMPLES = """
  meshloom-run net.mlx --random 0 --check net.onnx
  meshloom-run net.mlx --input image=photo.npy --output results
  meshloom-run net.mlx --random 0 --stats figures.json --trace trace.json
  meshloom-run net.mlx --random 0 --report run.html
"""


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _run(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("meshloom-run", "Run an executable in the emulator of its chip.", EXAMPLES)
    parser.add_argument("executable", type=Path, help="a .mlx file")
    parser.add_argument(
        "--input", action="append", default=[], metavar="NAME=FILE.npy", help="value of an input (may be repeated)"
    )
    parser.add_argument(
        "--random", type=int, metavar="SEED", help="seeded values for the other inputs: standard normal, or 0 and 1"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="write each output to DIR/NAME.npy")
    parser.add_argument("--stats", type=Path, metavar="FILE.json", help="write all figures of the run")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write when each instruction ran: .npz arrays, else JSON for Perfetto",
    )
    parser.add_argument("--report", type=Path, metavar="OUT.html", help="write what the units did and when as a page")
    parser.add_argument(
        "--check",
        type=Path,
        metavar="MODEL.onnx|MODULE.mlir",
        help="compare the outputs with ONNX Runtime's, or the interpreter's; exit 1 if they differ",
    )
    parser.add_argument(
        "--validate", action="store_true", help="races and reads of unwritten memory are errors, too (slower)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.random is not None and options.random < 0:
        raise InputError(f"--random {options.random}: expected a seed of 0 or more")
    if options.output is not None and options.output.exists() and not options.output.is_dir():
        raise InputError(f"--output {options.output} is a file: give the name of a folder")
    check_folders(options.stats, options.trace, options.report, inputs=[options.executable, options.check])
    with Progress("meshloom-run", options.quiet) as progress:
        progress("load")
        from ..emulator.functional import run_functional
        from ..emulator.stats import collect
        from .api import checked_inputs, load
        from .check import Check, report
        from .summary import summary
        from .tensor_files import random_inputs, read_inputs, write_outputs

        exe = load(options.executable).executable
        inputs = read_inputs(options.input)
        if options.random is not None:
            inputs = random_inputs(exe.inputs, options.random) | inputs
        inputs = checked_inputs(exe, inputs)
        check = None if options.check is None else Check(options.check)
        progress("compute")
        functional = run_functional(exe, inputs, check=options.validate)
        outputs = functional.outputs
        progress("time")
        timing = _timed(exe, options, functional.mapped)
        stats = collect(exe, timing, functional.mapped)
        progress("write")
        with all_or_none():
            if options.output is not None:
                write_outputs(options.output, outputs)
            if options.stats is not None:
                write_atomically(options.stats, json.dumps(stats, indent=1) + "\n")
            if options.trace is not None:
                from ..emulator.trace import write_trace

                write_trace(exe, timing, options.trace)
            if options.report is not None:
                from .report.run_report import run_facts, run_report

                facts = run_facts(exe, timing, stats, functional.mapped)
                write_atomically(options.report, run_report(options.executable.name, facts))
    if not options.quiet:
        print(summary(options.executable.name, exe, stats), flush=True)
    if check is None:
        return
    comparisons = check.compare(inputs, outputs)
    wrong = [c.name for c in comparisons if not c.equal]
    if not options.quiet:
        print(f"compared with {check.judge} on {check.model.name}:\n{report(comparisons)}", flush=True)
    if not wrong:
        if not options.quiet:
            print(f"OK: all outputs equal {check.judge}'s")
        return
    with Progress("meshloom-run", options.quiet) as progress:
        progress("find the first tensor that differs")
        where = check.first_difference(inputs, exe.chip)
    raise MeshloomError(f"outputs differ from {check.judge}'s: {', '.join(wrong)}; {where}")


def _timed(exe: Executable, options: argparse.Namespace, mapped: MappedWork) -> TimingResult:
    """Time the run, traced where that is asked for; a report goes without a trace that would be too long."""
    from ..emulator.timing import run_timing

    traced = options.trace is not None
    if options.report is not None and not traced:
        from .report.trace_sums import is_traceable

        traced = is_traceable(exe)
    return run_timing(exe, trace=traced, mapped=mapped)


if __name__ == "__main__":
    sys.exit(main())
