"""`meshloom-map`: put a network's topology onto the cores of a chip."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..mapping.methods import METHODS
from ..support.errors import InputError
from .cli import check_folders, make_parser, run_tool
from .progress import Progress

EXAMPLES = """
  meshloom-map graph.npz --chip cloud -o mapping.npy
  meshloom-map graph.npz --mesh 16x16 --objective multicast --stats stats.json --picture loads.svg -o mapping.npy
  meshloom-map graph.npz --mesh 8x8 --array 2x2 --link-cost 4 --unusable 3,17-19 -o mapping.npy
  meshloom-map graph.npz --chip grid --emulate --stats stats.json -o mapping.npy
  meshloom-map graph.npz --chip cloud --effort high --work steps -o mapping.npy
  meshloom-map graph.npz --chip cloud --effort high --work steps --resume -o mapping.npy
"""
MAX_SPIKE_BYTES = 1 << 16


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _map(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "meshloom-map", "Map the vertices of a network to the cores of a chip (core number = y * width + x).", EXAMPLES
    )
    add = parser.add_argument
    add("topology", type=Path, help="the network: .npz, .graph, .mtx, an archive, ... (see docs/reference/topology.md)")
    add(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x64x64",
        help="shape of an ONNX input with symbolic dimensions (may be repeated)",
    )
    where = parser.add_argument_group("cores")
    where.add_argument("--chip", metavar="NAME|FILE.toml", help="use the cores of this chip")
    where.add_argument("--mesh", metavar="WxH", help="size of the mesh, instead of a chip, such as 16x16")
    where.add_argument("--array", metavar="AxD", help="array of such chips: columns x rows")
    where.add_argument(
        "--link-cost", type=int, default=4, metavar="N", help="cost of a link between two chips, in hops (default: 4)"
    )
    where.add_argument("--unusable", metavar="LIST", help="cores without vertices, such as 3,17-19")
    where.add_argument("--rectangle", metavar="X,Y,WxH", help="use only these cores")
    limit = parser.add_argument_group("limits of a core")
    limit.add_argument(
        "--capacity", type=int, metavar="N", help="largest sum of vertex sizes (default: 1.05 x total / usable cores)"
    )
    limit.add_argument("--max-vertices", type=int, metavar="N", help="largest number of vertices")
    limit.add_argument("--max-edges", type=int, metavar="N", help="largest number of edges adjacent to its vertices")
    how = parser.add_argument_group("search")
    how.add_argument("--method", default="default", metavar="NAME", help=f"{', '.join(METHODS)} (default: %(default)s)")
    how.add_argument(
        "--effort", default="normal", choices=("fast", "normal", "high"), help="effort of the search (default: normal)"
    )
    how.add_argument(
        "--objective",
        choices=("hops", "multicast", "link", "cycles", "cut"),
        help="cost to minimise: hop cost, delivered multicast traffic, load of the busiest link, cycles of a step, or "
        "cut (default: hops; with --emulate: cycles)",
    )
    how.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the search (default: 0)")
    how.add_argument("--work", type=Path, metavar="DIR", help="write checkpoints to DIR")
    how.add_argument("--resume", action="store_true", help="resume from the checkpoints in the folder of --work")
    step = parser.add_argument_group("one step in the emulator")
    step.add_argument(
        "--emulate",
        nargs="?",
        const="",
        metavar="CHIP",
        help="emulate one step, in which all sources send their spikes (with --mesh, on cores like those of CHIP)",
    )
    step.add_argument(
        "--spike-bytes", type=int, default=4, metavar="N", help="bytes per spike in a message (default: 4)"
    )
    step.add_argument("--program", type=Path, metavar="FILE.mlx", help="write the executable of the step")
    out = parser.add_argument_group("results")
    out.add_argument(
        "-o", dest="output", type=Path, required=True, metavar="MAP.npy", help="write the core of each vertex, as int32"
    )
    out.add_argument("--text", type=Path, metavar="FILE", help="write the mapping as text, one core number per line")
    out.add_argument("--stats", type=Path, metavar="FILE.json", help="write all costs, times and memory as JSON")
    out.add_argument(
        "--picture", type=Path, metavar="FILE.svg|png", help="write a heat map of the loads of cores and links"
    )
    out.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    return parser


def _map(options: argparse.Namespace) -> None:
    _check(options)
    with Progress("meshloom-map", options.quiet) as progress:
        from .map_network import run_mapping
        from .map_results import write_results

        result = run_mapping(options, progress)
        progress("write")
        write_results(options, result)
    if not options.quiet:
        print(result.summary(options.output.name))


def _check(options: argparse.Namespace) -> None:
    if (options.chip is None) == (options.mesh is None):
        raise InputError("give the cores by either --chip NAME or --mesh WxH")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: expected 0 or more")
    if options.resume and options.work is None:
        raise InputError("--resume needs the folder of the interrupted run: --work DIR")
    if options.emulate is None and options.program is not None:
        raise InputError("--program writes the step of --emulate: give both")
    if not 1 <= options.spike_bytes <= MAX_SPIKE_BYTES:
        raise InputError(f"--spike-bytes {options.spike_bytes}: expected 1 to {MAX_SPIKE_BYTES}")
    if options.objective is None:
        options.objective = "hops" if options.emulate is None else "cycles"
    check_folders(
        options.program, options.output, options.text, options.stats, options.picture, inputs=[options.topology]
    )
    if options.picture is not None and options.picture.suffix not in (".svg", ".png"):
        raise InputError(f"--picture {options.picture}: expected FILE.svg or FILE.png")


if __name__ == "__main__":
    sys.exit(main())
