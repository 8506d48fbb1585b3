"""`meshloom-topology`: convert topologies of networks between formats, and say what is in them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .cli import check_folders, make_parser, parse_shapes, run_tool
from .progress import Progress

if TYPE_CHECKING:
    from ..mapping.topology.topology import Topology

EXAMPLES = """
  meshloom-topology convert net.graph net.zip
  meshloom-topology convert model.onnx neurons.npz --shape image=1x3x64x64
  meshloom-topology info net.zip
"""


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return run_tool(lambda: _run(_parser().parse_args(args)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "meshloom-topology",
        "Convert and describe topologies of networks. Read: .npz, .zip, .graph (METIS), .mtx (Matrix Market), "
        ".onnx and .nir (unrolled to neurons). Written: .npz, .zip, .graph, .mtx.",
        EXAMPLES,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    convert = commands.add_parser("convert", help="convert between formats, given by the file extensions")
    convert.add_argument("input", type=Path, metavar="IN")
    convert.add_argument("output", type=Path, metavar="OUT")
    info = commands.add_parser("info", help="print the numbers of vertices and edges, and sizes in bytes")
    info.add_argument("input", type=Path, metavar="FILE")
    for command in (convert, info):
        command.add_argument(
            "--shape",
            action="append",
            default=[],
            metavar="NAME=1x3x64x64",
            help="shape of an ONNX input with symbolic dimensions (may be repeated)",
        )
        command.add_argument("-q", "--quiet", action="store_true", help="print errors only (convert), no progress")
    return parser


def _run(options: argparse.Namespace) -> None:
    from ..frontend.topology.read import read_topology
    from ..mapping.topology.write import check_writable, write_topology

    shapes = parse_shapes(options.shape)
    if options.command == "convert":
        check_writable(options.output)
        check_folders(options.output, inputs=[options.input])
    with Progress("meshloom-topology", options.quiet) as progress:
        progress(f"read {options.input}")
        topology = read_topology(options.input, shapes, progress, progress.note)
        if options.command == "convert":
            progress(f"write {options.output}")
            write_topology(topology, options.output)
    if options.command == "info":
        print("\n".join(f"{key}: {value}" for key, value in describe(topology).items()))
    elif not options.quiet:
        print(f"{options.output}: {topology.vertices} vertices, {topology.edges} edges")


def describe(topology: Topology) -> dict[str, int | float]:
    """The output of `info`; bytes per neighbour count both ends of an edge."""
    import numpy as np

    from ..mapping.topology.gaps import compress

    degrees = np.diff(topology.indptr)
    graph = compress(topology.indptr, topology.indices, topology.data)
    numbers: dict[str, int | float] = {"vertices": topology.vertices, "edges": topology.edges}
    if topology.directed_edges is not None:
        numbers["directed edges"] = topology.directed_edges
    neighbours = max(topology.indices.size, 1)
    return {
        **numbers,
        "total size": topology.total_size,
        "total weight": int(topology.data.sum(dtype=np.int64)) // 2,
        "largest degree": int(degrees.max(initial=0)),
        "mean degree": round(topology.indices.size / max(topology.vertices, 1), 2),
        "vertices without edges": int((degrees == 0).sum()),
        "bytes per neighbour, compressed in memory": round((graph.code.size + graph.offsets.nbytes) / neighbours, 2),
    }
