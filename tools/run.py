"""`meshloom-run`: run an executable in the emulator, check the results, report the run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError, MeshloomError
from ..support.files import all_or_none, write_atomically
from .break_at_task import break_at_task
from .cli import check_folders, make_parser, run_tool
from .inside_options import add_inside_options, check_inside_options
from .progress import Progress
from .validate_tensors import check_results, modules_of
from .values import add_value_option, parse_values

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from .check import Check
    from .run_results import Results

EXAMPLES = """
  meshloom-run net.mlx --random 0 --check net.onnx
  meshloom-run net.mlx --input image=photo.npy --output results
  meshloom-run net.mlx --random 0 --stats figures.json --trace trace.json
  meshloom-run net.mlx --random 0 --report run.html
  meshloom-run net.mlx --random 0 --explain --what-if
  meshloom-run net.mlx --random 0 --check net.onnx --check-tensors
  meshloom-run net.mlx --random 0 --save-tensors inside --tensor relu1
  meshloom-run net.mlx --random 0 --validate=tensors --ir stages/03-memory.mlir
  meshloom-run net.mlx --random 0 --break conv1 --dump memories --cores 0-3
  meshloom-run net.mlx --random 0 --break chip1:slice.3@17
"""


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _run(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser("meshloom-run", "Run an executable in the emulator of its chip.", EXAMPLES)
    parser.add_argument("executable", type=Path, help="a .mlx file")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="value of an input (may be repeated); an encoded input dense, or as FILE.npz with index and values",
    )
    parser.add_argument(
        "--random",
        type=int,
        metavar="SEED",
        help="random values for the other inputs, from this seed: standard normal, or 0 and 1",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="write each output to DIR/NAME.npy, encoded ones also to DIR/NAME.npz",
    )
    parser.add_argument("--stats", type=Path, metavar="FILE.json", help="write the statistics of the run as JSON")
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="write the start and end of each instruction: .npz arrays, or JSON for Perfetto",
    )
    parser.add_argument("--report", type=Path, metavar="OUT.html", help="write an HTML report with timelines")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print the critical path, and the operations with the most cycles above their bound",
    )
    parser.add_argument(
        "--what-if",
        action="store_true",
        help="print the cycles of the same program for chips with one parameter changed",
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="MODEL.onnx|MODULE.mlir",
        help="compare the outputs with ONNX Runtime's, or the interpreter's; exit 1 if they differ",
    )
    add_value_option(parser)
    parser.add_argument(
        "--validate", action="store_true", help="also report races and reads of unwritten memory as errors (slower)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    add_inside_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    _check_options(options)
    if options.stop is not None:
        with Progress("meshloom-run", options.quiet) as progress:
            progress("compute")
            stopped = break_at_task(*_load(options), options)
        _say(options, stopped)
        return
    with Progress("meshloom-run", options.quiet) as progress:
        progress("load")
        from .run_results import run

        target, inputs = _load(options)
        modules = modules_of(target, options.ir) if options.validate_tensors else ()
        check = None if options.check is None else _check(options)
        results = run(target, inputs, options, progress, modules)
        progress("write")
        _write(options, results)
    _say(options, results.summary)
    if modules:
        with Progress("meshloom-run", options.quiet) as progress:
            progress("interpret")
            right = check_results(modules, results.inputs, results.recorders)
        _say(options, right)
    if check is not None:
        _compare(check, target, inputs, results, options)


def _check_options(options: argparse.Namespace) -> None:
    """Raises InputError for invalid values of options, and for options that cannot be combined."""
    if options.value and options.check is None:
        raise InputError("--value fixes an input of the model of --check: give both")
    if options.random is not None and options.random < 0:
        raise InputError(f"--random {options.random}: expected a seed of 0 or more")
    if options.output is not None and options.output.exists() and not options.output.is_dir():
        raise InputError(f"--output {options.output} is a file: give the name of a folder")
    check_inside_options(options)
    check_folders(options.stats, options.trace, options.report, inputs=[options.executable, options.check, options.ir])


def _load(options: argparse.Namespace) -> tuple[Executable | ChipPipeline, dict[str, Any]]:
    """The executable and its inputs. Raises InputError for invalid files or values."""
    from ..emulator.executable.chip_pipeline_file import read_any
    from ..emulator.executable.encoded_interface import HostInterface
    from .encoded_files import read_inputs
    from .inputs import network_inputs
    from .tensor_files import random_inputs

    target = read_any(options.executable)
    interface = HostInterface.of(target)
    inputs = read_inputs(options.input, interface.encoded.inputs)
    if options.random is not None:
        inputs = random_inputs(interface.inputs, options.random) | inputs
    return target, network_inputs(interface, inputs)


def _check(options: argparse.Namespace) -> Check:
    from .check import Check

    return Check(options.check, parse_values(options.value))


def _compare(
    check: Check,
    target: Executable | ChipPipeline,
    inputs: dict[str, Any],
    results: Results,
    options: argparse.Namespace,
) -> None:
    """Compare outputs and intermediate tensors. Raises MeshloomError if an output is wrong."""
    from .check import report
    from .run_results import recorded_tensors

    comparisons = check.compare(inputs, results.outputs)
    wrong = [c.name for c in comparisons if not c.equal]
    _say(options, f"compared with {check.judge} on {check.model.name}:\n{report(comparisons)}")
    if options.check_tensors:
        with Progress("meshloom-run", options.quiet) as progress:
            progress("compare tensors")
            inside = check.tensors(inputs, results.tensors)
        _say(options, f"intermediate tensors, in order:\n{inside}")
    if not wrong:
        _say(options, f"OK: all outputs equal {check.judge}'s")
        return
    with Progress("meshloom-run", options.quiet) as progress:
        progress("find the first tensor that differs")
        verdict = check.judge_differences(
            inputs, results.outputs, comparisons, target.chip, lambda: recorded_tensors(target, inputs)
        )
    if not verdict.within_a_step:
        raise MeshloomError(f"outputs differ from {check.judge}'s: {', '.join(wrong)}; {verdict.reason}")
    _say(options, f"OK: within one {verdict.reason} of {check.judge}'s: {', '.join(wrong)}; all others are equal")


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(text, flush=True)


def _write(options: argparse.Namespace, results: Results) -> None:
    """Write all requested files, or none."""
    from .encoded_files import write_encoded
    from .inside_options import chosen_tensors
    from .tensor_files import write_outputs

    folder: Path | None = options.save_tensors
    inside = {} if folder is None else chosen_tensors(results.tensors, options.tensor)
    with all_or_none():
        if folder is not None:
            write_outputs(folder, inside)
        if options.output is not None:
            write_outputs(options.output, results.outputs)
            write_encoded(options.output, results.outputs, results.encoded)
        if options.stats is not None:
            write_atomically(options.stats, json.dumps(results.stats, indent=1) + "\n")
        for path, content in results.files.items():
            write_atomically(path, content)


if __name__ == "__main__":
    sys.exit(main())
