"""`meshloom-sparsity`: the density of each layer's weights, the encoding to choose, and what it saves."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.errors import InputError
from ..support.files import write_atomically
from .cli import check_folders, make_parser, parse_shapes, run_tool
from .progress import Progress
from .values import add_value_option, parse_values

if TYPE_CHECKING:
    from ..chips import Chip
    from ..formats.sparse.prune import Method
    from ..transforms.shared.sparse_plan import PlannedWeight

EXAMPLES = """
  meshloom-sparsity model.onnx
  meshloom-sparsity model.onnx --prune 0.1 --groups 1,16
  meshloom-sparsity model.onnx --prune 0.1 --chip edge
  meshloom-sparsity model.onnx --prune 0.1 -o pruned.onnx
  meshloom-sparsity model.onnx --prune 0.1 --method balanced -o pruned.onnx
"""


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _report(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "meshloom-sparsity",
        "Print the density of the weights of each matrix product and convolution, their smallest (or "
        "fastest) encoding, and its bytes.",
        EXAMPLES,
    )
    add = parser.add_argument
    add("model", type=Path, help="the network: .onnx or .mlir")
    add(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="shape of an input with symbolic dimensions",
    )
    add_value_option(parser)
    add("--prune", type=float, metavar="DENSITY", help="first prune each tensor to this density (see --method)")
    add(
        "--method", choices=("magnitude", "balanced"),
        help="weights to keep: the largest of a tensor (default), or the same number for each output (balanced)",
    )  # fmt: skip
    add("-o", dest="output", type=Path, metavar="FILE.onnx", help="write the pruned model (only for an .onnx model)")
    add("--groups", default="1", metavar="LIST", help="sizes of groups to try, such as 1,16 (default: %(default)s)")
    add("--threshold", type=float, default=0.0, metavar="T", help="largest magnitude that counts as zero (default: 0)")
    add(
        "--report",
        type=Path,
        metavar="OUT.html",
        help="write an HTML report, with break-even curves if a chip is given",
    )
    add("--chip", metavar="NAME|FILE.toml", help="choose by estimated cycles on this chip")
    return parser


def _report(options: argparse.Namespace) -> None:
    groups = _groups(options.groups)
    if not 0 <= options.threshold < float("inf"):
        raise InputError(f"--threshold {options.threshold}: expected a finite number of at least 0")
    if options.method is not None and options.prune is None:
        raise InputError(f"--method {options.method} selects the weights of --prune: give --prune DENSITY")
    method: Method = options.method or "magnitude"

    from xdsl.context import Context

    from ..chips import load_chip
    from ..dialects.dataflow.unroll_loops import unroll_loops
    from ..transforms.dataflow_prune import DataflowPrunePass
    from ..transforms.shared.sparse_plan import plan_encodings
    from .read_module import read_module

    chip = None if options.chip is None else load_chip(options.chip)
    model = options.model
    check_folders(options.output, options.report, inputs=[model])
    if options.output is not None:
        _write_pruned(model, options.prune, method, options.output)
        model = options.output
    module = read_module(
        model, parse_shapes(options.shape), Progress("meshloom-sparsity").note, parse_values(options.value)
    )
    if options.prune is not None and options.output is None:
        DataflowPrunePass(density=options.prune, method=method).apply(Context(), module)
    unroll_loops(module)
    plans = plan_encodings(module, groups, options.threshold, chip)
    if options.report is not None:
        write_atomically(options.report, _page(options.model.name, plans, chip))
    print(table(plans))


def _page(name: str, plans: Sequence[PlannedWeight], chip: Chip | None) -> str:
    from .report.page import page
    from .report.sparse_layers import sparse_layers, sparse_section
    from .report.versions import versions

    where = "" if chip is None else f" for {chip.name}"
    section = sparse_section(sparse_layers(plans), chip)
    return page(name, f"weights of {len(plans)} layers{where}, by {versions()}", [], [section])


def _write_pruned(model: Path, density: float | None, method: Method, output: Path) -> None:
    """Write the pruned model, with the zeros that the table counts."""
    if density is None or model.suffix.lower() != ".onnx" or output.suffix.lower() != ".onnx":
        raise InputError(f"-o {output} writes a pruned .onnx model: give an .onnx model and --prune DENSITY")
    from ..frontend.prune_onnx import prune_onnx

    write_atomically(output, prune_onnx(model, density, method).SerializeToString())


def _groups(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and 0 < int(part) < 1 << 31 for part in parts):
        raise InputError(f"--groups {text}: expected sizes such as 1,16")
    return tuple(map(int, parts))


def table(plans: Sequence[PlannedWeight]) -> str:
    """One line for each weight, and the sum; with cycles if the plans have them."""
    from ..dialects.dataflow.types import element_of

    with_cycles = any(plan.chosen is not None for plan in plans)
    rows = [["weights", "shape", "type", "density", "encoding", "dense bytes", "bytes", "smaller"]]
    if with_cycles:
        rows[0] += ["dense cycles", "cycles", "faster"]
    reasons = [plan.reason for plan in plans]
    if any(reasons):
        rows[0].append("why dense")
    totals = [0, 0, 0.0, 0.0]
    for plan in plans:
        choice = plan.choice
        shape = "x".join(map(str, plan.use.fibers.shape))
        element = str(element_of(plan.use.source.result))
        rows.append([plan.use.name, shape, element, f"{choice.density:.3f}", str(choice.format or "dense")])
        rows[-1] += _amounts(choice.dense_bytes, choice.nbytes)
        totals[0] += choice.dense_bytes
        totals[1] += choice.nbytes
        if plan.dense is not None and plan.chosen is not None:
            rows[-1] += _amounts(plan.dense.cycles, plan.chosen.cycles)
            totals[2] += plan.dense.cycles
            totals[3] += plan.chosen.cycles
        rows[-1] += [plan.reason] if any(reasons) else []
    rows.append(["all", "", "", "", "", *_amounts(*totals[:2]), *(_amounts(*totals[2:]) if with_cycles else [])])
    rows[-1] += [""] if any(reasons) else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = {0, 1, 2, 3, 4, len(rows[0]) - 1} if any(reasons) else {0, 1, 2, 3, 4}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if position in words else cell.rjust(width) for position, (cell, width) in line
        ).rstrip()
        for line in (list(enumerate(zip(row, widths, strict=True))) for row in rows)
    )


def _amounts(before: float, after: float) -> list[str]:
    return [f"{before:.0f}", f"{after:.0f}", f"{before / after:.2f}" if after else "-"]


if __name__ == "__main__":
    sys.exit(main())
