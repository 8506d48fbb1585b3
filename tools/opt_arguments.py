"""The options of `meshloom-opt` in addition to those of xDSL."""

from __future__ import annotations

import argparse

from .ir_dumps import add_dump_options
from .pass_plugins import add_pass_plugin_option
from .plugin_option import add_plugin_option
from .values import add_steps_option, add_value_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all options, in groups."""
    add_plugin_option(parser)
    add_pass_plugin_option(parser)
    parser.add_argument(
        "--pass-pipeline",
        metavar="'builtin.module(PASSES)'",
        default="",
        help="passes in the syntax of mlir-opt, instead of -p",
    )
    inputs = parser.add_argument_group("ONNX models")
    inputs.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="shape of an ONNX input with symbolic dimensions; 1..64x1x32: any length up to 64 (may be repeated)",
    )
    add_value_option(inputs)
    add_steps_option(inputs)
    inputs.add_argument(
        "--parameters",
        action="store_true",
        help="import an ONNX model for training: its weights become inputs marked dataflow.parameter",
    )
    lists = parser.add_argument_group("lists of passes and dialects")
    lists.add_argument("--list-passes", action="store_true", help="print all passes with their options and exit")
    lists.add_argument("--help-pass", metavar="PASS", help="print the description and options of a pass, and exit")
    lists.add_argument("--list-dialects", action="store_true", help="print all dialects and exit")
    lists.add_argument(
        "--export-irdl", action="store_true", help="print the dialects as IRDL, for `mlir-opt --irdl-file`, and exit"
    )
    watch = parser.add_argument_group("debugging of passes")
    add_dump_options(watch)
    watch.add_argument(
        "--pass-statistics",
        "--mlir-pass-statistics",
        action="store_true",
        help="print how many operations of each name a pass added and removed, to standard error",
    )
    watch.add_argument("--mlir-timing", dest="time_passes", action="store_true", help="the same as --time-passes")
    watch.add_argument(
        "--check-semantics",
        action="store_true",
        help="run the module before and after each pass on the same random inputs; "
        "fail at the first pass that changes a result",
    )
    watch.add_argument("--seed", type=int, default=0, help="seed of the random inputs (default 0)")
    watch.add_argument(
        "--run-reproducer",
        action="store_true",
        help="run the pipeline that the input file, a reproducer of a failed pass, contains",
    )
